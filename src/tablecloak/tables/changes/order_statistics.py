"""Which order statistics may stand beside totals, and what they then tell of these.

A published quantile of rank r, with the class [lo, hi] of values that are rounded to it, says of
the contributions in increasing order that those from the r-th on are at least lo, and those up to
the r-th at most hi. So each place has a floor and a cap, though nobody knows who is in which. An
intruder who gives x_k, knows the total T and these, and asks for the contribution x_j of somebody
else finds that

    x_j <= min(cap of the top place, T - x_k - sum of the floors of all other places),
    x_j >= max(floor of the lowest place, T - x_k - sum of the caps of all other places).

A statistic is hidden unless enough contributors lie between floor and cap of its place, which other
statistics of the cell narrow, and unless the first is at least (1 + p) x_j and the second at most
(1 - p) x_j for all k and j, in its cell and in each cell below it. The total is at least the sum of
the floors and at most that of the caps. These become external bounds of the problem: everybody is
taken to know them, so that totals are protected against whoever reads the statistics.

Source: the p% rule, in which all floors are 0 and no place has a cap; W. Bond, M. Brandt, P.-P. de
Wolf, *Guidelines for the checking of output based on microdata research* (2015), for the number of
contributors behind a quantile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array, csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError
from tablecloak.tables.figures.order_statistics import JudgedStatistic, OrderStatistic
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.tabulation.contributed import Contributed

NOISE = 1e-9
"""Share of a total that is rounding of sums."""


def with_order_statistics(
    problem: ProtectionProblem,
    statistics: Sequence[OrderStatistic],
    contributions: Contributed | None,
) -> ProtectionProblem:
    """Return the problem with the bounds that its published order statistics tell everybody.

    Parameters
    ----------
    problem : ProtectionProblem
    statistics : sequence of OrderStatistic
        Where one cell cannot have all of them, the last ones are hidden first.
    contributions : Contributed or None
        Those of the table.

    Raises
    ------
    InputError
        If contributions are missing, negative or weighted, or two cells with statistics have
        contributions in common.
    """
    cells = _Cells.of(problem, statistics, contributions)
    asked = [figure.quotients(problem.table).numerator for figure in statistics]
    every = np.unique(np.concatenate(asked))
    every = every[[len(cells.amounts(cell)) > 0 for cell in every.tolist()]]
    below = cells.below(every)
    low, high = problem.lower_bound.copy(), problem.upper_bound.copy()
    decisions: list[dict[int, tuple[float, bool]]] = [{} for _ in statistics]
    for cell in every.tolist():
        given = cells.amounts(cell)
        kept: list[OrderStatistic] = []
        for number, figure in enumerate(statistics):
            if cell not in asked[number]:
                continue
            together = [*kept, figure]
            shown = cells.has_enough_behind(together, cell) and not cells.is_told(
                together, cell, below[cell]
            )
            decisions[number][cell] = figure.value(given), shown
            kept += [figure] * shown
        for part in below[cell] if kept else ():
            floors, caps = cells.places(kept, cell, part)
            low[part] = max(low[part], min(floors.sum(), cells.least(part)))
            high[part] = min(high[part], max(caps.sum(), cells.most(part)))
    judged = tuple(
        JudgedStatistic(
            figure,
            np.array(list(decided), dtype=np.int64),
            np.array([value for value, _ in decided.values()]),
            np.array([shown for _, shown in decided.values()], dtype=bool),
        )
        for figure, decided in zip(statistics, decisions, strict=True)
    )
    kept_figures = [other for other in problem.table.figures if other not in statistics]
    table = replace(problem.table, figures=(*kept_figures, *judged))
    return replace(problem, table=table).with_changes(lower_bound=low, upper_bound=high)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The contributions to each cell.

    Parameters
    ----------
    problem : ProtectionProblem
    member : scipy.sparse.csr_array, shape (n_cells, n_leaves)
    given : scipy.sparse.csr_array, shape (n_cells, n_contributors)
        What each contributor gives to each cell; zeros are stored.
    """

    problem: ProtectionProblem
    member: csr_array
    given: csr_array

    @classmethod
    def of(
        cls,
        problem: ProtectionProblem,
        statistics: Sequence[OrderStatistic],
        contributions: Contributed | None,
    ) -> _Cells:
        label = statistics[0].label
        if contributions is None:
            raise InputError(
                f"{label}: give the contributions to each cell, as `tablecloak.contributed` adds "
                f"them up from the records of one variable."
            )
        given = contributions.own
        if np.any(given.data < 0):
            raise InputError(
                f"{label}: a contribution is negative, so that it is not known what the statistic "
                f"tells of others."
            )
        sums = np.asarray(given.sum(axis=1)).ravel()
        if np.any(np.abs(sums - contributions.totals) > NOISE * np.abs(contributions.totals)):
            raise InputError(
                f"{label}: the records have sampling weights. It is not known what a weighted "
                f"quantile tells of a contribution. Publish it from unweighted records only."
            )
        member = contributions.membership(problem.table)
        return cls(problem, member, _with_zeros(member, given))

    def amounts(self, cell: int) -> Floats:
        """Return the contributions to a cell."""
        part: Floats = self.given.data[self.given.indptr[cell] : self.given.indptr[cell + 1]]
        return part

    def _who(self, cell: int) -> Integers:
        who: Integers = self.given.indices[self.given.indptr[cell] : self.given.indptr[cell + 1]]
        return who

    def below(self, cells: Integers) -> dict[int, list[int]]:
        """Return for each cell those whose contributions all go to it, itself included."""
        chosen = csr_array(self.member[cells, :])
        if np.any(np.asarray(chosen.sum(axis=0)) > 1):
            raise InputError(
                "Two cells with order statistics have contributions in common: it is not known "
                "what both together tell. Limit each statistic with `where` to cells without "
                "common contributions, such as the most detailed ones.",
                cells=cells,
            )
        size = np.diff(self.member.indptr)
        shared = (self.member @ chosen.T).tocoo()
        row, column = shared.coords
        inside = shared.data == size[row]
        parts: dict[int, list[int]] = {cell: [] for cell in cells.tolist()}
        for part, place in zip(row[inside].tolist(), column[inside].tolist(), strict=True):
            parts[int(cells[place])].append(part)
        return parts

    def places(
        self, statistics: Sequence[OrderStatistic], cell: int, part: int
    ) -> tuple[Floats, Floats]:
        """Return floors and caps of the contributions to a part of a cell with statistics.

        Contributions are in increasing order. Of n in the cell no more than r - 1 are below the
        class of a statistic of rank r, and no more than n - r above it.
        """
        here = np.searchsorted(self._who(cell), self._who(part))
        every, given = self.amounts(cell), self.amounts(part)
        n, n_own = len(every), len(given)
        # Who gives to other parts as well may give less than the floor to this one.
        n_elsewhere = int(np.sum(given != every[here]))
        floors, caps = np.zeros(n_own), np.full(n_own, np.inf)
        for figure in statistics:
            rank, value = figure.rank(n), figure.value(every)
            above, below = rank - 1 + n_elsewhere, max(n_own - (n - rank), 0)
            floors[above:] = np.maximum(floors[above:], value - figure.grid / 2)
            caps[:below] = np.minimum(caps[:below], value + figure.grid / 2)
        return floors, caps

    def has_enough_behind(self, statistics: Sequence[OrderStatistic], cell: int) -> bool:
        """Whether enough contributors lie where statistics of a cell together place each of them.

        The median in multiples of 20 and the one in multiples of 30 have one rank, so that it lies
        in both classes.
        """
        given = self.amounts(cell)
        floors, caps = self.places(statistics, cell, cell)
        for figure in statistics:
            place = figure.rank(len(given)) - 1
            behind = (given >= floors[place]) & (given <= caps[place])
            if int(behind.sum()) < figure.contributors:
                return False
        return True

    def most(self, cell: int) -> float:
        """Return the total to which a cell must be able to go."""
        return float(self.problem.table.values[cell] + self.problem.upper_protection[cell])

    def least(self, cell: int) -> float:
        """Return the total down to which a cell must be able to go."""
        return float(self.problem.table.values[cell] - self.problem.lower_protection[cell])

    def is_told(self, statistics: Sequence[OrderStatistic], cell: int, parts: list[int]) -> bool:
        """Whether statistics of a cell tell a contribution to it or to a part of it."""
        p = max(figure.p for figure in statistics) / 100
        for part in parts:
            floors, caps = self.places(statistics, cell, part)
            least, most = self.least(part), self.most(part)
            excluded = floors.sum() > least * (1 + NOISE) or caps.sum() < most * (1 - NOISE)
            given = np.sort(self.amounts(part))
            if excluded or tells_a_contribution(given, floors, caps, (least, most), p):
                return True
        return False


