"""Primary flags of tables that are ready: a column that tells which cells are unsafe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags
from tablecloak.errors import InputError, suggestion
from tablecloak.tables.formats import read_frame
from tablecloak.tables.hierarchy import Dimension
from tablecloak.tables.table import Table

WORDS = {"true": True, "1": True, "1.0": True, "yes": True, "u": True,
         "false": False, "0": False, "0.0": False, "no": False, "s": False, "": False}  # fmt: skip
"""What a flag may be, in small letters: also the statuses unsafe and safe of tau-ARGUS."""


def flagged_cells(
    table: Table, files: Sequence[tuple[Path, Mapping[str, Dimension]]], column: str
) -> Flags:
    """Return which cells of a table are flagged in the files that it was read from.

    Parameters
    ----------
    table : Table
    files : sequence of (Path, mapping of str to Dimension)
        Each file with its dimensions; the others stand at their total there.
    column : str
        Column with the flags.

    Raises
    ------
    InputError
        If a file has no such column, or a flag is neither yes nor no; names the row.
    """
    names = list(table.keys.columns)
    flagged: set[tuple[str, ...]] = set()
    for path, dimensions in files:
        frame = read_frame(path, tuple(each.column for each in dimensions.values()))
        if column not in frame.columns:
            near = suggestion(column, map(str, frame.columns))
            raise InputError(f"{path}: there is no column {column!r}.{near}")
        rows = frame[_read(path, frame[column])]
        codes = [
            rows[dimensions[name].column].astype(str)
            if name in dimensions
            else [table.hierarchies[name].total] * len(rows)
            for name in names
        ]
        flagged.update(zip(*codes, strict=True))
    return np.array([key in flagged for key in table.keys.itertuples(index=False, name=None)])


def _read(path: Path, given: pd.Series) -> Flags:
    filled = given.astype(object).where(given.notna(), "")
    words = filled.map(lambda entry: str(entry).strip().lower())
    odd = np.flatnonzero(~words.isin(WORDS).to_numpy())
    if len(odd):
        raise InputError(
            f"{path}: Row {odd[0] + 1}: column {given.name!r} must be true or false, but is "
            f"{given.iloc[odd[0]]!r}."
        )
    return words.map(WORDS).to_numpy(dtype=bool)
