"""What groups cost beyond what their members pay: searches for groups that are too cheap.

A group G of m points loses SSE(G) = (1 / m) sum of d_ij over its pairs, where d_ij is the squared
distance. With a price u_i for each point, its reduced cost is SSE(G) - sum of u_i; prices for which
no group has a negative one prove that no partition loses less than sum u_i.

The reduced cost is the mean over the members i of h_i = sum over members j of (d_ij / 2 - u_j), so
that some member, the anchor, has an h_i of at most that: groups with a negative reduced cost are
found among the sets of points around an anchor with a negative sum.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget

__all__ = ["GroupPrices", "sums_of_squares"]

MOST_SETS = 1_000_000
"""Sets of points of one size that are kept in memory; with more, the search is given up."""

CHUNK = 2_000_000
"""Distances that are looked up at once."""

SEEDS = 8
"""Near points with which each point starts groups that grow greedily."""


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
    loss: Floats = total / size
    return loss


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
        found, least = [], -self.tolerance
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
                found.append(sets[cheap][np.argsort(reduced[cheap])])
                least = min(least, float(reduced.min()))
        return found, least

    def below(self, margin: float) -> list[Integers] | None:
        """Return all groups with a reduced cost below a margin, None if they are too many."""
        found = []
        term, order = self._around()
        sums = np.concatenate([np.zeros((len(term), 1)), np.cumsum(term, axis=1)], axis=1)
        for size in self._sizes():
            sets = self._sets(sums, order, size, -margin)
            if sets is None:
                return None
            found.append(sets[self.reduced(sets) < margin])
        return found

    def _sizes(self) -> range:
        return range(self.k, min(2 * self.k - 1, len(self.price)) + 1)

    def reduced(self, members: Integers) -> Floats:
        """Return reduced costs of groups of equal size."""
        cost: Floats = sums_of_squares(self.distance, members) - self.price[members].sum(axis=1)
        return cost

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
        found: Integers = np.unique(np.sort(members, axis=1), axis=0)
        return found

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
        found = []
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
                    found.append(cheap)
        return found
