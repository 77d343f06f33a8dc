"""Cells by their codes: their labels, and which rows mean the same cell."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.arrays import AnyIntegers, Flags, Floats
from tablecloak.errors import InputError, listed, suggestion
from tablecloak.tables.additivity import ADDITIVITY_TOLERANCE

REST = "~not~"
"""Beginning of a code that stands for all codes of a group but those that follow it.

No office uses it. The mark is in the code, so that files of problems keep it in any format."""


SUM = "~sum~"
"""Beginning of a code that stands for the sum of the cells with the codes that follow it."""


EARLIER = "~earlier~"
"""Beginning of a code that stands for a cell of an earlier release, named after it."""


DERIVED = "~derived~"
"""Beginning of a code that stands for a derived figure, such as a ratio of two cells."""


LIMIT = "~limit~"
"""Beginning of a code that stands for the room that the digits of a derived figure leave."""


def are_rests(keys: pd.DataFrame) -> Flags:
    """Return which cells are no part of the table that is released, shape (n_cells,).

    They are rests of groups, sums of cells, cells of earlier releases, and derived figures, which
    are published beside the table.
    """
    return _are_marked(keys, (REST, SUM, EARLIER, DERIVED, LIMIT))


def are_derived(keys: pd.DataFrame) -> Flags:
    """Return which cells are derived figures of the new release, shape (n_cells,)."""
    return _are_marked(keys, (DERIVED,)) & ~are_earlier(keys)


def are_earlier(keys: pd.DataFrame) -> Flags:
    """Return which cells are those of earlier releases, shape (n_cells,)."""
    return _are_marked(keys, (EARLIER,))


def are_sums(keys: pd.DataFrame) -> Flags:
    """Return which cells are sensitive sums of hidden cells, shape (n_cells,)."""
    return _are_marked(keys, (SUM,))


def are_figures(keys: pd.DataFrame) -> Flags:
    """Return which cells are derived figures or what their digits leave, in any release."""
    marked = keys.map(lambda code: DERIVED in str(code) or LIMIT in str(code))
    flags: Flags = marked.any(axis=1).to_numpy()
    return flags


def _are_marked(keys: pd.DataFrame, marks: tuple[str, ...]) -> Flags:
    found = np.zeros(len(keys), dtype=bool)
    for name in keys.columns:
        marked = [code for code in keys[name].unique() if str(code).startswith(marks)]
        if marked:
            found |= keys[name].isin(marked).to_numpy()
    return found


def without_later_marks(keys: pd.DataFrame) -> pd.DataFrame:
    """Return keys in which a cell of a release that a later one holds is marked as of that alone.

    The release of 2024 that was protected beside that of 2023 holds the cells of both, so that in
    2025 a cell of 2023 is marked by both years.
    """
    return keys.map(lambda code: code[max(str(code).rfind(EARLIER), 0) :])


def label_of(keys: pd.DataFrame, row: int) -> str:
    """Name a cell by its codes, as in ``region=North, industry=47``."""
    return ", ".join(f"{name}={code}" for name, code in keys.iloc[row].items())


def described_sum(keys: pd.DataFrame, row: csr_array) -> str:
    """Write a relation out, as in ``(region=Total) = (region=N) + (region=S)``.

    Parameters
    ----------
    keys : pandas.DataFrame of str, shape (n_cells, n_dimensions)
    row : scipy.sparse.csr_array, shape (1, n_cells)
        Negative for totals, positive for parts.
    """
    ends = sorted(zip(row.data, row.indices, strict=True))
    totals = [f"({label_of(keys, cell)})" for sign, cell in ends if sign < 0]
    parts = [f"({label_of(keys, cell)})" for sign, cell in ends if sign > 0]
    shown = " + ".join(parts[:4]) + (f" + {len(parts) - 4} more" if len(parts) > 4 else "")
    return f"{' + '.join(totals) or '0'} = {shown}"


def cell_of(keys: pd.DataFrame, codes: Mapping[str, str]) -> int:
    """Return the number of the cell with these codes.

    Raises
    ------
    InputError
        If there is no such dimension, or not exactly one such cell.
    """
    match = np.ones(len(keys), dtype=bool)
    for name, code in codes.items():
        if name not in keys.columns:
            near = suggestion(name, map(str, keys.columns))
            raise InputError(f"The table has no dimension {name!r}.{near}")
        match &= (keys[name] == str(code)).to_numpy()
    cells = np.flatnonzero(match)
    if len(cells) != 1:
        raise InputError(
            f"{len(cells)} cells have the codes {dict(codes)}; give a code for each of the "
            f"dimensions {listed(list(keys.columns))}."
        )
    return int(cells[0])


def number_rows(keys: pd.DataFrame) -> tuple[AnyIntegers, AnyIntegers]:
    """Number the distinct rows by first appearance: first row of each, number of each row."""
    number = keys.groupby(list(keys.columns), sort=False, dropna=False).ngroup().to_numpy()
    _, first = np.unique(number, return_index=True)
    return first.astype(np.int64), number.astype(np.int64)


def check_same_values(
    keys: pd.DataFrame,
    values: Floats,
    first: AnyIntegers,
    number: AnyIntegers,
    dust: Floats | float = 0.0,
) -> None:
    """Raise if rows that mean the same cell have different values."""
    expected = values[first][number]
    scale = np.maximum(np.abs(values), np.abs(expected))
    # Values that are not numbers are reported elsewhere.
    known = np.isfinite(values) & np.isfinite(expected)
    difference = np.abs(np.subtract(values, expected, where=known, out=np.zeros_like(values)))
    conflict = np.flatnonzero(difference > np.maximum(ADDITIVITY_TOLERANCE * scale, dust))
    if len(conflict):
        row = int(conflict[0])
        one, other = float(expected[row]), float(values[row])
        raise InputError(
            f"Cell {label_of(keys, row)} is given twice with different values, {one!r} and "
            f"{other!r}. The same cell must have the same value wherever it occurs."
        )
