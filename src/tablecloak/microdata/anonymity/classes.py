"""Classes of equal records: who may be in which, and what prices of records prove about their cost.

A class is a way to change keys, such as losing some of them, with the values that are then
released: its records are equal in the release. A pattern is in need if fewer than k records have
it. All other patterns stay as they are, and lend records beyond k to classes that lack some:
recruits.

A price is what a record must pay at least. For any prices, every release costs at least their sum,
less what classes collect beyond their cost: each record pays its price in its class, and no class
(a set of lost keys and the values of the others, or recoded values) collects more than the best
choice of k or more of its records. This is the Lagrangian relaxation of the rule that each record
is in one class [1]_; its largest value is that of the linear relaxation of the program by which
`branched_classes` finds the best classes of small files.

References
----------
.. [1] Held, Wolfe, Crowder: Validation of subgradient optimization, Mathematical Programming 6,
   1974.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget

MANY_PAIRS = 4_000_000
"""Most pairs; further ones, which cost most, are left out. They take 0.6 GiB."""


@dataclass(frozen=True, eq=False)
class Way:
    """A way to change keys.

    Parameters
    ----------
    number : int
        Which way it is; for local suppression the set of lost keys.
    cost : numpy.ndarray of float, shape (n_patterns,)
        What it costs a record of each pattern; `inf` for those that it is not open to.
    groups : callable
        Returns the group of each pattern by the values that are released, and their number.
    """

    number: int
    cost: Floats
    groups: Callable[[], tuple[Integers, int]]


@dataclass(frozen=True, eq=False)
class ClassPairs:
    """Pairs, sorted by class, and what the search knows of classes and patterns.

    Parameters
    ----------
    k : int
    need : numpy.ndarray of int, shape (n_need,)
        Patterns in need.
    frequency : numpy.ndarray of int, shape (n_need,)
    pattern, group : numpy.ndarray of int, shape (n_pairs,)
        Position in `need`, and class.
    cost : numpy.ndarray of float, shape (n_pairs,)
        What the class costs a record of the pattern.
    way : numpy.ndarray of int, shape (n_classes,)
        Number of the way of each class.
    recruit_cost : numpy.ndarray of float, shape (n_classes,)
        Least cost of a recruit.
    is_open : numpy.ndarray of bool, shape (n_classes,)
        Classes that k records form already, such as unchanged ones.
    lender, lender_group : numpy.ndarray of int, shape (n_lenders,)
        Patterns with recruits, and the classes that these may join, sorted by class.
    lender_cost : numpy.ndarray of float, shape (n_lenders,)
    """

    k: int
    need: Integers
    frequency: Integers
    pattern: Integers
    group: Integers
    cost: Floats
    way: Integers
    recruit_cost: Floats
    is_open: Flags
    lender: Integers
    lender_group: Integers
    lender_cost: Floats

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.way)

    @cached_property
    def begin(self) -> Integers:
        """The first pair of each class; every class has one."""
        return np.searchsorted(self.group, np.arange(self.n_classes))

    @classmethod
    def of(
        cls,
        frequency: Integers,
        k: int,
        ways: Iterable[Way],
        placed: tuple[Integers, Integers],
        most: Floats,
        budget: Budget,
    ) -> ClassPairs:
        """Find the pairs of a file.

        Parameters
        ----------
        frequency : numpy.ndarray of int, shape (n_patterns,)
        k : int
        ways : iterable of Way
        placed : tuple of numpy.ndarray of int
            Patterns of records that are in classes already, and numbers of their ways.
        most : numpy.ndarray of float, shape (n_patterns,)
            Pairs that cost more are left out.
        budget : Budget
            When it is over, further ways are left out.
        """
        need = np.flatnonzero(frequency < k)
        often = np.flatnonzero(frequency >= k)
        parts: list[tuple[npt.NDArray[np.generic], ...]] = []
        n_classes = n_pairs = 0
        for way in ways:
            cost = way.cost
            may = np.flatnonzero(cost[need] <= most[need])
            if budget.is_over or n_pairs > MANY_PAIRS:
                break
            if not len(may):
                continue
            label, n_groups = way.groups()
            there = np.where(np.isfinite(cost), frequency, 0)
            size = np.bincount(label, weights=there, minlength=n_groups)
            may = may[size[label[need[may]]] >= k]
            present, group = np.unique(label[need[may]], return_inverse=True)
            order = np.argsort(group.ravel(), kind="stable")
            number = np.full(n_groups, -1)
            number[present] = np.arange(len(present))
            lenders = often[np.isfinite(cost[often]) & (number[label[often]] >= 0)]
            into = number[label[lenders]]
            least = np.full(len(present), np.inf)
            np.minimum.at(least, into, cost[lenders])
            is_open = np.zeros(len(present), dtype=bool)
            inside = number[label[placed[0][placed[1] == way.number]]]
            is_open[inside[inside >= 0]] = True
            lending = np.flatnonzero(frequency[lenders] > k)
            lending = lending[np.argsort(into[lending], kind="stable")]
            parts.append((
                may[order], n_classes + group.ravel()[order], cost[need[may[order]]],
                np.full(len(present), way.number), least, is_open,
                lenders[lending], n_classes + into[lending], cost[lenders[lending]],
            ))  # fmt: skip
            n_classes += len(present)
            n_pairs += len(may)
        joined: list[npt.NDArray[Any]] = [
            np.concatenate([np.empty(0, kind), *(part[at] for part in parts)]).astype(kind)
            for at, kind in enumerate(_KINDS)
        ]
        return cls(k, need, frequency[need], *joined)

    def collected(self, price: Floats) -> tuple[Floats, Integers, Integers]:
        """Return what each class collects beyond its cost, and who pays it.

        Parameters
        ----------
        price : numpy.ndarray of float, shape (n_need,)
            What a record of each pattern pays.

        Returns
        -------
        gain : numpy.ndarray of float, shape (n_classes,)
            Where a class gains; at most 0 for all others.
        payers, taken : numpy.ndarray of int
            Pairs whose records pay, and how many of them.
        """
        over = price[self.pattern] - self.cost
        paying = self._may_gain(over)
        payers = np.flatnonzero(paying[self.group])
        least = np.where(self.is_open, 0, self.k)
        part = Collected.of(
            self.group[payers], over[payers], self.frequency[self.pattern[payers]], least
        )
        lacking = np.where(paying, np.maximum(least - part.size, 0.0), 0.0)
        gain = part.gain - lacking * np.where(lacking > 0, self.recruit_cost, 0.0)
        payers = payers[part.order]
        gains = gain[self.group[payers]] > 0
        return gain, payers[gains], part.taken[gains]

    def lacking(self, price: Floats) -> Floats:
        """Return what a class with a record of each pair collects too little, shape (n_pairs,).

        Infinite for classes that lack records and cannot recruit any.
        """
        over = price[self.pattern] - self.cost
        part = Collected.of(
            self.group, over, self.frequency[self.pattern], np.where(self.is_open, 0, self.k)
        )
        short = ~self.is_open & (part.size < self.k)
        gain = part.gain
        gain[short] -= (self.k - part.size[short]) * self.recruit_cost[short]
        # All records of a class that must recruit are in it already.
        return part.more - gain[self.group]

    def kept(self, is_kept: Flags) -> ClassPairs:
        """Return some pairs, with their classes alone."""
        classes, group = np.unique(self.group[is_kept], return_inverse=True)
        lends = np.isin(self.lender_group, classes)
        return replace(
            self,
            pattern=self.pattern[is_kept],
            group=group.ravel(),
            cost=self.cost[is_kept],
            way=self.way[classes],
            recruit_cost=self.recruit_cost[classes],
            is_open=self.is_open[classes],
            lender=self.lender[lends],
            lender_group=np.searchsorted(classes, self.lender_group[lends]),
            lender_cost=self.lender_cost[lends],
        )

    def _may_gain(self, over: Floats) -> Flags:
        """Return the classes that may gain, by a bound that needs no sorting.

        Those who pay less than the cost are at best all as near to it as the nearest.
        """
        above = np.flatnonzero(over > 0)
        group, there = self.group[above], self.frequency[self.pattern[above]]
        paid = np.bincount(group, weights=there * over[above], minlength=self.n_classes)
        size = np.bincount(group, weights=there, minlength=self.n_classes)
        short = np.where(self.is_open, 0.0, np.maximum(self.k - size, 0.0))
        if len(over):
            nearest = np.maximum.reduceat(np.where(over > 0, -np.inf, over), self.begin)
            nearest = np.maximum(nearest, -self.recruit_cost)
            paid = paid + short * np.where(short > 0, nearest, 0.0)
        return np.asarray((size > 0) & (paid > 0))


_KINDS = (
    np.int64, np.int64, np.float64, np.int64, np.float64, np.bool_, np.int64, np.int64, np.float64,
)  # fmt: skip
"""Types of the columns of pairs, classes and lenders, as `ClassPairs` has them."""


def collected(frequency: Integers, k: int, price: Floats, way: Way) -> Floats:
    """Return what each class of a way collects at most beyond its cost.

    Groups of fewer than k records are no classes, and collect minus infinity.

    Parameters
    ----------
    frequency : numpy.ndarray of int, shape (n_patterns,)
    k : int
    price : numpy.ndarray of float, shape (n_patterns,)
    way : Way
    """
    label, n_groups = way.groups()
    may = np.isfinite(way.cost)
    over = np.where(may, price - np.where(may, way.cost, 0.0), 0.0)
    part = Collected.of(label, over, np.where(may, frequency, 0), np.full(n_groups, k))
    return np.asarray(np.where(part.size >= k, part.gain, -np.inf), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Collected:
    """What classes collect from the records that pay most, and from all that pay a gain.

    Parameters
    ----------
    order : numpy.ndarray of int, shape (n_entries,)
        Entries by class, the best payers first.
    taken : numpy.ndarray of int, shape (n_entries,)
        How many records of each of them, in this order, a class takes.
    gain, size : numpy.ndarray of float, shape (n_classes,)
        What all of these pay beyond their cost, and their number.
    more : numpy.ndarray of float, shape (n_entries,)
        What a class loses, at least 0, where it must have a record of an entry.
    """

    order: Integers
    taken: Integers
    gain: Floats
    size: Floats
    more: Floats

    @classmethod
    def of(cls, group: Integers, over: Floats, count: Integers, least: Integers) -> Collected:
        """Let each class take what pays, and at least a number of records.

        Parameters
        ----------
        group : numpy.ndarray of int, shape (n_entries,)
        over : numpy.ndarray of float, shape (n_entries,)
            What a record pays beyond its cost.
        count : numpy.ndarray of int, shape (n_entries,)
        least : numpy.ndarray of int, shape (n_classes,)
        """
        order = np.lexsort((-over, group))
        number, paid, there = group[order], over[order], count[order]
        earlier, forced = before(number, there), least[number]
        taken = np.where(paid > 0, there, np.clip(forced - earlier, 0, there))
        gain = np.bincount(number, weights=taken * paid, minlength=len(least)).astype(np.float64)
        size = np.bincount(number, weights=taken, minlength=len(least)).astype(np.float64)
        # A further record takes the place of the last one that is needed.
        last = np.zeros(len(least))
        is_last = (earlier < forced) & (earlier + there >= forced)
        last[number[is_last]] = np.minimum(paid[is_last], 0.0)
        more = np.empty(len(order))
        more[order] = np.where(taken > 0, 0.0, last[number] - paid)
        return cls(order, taken, gain, size, more)


def before(group: Integers, count: Integers) -> Integers:
    """Return how many of each group come before each entry; groups are sorted."""
    earlier = np.cumsum(count) - count
    if not len(group):
        return earlier
    first = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    return earlier - np.repeat(earlier[first], np.diff(np.append(first, len(group))))


FIRST_STEP, LAST_STEP = 0.1, 5e-4
"""Share of the gap that a step of prices aims at, in the beginning and when the method ends.

