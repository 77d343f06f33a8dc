"""How many records a sum tells of: columns of few values, and columns most of whose values agree.

The sum of a column of 0 and 1 counts records, and so does the sum of any column of few values. Of a
column that is the same for most records, only the others contribute to what a sum tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats, Integers

MOST_LEVELS = 10
"""Different values up to which a column is a code: no answer to a question has more in most
surveys, and amounts of as few values tell who is who in the same way."""

LEAST_PER_LEVEL = 3
"""Records per value below which a column is one of amounts, unless it is of 0 and 1."""

SHARED = 0.5
"""Share of records with one value from which that value is nobody's own contribution."""

MOST_LOOKED_AT = 1000
"""Values by whose digits it is judged how round one is."""

NUMBER = re.compile(r"\d+(?:\.\d+)?")
SEPARATOR = re.compile(r"(?<=\d)[,'\u2019\u202f\u00a0](?=\d{3}(?!\d))")
"""What stands between thousands."""

YEARS = frozenset(map(str, range(1800, 2200)))
DIGITS = 3
"""Digits of a number, without zeros at its ends, beyond which it may be somebody's amount."""


@dataclass(frozen=True)
class ValueLevels:
    """The values of a column, as far as they tell how many records have one.

    Parameters
    ----------
    values : (k,) array of float
        All different values in ascending order, if they are few; else empty.
    shared : float
        The value that counts as no contribution; nan if there is none.
    is_of_most : bool
        Whether most records have it.
    """

    values: Floats
    shared: float
    is_of_most: bool

    @classmethod
    def of(cls, amounts: Floats) -> ValueLevels:
        """Look at the values of a column without missing ones."""
        values, counts = np.unique(amounts, return_counts=True)
        n = len(values)
        is_flag = bool(np.isin(values, (0.0, 1.0)).all())
        is_code = n <= MOST_LEVELS and (is_flag or n * LEAST_PER_LEVEL <= len(amounts))
        commonest = float(values[np.argmax(counts)]) if n else float("nan")
        is_of_most = bool(n and counts.max() >= max(SHARED * len(amounts), LEAST_PER_LEVEL))
        # Sums from 0 need no number of records.
        shared = 0.0 if is_code and 0.0 in values else commonest
        if not is_code and not is_of_most:
            shared = float("nan")
        return cls(values if is_code else values[:0], shared, is_of_most and shared == commonest)

    @property
    def is_code(self) -> bool:
        """Whether sums of the column count records."""
        return len(self.values) > 0

    def own(self, amounts: Floats) -> Floats:
        """Return what each record adds of its own: its difference from the shared value."""
        if np.isnan(self.shared):
            return amounts
        apart = np.asarray(amounts - self.shared, dtype=np.float64)
        # Amounts that all lie below the shared value are told by what they fall short of it.
        return apart if apart.max(initial=0.0) > 0 else -apart

    def number(self, sums: Floats, records: Floats) -> tuple[Floats, Floats]:
        """Return how many records at most have another value than the lowest, and the highest.

        A sum that lies no more than m steps above the least that is possible tells that at most m
        records differ from the lowest value.
        """
        low, high = self.values[0], self.values[-1]
        first, last = self.values[1] - low, high - self.values[-2]
        return (sums - records * low) / first, (records * high - sums) / last


def shared_by_all(columns: pd.DataFrame) -> str:
    """Return what is told of everybody by any output of columns, "" if nothing is.

    A flag that is the same for all records is in no other category of a table, whose emptiness
    would tell the same.
    """
    said = []
    for name in columns.columns:
        column = columns[name].dropna()
        if len(column) and pd.api.types.is_numeric_dtype(column):
            lowest, highest = float(column.min()), float(column.max())
            if lowest == highest and lowest in (0.0, 1.0):
                said.append(f"{name} = {lowest:.0f}")
    return f"all {len(columns)} records have {' and '.join(said)}" if said else ""


