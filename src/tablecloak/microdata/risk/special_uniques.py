"""Special uniques: records that are unique by few of their keys.

References
----------
.. [1] Elliot, Manning, Ford: A computational algorithm for handling the special uniques
   problem, 2002; Manning, Haglin, Keane: SUDA2, 2008.
.. [2] Elliot, Manning, Mayes, Gurd, Bane: SUDA: a program for detecting special uniques, 2005
   (DIS-SUDA); Skinner, Elliot: A measure of disclosure risk for microdata, Journal of the Royal
   Statistical Society B 64, 2002 (DIS).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.columns import names_of
from tablecloak.microdata.library_frames import of_any_library
from tablecloak.microdata.risk.keys import KeyCells

MANY_KEYS = 16
"""Largest number of keys, since all subsets of the keys are examined."""

SPARSE = 4
"""Combinations are counted in an array of up to this many times the number of cells, else sorted
out by hashing."""


@dataclass(frozen=True, eq=False)
class SpecialUniqueRisk:
    """Scores of special uniques, and what each key contributes.

    Parameters
    ----------
    keys : tuple of str
    score : numpy.ndarray of int, shape (n_records,)
        SUDA2 score: the sum, over the minimal unique subsets of keys, of prod_{i=s}^{m} (K - i)
        for a subset of size s, with K keys and subsets up to size m < K. The set of all keys
        counts 1. 0 for records without a minimal unique.
    disclosure : numpy.ndarray of float, shape (n_records,)
        DIS-SUDA: probability that a match of the record by the keys is right. It grows with the
        score, and is DIS for all where all scores are equal.
    contribution : numpy.ndarray of float, shape (n_records, n_keys)
        Share of the score that is due to minimal uniques with that key. A minimal unique of
        several keys counts for each, so that rows add up to more than 1.
    """

    keys: tuple[str, ...]
    score: Integers
    disclosure: Floats
    contribution: Floats

    def per_key(self) -> pd.Series:
        """Return the share of the total score that is due to minimal uniques with each key."""
        total = max(float(self.score.sum()), 1e-300)
        share = self.score @ self.contribution / total
        return pd.Series(share, index=pd.Index(self.keys, name="key"), name="contribution")

    def summary(self) -> str:
        """Return the scores of the file in one line."""
        special = int(np.sum(self.score > 0))
        return (
            f"special uniques: {special} of {len(self.score)} records, largest score "
            f"{int(self.score.max(initial=0))}; {float(self.disclosure.sum()):.4g} right matches "
            "expected"
        )


@of_any_library
def special_unique_risk(
    frame: pd.DataFrame,
    keys: Sequence[str],
    *,
    largest: int | None = None,
    fraction: float = 0.01,
) -> SpecialUniqueRisk:
    """Score records by their minimal sample uniques (SUDA2), as a probability of disclosure too.

    Parameters
    ----------
    frame : pandas.DataFrame
    keys : sequence of str
        At most 16 attributes. A missing value makes no record unique, and no other record less
        so.
    largest : int, optional
        Largest number of keys in a minimal unique; by default the number of keys.
    fraction : float, default=0.01
        Sampling fraction, 0 < fraction < 1.

    Returns
    -------
    SpecialUniqueRisk
        With U unique records and P records in pairs, DIS = U f / (U f + P (1 - f)) is the
        probability that a unique match is right [2]_. It is shared out by
        1 / (1 + U (1/DIS - 1) / (s^Q sum 1/s^Q)) over records of scores s > 0, with
        Q = 1 + (8 - K) / 20, as in sdcMicro.

    Raises
    ------
    InputError
        If there are too many keys, or the fraction is out of range.
    """
    if len(keys) > MANY_KEYS:
        raise InputError(
            f"{len(keys)} keys have too many subsets. Name at most {MANY_KEYS} keys: those that "
            "an intruder is most likely to know."
        )
    if not 0 < fraction < 1:
        raise InputError(f"`fraction` must lie between 0 and 1. Got {fraction!r}.")
    names = tuple(names_of(keys, "keys"))
    cells = KeyCells.of(CodedRecords.of(frame, names))
    unique = np.flatnonzero(cells.count == 1)
    count = len(names)
    most = count if largest is None else min(largest, count)
    top = min(most, count - 1)
    score = np.zeros(len(cells.count), dtype=np.int64)
    by_key = np.zeros((len(cells.count), count))
    for subset, minimal in minimal_uniques(cells, most):
        size = len(subset)
        points = factorial(count - size) // factorial(count - top - 1) if size <= top else 1
        score[unique[minimal]] += points
        by_key[unique[minimal][:, None], list(subset)] += points
    share = by_key / np.maximum(score, 1)[:, None]
    chance = _disclosure(score[unique], int(np.sum(cells.count == 2)), count, fraction)
    of_cell = np.zeros(len(score))
    of_cell[unique] = chance
    at = cells.of_record
    return SpecialUniqueRisk(names, score[at], of_cell[at], share[at])


def _disclosure(score: Integers, pairs: int, n_keys: int, fraction: float) -> Floats:
    """Return the DIS-SUDA scores of the records that are unique in all keys."""
    chance = np.zeros(len(score))
    special = score > 0
    if special.any():
        # U (1/DIS - 1) = P (1 - f) / f.
        wrong = 2 * pairs * (1 - fraction) / fraction
        power = score[special].astype(np.float64) ** (1 + (8 - n_keys) / 20)
        chance[special] = 1 / (1 + wrong / (power * np.sum(1 / power)))
    return chance


def minimal_uniques(cells: KeyCells, most: int) -> Iterator[tuple[tuple[int, ...], Flags]]:
    """Find, for each set of up to `most` keys, the records that it alone makes unique.

    A record is unique by a set of keys if no other record has the same values there. Only records
    that are unique in all keys are, so that others are merely counted.

    Yields
    ------
    subset : tuple of int
        Positions of keys.
    minimal : numpy.ndarray of bool
        Whether each cell with one record is unique by the subset, and by no part of it.
    """
    unique = np.flatnonzero(cells.count == 1)
    absent = cells.missing[unique]
    smaller: dict[tuple[int, ...], Flags] = {}
    for size in range(1, most + 1):
        alone = {}
        for subset, label, limit in _labels(cells, size):
            number = np.bincount(label, weights=cells.count, minlength=limit)
            here = (number[label[unique]] == 1) & ~absent[:, subset].any(axis=1)
            alone[subset] = here
            minimal = here.copy()
            for part in itertools.combinations(subset, size - 1) if size > 1 else ():
                minimal &= ~smaller[part]
            if minimal.any():
                yield subset, minimal
        smaller = alone


def _labels(cells: KeyCells, size: int) -> Iterator[tuple[tuple[int, ...], Integers, int]]:
    """Number the combinations of each set of keys, below a limit."""
    dense = SPARSE * len(cells.count) + 1000
    prefix: list[tuple[int, Integers, int]] = []
    for subset in itertools.combinations(range(len(cells.codes)), size):
        kept = 0
        while kept < len(prefix) and prefix[kept][0] == subset[kept]:
            kept += 1
        # Subsets come in lexicographic order, so that most of the last labels serve again.
        del prefix[kept:]
        for key in subset[kept:]:
            codes = cells.codes[key]
            width = int(codes.max()) + 1
            _, label, limit = prefix[-1] if prefix else (-1, np.zeros_like(codes), 1)
            label, limit = label * width + codes, limit * width
            if limit > dense:
                label, labels = pd.factorize(label)
                limit = len(labels)
            prefix.append((key, label, limit))
        yield subset, prefix[-1][1], prefix[-1][2]
