"""Filters that keep some groups because of what all records of these have.

"Hospitals with at least five cases" tells of each hospital that is left out that it has fewer. A
list of hospitals tells nothing, and looks the same: all records of some codes. So it is asked
whether a figure of groups, such as their number of cases, tells which of them are kept: those where
it is larger, or in some runs of its values, or one of some values, where hardly any list would have
that by chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations
from math import comb, log

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import gammaln

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.safe.formula_search import MOST_CLASSES, PER_CODE, numbers_of

CHANCE, RARE = 0.05, 0.002
"""Probability, over all figures of a kind, below which it is no accident that one tells which
groups are kept: by two runs of a figure of one column, and in other ways, of which there are more.
"""

MOST_RANKS = 10
"""How many of the largest and smallest amounts of a group are figures of it: a filter that asks for
so many above a number is one of them."""


class DataGroups:
    """The groups of the data: records of each code of a column.

    Parameters
    ----------
    frame : DataFrame
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame
        self._last: tuple[Flags, str] = (np.zeros(0, dtype=np.bool_), "")

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
    def _amounts(self) -> dict[str, Floats]:
        """Columns of numbers, and dates, of so many values that they are hardly codes."""
        names = [name for name in self._frame if self._frame[name].nunique() > MOST_CLASSES]
        return {str(name): one for name in names for one in numbers_of(self._frame[name])[:1]}

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
        # Most outputs of a filter follow one another.
        if not np.array_equal(kept, self._last[0]):
            self._last = kept, self._chosen_by(kept)
        return self._last[1]

    def _chosen_by(self, kept: Flags) -> str:
        # Of amounts that are codes as well, those that few have are missing by chance.
        has_code = {
            name: np.isin(codes, codes[kept])
            for name, codes in self._codes.items()
            if name not in self._amounts
        }
        spans = [np.ones_like(kept), *(_spans(amounts, kept) for amounts in self._amounts.values())]
        # What the filter asks besides, as far as codes and ranges of amounts tell it.
        asked = np.logical_and.reduce([*spans, *has_code.values()])
        for names, codes in self._keys():
            rows = np.bincount(codes[kept], minlength=int(codes.max()) + 1)[codes] > 0
            if not np.array_equal(asked & rows, kept):
                continue
            if rows.all() or _chance(codes, rows) > CHANCE:
                continue
            common = [other for other, theirs in self._codes.items() if _tells(codes, theirs)]
            others = [having for other, having in has_code.items() if other not in common]
            beside = np.logical_and.reduce([*spans, *others])
            lists = [self._codes[name] for name in names]
            is_listed = len(lists) > 1 and any(
                _are_listed(lists, some, beside) for some in (kept, beside & ~kept)
            )
            if not is_listed and self._follows(codes, common, beside, kept):
                return " and ".join(names)
        return ""

    def _keys(self) -> Iterator[tuple[tuple[str, ...], npt.NDArray[np.int64]]]:
        """Yield columns with codes, and each two that have few together, with their codes."""
        for name, codes in self._codes.items():
            yield (name,), codes
        for (one, codes), (other, theirs) in combinations(self._codes.items(), 2):
            n_others = int(theirs.max()) + 1
            if (int(codes.max()) + 1) * n_others * PER_CODE <= len(codes):
                yield (one, other), codes * n_others + theirs

    def _follows(
        self, codes: npt.NDArray[np.int64], common: Sequence[str], rows: Flags, kept: Flags
    ) -> bool:
        """Whether a figure of groups tells which of them are kept.

        Parameters
        ----------
        codes : (n,) array of int
            Group of each record of the data.
        common : sequence of str
            Columns of which all records of a group have one code.
        rows : (n,) array of bool
            Where all records are that the filter would keep if it kept all groups.
        kept : (n,) array of bool
        """
        groups, first = np.unique(codes[rows], return_index=True)
        is_kept = np.isin(groups, codes[kept])
        for other in common:
            # Those of some sectors, or a range of codes or sizes.
            said = self._codes[other][rows][first]
            are_apart = not np.isin(said[is_kept], said[~is_kept]).any()
            if are_apart and (_chance(said, is_kept) > CHANCE or _are_range(said, is_kept)):
                return False
        everywhere = np.isin(codes, groups)
        for some in (rows, everywhere) if everywhere.sum() > rows.sum() else (rows,):
            figures = GroupFigures(
                np.searchsorted(groups, codes[some]),
                [
                    np.unique(numbers[some], return_inverse=True)[1]
                    for other, numbers in self._codes.items()
                    if other not in common
                ],
                [amounts[some] for amounts in self._amounts.values()],
            )
            if any(_tells_which(kind, is_kept, chance) for kind, chance in figures.kinds()):
                return True
        return False