See docs/decisions, "Prices of records".
"""

PATIENCE = 5
"""Steps without a better bound before they become shorter."""

SHORTER = 0.7
"""Factor by which they do."""

MEMORY = 0.5
"""Share of the direction before in each direction."""


def proved_prices(
    pairs: ClassPairs,
    frequency: Integers,
    floor: Floats,
    ways: Callable[[Floats], Iterable[Way]],
    loss: float,
    budget: Budget,
) -> tuple[Floats, Floats, float]:
    """Raise prices from what each record loses by itself, and prove them over all classes.

    Parameters
    ----------
    pairs : ClassPairs
    frequency : numpy.ndarray of int, shape (n_patterns,)
    floor : numpy.ndarray of float, shape (n_patterns,)
        What a record of each pattern in need loses whatever others do; 0 for all other patterns.
    ways : callable
        Returns, for prices, all ways that cost some record less than its price.
    loss : float
        That of a release, which no bound exceeds.
    budget : Budget

    Returns
    -------
    raised : numpy.ndarray of float, shape (n_patterns,)
    price : numpy.ndarray of float, shape (n_patterns,)
        The floor, if raised prices prove no more: it needs no proof over classes.
    bound : float
    """
    raised = floor.copy()
    raised[pairs.need] = raised_prices(pairs, floor[pairs.need], loss, budget.share(0.5))
    bound = price_bound(frequency, pairs.k, raised, ways(raised), budget.share(0.5))
    alone = float(floor @ frequency)
    return (raised, raised, bound) if bound > alone else (raised, floor, alone)


def raised_prices(pairs: ClassPairs, start: Floats, loss: float, budget: Budget) -> Floats:
    """Raise prices step by step, and return those that prove most for the classes of the pairs."""
    price, share, best, failed = start, FIRST_STEP, -np.inf, 0
    chosen = start
    frequency = pairs.frequency.astype(np.float64)
    direction: Floats | None = None
    while share > LAST_STEP and not budget.is_over:
        gain, payers, taken = pairs.collected(price)
        value = float(frequency @ price - np.sum(np.maximum(gain, 0.0)))
        if not best > value - 1e-6 * abs(value):
            best, failed, chosen = value, 0, price
        else:
            failed += 1
            if failed == PATIENCE:
                share, failed = SHORTER * share, 0
        used = np.bincount(pairs.pattern[payers], weights=taken, minlength=len(price))
        # How many more records of each pattern there are than classes with a gain take.
        slope = frequency - used
        direction = slope if direction is None else (MEMORY * direction + (1 - MEMORY) * slope)
        length = float(np.sum(direction**2 / frequency))
        if length < 1e-9 or value >= loss:
            break
        step = share * (loss - value) / length * direction / frequency
        price = np.maximum(price + step, 0.0)
    return chosen


def price_bound(
    frequency: Integers, k: int, price: Floats, ways: Iterable[Way], budget: Budget
) -> float:
    """Return what prices prove, all classes considered; 0 if the time does not suffice.

    Parameters
    ----------
    frequency : numpy.ndarray of int, shape (n_patterns,)
    k : int
    price : numpy.ndarray of float, shape (n_patterns,)
        0 for patterns that k records have.
    ways : iterable of Way
        All that cost some record less than its price.
    budget : Budget
    """
    bound = float(price @ frequency)
    for way in ways:
        if np.any(price > way.cost):
            bound -= float(np.sum(np.maximum(collected(frequency, k, price, way), 0.0)))
        if budget.is_over:
            return 0.0
    return max(bound, 0.0)


def way_of_each(of_record: Integers, pattern: Integers, way: Integers, count: Integers) -> Integers:
    """Return the way of each record, from how many records of a pattern are changed in which way.

    Equal records take them in the order of the file, and ways in that of their numbers.
    """
    ways = np.empty(len(of_record), dtype=np.int64)
    order = np.lexsort((way, pattern))
    ways[np.argsort(of_record, kind="stable")] = np.repeat(way[order], count[order])
    return ways