def _with_zeros(member: csr_array, given: csr_array) -> csr_array:
    """Return the contributions to each cell; products of sparse matrices lose those of 0."""
    times = csr_array((np.ones(given.nnz), given.indices, given.indptr), shape=given.shape)
    places, sums = csr_array(member @ times).tocoo(), csr_array(member @ given).tocoo()
    place, part = (
        each.coords[0].astype(np.int64) * given.shape[1] + each.coords[1] for each in (places, sums)
    )
    order = np.argsort(place)
    data = np.zeros(len(place))
    data[order[np.searchsorted(place[order], part)]] = sums.data
    given = csr_array(coo_array((data, places.coords), shape=places.shape))
    given.sort_indices()
    return given


def tells_a_contribution(
    amounts: Floats, floors: Floats, caps: Floats, total: tuple[float, float], p: float
) -> bool:
    """Whether some contributor learns what another one gives to within a share of it.

    Parameters
    ----------
    amounts, floors, caps : numpy.ndarray of float, shape (n_contributors,)
        What each gives, increasing, and between what its place lies.
    total : tuple of float
        Least and most that the total can be for everybody.
    p : float
    """
    n = len(amounts)
    if n < 2:
        return False
    number = np.arange(n)
    # Somebody else may be in any place but that of the intruder.
    top, lowest = np.where(number == n - 1, n - 2, n - 1), np.where(number == 0, 1, 0)
    least, most = total
    others = floors.sum() - floors - floors[top]
    above = np.minimum(caps[top], most - amounts - others)
    n_open = np.sum(np.isinf(caps)) - np.isinf(caps) - np.isinf(caps[lowest])
    closed = np.where(np.isinf(caps), 0.0, caps)
    others = closed.sum() - closed - closed[lowest]
    below = np.maximum(floors[lowest], np.where(n_open > 0, 0.0, least - amounts - others))
    noise = NOISE * max(most, 1.0)
    is_above = above >= (1 + p) * amounts[top] - noise
    is_below = below <= (1 - p) * amounts[lowest] + noise
    return not bool(np.all(is_above & is_below))
