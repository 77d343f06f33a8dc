"""Types of arrays, each named once, and how whole numbers in them are ranked and numbered."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Texts: TypeAlias = npt.NDArray[np.str_]

Signs: TypeAlias = npt.NDArray[np.int8]
"""1, -1, or 0 for neither."""

AnyIntegers: TypeAlias = npt.NDArray[np.integer[Any]]
"""Whole numbers of any size, as indices of sparse matrices are."""

LongFloats: TypeAlias = npt.NDArray[np.longdouble]
"""Numbers with the longest mantissa that the machine computes with."""


def median_of_positive(numbers: Floats) -> float:
    """Return the median of the numbers above 0, which is a typical size; 1 if there is none."""
    positive = numbers[numbers > 0]
    return float(np.median(positive)) if len(positive) else 1.0


def are_among(numbers: Integers, ordered: Integers) -> Flags:
    """Flag the numbers, each 0 or more, that occur in an increasing array."""
    flags: Flags = np.append(ordered, -1)[np.searchsorted(ordered, numbers)] == numbers
    return flags


FEW_TIMES = 8
"""A table of all numbers that could occur is quicker than sorting, up to so many for each."""


def ranked(numbers: Integers) -> tuple[int, Integers]:
    """Return how many distinct numbers there are, and the rank of each among them.

    Parameters
    ----------
    numbers : numpy.ndarray of int, shape (n,)
        0 or above.
    """
    size = int(numbers.max(initial=-1)) + 1
    if size > FEW_TIMES * len(numbers):
        distinct, rank = np.unique(numbers, return_inverse=True)
        return len(distinct), rank.reshape(-1)
    occurs = np.zeros(size, dtype=bool)
    occurs[numbers] = True
    place = np.cumsum(occurs) - 1
    return int(np.count_nonzero(occurs)), place[numbers]


MOST_ROWS = 2**62
"""Combinations of numbers up to which a row of them becomes one whole number by arithmetic."""


def numbered_rows(*blocks: AnyIntegers) -> list[Integers]:
    """Return one number for each row of several blocks; they are in the order of the rows.

    Parameters
    ----------
    *blocks : numpy.ndarray of int, each of shape (n_rows, n_columns)
        0 or above, all with the same columns.
    """
    rows = np.concatenate(blocks) if len(blocks) > 1 else blocks[0]
    widths = [int(width) for width in rows.max(axis=0, initial=0) + 1]
    if not widths:
        return [np.zeros(len(block), dtype=np.int64) for block in blocks]
    if math.prod(widths) < MOST_ROWS:
        return [np.ravel_multi_index(tuple(block.T), widths) for block in blocks]
    number = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    return np.split(number, np.cumsum([len(block) for block in blocks])[:-1])


def own_digits(value: float) -> float:
    """Return the short decimal number that a float stands for, -43.9 for -43.900000000000006."""
    if float(value).is_integer():
        return value
    short = float(f"{value:.11g}")
    # Numbers of up to 15 digits, which people may have given, lie farther from a shorter one.
    return short if abs(short - value) <= 8e-16 * abs(value) else value