def counted(amounts: Floats, group: Integers) -> tuple[Floats | None, Integers]:
    """Return what sums over groups add up: amounts of records, or no more than their number.

    Parameters
    ----------
    amounts : (n,) array of float
    group : (n,) array of int
        -1 for none.

    Returns
    -------
    amounts : (n,) array of float, optional
        What each record adds of its own; None if all that remains is a count.
    group : (n,) array of int
        -1 also for records that add nothing of their own.
    """
    there = group >= 0
    levels = ValueLevels.of(amounts[there])
    is_pair = levels.is_code and len(levels.values) <= 2
    if np.isnan(levels.shared) or not (is_pair or levels.is_of_most):
        return amounts, group
    apart = levels.own(amounts)
    there &= apart != 0
    if not there.any() and levels.shared:
        # A constant counts records.
        apart, there = amounts, group >= 0
    group = np.where(there, group, -1)
    return None if len(np.unique(apart[there])) == 1 else apart, group


def digits_of(number: str) -> int:
    """Return the number of digits of a number, without zeros at its ends."""
    return len(number.replace(".", "").strip("0"))


def is_round(number: str) -> bool:
    """Whether a number has so few digits that it is hardly somebody's amount."""
    return digits_of(number) <= DIGITS


def is_cut_at_an_amount(values: Floats, value: float, threshold: int) -> bool:
    """Whether amounts were clipped at a value that, by its digits, may be somebody's own.

    Parameters
    ----------
    values : (n,) array of float
    value : float
        One that several records share.
    threshold : int
        Records of one value, in most cases, from which values are no amounts.
    """
    different, counts = np.unique(values, return_counts=True)
    if np.median(counts) >= threshold:
        return False
    usual = np.median([digits_of(f"{abs(amount):.12g}") for amount in different[:MOST_LOOKED_AT]])
    return bool(digits_of(f"{abs(value):.12g}") >= usual)


def may_be_amounts(labels: Iterable[object], codes: frozenset[str] = frozenset()) -> bool:
    """Whether labels have numbers that somebody's amount may be: long ones, but years.

    Numbers in a row count something. Codes of one length look like amounts of one length, unless
    they are listed (`codes`, without dots).
    """
    labels = [label for label in labels if str(label).replace(".", "") not in codes]
    names = [SEPARATOR.sub("", str(label)) for label in labels]
    flat = [number for name in names for number in NUMBER.findall(name)]
    if any(pd.api.types.is_float(label) and label % 1 for label in labels):
        return True
    return not all(is_round(number) or number in YEARS for number in flat) and not _are_in_a_row(
        flat
    )


def in_order(key: pd.Series[Any], *, is_given: bool = False) -> list[Any]:
    """Return the codes of a key in an order that says nothing of what their records have.

    Codes are in the order of their values, categories in that of the numbers in their names.

    Parameters
    ----------
    key : Series
    is_given : bool, default=False
        Whether the order of categories is known to be nobody's.
    """
    codes = [*pd.Index(key.dropna().unique())]
    if isinstance(key.dtype, pd.CategoricalDtype):
        codes = [code for code in key.cat.categories if code in set(codes)]
        if is_given or _numbers_ascend(codes):
            return codes
    try:
        return sorted(codes)
    except TypeError:
        return sorted(codes, key=str)


def _numbers_ascend(codes: Sequence[object]) -> bool:
    """Whether all codes have numbers in their names, and these ascend: "under 18", "18 to 64"."""
    numbers = [[*map(float, NUMBER.findall(SEPARATOR.sub("", str(code))))] for code in codes]
    return all(one and one < other for one, other in pairwise([*numbers, [np.inf]]))


def _are_in_a_row(numbers: Sequence[str]) -> bool:
    """Whether several numbers count something: those between them occur as well."""
    values = {float(number) for number in numbers}
    return len(values) > 2 and max(values) - min(values) < 2 * len(values)
