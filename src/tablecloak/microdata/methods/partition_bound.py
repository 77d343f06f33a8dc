"""A proved lower bound on the loss of microaggregation, and a better partition.

A group G of m points loses SSE(G) = (1 / m) sum of d_ij over its pairs, where d_ij is the squared
distance. With a price u_i for each point, its reduced cost is SSE(G) - sum of u_i, what it costs
beyond what its members pay; prices for which no group has a negative one prove that no partition
loses less than sum u_i.

The reduced cost is the mean over the members i of h_i = sum over members j of (d_ij / 2 - u_j), so
that some member, the anchor, has an h_i of at most that: groups with a negative reduced cost are
found among the sets of points around an anchor with a negative sum.

References
----------
.. [1] Aloise, Hansen, Rocha, Santi: Column generation bounds for numerical microaggregation, 2014.
.. [2] Castro, Gentile, Spagnolo-Arrizabalaga: An algorithm for the microaggregation problem using
   column generation, 2022.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.errors import InputError
from tablecloak.microdata.methods.mdav import mdav
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.solve.solver import SolveStatus

MOST_SETS = 1_000_000
"""Sets of points of one size that are kept in memory; with more, the search is given up."""

CHUNK = 2_000_000
"""Distances that are looked up at once."""

SEEDS = 8
"""Near points with which each point starts groups that grow greedily."""

MOST_POINTS = 3000
"""Points above which distances of all pairs take too much memory and time."""

EXACT = 1e-9
"""Reduced costs below this share of the mean loss of a point count as rounding."""

MOST_NEW = 2000
"""Groups of one size that are added to the program at once, the cheapest ones."""

MOST_CHOICES = 50_000
"""Groups of which the best partition is still sought."""

STEPS = 300
"""Steps of the ascent of the bound where the program ends before it is proved."""

PATIENCE = 15
"""Steps without a better bound after which steps are halved."""


def sums_of_squares(distance: Floats, members: Integers) -> Floats:
    """Return the loss of groups of equal size.

    Parameters
    ----------
    distance : numpy.ndarray of float, shape (n, n)
        Squared distances.
    members : numpy.ndarray of int, shape (n_groups, size)
    """
    size = members.shape[1]
    total = np.zeros(len(members))
    for one in range(size):
        for other in range(one + 1, size):
            total += distance[members[:, one], members[:, other]]
    return np.asarray(total / size)


@dataclass(frozen=True, eq=False)
class GroupPrices:
    """Prices of points, and what they prove.

    Parameters
    ----------
    distance : numpy.ndarray of float, shape (n, n)
        Squared distances.
    k : int
        Groups have k to 2k - 1 points: larger ones can be divided without loss.
    price : numpy.ndarray of float, shape (n,)
    tolerance : float
        Reduced costs above minus this count as not negative.
    budget : Budget, optional
        Searches that are not finished when it is over count as too large.
    """

    distance: Floats
    k: int
    price: Floats
    tolerance: float
    budget: Budget = field(default_factory=Budget.of)

    def _around(self) -> tuple[Floats, Integers]:
        """Return d_ij / 2 - u_j of all points j around each point i, sorted, and which they are."""
        term = self.distance / 2 - self.price
        np.fill_diagonal(term, np.inf)
        order = np.argsort(term, axis=1)[:, :-1]
        return np.take_along_axis(term, order, axis=1), order

    def star_bound(self) -> tuple[float, Floats]:
        """Return a lower bound on the loss of all partitions, and how it changes with the prices.

        In any partition the loss is sum of u_i plus, for each point i in a group of m, h_i / m;
        each is at least that of the best set around i alone.
        """
        term, order = self._around()
        most = min(2 * self.k - 1, len(self.price))
        sums = np.cumsum(term[:, : most - 1], axis=1)[:, self.k - 2 :] - self.price[:, None]
        size = np.arange(self.k, most + 1)
        best = np.argmin(sums / size, axis=1)
        least = (sums / size)[np.arange(len(best)), best]
        share = 1.0 / size[best]
        slope = 1.0 - share
        for rank in range(most - 1):
            used = rank < size[best] - 1
            slope -= np.bincount(order[used, rank], weights=share[used], minlength=len(slope))
        return float(self.price.sum() + least.sum()), slope

    def too_cheap(self) -> tuple[list[Integers], float]:
        """Return groups with a negative reduced cost, and a lower bound on all reduced costs.

        The bound is proved: where a search becomes too large, or the time is over, it is that of
        sets around anchors.

        Returns
        -------
        groups : list of numpy.ndarray of int
            One array (n_groups, size) for each size that has some.
        least : float
            At most 0; minus the tolerance stands for "none is negative".
        """
        cheap_groups, least = [], -self.tolerance
        term, order = self._around()
        sums = np.concatenate([np.zeros((len(term), 1)), np.cumsum(term, axis=1)], axis=1)
        for size in self._sizes():
            sets = self._sets(sums, order, size, self.tolerance)
            if sets is None:
                least = min(least, float(np.min(sums[:, size - 1] - self.price)))
                continue
            reduced = self.reduced(sets)
            cheap = reduced < -self.tolerance
            if cheap.any():
                cheap_groups.append(sets[cheap][np.argsort(reduced[cheap])])
                least = min(least, float(reduced.min()))
        return cheap_groups, least

    def below(self, margin: float) -> list[Integers] | None:
        """Return all groups with a reduced cost below a margin, None if they are too many."""
        groups = []
        term, order = self._around()
        sums = np.concatenate([np.zeros((len(term), 1)), np.cumsum(term, axis=1)], axis=1)
        for size in self._sizes():
            sets = self._sets(sums, order, size, -margin)
            if sets is None:
                return None
            groups.append(sets[self.reduced(sets) < margin])
        return groups

    def _sizes(self) -> range:
        return range(self.k, min(2 * self.k - 1, len(self.price)) + 1)

    def reduced(self, members: Integers) -> Floats:
        """Return reduced costs of groups of equal size."""
        return np.asarray(sums_of_squares(self.distance, members) - self.price[members].sum(axis=1))

    def _sets(self, sums: Floats, order: Integers, size: int, tolerance: float) -> Integers | None:
        """Return all sets of one size around an anchor with a sum below minus a tolerance.

        None stands for too many.

        Parameters
        ----------
        sums : numpy.ndarray of float, shape (n, n)
            Sums of the first 0, 1, .. terms around each anchor, which rise from term to term.
        order : numpy.ndarray of int, shape (n, n - 1)
        size : int
        tolerance : float
        """
        count = len(order)
        anchor: Integers = np.arange(count)
        total = -self.price
        chosen: Integers = np.empty((count, 0), dtype=np.int64)
        for missing in range(size - 1, 0, -1):
            if not len(anchor):
                return np.empty((0, size), dtype=np.int64)
            # Terms that follow each other are the cheapest way to complete a set.
            run = sums[:, missing:] - sums[:, :-missing]
            step = 2 * (float(np.abs(run).max()) + float(np.abs(total).max())) + 1.0
            line = (run + step * np.arange(count)[:, None]).ravel()
            limit = np.searchsorted(line, step * anchor - tolerance - total, side="left")
            first = chosen[:, -1] + 1 if chosen.shape[1] else np.zeros(len(anchor), dtype=np.int64)
            number = np.maximum(limit - anchor * run.shape[1] - first, 0)
            if number.sum() > MOST_SETS or self.budget.is_over:
                return None
            parent = np.repeat(np.arange(len(anchor)), number)
            begin = np.repeat(np.cumsum(number) - number, number)
            rank = first[parent] + np.arange(len(parent)) - begin
            anchor = anchor[parent]
            total = total[parent] + sums[anchor, rank + 1] - sums[anchor, rank]
            chosen = np.column_stack([chosen[parent], rank])
            if missing > 1:
                members = np.column_stack([anchor, order[anchor[:, None], chosen]])
                kept = self._completable(members, size, tolerance)
                anchor, total, chosen = anchor[kept], total[kept], chosen[kept]
        members = np.column_stack([anchor, order[anchor[:, None], chosen]])
        return np.asarray(np.unique(np.sort(members, axis=1), axis=0))

    def _completable(self, members: Integers, size: int, tolerance: float) -> Integers:
        """Return which parts of groups could have a reduced cost below minus a tolerance.

        The members to come are taken to be at distance 0 from each other.
        """
        known = members.shape[1]
        missing, count = size - known, len(self.price)
        kept = []
        at_once = max(CHUNK // (known * count), 1)
        for first in range(0, len(members), at_once):
            part = members[first : first + at_once]
            if self.budget.is_over:
                kept.append(np.arange(first, len(members)))
                break
            own = sums_of_squares(self.distance, part) * known / size
            cost = self.distance[part].sum(axis=1) / size - self.price
            np.put_along_axis(cost, part, np.inf, axis=1)
            least = np.partition(cost, missing - 1, axis=1)[:, :missing].sum(axis=1)
            reduced = own - self.price[part].sum(axis=1) + least
            kept.append(first + np.flatnonzero(reduced < -tolerance))
        return np.concatenate(kept) if kept else np.empty(0, dtype=np.int64)

    def grown(self) -> list[Integers]:
        """Return groups with a negative reduced cost, grown greedily from pairs of near points."""
        count = len(self.price)
        near = np.argsort(self.distance, axis=1)[:, 1 : SEEDS + 1]
        members = np.column_stack([np.repeat(np.arange(count), near.shape[1]), near.ravel()])
        pairs = self.distance[members[:, 0], members[:, 1]]
        cross = self.distance[members[:, 0]] + self.distance[members[:, 1]]
        grown = []
        for size in range(3, min(2 * self.k - 1, count) + 1):
            cost = (pairs[:, None] + cross) / size - self.price
            np.put_along_axis(cost, members, np.inf, axis=1)
            best = cost.argmin(axis=1)
            pairs = pairs + cross[np.arange(len(best)), best]
            cross = cross + self.distance[best]
            members = np.column_stack([members, best])
            if size >= self.k:
                groups = np.unique(np.sort(members, axis=1), axis=0)
                cheap = groups[self.reduced(groups) < -self.tolerance]
                if len(cheap):
                    grown.append(cheap)
        return grown


@dataclass(frozen=True, eq=False)
class PartitionBound:
    """A partition into groups of at least k points, and a proof of how good it is.

    Parameters
    ----------
    groups : numpy.ndarray of int, shape (n_points,)
        The best partition that was found.
    loss : float
        Its sum of squares within groups.
    bound : float
        Proved: no partition loses less.
    is_optimal : bool
        Whether a search of all groups that a better partition could have found none.
    first_loss : float
        Loss of the partition by MDAV.
    k : int
    prices : numpy.ndarray of float, shape (n_points,)
        The proof: `verify` needs nothing else.
    """

    groups: Integers
    loss: float
    bound: float
    is_optimal: bool
    first_loss: float
    k: int
    prices: Floats

    @property
    def gap(self) -> float:
        """Largest share of the loss that a better partition could save."""
        return 0.0 if self.loss <= 0 else max(1 - self.bound / self.loss, 0.0)

    def verify(self, points: Any) -> float:
        """Return the bound, computed anew from the points and the prices alone.

        For all groups of k to 2k - 1 points, those that cost less than the prices of their points
        are searched for; where these are too many, sets around single points are a weaker proof.
        """
        distance = _distances(_as_points(points))
        prices = GroupPrices(distance, self.k, self.prices, _tolerance(distance, self.k))
        return max(_proved(prices, prices.too_cheap()[1]), 0.0)

    def __str__(self) -> str:
        saved = 1 - self.loss / self.first_loss if self.first_loss else 0.0
        return (
            f"microaggregation: loss {self.loss:.6g}{', the least,' if self.is_optimal else ','} "
            f"proved to be at least {self.bound:.6g} (gap {100 * self.gap:.2g} %), "
            f"{100 * saved:.2g} % less than by MDAV"
        )


def microaggregation_bound(points: Any, k: int = 3, *, time_limit: float = 60.0) -> PartitionBound:
    """Bound the loss of all partitions into groups of at least k points, and improve on MDAV.

    Parameters
    ----------
    points : array_like of float, shape (n_points, n_columns)
        Standardised, if columns differ in scale. At most 3,000.
    k : int, default=3
    time_limit : float, default=60.0
        Seconds, of which up to a third are for the partition.

    Returns
    -------
    PartitionBound

    Raises
    ------
    InputError
        If there are fewer than k points, too many, or values that are missing or infinite.

    Notes
    -----
    A linear program chooses among groups so that each point is in one; groups that would lower its
    value are added as they are needed, by a search of all groups around each point [1]_ [2]_. When
    no group is left that would, its value bounds the loss of every partition. In larger files this
    is not reached: the prices of the program then still prove a bound, since in any group some
    member has a negative sum with the others if the group is too cheap, and the bound is raised by
    an ascent over the prices. The partition is the best one of the groups that were found; where
    the bound is that of the program, all groups that could be in a better partition are found too,
    and the best partition of them is the best of all.

    Normal points in three or four columns, on one core: with k = 3, 200 points are proved to have
    the best partition in 5 s; 500 end with a gap of 1.2 % in 5 s, and 1,000 with 2.0 % in 14 s.
    With k = 5, 100 points are proved in 7 s, and 200 end with 1.0 % in 26 s. With k = 10 groups are
    too many: 300 points keep a gap of 39 %.
    """
    chosen = _as_points(points)
    if not isinstance(k, int) or k < 2 or len(chosen) < k:
        raise InputError(
            f"`k` must be a whole number from 2 to the number of points, {len(chosen)}. Got {k!r}."
        )
    search = _ColumnGeneration(chosen, k, Budget.begun(time_limit))
    return search.run()


class _ColumnGeneration:
    """Column generation for one set of points."""

    def __init__(self, points: Floats, k: int, budget: Budget) -> None:
        self.k, self.budget = k, budget
        self.distance = _distances(points)
        self.tolerance = _tolerance(self.distance, k)
        self.groups: dict[tuple[int, ...], float] = {}
        self.first = mdav(points, k)
        members = [np.flatnonzero(self.first == number) for number in range(self.first.max() + 1)]
        self.first_loss = sum(self._loss(group) for group in members)
        self._add([group[None, :] for group in members])
        near = np.argsort(self.distance, axis=1, kind="stable")
        self._add([near[:, :size] for size in range(k, min(2 * k - 1, len(points)) + 1)])
        self.bound, self.prices = 0.0, np.zeros(len(points))

    def run(self) -> PartitionBound:
        """Search until the bound is proved to be that of the program, or the time is over."""
        final = self._generate(self.budget.share(1 / 2))
        if final is None:
            self._ascend(self.budget.share(1 / 2))
        groups, loss, _ = self._partition(self.first, self.first_loss)
        is_optimal = loss <= self.bound + self.tolerance
        if final is not None and not is_optimal:
            # A partition that is better has no group whose reduced cost is larger than this.
            margin = loss - float(final.price.sum()) + len(final.price) * self.tolerance
            all_groups = self._priced(final.price, self.budget).below(margin)
            if all_groups is not None and sum(map(len, all_groups)) <= MOST_CHOICES:
                self._add(all_groups, MOST_CHOICES)
                groups, loss, is_optimal = self._partition(groups, loss)
        bound = min(self.bound, loss)
        return PartitionBound(groups, loss, bound, is_optimal, self.first_loss, self.k, self.prices)

    def _generate(self, budget: Budget) -> GroupPrices | None:
        """Add groups while some are too cheap; return the prices if none is left."""
        program = self._prices_program(list(self.groups))
        solver = LinearSolver(program)
        is_first = True
        while is_first or not budget.is_over:
            is_first = False
            answer = solver.solve(budget.at_least(1.0).left)
            if not len(answer.x):
                return None
            prices = self._priced(answer.x, budget)
            new = self._add(prices.grown())
            if not new and not budget.is_over:
                cheap, least = prices.too_cheap()
                self._keep(prices, _proved(prices, least))
                new = self._add(cheap)
                if not new:
                    return prices if least >= -self.tolerance else None
            if new:
                rows = _rows(new, len(self.distance))
                cost = np.array([self.groups[group] for group in new])
                solver.add_rows(rows, np.full(len(new), -np.inf), cost)
        return None

    def _ascend(self, budget: Budget) -> None:
        """Raise the bound by sets around single points, from the best prices so far."""
        price, step, idle = self.prices.copy(), 1.0, 0
        best = -np.inf
        for _ in range(STEPS):
            if budget.is_over:
                break
            prices = self._priced(price, budget)
            value, slope = prices.star_bound()
            self._keep(prices, value)
            idle = 0 if value > best else idle + 1
            best = max(best, value)
            if idle >= PATIENCE:
                step, idle = step / 2, 0
            square = float(slope @ slope)
            if square < EXACT:
                break
            price = price + step * max(self.first_loss - value, 0.0) / square * slope

    def _keep(self, prices: GroupPrices, value: float) -> None:
        """Keep prices that prove more than those before."""
        if value > self.bound:
            self.bound, self.prices = value, prices.price

    def _priced(self, price: Floats, budget: Budget) -> GroupPrices:
        return GroupPrices(self.distance, self.k, price, self.tolerance, budget)

    def _prices_program(self, groups: list[tuple[int, ...]]) -> Program:
        """Return the program for the prices: as large as possible, and no known group too cheap."""
        count = len(self.distance)
        cost = np.array([self.groups[group] for group in groups])
        most = float(max(cost.max(), self.first_loss, 1e-9))
        return Program(
            cost=-np.ones(count),
            matrix=_rows(groups, count),
            row_lower=np.full(len(groups), -np.inf),
            row_upper=cost,
            lower=np.full(count, -most),
            upper=np.full(count, most),
        )

    def _partition(self, known_groups: Integers, known_loss: float) -> tuple[Integers, float, bool]:
        """Return the best partition into groups that were found, and whether it is surely that.

        Parameters
        ----------
        known_groups : numpy.ndarray of int, shape (n,)
            A partition, which is returned if none is better.
        known_loss : float
        """
        known = list(self.groups)
        cost = np.array([self.groups[group] for group in known])
        count = len(self.distance)
        program = Program(
            cost=cost,
            matrix=csr_array(_rows(known, count).T),
            row_lower=np.ones(count),
            row_upper=np.ones(count),
            lower=np.zeros(len(known)),
            upper=np.ones(len(known)),
            integral=np.ones(len(known), dtype=bool),
        )
        answer = solve(program, time_limit=self.budget.at_least(1.0).left, gap=0.0)
        is_best = answer.status is SolveStatus.OPTIMAL
        if not len(answer.x) or float(cost @ np.rint(answer.x)) >= known_loss:
            return known_groups, known_loss, is_best
        groups = np.empty(count, dtype=np.int64)
        taken = [known[at] for at in np.flatnonzero(answer.x > 0.5)]
        for number, group in enumerate(taken):
            groups[list(group)] = number
        return groups, float(sum(self.groups[group] for group in taken)), is_best

    def _loss(self, group: Integers) -> float:
        return float(sums_of_squares(self.distance, group[None, :])[0])

    def _add(self, found: list[Integers], most: int = MOST_NEW) -> list[tuple[int, ...]]:
        """Keep groups, some of each size, and return those that are new."""
        new = []
        for members in found:
            some = np.sort(members[:most], axis=1)
            for group, cost in zip(
                map(tuple, some.tolist()), sums_of_squares(self.distance, some), strict=True
            ):
                if group not in self.groups:
                    self.groups[group] = float(cost)
                    new.append(group)
        return new


def _proved(prices: GroupPrices, least: float) -> float:
    """Return what prices prove if no group has a reduced cost below a negative number."""
    most_groups = len(prices.price) // prices.k
    return max(float(prices.price.sum() + most_groups * least), prices.star_bound()[0])


def _rows(groups: list[tuple[int, ...]], count: int) -> csr_array:
    """Return one row for each group, with a 1 for each member."""
    size = np.array([len(group) for group in groups])
    column = np.concatenate([np.asarray(group) for group in groups])
    row = np.repeat(np.arange(len(groups)), size)
    return csr_array((np.ones(len(column)), (row, column)), shape=(len(groups), count))


def _as_points(points: Any) -> Floats:
    array = np.asarray(points, dtype=np.float64)
    if array.ndim != 2 or not np.isfinite(array).all():
        raise InputError(
            "`points` must be numbers in rows and columns, none of them missing or infinite."
        )
    if len(array) > MOST_POINTS:
        raise InputError(
            f"{len(array)} points are more than {MOST_POINTS}, for which a bound can be proved. "
            "Bound a part of the file, such as one region."
        )
    return array


def _distances(points: Floats) -> Floats:
    """Return squared distances of all pairs."""
    total = np.zeros((len(points), len(points)))
    for column in points.T:
        total += (column[:, None] - column) ** 2
    return total


def _tolerance(distance: Floats, k: int) -> float:
    """Return the reduced cost that counts as rounding, from the distances to the k nearest."""
    near = np.partition(distance, min(k, len(distance) - 1), axis=1)[:, : k + 1]
    return EXACT * max(float(near.mean()), np.finfo(np.float64).tiny)
