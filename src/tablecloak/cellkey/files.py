"""Files of perturbation tables: those of ptable and tau-ARGUS, and those of the ONS."""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd

from tablecloak.cellkey.perturbation_table import KeyRows, Perturbations, PerturbationTable
from tablecloak.errors import InputError, listed
from tablecloak.registry import Registry
from tablecloak.storage import existing_file, replacing
from tablecloak.tables.formats.format import require_few_columns


class TableFormat(ABC):
    """A layout of perturbation tables."""

    name: ClassVar[str]
    columns: ClassVar[frozenset[str]]
    """Columns by which a file in this layout is recognised."""

    @abstractmethod
    def read(self, frame: pd.DataFrame) -> list[Perturbations]:
        """Read the tables of a file; for magnitudes there can be one for each kind of cell."""

    @abstractmethod
    def frame(self, tables: Sequence[Perturbations]) -> pd.DataFrame:
        """Return the lines of a file."""

    separator: ClassVar[str] = ","


TABLE_FORMATS: Registry[TableFormat] = Registry("format of perturbation tables")
"""All layouts of perturbation tables."""


@TABLE_FORMATS.register
class PtableFormat(TableFormat):
    """ptable and tau-ARGUS: lines i;j;p;v;p_int_ub, and a type if they are for magnitudes."""

    name = "ptable"
    columns = frozenset({"i", "j", "v"})
    separator = ";"
    BOUNDS = ("p_int_ub", "p_ij_ub")

    def read(self, frame: pd.DataFrame) -> list[Perturbations]:
        """See `TableFormat.read`."""
        bound = next((name for name in self.BOUNDS if name in frame), None)
        if bound is None:
            raise InputError(
                f"There is no column with the upper bounds of intervals; found "
                f"{listed(list(frame.columns))}. Name it {' or '.join(self.BOUNDS)}."
            )
        kinds = frame["type"] if "type" in frame else pd.Series("all", index=frame.index)
        return [self._one(lines, bound, str(kind)) for kind, lines in frame.groupby(kinds)]

    @staticmethod
    def _one(lines: pd.DataFrame, bound: str, kind: str) -> PerturbationTable:
        upper = lines[bound].to_numpy(np.float64).copy()
        row = lines["i"].to_numpy(np.float64)
        # Sums of printed probabilities may end at 0.99999999 instead of 1.
        last = np.concatenate([row[1:] != row[:-1], [True]])
        upper[last & (np.abs(upper - 1.0) < 1e-6)] = 1.0
        for name, other, found in (
            ("p", f"the bounds {bound!r}", np.diff(upper, prepend=0.0) + np.append(0, last[:-1])),
            ("v", "'i' and 'j'", (lines["j"] - lines["i"]).to_numpy(np.float64)),
        ):
            if name not in lines:
                continue
            odd = np.flatnonzero(~(np.abs(lines[name].to_numpy(np.float64) - found) < 1e-6))
            if len(odd):
                raise InputError(
                    f"{name} is {lines[name].iloc[odd[0]]:g}, but by {other} it is "
                    f"{found[odd[0]]:g}. Correct one of them.",
                    row=int(lines.index[odd[0]]),
                )
        return PerturbationTable(row, lines["v"].to_numpy(np.float64), upper, kind)

    def frame(self, tables: Sequence[Perturbations]) -> pd.DataFrame:
        """See `TableFormat.frame`."""
        frames = []
        for table in tables:
            if not isinstance(table, PerturbationTable):
                raise InputError(
                    "A table by whole keys cannot be written in the layout 'ptable', which has "
                    "intervals. Take layout='ons'."
                )
            frames.append(table.to_frame()[["i", "j", "p", "v", "p_int_ub", "type"]])
        frame = pd.concat(frames, ignore_index=True)
        is_for_counts = len(tables) == 1 and bool((frame.v == frame.v.round()).all())
        return frame.drop(columns="type") if is_for_counts else frame