class GroupFigures:
    """Figures of groups, by which a filter may choose some of them.

    Parameters
    ----------
    group : (n,) array of int
        Group of each record.
    codes : sequence of (n,) array of int
        Codes that records have within groups, each numbered from 0.
    amounts : sequence of (n,) array of float
    """

    def __init__(
        self, group: Integers, codes: Sequence[Integers], amounts: Sequence[Floats]
    ) -> None:
        self._group = group
        self._n = int(group.max()) + 1
        self._sizes = np.bincount(group).astype(np.float64)
        sized = [(one, int(one.max()) + 1) for one in codes]
        self._codes = [(one, n_labels) for one, n_labels in sized if n_labels <= MOST_CLASSES]
        # What all records of a group have in common stands in the data, and is no result.
        self._amounts = [
            one for one in amounts
            if np.nanmax(np.ptp(_statistics(one, group, self._n)[:, -2:], axis=1), initial=0) > 0
        ]  # fmt: skip

    def kinds(self) -> Iterator[tuple[Iterator[Floats], float]]:
        """Yield the figures of each kind, in arrays with a row for each group, and its chance."""
        yield self._of_columns(), CHANCE
        yield self._of_few(), RARE
        yield self._of_parts(), RARE

    def _of_columns(self) -> Iterator[Floats]:
        """Numbers of records and of codes, shares of these, and statistics of amounts."""
        yield self._sizes[:, None]
        for code, n_labels in self._codes:
            yield from self._counts(code, n_labels)
        for amounts in self._amounts:
            yield _statistics(amounts, self._group, self._n)[:, 1:]

    def _of_few(self) -> Iterator[Floats]:
        """Numbers of two codes together, deviations, ranks, numbers of those above some line."""
        for (one, n_one), (other, n_other) in combinations(self._codes, 2):
            yield from self._counts(one * n_other + other, n_one * n_other)
        for amounts in self._amounts:
            yield _statistics(amounts, self._group, self._n)[:, :1]
            ordered, starts, sizes = _sorted_within(amounts, self._group, self._n)
            for rank in range(1, MOST_RANKS):
                ends = [(starts + sizes - 1 - rank), (starts + rank)]
                yield np.stack(
                    [np.where(sizes > rank, ordered[np.minimum(at, len(ordered) - 1)], np.nan)
                     for at in ends], axis=1,
                )  # fmt: skip
            lines = _lines(amounts)
            above = np.searchsorted(lines, amounts, side="right")
            above = np.where(np.isnan(amounts), 0, above)
            table = np.bincount(
                self._group * (len(lines) + 1) + above, minlength=self._n * (len(lines) + 1)
            ).reshape(self._n, -1)
            yield table[:, :0:-1].cumsum(axis=1).astype(np.float64)

    def _of_parts(self) -> Iterator[Floats]:
        """Statistics of the amounts of those who have a code."""
        for code, n_labels in self._codes:
            for amounts in self._amounts:
                cells = self._group * n_labels + code
                yield _statistics(amounts, cells, self._n * n_labels).reshape(self._n, -1)

    def _counts(self, code: Integers, n_labels: int) -> Iterator[Floats]:
        counts = np.bincount(self._group * n_labels + code, minlength=self._n * n_labels)
        table = counts.reshape(self._n, n_labels).astype(np.float64)
        yield table
        yield table / self._sizes[:, None]


def _sorted_within(
    amounts: Floats, cells: Integers, n_cells: int
) -> tuple[Floats, Integers, Integers]:
    """Return amounts in order within cells, and where each cell starts, and how many it has."""
    there = ~np.isnan(amounts)
    amounts, cells = amounts[there], cells[there]
    sizes = np.bincount(cells, minlength=n_cells)
    ordered = amounts[np.lexsort((amounts, cells))]
    return np.append(ordered, np.nan), np.cumsum(sizes) - sizes, sizes


