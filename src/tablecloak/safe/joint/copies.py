"""Columns of amounts that are changed copies of each other.

Variables are known by their values: a column that was rounded, clipped, put on another scale or
changed at a few records is the same variable. Where two columns agree at most records, sums of both
over the same records tell the sum of the others.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, kron

from tablecloak.arrays import AnyIntegers, Flags, Floats, Integers
from tablecloak.safe.joint.system import FigureSystem
from tablecloak.safe.output import Figures

SAME = 1e-9
"""Relative difference up to which amounts are the same: they may come in another unit."""

LOOKED_AT = 2000
"""Records by which it is judged whether one column rises with another."""

APART, MOST_APART = 0.05, 9
"""Share and number of records that may be out of line."""

NOISE = 0.1
"""Share by which records may differ from a multiple of another column, and be noisy copies."""

LEAST = 10
"""Records from which a column that rises with another is no accident."""

DRAWN, SEEMS_MOST = 60, 0.4
"""Pairs of records by which the scale of most records is looked for, and share of the records
looked at below which it is none: half of all are more, by chances of 10^-18."""

NEARLY = 1e-7
"""Share by which a sum of columns may miss another."""

STILL = 1e-6
"""Move of a sum, in standard deviations, up to which it counts as none."""

MOST_FACTORS, WIDTH = 12, 0.02
"""Factors by which a column may be another one times a code of few values, as amounts in two
currencies are, and how far ratios of one factor may be apart, since amounts are rounded."""

PER_FACTOR, LEFT_OVER = 5, 0.01
"""Records for each factor from which these are no accident, and share of all amounts that rounding
may leave over."""


def is_copy(one: Floats, other: Floats) -> bool:
    """Whether a column is another one on a scale of its own, or rises with it but at few records.

    The rest of a rising sequence is what its longest rising part leaves: Schensted (1961), Canadian
    Journal of Mathematics 13, 179-191.
    """
    if not one.any() or not other.any():
        return not one.any() and not other.any()
    if scale_of(one, other) is not None:
        return True
    n = len(one)
    if n < LEAST or np.ptp(other) == 0 or np.ptp(one) == 0:
        return False
    if n > LOOKED_AT:
        some = np.random.default_rng(1).choice(n, LOOKED_AT, replace=False)
        one, other, n = one[some], other[some], LOOKED_AT
    if _is_noisy(one, other):
        return True
    allowed = min(APART * n + 1, MOST_APART)
    for given in (other, -other):
        ordered = given[np.lexsort((given, one))]
        tails: list[float] = []
        for value in ordered.tolist():
            at = bisect_right(tails, value)
            tails[at : at + 1] = [value]
        if n - len(tails) <= allowed:
            return True
    return False


def _is_noisy(one: Floats, other: Floats) -> bool:
    """Whether a column is another one with noise of some per cent, which sums level out."""
    both = (one != 0) & (other != 0)
    if both.sum() < max(LEAST, (1 - APART) * len(one)):
        return False
    ratio = other[both] / one[both]
    middle = float(np.median(ratio))
    is_close = np.abs(ratio - middle) <= NOISE * abs(middle)
    spread = float(np.std(np.log(np.abs(one[both]))))
    return bool(is_close.mean() >= 1 - APART and spread > 2 * NOISE)


def scale_of(one: Floats, other: Floats) -> tuple[float, float] | None:
    """Return a and b where other = a one + b throughout; None if it is not."""
    low, high = int(np.argmin(one)), int(np.argmax(one))
    spread = one[high] - one[low]
    if spread == 0:
        scale = other[low] / one[low] if one[low] else 1.0
        shift = 0.0
    else:
        scale = (other[high] - other[low]) / spread
        shift = float(other[low] - scale * one[low])
        # Amounts of few records lie on a line by accident; in another unit they do not.
        if len(one) <= 2 or abs(shift) <= SAME * np.abs(other).max():
            scale, shift = other[high] / one[high] if one[high] else scale, 0.0
    fits = np.abs(other - scale * one - shift).max() <= SAME * max(np.abs(other).max(), 1e-300)
    return (float(scale), float(shift)) if fits and scale else None


def in_unit_of(past: Floats, given: Floats, amounts: Floats) -> Floats:
    """Return amounts of a copy in the unit of the first column, from records that both know."""
    if not len(past):
        return amounts
    scale = scale_of(past, given)
    if scale is not None:
        return np.asarray((amounts - scale[1]) / scale[0], dtype=np.float64)
    order = np.argsort(given, kind="stable")
    return np.asarray(np.interp(amounts, given[order], past[order]), dtype=np.float64)


def scale_of_most(one: Floats, other: Floats) -> tuple[float, float] | None:
    """Return a and b where other = a one + b at half of all records or more."""
    if len(one) < LEAST:
        return None
    random = np.random.default_rng(1)
    pairs = random.integers(0, len(one), (DRAWN, 2))
    best, most = None, len(one) / 2
    slopes = [(1.0, 0.0)]
    for first, second in pairs.tolist():
        if one[first] != one[second] and other[first] != other[second]:
            slope = (other[first] - other[second]) / (one[first] - one[second])
            slopes.append((slope, other[first] - slope * one[first]))
    some = random.choice(len(one), min(len(one), LOOKED_AT), replace=False)
    for slope, shift in slopes:
        if _agrees(one[some], other[some], slope, shift).mean() < SEEMS_MOST:
            continue
        agree = int(_agrees(one, other, slope, shift).sum())
        if agree >= most:
            best, most = (float(slope), float(shift)), agree
    return best


def _agrees(one: Floats, other: Floats, slope: float, shift: float) -> Flags:
    limit = 1e-7 * np.maximum(np.abs(other), np.abs(slope * one) + abs(shift))
    return np.asarray(np.abs(other - slope * one - shift) <= limit)


def factors_of(one: Floats, other: Floats) -> tuple[Floats, Integers] | None:
    """Return few factors, and which of them each record of a column has in another one.

    None if the other column is no such multiple of it, or the same multiple throughout. Factors are
    read from the larger amounts, whose ratios rounding hardly changes.
    """
    size = np.abs(one)
    is_large = (size >= np.median(size)) & (size > 0) if len(one) else np.zeros(0, dtype=np.bool_)
    ratios = np.sort(other[is_large] / one[is_large])
    factors: list[float] = []
    while len(ratios):
        if len(factors) == MOST_FACTORS:
            return None
        within = ratios <= ratios[0] + WIDTH * abs(ratios[0])
        factors.append(float(np.median(ratios[within])))
        ratios = ratios[~within]
    if len(factors) < 2 or is_large.sum() < PER_FACTOR * len(factors):
        return None
    away = np.abs(other[:, None] - one[:, None] * np.array(factors))
    code = np.argmin(away, axis=1)
    is_multiple = away.min(axis=1).sum() <= LEFT_OVER * np.abs(other).sum()
    return (np.array(factors), code) if is_multiple else None


def column_of(columns: Sequence[AmountColumn], figures: Figures) -> AmountColumn | None:
    """Return the column whose amounts figures add up; None if there is none."""
    return next((column for column in columns if column.is_of(figures)), None)


@dataclass
class AmountColumn:
    """One column of amounts and all sums of it, apart from those of its copies.

    Parameters
    ----------
    name : str
    amounts : (n,) array of float
        nan where no figure has told it so far.
    """

    name: str
    amounts: Floats
    figures: list[Figures] = field(default_factory=list)
    _system: FigureSystem | None = None
    _n_taken: int = 0

    def grow(self, n_records: int) -> None:
        """Make room for records that were seen for the first time."""
        self.amounts = np.append(self.amounts, np.full(n_records - len(self.amounts), np.nan))

    def is_of(self, figures: Figures) -> bool:
        """Whether figures add up this very column."""
        past, given = self._both(figures)
        if not len(past):
            return figures.variable == self.name
        largest = np.abs(given).max()
        return bool(np.abs(past - given).max() <= SAME * largest)

    def is_copy_of(self, figures: Figures) -> bool:
        """Whether figures add up this column on another scale."""
        past, given = self._both(figures)
        return bool(len(past)) and scale_of(past, given) is not None

    def _both(self, figures: Figures) -> tuple[Floats, Floats]:
        assert figures.amounts is not None
        past = self.amounts[figures.records]
        both = ~np.isnan(past) & (figures.group >= 0)
        return past[both], figures.amounts[both]

    def knows_most(self, records: AnyIntegers) -> bool:
        """Whether nearly all of some records have stood in a figure of the column."""
        return bool(np.isnan(self.amounts[records]).mean() <= APART)

    def take_in(self, figures: Figures) -> None:
        """Take in figures of an output that was recorded."""
        there = figures.group >= 0
        assert figures.amounts is not None
        self.amounts[figures.records[there]] = figures.amounts[there]
        self.figures.append(figures)

    def with_figures(self, figures: Figures) -> AmountColumn:
        """Return the column with further figures, without taking these in."""
        other = AmountColumn(
            self.name, self.amounts.copy(), list(self.figures), self._system, self._n_taken
        )
        other.take_in(figures)
        return other

    def system(self, n_records: int) -> FigureSystem:
        """Return all figures of the column."""
        system = self._system if self._system is not None else FigureSystem.empty(n_records)
        system = system.grown(n_records)
        for figures in self.figures[self._n_taken :]:
            system = system.extended(figures)
        self._system, self._n_taken = system, len(self.figures)
        return system

    def difference(
        self, figures: Figures, n_records: int, beside: Figures | None = None
    ) -> list[Figures]:
        """Return the sums of the difference to another column that its figures and these tell.

        A figure of both is one that follows from figures of this column as well. Records at which
        the columns agree add nothing to the difference. Figures `beside` were asked already.
        """
        past, given = self._both(figures)
        scale = scale_of_most(past, given)
        if scale is None:
            return []
        assert figures.amounts is not None
        past = self.amounts[figures.records]
        is_known, past = ~np.isnan(past), np.nan_to_num(past)
        # What is left without the shift follows also for whoever knows no number of records.
        left = [
            (is_known & ~_agrees(past, figures.amounts, scale[0], shift), shift)
            for shift in dict.fromkeys((scale[1], 0.0))
        ]
        left = [(apart, shift) for apart, shift in left if (apart & (figures.group >= 0)).any()]
        of_both = self.tells(figures, n_records) if left else np.zeros(0, dtype=np.bool_)
        if not of_both.any():
            return []
        return [
            Figures(
                figures.records,
                np.where(apart, figures.group, -1),
                csr_array(diags_array(of_both.astype(float)) @ csr_array(figures.sums)),
                figures.labels,
                np.abs(figures.amounts - scale[0] * past - shift),
                f"{figures.variable} less {self.name}",
            )
            for apart, shift in left
        ]

    def in_its_terms(self, figures: Figures) -> Figures | None:
        """Return sums of another column as sums of this one, if it is this one times few factors.

        None if it is not, or if a record of the sums has not stood in a figure of this column.
        """
        past, given = self._both(figures)
        there = figures.group >= 0
        located = factors_of(past, given) if len(past) == there.sum() else None
        if located is None:
            return None
        factors, code = located
        # Groups by factor as well: each figure adds up each of them as often as the factor says.
        n_factors, n_groups = len(factors), figures.sums.shape[1]
        group = np.full(len(figures.group), -1, dtype=np.int64)
        group[there] = figures.group[there].astype(np.int64) * n_factors + code
        often = csr_array(kron(eye_array(n_groups), factors[None, :]))
        amounts = np.nan_to_num(self.amounts[figures.records])
        return Figures(
            figures.records,
            group,
            csr_array(csr_array(figures.sums, dtype=np.float64) @ often),
            figures.labels,
            amounts,
            self.name,
        )

    def moves(self, n_records: int) -> Floats:
        """Return random moves of the records that change no sum of the column, shape (n, DRAWS)."""
        system = self.system(n_records)
        return system.draws - system.weights[system.class_of]

    def tells(self, figures: Figures, n_records: int) -> Flags:
        """Return over which groups of records, of those of other figures, a sum of it follows."""
        moved, size = moved_sums(figures, csr_array(figures.sums), self.moves(n_records))
        return is_still(moved, size)


def moved_sums(figures: Figures, rows: csr_array, moves: Floats) -> tuple[Floats, Floats]:
    """Return by how much moves of records change sums over groups of figures, and their records.

    Parameters
    ----------
    figures : Figures
    rows : csr_array, shape (f, g)
        Which groups each sum adds up.
    moves : (n, k) array
    """
    there = figures.group >= 0
    group, n_groups = figures.group[there], rows.shape[1]
    by_group = [np.bincount(group, column[figures.records[there]], n_groups) for column in moves.T]
    return rows @ np.column_stack(by_group), rows @ np.bincount(group, minlength=n_groups)


def is_still(moved: Floats, size: Floats) -> Flags:
    """Whether sums over so many records do not move."""
    limit = STILL * np.sqrt(np.maximum(size, 1))
    return np.asarray(np.abs(moved).max(axis=-1) <= limit)


def added_up(column: Floats, others: Sequence[Floats]) -> tuple[list[int], bool]:
    """Return which columns a column is a sum of at nearly all records, and whether at all.

    A few records settle the units, drawn until they are none of those that are out of line.
    """
    if len(others) < 2:
        return [], False
    matrix = np.column_stack(others)
    known = np.flatnonzero(np.isfinite(matrix).all(axis=1))
    if len(known) < max(LEAST, 2 * len(others)):
        # Whatever a column of so few records is, others add it up.
        return [], False
    random = np.random.default_rng(1)
    some = known if len(known) <= LOOKED_AT else random.choice(known, LOOKED_AT, replace=False)
    for _ in range(DRAWN):
        drawn = random.choice(some, matrix.shape[1], replace=False)
        units = np.linalg.lstsq(matrix[drawn], column[drawn], rcond=None)[0]
        if _is_sum(matrix[some], units, column[some]).mean() >= 1 - 2 * APART:
            plays = np.abs(units) * np.abs(matrix[some]).max(axis=0)
            chosen = np.flatnonzero(plays > NEARLY * np.abs(column[some]).max()).tolist()
            return chosen, bool(_is_sum(matrix[known], units, column[known]).all())
    return [], False


def _is_sum(matrix: Floats, units: Floats, column: Floats) -> Flags:
    size = np.abs(matrix) @ np.abs(units)
    return np.asarray(np.abs(matrix @ units - column) <= NEARLY * size)