@TABLE_FORMATS.register
class OnsFormat(TableFormat):
    """Office for National Statistics: lines pcv,ckey,pvalue, one for each count and key."""

    name = "ons"
    columns = frozenset({"pcv", "ckey", "pvalue"})

    def read(self, frame: pd.DataFrame) -> list[Perturbations]:
        """See `TableFormat.read`."""
        lines = frame.sort_values(["pcv", "ckey"])
        n_rows, n_keys = lines["pcv"].nunique(), lines["ckey"].nunique()
        complete = (
            len(lines) == n_rows * n_keys
            and np.array_equal(lines["pcv"], np.repeat(np.arange(1, n_rows + 1), n_keys))
            and np.array_equal(lines["ckey"], np.tile(np.arange(n_keys), n_rows))
        )
        if not complete:
            raise InputError(
                f"Each count from 1 on and each key from 0 on must occur together once. Found "
                f"{len(lines)} lines with {n_rows} counts and {n_keys} keys: add what is missing, "
                f"and drop repeated lines."
            )
        change = lines["pvalue"].to_numpy(np.float64)
        odd = np.flatnonzero(~np.isfinite(change) | (change != np.rint(change)))
        if len(odd):
            line = lines.iloc[odd[0]]
            raise InputError(
                f"Count {line['pcv']:g}, key {line['ckey']:g}: the change {line['pvalue']:g} must "
                f"be a whole number. Correct the column 'pvalue'."
            )
        return [KeyRows(change.astype(np.int64).reshape(n_rows, n_keys), period=min(250, n_rows))]

    def frame(self, tables: Sequence[Perturbations]) -> pd.DataFrame:
        """See `TableFormat.frame`."""
        if len(tables) != 1 or not isinstance(tables[0], KeyRows):
            raise InputError(
                f"The layout 'ons' holds one table by whole keys. Got {len(tables)} tables, or one "
                "of intervals: take layout='ptable'."
            )
        return tables[0].to_frame()


def _read(path: str | Path) -> list[Perturbations]:
    file = existing_file(path)
    require_few_columns(file)
    try:
        # Fields are separated by commas or semicolons; all these tools write decimal points.
        frame = pd.read_csv(file, sep=None, engine="python", quotechar='"')
    except (ValueError, OSError, csv.Error, pd.errors.ParserError) as error:
        raise InputError(
            f"{path}: cannot be read as a perturbation table ({error}). Give a file of lines "
            f"separated by commas or semicolons, as `tablecloak cellkey design` writes it."
        ) from error
    if frame.empty:
        raise InputError(f"{path}: has no line below its header. Give a perturbation table.")
    frame = frame.rename(columns={"diff": "v"})
    for each in TABLE_FORMATS:
        if each.columns <= set(frame.columns):
            try:
                return each().read(frame)
            except InputError as error:
                raise error.of(path) from error
            except (ValueError, TypeError) as error:
                raise InputError(
                    f"{path}: an entry is no number ({error}). Correct it; decimal points are "
                    "needed, not commas."
                ) from error
    expected = "; ".join(
        f"{', '.join(sorted(each.columns))} ({each.name})" for each in TABLE_FORMATS
    )
    raise InputError(
        f"{path}: the columns {listed(list(frame.columns))} are not those of a perturbation table. "
        f"Expected {expected}."
    )


def read_perturbations(path: str | Path) -> Perturbations:
    """Read a perturbation table for counts: of ptable, tau-ARGUS or the ONS.

    Parameters
    ----------
    path : str or Path
        A text file, also compressed, with its columns named in the first line.

    Raises
    ------
    InputError
        If the file does not exist, has other columns, or holds several tables.
    """
    tables = _read(path)
    if len(tables) > 1:
        raise InputError(
            f"{path}: holds {len(tables)} tables, by type. It is for magnitudes; read it with "
            f"`read_magnitude_tables`."
        )
    return tables[0]


def read_magnitude_tables(path: str | Path) -> dict[str, PerturbationTable]:
    """Read perturbation tables for magnitudes, by the type of cells that they are for.

    Raises
    ------
    InputError
        If the file does not exist, or has other columns.
    """
    tables = _read(path)
    if not all(isinstance(table, PerturbationTable) for table in tables):
        raise InputError(
            f"{path}: this table is for counts; its keys are whole numbers. Read it with "
            "`read_perturbations`, or give a table of intervals."
        )
    return {table.kind: table for table in tables if isinstance(table, PerturbationTable)}


def write_perturbations(
    tables: Perturbations | Sequence[Perturbations], path: str | Path, *, layout: str | None = None
) -> None:
    """Write perturbation tables.

    Parameters
    ----------
    tables : Perturbations, or sequence of them
    path : str or Path
    layout : str, optional
        "ptable" (also for tau-ARGUS) or "ons"; by default the layout that can hold these tables.

    Notes
    -----
    Only its owner can read the file: anyone who has it can draw conclusions about true counts.
    """
    each = [tables] if isinstance(tables, Perturbations) else list(tables)
    usual = OnsFormat if isinstance(each[0], KeyRows) else PtableFormat
    kind = TABLE_FORMATS[layout]() if layout else usual()
    lines = kind.frame(each)
    with replacing(path, secret=True) as temporary:
        lines.to_csv(temporary, sep=kind.separator, index=False, float_format="%.12g")
