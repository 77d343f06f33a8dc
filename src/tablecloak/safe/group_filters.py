"""Filters that keep some groups because of what all records of these have.

"Hospitals with at least five cases" tells of each hospital that is left out that it has fewer. A
list of hospitals tells nothing, and looks the same: all records of some codes. So it is asked
whether a figure of groups, such as their number of cases, is larger for all that are kept than for
all that are not, where hardly any list would have that by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import comb

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.safe.formula_search import MOST_CLASSES, PER_CODE, numbers_of

CHANCE = 0.05
"""Probability, over all figures, below which it is no accident that one separates groups."""


class DataGroups:
    """The groups of the data: records of each code of a column.

    Parameters
    ----------
    frame : DataFrame
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    @cached_property
    def _codes(self) -> dict[str, npt.NDArray[np.int64]]:
        """Numbers of the codes of each column that has few, in the order of their values."""
        found = {}
        for name in self._frame:
            column = self._frame[name]
            codes, labels = pd.factorize(column, use_na_sentinel=False)
            if len(labels) > 1 and len(labels) * PER_CODE <= len(codes):
                is_number = pd.api.types.is_numeric_dtype(column)
                values = pd.Series(labels).astype("float64" if is_number else "str")
                ranks = values.rank(method="first").fillna(0).to_numpy(np.float64)
                found[str(name)] = ranks.astype(np.int64)[codes]
        return found

    @cached_property
    def _amounts(self) -> list[Floats]:
        """Columns of numbers, and dates, of so many values that they are hardly codes."""
        names = [name for name in self._frame if self._frame[name].nunique() > MOST_CLASSES]
        return [one for name in names for one in numbers_of(self._frame[name])[:1]]

    def chosen_by(self, positions: Integers) -> str:
        """Return the column whose codes were chosen by a figure of all their records, "" if none.

        Parameters
        ----------
        positions : (n,) array of int
            Where the records that were kept stand in the data.
        """
        kept = np.zeros(len(self._frame), dtype=np.bool_)
        kept[positions] = True
        if kept.all() or not kept.any():
            return ""
        has_code = {name: np.isin(codes, codes[kept]) for name, codes in self._codes.items()}
        for name, rows in has_code.items():
            if rows.all() or _chance(self._codes[name], rows) > CHANCE:
                continue
            # What the filter asks besides, as far as codes and ranges of amounts tell it.
            beside = np.logical_and.reduce(
                [
                    *(_spans(amounts, kept) for amounts in self._amounts),
                    *(has_code[other] for other in self._codes if not self._tells(name, other)),
                ],
                initial=True,
                axis=0,
            )
            if np.array_equal(beside & rows, kept) and self._follows(name, beside, kept):
                return name
        return ""

    def _tells(self, name: str, other: str) -> bool:
        """Whether all records of each code have one code of another column."""
        pairs = pd.DataFrame({"one": self._codes[name], "other": self._codes[other]})
        return len(pairs.drop_duplicates()) == pairs["one"].nunique()

    def _follows(self, name: str, rows: Flags, kept: Flags) -> bool:
        """Whether a figure of groups separates those that are kept from all others."""
        codes = self._codes[name]
        groups, first, group = np.unique(codes[rows], return_index=True, return_inverse=True)
        is_kept = np.isin(groups, codes[kept])
        for other, numbers in self._codes.items():
            # Those of some sectors, or a range of codes or sizes.
            if self._tells(name, other):
                said = numbers[rows][first]
                are_apart = not np.isin(said[is_kept], said[~is_kept]).any()
                if are_apart and (_chance(said, is_kept) > CHANCE or _are_range(said, is_kept)):
                    return False
        n_figures, are_apart = 0, False
        for figure in self._figures(name, rows, group):
            there, others = figure[is_kept], figure[~is_kept]
            n_figures += 1
            are_apart |= bool(there.min() > others.max() or there.max() < others.min())
        return are_apart and n_figures * _chance(groups, is_kept) <= CHANCE

    def _figures(self, name: str, rows: Flags, group: Integers) -> Iterator[Floats]:
        """Yield numbers of records, of codes, shares of these, and statistics of amounts."""
        sizes = np.bincount(group).astype(np.float64)
        yield sizes
        others = [codes for other, codes in self._codes.items() if other != name]
        for codes in others:
            labels, code = np.unique(codes[rows], return_inverse=True)
            if len(labels) <= MOST_CLASSES:
                counts = np.bincount(group * len(labels) + code, minlength=len(sizes) * len(labels))
                for count in counts.reshape(len(sizes), len(labels)).T.astype(np.float64):
                    yield count
                    yield count / sizes
        for amounts in self._amounts:
            by_group = pd.Series(amounts[rows]).groupby(group)
            statistics = by_group.agg(["sum", "mean", "median", "min", "max"])
            yield from statistics.to_numpy(dtype=np.float64).T


def _chance(codes: npt.NDArray[np.int64], kept: Flags) -> float:
    """Return how probable it is that a figure separates codes that are kept from others."""
    n, n_kept = len(np.unique(codes)), len(np.unique(codes[kept]))
    return 2 / comb(n, n_kept)


def _are_range(codes: npt.NDArray[np.int64], kept: Flags) -> bool:
    """Whether codes that are kept, or all others, stand in a row."""
    return bool(np.count_nonzero(np.diff(kept[np.argsort(codes)].astype(np.int8))) <= 2)


def _spans(amounts: Floats, kept: Flags) -> Flags:
    """Return which amounts lie between those of records that are kept."""
    there = amounts[kept]
    known = there[~np.isnan(there)]
    low, high = known.min(initial=np.inf), known.max(initial=-np.inf)
    is_inside = (amounts >= low) & (amounts <= high)
    if len(known) < len(there):
        is_inside |= np.isnan(amounts)
    return np.asarray(is_inside, dtype=np.bool_)
