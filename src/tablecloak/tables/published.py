"""Order, digits and types in which a table is published, from published cells alone.

A release must not tell more than its cells: not by the order of its rows, which may come from a
file that was sorted by value; not by the last binary digits of margins, which depend on the hidden
cells that were added up; not by types or digits that are chosen by hidden cells.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers

if TYPE_CHECKING:
    from tablecloak.tables.table import Table

MOST_DECIMALS = 10
"""Most digits after the decimal point with which values count as decimal numbers."""

DUST = 2.0**-44
"""Largest rounding error of sums of some hundred binary numbers, as a share of the value."""

SURE = 1e-3
"""Largest distance from a decimal number, in units of its last digit, that counts as rounding."""

SIGNIFICANT = 13
"""Digits published of the largest value if values are no decimal numbers."""

EXACT_WHOLE = 2.0**53
"""Every whole number below this is a double."""


def published_order(table: Table) -> Integers:
    """Order in which cells are published, whatever their order in the input.

    Rests of groups (`tablecloak.tables.changes.rests`) are not among them.

    Along each dimension in the order of its hierarchy; without one by the codes, as numbers where
    all of them are. Variables come in the order in which they were joined.

    Returns
    -------
    numpy.ndarray of int, shape (n_published,)
        Cell of each published row.
    """
    shown = np.flatnonzero(~table.rests)
    ranks = []
    for name in table.keys.columns:
        tree = table.hierarchies.get(name)
        codes = table.keys[name].iloc[shown]
        position = tree.position if tree else _positions(codes.unique())
        if table.variables is not None and name == table.variables.dimension:
            position = {code: place for place, code in enumerate(table.variables.names)}
        ranks.append(codes.map(position).to_numpy(np.int64))
    order: Integers = shown[np.lexsort(ranks[::-1])].astype(np.int64)
    return order


def in_published_order(table: Table) -> Table:
    """Return a table with its cells in the order in which they are published.

    Results then do not depend on the order of the input.
    """
    order = published_order(table)
    given = (table.contributions, table.holdings)
    contributions, holdings = (found.take(order) if found else None for found in given)
    return replace(
        table,
        keys=table.keys.iloc[order].reset_index(drop=True),
        values=table.values[order],
        relations=table.relations[:, order],
        contributions=contributions,
        holdings=holdings,
    )


def _positions(codes: Iterable[str]) -> dict[str, int]:
    codes = list(codes)
    plain = all(code.isascii() and code.isdigit() for code in codes)
    ranked = sorted(codes, key=lambda code: (int(code) if plain else 0, code))
    return {code: place for place, code in enumerate(ranked)}


def common_decimals(values: npt.ArrayLike) -> int | None:
    """Digits behind the decimal point of which all values are multiples, but for dust.

    Returns
    -------
    int or None
        None if there are more than `MOST_DECIMALS`, as in tables of measurements.
    """
    values = np.asarray(values, dtype=np.float64)
    for decimals in range(MOST_DECIMALS + 1):
        accepted = np.minimum(DUST * np.abs(values), SURE * 10.0**-decimals)
        if np.all(np.abs(values - _rounded(values, decimals)) <= accepted):
            return decimals
    return None


def _rounded(values: Floats, decimals: int) -> Floats:
    """Nearest multiples of a last digit; values beyond the digits of a double stay."""
    with np.errstate(over="ignore"):
        fine = np.abs(values) * 10.0**decimals < EXACT_WHOLE
    result: Floats = np.where(fine, np.round(np.where(fine, values, 0.0), decimals), values)
    return result


def published_decimals(values: npt.ArrayLike, declared: int | None = None) -> int:
    """Digits behind the decimal point with which a column is published.

    Parameters
    ----------
    values : array of float
        Published values only.
    declared : int, optional
        Digits that were declared for the table; they decide.
    """
    if declared is not None:
        return max(declared, 0)
    values = np.asarray(values, dtype=np.float64)
    decimals = common_decimals(values)
    if decimals is None:
        largest = float(np.abs(values).max(initial=0.0))
        decimals = max(SIGNIFICANT - 1 - int(np.floor(np.log10(largest))), 0)
    return decimals


def published_column(values: Floats, decimals: int | None, hidden: Flags | None = None) -> Any:
    """Return values as they are published: rounded, of one type, missing where hidden.

    Parameters
    ----------
    values : numpy.ndarray of float
    decimals : int or None
        None where they were rounded already.
    hidden : numpy.ndarray of bool, optional

    Returns
    -------
    pandas array
        Whole numbers (``Int64``) without decimals, else ``float64`` with NaN.
    """
    hidden = np.zeros(len(values), dtype=bool) if hidden is None else hidden
    values = values if decimals is None else _rounded(values, decimals)
    shown = np.where(hidden, 0.0, values) + 0.0
    if decimals == 0 and np.all(np.abs(shown) < EXACT_WHOLE):
        return pd.arrays.IntegerArray(shown.astype(np.int64), hidden.copy())
    return pd.array(np.where(hidden, np.nan, shown), dtype="float64")


def published_rows(table: Table, **columns: Any) -> pd.DataFrame:
    """Return the codes of a table in published order, with columns that are in that order."""
    keys = table.keys.iloc[published_order(table)].reset_index(drop=True)
    return keys.assign(**columns)


def released_rows(table: Table, suppressed: Flags) -> pd.DataFrame:
    """Return the codes of a table and the values that are not suppressed, each with its status.

    Order, digits and types depend on published cells only.
    """
    order = published_order(table)
    hidden, values = suppressed[order], table.values[order]
    decimals = published_decimals(values[~hidden], table.decimals)
    status = np.where(hidden, "suppressed", "published")
    shown = published_column(values, decimals, hidden)
    return published_rows(table, **{table.name: shown, "status": status})


def published_intervals(table: Table, lower: Floats, upper: Floats) -> pd.DataFrame:
    """Return intervals as they are published: ends rounded outwards to the digits of the table.

    Parameters
    ----------
    table : Table
    lower, upper : numpy.ndarray of float, shape (n_cells,)
        Equal where the value itself is published. An interval loses no value that it held.
    """
    order = published_order(table)
    lower, upper = lower[order], upper[order]
    exact = lower == upper
    shown = lower[exact] if exact.any() else np.concatenate([lower, upper])
    # A cell with infinite ends has no digits.
    decimals = published_decimals(shown[np.isfinite(shown)], table.decimals)
    low, high = _rounded(lower, decimals), _rounded(upper, decimals)
    step = 10.0**-decimals
    low = np.where(~exact & (low > lower), _rounded(low - step, decimals), low)
    high = np.where(~exact & (high < upper), _rounded(high + step, decimals), high)
    ends = {"lower": published_column(low, decimals), "upper": published_column(high, decimals)}
    return published_rows(table, **ends)
