"""Types of arrays, each named once."""

from __future__ import annotations

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
