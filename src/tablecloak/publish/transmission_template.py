"""Templates of other authorities: which cells are to be sent, and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags
from tablecloak.errors import InputError, listed, suggestion
from tablecloak.tables.formats import column_names, read_frame

__all__ = ["Template"]

HEADER = 2
"""Line of the first row: a file counts lines from 1, and its header is the first."""


@dataclass(frozen=True, eq=False)
class Template:
    """One row for each cell that is asked for, one column for each code.

    Parameters
    ----------
    source : str
        Where it comes from, for messages.
    rows : pandas.DataFrame
        Text only.
    """

    source: str
    rows: pd.DataFrame

    @classmethod
    def read(cls, path: str | Path) -> Template:
        """Read a template from a CSV or Parquet file, also packed.

        Raises
        ------
        InputError
            If it has no row, an empty entry, or asks for a cell twice.
        """
        names = column_names(path)
        rows = read_frame(path, tuple(names))
        template = cls(str(path), rows)
        if rows.empty:
            raise InputError(f"{path}: the template asks for no cell. Give one row for each.")
        empty = np.argwhere(rows.isna().to_numpy())
        if len(empty):
            line, column = empty[0]
            raise InputError(
                f"{path}, line {line + HEADER}: {rows.columns[column]} is empty. Fill in the code."
            )
        object.__setattr__(template, "rows", rows.astype(str))
        twice = np.flatnonzero(template.rows.duplicated())
        if len(twice):
            raise InputError(
                f"{path}, line {twice[0] + HEADER}: {template.codes(int(twice[0]))} is asked for "
                f"twice. Remove one of the lines."
            )
        return template

    @property
    def columns(self) -> list[str]:
        """Names of its columns."""
        return list(map(str, self.rows.columns))

    def codes(self, row: int) -> str:
        """Say which cell a row asks for."""
        return ", ".join(f"{name} {code}" for name, code in self.rows.iloc[row].items())

    def filled(
        self,
        frames: Sequence[pd.DataFrame],
        constants: Sequence[Mapping[str, str]],
        *,
        complete: bool,
    ) -> tuple[pd.DataFrame, int]:
        """Return the rows that are asked for, in order, and how many are of other tables.

        Parameters
        ----------
        frames : sequence of pandas.DataFrame
            One for each table, with the columns of the template among others.
        constants : sequence of mapping of str to str
            For each table the columns that are the same in all of its rows.
        complete : bool
            Whether rows of other tables are an error.

        Raises
        ------
        InputError
            If a column or a cell is missing; names line and codes of the first.
        """
        for frame, constant in zip(frames, constants, strict=True):
            self._require_columns(frame, constant)
        given = pd.concat(frames, ignore_index=True)
        cells = pd.MultiIndex.from_frame(given[self.columns].astype(str))
        if cells.has_duplicates:
            codes = listed(list(map(str, cells[cells.duplicated()][0])))
            raise InputError(f"The cell {codes} is in two of the tables. Leave one of them out.")
        place = cells.get_indexer(pd.MultiIndex.from_frame(self.rows))
        ours = self._of_these_tables(constants)
        lacking = np.flatnonzero((place < 0) & ours)
        if len(lacking):
            raise InputError(self._lacking(int(lacking[0]), len(lacking), given))
        if complete and not ours.all():
            raise InputError(self._uncovered(~ours, constants))
        others = [name for name in given.columns if name not in self.columns]
        wanted = given.iloc[place[place >= 0]].reset_index(drop=True)
        return wanted[[*self.columns, *others]], int((~ours).sum())

    def _require_columns(self, frame: pd.DataFrame, constants: Mapping[str, str]) -> None:
        for name in self.columns:
            if name not in frame.columns:
                raise InputError(
                    f"{self.source}: no dimension stands in column {name!r}, and no constant."
                    f"{suggestion(name, map(str, frame.columns))} Name it in `names` or "
                    f"`constants`."
                )
        for name, text in constants.items():
            if name in self.columns and text not in self.rows[name].unique():
                raise InputError(
                    f"{self.source}: no row has the {name} {text!r} of the table."
                    f"{suggestion(text, self.rows[name].unique())}"
                )

    def _of_these_tables(self, constants: Sequence[Mapping[str, str]]) -> Flags:
        """Which rows have the constants of one of the tables."""
        ours = np.zeros(len(self.rows), dtype=bool)
        for constant in constants:
            fits = np.ones(len(self.rows), dtype=bool)
            for name, text in constant.items():
                if name in self.columns:
                    fits &= (self.rows[name] == text).to_numpy()
            ours |= fits
        return ours

    def _lacking(self, row: int, number: int, given: pd.DataFrame) -> str:
        """Say which cell no table has, and which code none has at all."""
        told = f"{self.source}, line {row + HEADER}: the table has no cell {self.codes(row)}"
        told += f" ({number} such lines)." if number > 1 else "."
        for name, code in self.rows.iloc[row].items():
            known = given[name].astype(str).unique()
            if code not in known:
                near = suggestion(code, known)
                return f"{told} In {name} it has no code {code!r}.{near} Translate it by `codes`."
        return f"{told} Add the cell to the table, or remove the line."

    def _uncovered(self, rows: Flags, constants: Sequence[Mapping[str, str]]) -> str:
        """Say which rows belong to tables that were not given."""
        first = int(np.flatnonzero(rows)[0])
        fixed = [name for name in self.columns if any(name in each for each in constants)]
        codes = listed([f"{name} {self.rows[name].iloc[first]}" for name in fixed])
        return (
            f"{self.source}, line {first + HEADER}: {codes} is of none of the tables "
            f"({int(rows.sum())} such lines). Give those tables as well, or allow a part of the "
            f"template with complete=False."
        )