def _statistics(amounts: Floats, cells: Integers, n_cells: int) -> Floats:
    """Return deviation, sum, mean, median, smallest and largest amount of each cell, as columns."""
    ordered, starts, sizes = _sorted_within(amounts, cells, n_cells)
    ends = np.where(sizes > 0, starts + sizes - 1, len(ordered) - 1)
    lower, upper = starts + np.maximum(sizes - 1, 0) // 2, starts + sizes // 2
    filled = np.nan_to_num(amounts)
    there = np.maximum(sizes, 1)
    total = np.bincount(cells, filled, minlength=n_cells)
    mean = total / there
    apart = np.where(np.isnan(amounts), 0.0, amounts - mean[cells])
    deviation = np.sqrt(np.bincount(cells, apart**2, minlength=n_cells) / there)
    last = len(ordered) - 1
    of_order = [
        (ordered[np.minimum(lower, last)] + ordered[np.minimum(upper, last)]) / 2,
        ordered[np.minimum(starts, last)], ordered[ends],
    ]  # fmt: skip
    figures = np.stack([deviation, total, mean, *of_order], axis=1)
    figures[sizes == 0] = np.nan
    return figures


def _lines(amounts: Floats) -> Floats:
    """Return the numbers of two digits between the ends of amounts, where filters draw lines."""
    there = np.abs(amounts[np.isfinite(amounts) & (amounts != 0)])
    if not len(there):
        return np.zeros(0)
    powers = np.arange(np.floor(np.log10(there.min())), np.ceil(np.log10(there.max())) + 1)
    numbers = np.unique(np.outer(10.0 ** powers[-4:], np.arange(10, 100) / 10))
    lines = np.concatenate([-numbers[::-1], [0.0], numbers])
    return lines[(lines > np.nanmin(amounts)) & (lines <= np.nanmax(amounts))]


def _tells_which(figures: Iterator[Floats], is_kept: Flags, chance: float) -> bool:
    """Whether one of some figures tells which groups are kept, and hardly any list by chance.

    A figure tells it if no two groups of one value differ. In the order of the figure those that
    are kept then stand in runs. Lists of as many groups in as many runs are counted, or, where
    groups share values, choices of as many runs of values.
    """
    n, k = len(is_kept), int(is_kept.sum())
    n_figures, best = 0, np.inf
    for table in figures:
        n_figures += table.shape[1]
        filled = np.nan_to_num(table, nan=-np.inf, neginf=-np.inf)
        order = np.argsort(filled, axis=0, kind="stable")
        ordered = np.take_along_axis(filled, order, axis=0)
        is_new = ordered[1:] != ordered[:-1]
        changes = np.diff(is_kept[order].astype(np.int8), axis=0) != 0
        tells = ~(changes & ~is_new).any(axis=0)
        c, values = changes.sum(axis=0)[tells], is_new.sum(axis=0)[tells] + 1
        if not len(c):
            continue
        runs, others = (c + 2) // 2, (c + 1) // 2
        lists = np.logaddexp(
            _log_comb(k - 1, runs - 1) + _log_comb(n - k - 1, others - 1),
            _log_comb(k - 1, others - 1) + _log_comb(n - k - 1, runs - 1),
        )
        choices = np.log(2) + _log_comb(values - 1, c)
        # Two runs have a chance of their own, more runs share another.
        share = np.where(c == 1, chance, RARE / np.maximum(c * (c - 1), 1))
        best = min(best, float((np.minimum(lists, choices) - np.log(share)).min()))
    return bool(n_figures and best + log(n_figures) <= _log_comb(n, k))


def _log_comb(n: npt.ArrayLike, k: npt.ArrayLike) -> Floats:
    """Return the logarithm of the number of ways to choose k of n."""
    n, k = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(np.maximum(n - k, 0) + 1)
    return np.asarray(np.where(k <= n, ways, -np.inf), dtype=np.float64)


def _tells(codes: npt.NDArray[np.int64], others: npt.NDArray[np.int64]) -> bool:
    """Whether all records of each code have one code of another column."""
    one_of = np.zeros(int(codes.max()) + 1, dtype=np.int64)
    one_of[codes] = others
    return np.array_equal(one_of[codes], others)


def _are_listed(lists: Sequence[npt.NDArray[np.int64]], some: Flags, among: Flags) -> bool:
    """Whether some records are all of others that have one of a list of codes in each column."""
    has_codes = (np.isin(codes, codes[some]) for codes in lists)
    return np.array_equal(some, np.logical_and.reduce([among, *has_codes]))


def _chance(codes: npt.NDArray[np.int64], kept: Flags) -> float:
    """Return how probable it is that a figure separates codes that are kept from others."""
    n, n_kept = (np.count_nonzero(np.bincount(some)) for some in (codes, codes[kept]))
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
