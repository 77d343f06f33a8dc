"""Special uniques: records that are unique by few of their keys.

References
----------
.. [1] Elliot, Manning, Ford: A computational algorithm for handling the special uniques
   problem, 2002; Manning, Haglin, Keane: SUDA2, 2008.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import factorial

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.errors import InputError
from tablecloak.microdata.coding import CodedRecords

__all__ = ["special_uniques"]

Integers = npt.NDArray[np.int64]

MANY_KEYS = 16
"""Largest number of keys, since all subsets of the keys are examined."""


def special_uniques(
    frame: pd.DataFrame, keys: Sequence[str], *, largest: int | None = None
) -> Integers:
    """Score records by their minimal sample uniques (SUDA2).

    Parameters
    ----------
    frame : pandas.DataFrame
    keys : sequence of str
        At most 16 attributes.
    largest : int, optional
        Largest number of keys in a minimal unique; by default the number of keys.

    Returns
    -------
    numpy.ndarray of int, shape (n_records,)
        Score: the sum, over the minimal unique subsets of keys, of prod_{i=s}^{m} (K - i) for a
        subset of size s, with K keys and subsets up to size m < K. The set of all keys counts 1.
        0 for records without a minimal unique.

    Raises
    ------
    InputError
        If there are too many keys.
    """
    if len(keys) > MANY_KEYS:
        raise InputError(
            f"{len(keys)} keys have too many subsets. Name at most {MANY_KEYS} keys: those that an "
            "intruder is most likely to know."
        )
    records = CodedRecords.of(frame, keys)
    count = len(keys)
    most = count if largest is None else min(largest, count)
    top = min(most, count - 1)
    score = np.zeros(records.n_records, dtype=np.int64)
    unique: dict[tuple[str, ...], npt.NDArray[np.bool_]] = {}
    for size in range(1, most + 1):
        points = factorial(count - size) // factorial(count - top - 1) if size <= top else 1
        for subset in itertools.combinations(records.names, size):
            cells = records.combined(subset)
            alone = np.bincount(cells)[cells] == 1
            unique[subset] = alone
            minimal = alone.copy()
            for smaller in itertools.combinations(subset, size - 1):
                if smaller:
                    minimal &= ~unique[smaller]
            score[minimal] += points
    return score
