"""The order of records, which can reveal changed values.

In a file that is sorted by age, a swapped age stands out between its neighbours. Records are
therefore released in random order, unless their order does not depend on the changed columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Integers
from tablecloak.budget import generator
from tablecloak.errors import InputError, TablecloakWarning
from tablecloak.microdata.library_frames import LibraryFrame

LEAST_RECORDS = 20
"""Least number of records for which a column is also checked for being sorted in parts, or
clustered; with fewer, only for being sorted throughout.

See docs/decisions, "Order of records".
"""

LARGEST_GROUP = 10
"""Most records for each number of a column that counts as numbering them: that of persons,
households or dwellings, not years."""

OF_THE_ORDER = 0x5EED
"""Number that is combined with a seed, so that the order has random numbers of its own."""


class OrderWarning(TablecloakWarning):
    """The order of the records reveals original values."""


def in_random_order(frame: Any, *, seed: int | None = None) -> Any:
    """Return records in random order, with new labels.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        Records, such as the frame of a release, which is in the order of the original.
    seed : int, optional
        By default drawn at random. Keep it secret, since it restores the original order.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame or pyarrow.Table
        The records, in pandas with an index from 0, since the old labels would reveal the order.
    """
    return LibraryFrame(frame).taken(np.argsort(places(len(frame), seed)))


def places(count: int, seed: int | None = None) -> Integers:
    """Return the new place of each record, a random permutation."""
    random = generator(None if seed is None else [seed, OF_THE_ORDER])
    return random.permutation(count).astype(np.int64)


def order_tells(column: pd.Series) -> bool:
    """Whether a column is sorted, sorted in parts, or clustered."""
    return bool(_order_of(column))


def _order_of(column: pd.Series) -> str:
    """Return in words how a column follows the order of the records, or "".

    In random order a share 1 - sum p^2 of consecutive records differ, half of them upwards. A
    column counts as sorted if one direction is less than half as frequent as that, and as clustered
    if more than half of the consecutive records that should differ agree.
    """
    # Numbers that were read as text are compared as numbers.
    numbers = pd.to_numeric(column, errors="coerce")
    codes = pd.factorize(numbers if numbers.notna().all() else column, sort=True)[0]
    steps = np.diff(codes)
    if len(codes) < 2 or not steps.any():
        return ""
    if bool(np.all(steps >= 0) or np.all(steps <= 0)):
        return "is sorted"
    if len(codes) < LEAST_RECORDS:
        return ""
    differing = 1 - float(np.sum((np.bincount(codes - codes.min()) / len(codes)) ** 2))
    if float(np.mean(steps != 0)) < differing / 2:
        return "has equal values side by side"
    rarer = min(float(np.mean(steps > 0)), float(np.mean(steps < 0)))
    return "is sorted in parts" if rarer < differing / 4 else ""


def warn_of_order(frame: pd.DataFrame, names: Sequence[str]) -> None:
    """Warn if the records are sorted by a column that a method changes."""
    orders = {name: _order_of(frame[name]) for name in names if len(frame) >= LEAST_RECORDS}
    said = ", ".join(f"{name!r} {how}" for name, how in orders.items() if how)
    if said:
        warnings.warn(
            f"In the order of the records {said}: whoever sees them in this order can tell which "
            f"values changed. Publish them with `in_random_order`, and without columns that number "
            f"them or their households.",
            OrderWarning,
            stacklevel=3,
        )


def refuse_sorted(
    frame: pd.DataFrame,
    changed: Sequence[str],
    others: Sequence[str],
    column: Callable[[str], pd.Series],
    *,
    keep_order: bool,
) -> None:
    """Refuse a release whose order reveals original values of changed columns.

    Parameters
    ----------
    frame : pandas.DataFrame
        Original values of the changed columns, one row for each unit that changes as a whole.
    changed : sequence of str
        Names of these columns.
    others : sequence of str
        Names of the columns that do not change.
    column : callable
        Returns the values of one of `others`, in the same rows.
    keep_order : bool
        Whether the records are released in the order of the file.

    Raises
    ------
    InputError
        If a column is sorted and the order is kept, or another column numbers the records.
    """
    said = {name: how for name in changed if (how := _order_of(frame[name]))}
    if not said:
        return
    name, how = next(iter(said.items()))
    if keep_order:
        raise InputError(
            f"Column {name!r} {how} in the file: whoever sees the records in this order can tell "
            f"which of its values changed, and from what. Release them in random order, or sort "
            f"the file by something else first."
        )
    for other in others:
        if _numbers_records(column(other)):
            raise InputError(
                f"Column {name!r} {how} in the file, and {other!r} numbers the records, or groups "
                f"of them such as households, in this order: whoever sorts by it can tell which "
                f"values of {name!r} changed, and from what. Leave {other!r} out (--drop {other}), "
                f"or number the records of a shuffled file anew."
            )


def _numbers_records(column: pd.Series) -> bool:
    """Whether a column rises or falls with the records, and takes many values."""
    if not pd.api.types.is_numeric_dtype(column):
        digits = column.astype(str).str.extract(r"(\d+)\D*$", expand=False)
        column = pd.to_numeric(digits, errors="coerce") if digits.notna().all() else column
    if column.isna().any() or column.nunique() < max(len(column) / LARGEST_GROUP, 3):
        return False
    return bool(column.is_monotonic_increasing or column.is_monotonic_decreasing)
