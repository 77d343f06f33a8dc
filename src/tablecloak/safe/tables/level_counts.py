"""How many records of a cell have one value, as far as its published figures tell.

Whoever has the number of records N of a cell, their sum and perhaps their deviation looks for
whole numbers of records with each value that give these figures. Of few values, or of values on no
lattice such as logarithms of ages, there is often a single solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.safe.values import MOST_LEVELS

ALL_DIGITS = 16
"""Digits of a figure as files have it."""

DIGITS = (ALL_DIGITS, 9, 8, 7, 6, 5, 4, 3)
"""Digits with which a figure may be shown, the most first."""

MOST_MOVES = 20_000
"""Exchanges of records between values from which none of more records are tried."""

FACTORS = 2
"""Prime factors of a whole number of two digits, on average and rounded down."""

LEAST_SOLUTIONS, RESERVE = 20, 3.0
"""Other solutions near the true one that rounded figures must leave, and decimal logarithm of how
many solutions figures must leave on average: several functions of one column may be asked for."""

ON_LATTICE = 1.0
"""The same as RESERVE where values are multiples of one number: other sums of them tell nothing
more."""

SAME, ROUGH = 1e-12, 1e-9
"""Shares of the largest value that are rounding errors, and up to which a step is no lattice."""


def rounded(figures: Floats, digits: int) -> Floats:
    """Return figures with so many digits."""
    if digits >= ALL_DIGITS:
        return figures
    return np.array([float(f"{figure:.{digits - 1}e}") for figure in figures], dtype=np.float64)


def rounded_sums(sums: Floats, records: Floats, digits: int) -> Floats:
    """Return sums as means of so many digits tell them, without digits that these leave open."""
    if digits >= ALL_DIGITS:
        return sums
    n = np.maximum(records, 1.0)
    means, unit = sums / n, 2 * half_unit(sums / n, digits) * n
    places = np.ceil(np.log10(np.where(unit > 0, unit, 1.0)) - SAME).astype(np.int64)
    pairs = zip((n * rounded(means, digits)).tolist(), places.tolist(), strict=True)
    return np.array([round(figure, -place) for figure, place in pairs], dtype=np.float64)


def half_unit(figures: Floats, digits: int) -> Floats:
    """Return how far a figure shown with so many digits may be from the true one."""
    size = np.abs(np.where(figures == 0, 1.0, figures))
    unit = 10.0 ** (np.floor(np.log10(size)) - digits + 1)
    return np.asarray(np.where(figures == 0, 0.0, unit / 2), dtype=np.float64)


def step_of(values: Floats) -> float:
    """Return what all differences of ascending values are multiples of, 0 if there is no such step.

    By Euclid's algorithm, with floating-point numbers.
    """
    left, scale = np.diff(values), float(np.abs(values).max(initial=0.0))
    step = float(left.min(initial=np.inf))
    while step > ROUGH * scale:
        left = np.abs(left - np.rint(left / step) * step)
        left = left[left > SAME * scale]
        if not len(left):
            return step
        left, step = np.append(left, step), float(left.min())
    return 0.0


def is_other_function(values: Floats, others: Floats) -> bool | None:
    """Whether two columns tell each other at each record, and neither is a multiple of the other.

    Returns
    -------
    bool or None
        None if they are multiples, but for a constant.
    """
    pairs = np.unique(np.column_stack([values, others]), axis=0)
    if any(len(np.unique(column)) < len(pairs) for column in pairs.T):
        return False
    low, high = pairs[0], pairs[-1]
    line = low[1] + (pairs[:, 0] - low[0]) * (high[1] - low[1]) / max(high[0] - low[0], SAME)
    room = ROUGH * float(np.abs(pairs[:, 1]).max())
    return None if np.allclose(pairs[:, 1], line, rtol=0, atol=room) else True


@lru_cache(maxsize=MOST_LEVELS)
def exchanges(n_values: int) -> Integers:
    """Return changes of the numbers of records with each value that leave their total as it is.

    All in which up to so many records change their value as are not too many to try.
    """
    one = np.eye(n_values, dtype=np.int64)
    pairs = (one[:, None, :] - one).reshape(-1, n_values)
    moves, last = np.zeros((0, n_values), dtype=np.int64), np.zeros((1, n_values), dtype=np.int64)
    while len(moves) < MOST_MOVES:
        more = (last[:, None, :] + pairs).reshape(-1, n_values)
        size = np.abs(more).sum(axis=1)
        last = np.unique(more[size == np.abs(last[0]).sum() + 2], axis=0)
        moves = np.vstack([moves, last])
    return moves


class CellFigures:
    """Means of cells, and their deviations where these are shown as well.

    Parameters
    ----------
    levels : LevelCounts
    shown : array of int
        The cells.
    with_squares : bool
    """

    def __init__(self, levels: LevelCounts, shown: Integers, with_squares: bool) -> None:
        self.levels, self.with_squares = levels, with_squares
        self.apart = levels.values - levels.values[0]
        self.counts = csr_array(levels.counts[shown])
        self.n, self.have_few = levels.records[shown], levels.have_few[shown]
        self.sums = np.asarray(self.counts @ self.apart, dtype=np.float64)
        squares = np.asarray(self.counts @ self.apart**2, dtype=np.float64)
        n = np.maximum(self.n, 1.0)
        self.squares = np.maximum(squares - self.sums**2 / n, 0.0)
        self.means = levels.values[0] + self.sums / n
        self.deviations = np.sqrt(self.squares / np.maximum(self.n - 1, 1.0))

    def are_safe(self, of_means: int, of_deviations: int) -> Flags:
        """Return the cells of which so many digits tell how many records have no value.

        Parameters
        ----------
        of_means, of_deviations : int
            Digits with which each figure is shown.
        """
        raise NotImplementedError


class Multisets(CellFigures):
    """Cells of many values: how many multisets of values there are for each figure."""

    def are_safe(self, of_means: int, of_deviations: int) -> Flags:
        """Return the cells with enough multisets for all figures that can be told apart."""
        levels, span = self.levels, float(self.apart[-1])
        steps = span / levels.step if levels.step else np.inf
        # A value that most of a cell share is likely in any solution.
        most = self.counts.max(axis=1).toarray().ravel() if len(self.n) else self.n
        free = np.where(2 * most >= self.n, self.n - most, self.n)
        m = levels.n_values
        multisets = log_multisets(free, m)
        if not levels.step:
            # Logarithms of the first m whole numbers are sums of those of m / log(m) primes.
            multisets = np.minimum(multisets, log_multisets(FACTORS * free, m / np.log(m) + 1))
        exact = np.log10(np.minimum(self.n * steps + 1, 10.0**ALL_DIGITS))
        told_apart = exact
        if of_means < ALL_DIGITS:
            unit = 2 * half_unit(self.means, of_means)
            with np.errstate(divide="ignore"):
                few = np.where(unit > 0, np.log10(span / unit), 0.0)
            told_apart = np.minimum(exact, few)
        if self.with_squares:
            squares = np.log10(np.minimum(self.n * steps**2 + 1, 10.0**ALL_DIGITS))
            told_apart = told_apart + np.minimum(squares, of_deviations)
        is_on_lattice = levels.step > 0 and of_means == ALL_DIGITS
        told_apart = told_apart + (ON_LATTICE if is_on_lattice else RESERVE)
        return np.asarray(~self.have_few | (multisets >= told_apart), dtype=np.bool_)


class Exchanges(CellFigures):
    """Cells of few values: what else gives the figures, near the true numbers of records."""

    def are_safe(self, of_means: int, of_deviations: int) -> Flags:
        """Return the cells in which figures settle no number of records.

        Where values are on a lattice and means have all digits, only numbers of few may not be
        settled; elsewhere no number, since other outputs may tell of all but few of these records.
        """
        n_values = len(self.apart)
        moves = exchanges(n_values)
        sums, squares = moves @ self.apart, moves @ self.apart**2
        is_exact = of_means >= ALL_DIGITS
        is_kept = np.abs(sums) <= SAME * (np.abs(moves) @ self.apart)
        on_lattice = is_exact and self.levels.step > 0 and bool(is_kept.any())
        if is_exact:
            moves, sums, squares = moves[is_kept], sums[is_kept], squares[is_kept]
        numbers_of_moves = with_tails(moves)
        counts = self.counts.toarray().astype(np.int64)
        numbers = with_tails(counts)
        low_mean, high_mean = self._room(self.means, of_means, self.n)
        low_square, high_square = self._squares_between(of_deviations)
        safe = np.zeros(len(self.n), dtype=np.bool_)
        for cell, n in enumerate(self.n.tolist()):
            ones = np.flatnonzero((sums >= low_mean[cell]) & (sums <= high_mean[cell]))
            if self.with_squares:
                moved = (self.sums[cell] + sums[ones]) ** 2 - self.sums[cell] ** 2
                after = self.squares[cell] + squares[ones] - moved / n
                ones = ones[(after >= low_square[cell]) & (after <= high_square[cell])]
            ones = ones[np.all(counts[cell] + moves[ones] >= 0, axis=1)]
            is_open = np.any(numbers_of_moves[ones], axis=0)
            number = numbers[cell]
            matters = (number > 0) & (number < n)
            if on_lattice:
                matters &= np.minimum(number, n - number) < self.levels.threshold
            least = 1 if on_lattice else LEAST_SOLUTIONS
            is_settled = bool((matters & ~is_open).any())
            safe[cell] = not matters.any() or (not is_settled and len(ones) >= least)
        return safe

    def _room(self, figures: Floats, digits: int, times: Floats) -> tuple[Floats, Floats]:
        """Return by how much sums may be less and more, so that the figure shown is the same."""
        if digits >= ALL_DIGITS:
            return -SAME * self.sums, SAME * self.sums
        shown, half = rounded(figures, digits), half_unit(figures, digits)
        return times * (shown - half - figures), times * (shown + half - figures)

    def _squares_between(self, digits: int) -> tuple[Floats, Floats]:
        """Return between what sums of squares are, by the deviation shown."""
        if digits >= ALL_DIGITS:
            slack = SAME * (self.squares + self.sums**2 / np.maximum(self.n, 1.0))
            return self.squares - slack, self.squares + slack
        shown, half = rounded(self.deviations, digits), half_unit(self.deviations, digits)
        ends = (np.maximum(shown - half, 0.0), shown + half)
        low, high = (np.maximum(self.n - 1, 1.0) * end**2 for end in ends)
        return low, high


def log_multisets(size: Floats, n_values: float) -> Floats:
    """Return the decimal logarithm of the number of multisets of so many elements."""
    log = gammaln(size + n_values) - gammaln(size + 1) - gammaln(n_values)
    return np.asarray(log / np.log(10), dtype=np.float64)


def with_tails(counts: Integers) -> Integers:
    """Return numbers of records with each value, and with more than each value."""
    tails = np.cumsum(counts[:, ::-1], axis=1)[:, -2:0:-1]
    return np.hstack([counts, tails])


@dataclass(frozen=True, eq=False)
class LevelCounts:
    """Records of cells by their value.

    Parameters
    ----------
    values : (m,) array of float
        All different values, ascending.
    often : (m,) array of int
        Records with each value, in all cells.
    counts : (c, m) sparse matrix
        Records of each cell with each value.
    threshold : int
        Records that are enough.

    Notes
    -----
    Three attacks are judged. A gap: N - k records have no more than the largest value below the
    gap, k no less than the least above it, which bounds k. Few values: for what the true numbers
    of records can be exchanged without that a figure changes. More values: how many multisets of
    N records there are, against the figures that can be told apart.
    """

    values: Floats
    often: Integers
    counts: csr_array
    threshold: int

    @classmethod
    def of(
        cls, amounts: Floats, group: Integers, members: csr_array, threshold: int
    ) -> LevelCounts:
        """Count records, whose group is -1 for none, in cells that add up groups."""
        there = group >= 0
        # The same value computed twice may differ by a rounding error.
        size = np.abs(np.where(amounts[there] == 0, 1.0, amounts[there]))
        unit = SAME * 10.0 ** np.ceil(np.log10(size))
        _, first, codes, often = np.unique(
            np.rint(amounts[there] / unit) * unit,
            return_index=True, return_inverse=True, return_counts=True,
        )  # fmt: skip
        shape = (members.shape[1], len(first))
        by_group = csr_array((np.ones(len(codes)), (group[there], codes)), shape=shape)
        return cls(amounts[there][first], often, csr_array(members @ by_group), threshold)

    @cached_property
    def records(self) -> Floats:
        """Number of records of each cell."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64).ravel()

    # -- gaps -------------------------------------------------------------------------------

    def few_beyond_a_gap(self, *, with_squares: bool) -> Flags:
        """Return the cells whose figures tell that few records, but some, lie beyond a gap."""
        few = np.zeros(len(self.records), dtype=np.bool_)
        if len(self.values) < 2:
            return few
        rising, falling = self.values - self.values[0], self.values[-1] - self.values[::-1]
        for levels, counts in ((rising, self.counts), (falling, csr_array(self.counts[:, ::-1]))):
            for power in (1, 2)[: 1 + with_squares]:
                few |= self._few_above_mean(levels**power, counts)
        return few

    def _few_above_mean(self, levels: Floats, counts: csr_array) -> Flags:
        """Return where the mean of levels, which ascend from 0, tells that few are above it.

        Of all gaps the one around the mean is asked for: below it a mean tells nobody's presence,
        and above it bounds are wider.
        """
        n, sums = np.maximum(self.records, 1.0), np.asarray(counts @ levels)
        slack = SAME * n
        first = np.searchsorted(levels, sums / n * (1 - SAME))
        above, below = levels[first], levels[np.maximum(first - 1, 0)]
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.floor(sums / above + slack)
            least = np.ceil((sums - n * below) / (levels[-1] - below) - slack)
        least = np.maximum(least, 1.0)
        # Of hardly more records than the threshold, few always lie on one side of the mean.
        is_minority = (most == least) | (n - most >= self.threshold)
        return np.asarray((first > 0) & (most < self.threshold) & is_minority, dtype=np.bool_)

    # -- digits -----------------------------------------------------------------------------

    def digits(self, shown: Integers, *, with_squares: bool) -> tuple[int, int, Flags]:
        """Return with how many digits means and deviations of cells may be shown.

        Parameters
        ----------
        shown : array of int
            The cells.
        with_squares : bool
            Whether deviations are shown.

        Returns
        -------
        means, deviations : int
        few : (c,) array of bool
            Cells in which even few digits may tell how many of few records have a value.
        """
        few = np.zeros(len(self.records), dtype=np.bool_)
        if len(self.values) < 3:
            # Two values are counts, which are judged as such.
            return ALL_DIGITS, ALL_DIGITS, few
        judged = Exchanges if self.is_code else Multisets
        figures = judged(self, shown, with_squares)
        choices = [(ALL_DIGITS, digits) for digits in DIGITS[: None if with_squares else 1]]
        choices += [(digits, digits) for digits in DIGITS[1:]]
        if figures.are_safe(*choices[0]).all():
            return *choices[0], few
        is_few = ~figures.are_safe(*choices[-1]) & self.have_few[shown]
        few[shown[is_few]] = True
        enough = next(
            (choice for choice in choices if (figures.are_safe(*choice) | is_few).all()),
            choices[-1],
        )
        return *enough, few

    @property
    def is_code(self) -> bool:
        """Whether records have one of a few values, of which two are no more than a count."""
        return len(self.values) > 2 and self.n_values <= MOST_LEVELS

    @cached_property
    def have_few(self) -> Flags:
        """Which cells have a value that few of their records have, or all but few."""
        counts = self.counts.tocoo()
        often, n = counts.data, self.records[counts.row]
        rest = n - often
        is_few = (often < self.threshold) | ((rest > 0) & (rest < self.threshold))
        few = np.zeros(len(self.records), dtype=np.bool_)
        few[counts.row[is_few]] = True
        return few

    @cached_property
    def step(self) -> float:
        """What all values are multiples of, but for the lowest; 0 for nothing."""
        return step_of(self.values)

    @cached_property
    def n_values(self) -> float:
        """Number of values that a record may have, as far as those that occur tell.

        Source: Chao, Scandinavian Journal of Statistics 11 (1984), in its form without bias: from
        the number of values that one record and two records have.
        """
        once, twice = (int((self.often == times).sum()) for times in (1, 2))
        number = len(self.values) + once * (once - 1) / (2 * (twice + 1))
        if self.step:
            number = min(number, np.ptp(self.values) / self.step + 1)
        return float(max(number, len(self.values)))
