"""Regions of a file are emptied and filled again, and kept if that is no dearer.

A region are patterns in need that compete for classes. It is filled by prices that are a little
changed at random: large neighbourhood search [1]_.

References
----------
.. [1] Shaw: Using constraint programming and local search methods to solve vehicle routing
   problems, CP 1998.
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.class_pairs import ClassPairs
from tablecloak.microdata.anonymity.placing import Placing

FEW_PATTERNS = 15
"""Patterns in need of a region."""

MANY_CLASSES = 8
"""Classes of a region in which further patterns are looked for."""

NOISE = 0.15
"""Spread of the share by which prices are changed."""

TURNS = 15
"""Most regions for each pattern in need."""


def refill(
    placing: Placing, price: Floats, bound: float, random: np.random.Generator, budget: Budget
) -> None:
    """Empty and fill regions until the time is over, or the bound is reached.

    Parameters
    ----------
    placing : Placing
        Changed in place. No records are left in it.
    price : numpy.ndarray of float, shape (n_need,)
    bound : float
    random : numpy.random.Generator
    budget : Budget
    """
    pairs = placing.pairs
    search, cost = _Regions(placing), placing.cost
    for _ in range(TURNS * len(pairs.need)):
        if budget.is_over or cost <= bound + 1e-9:
            break
        cost -= search.turn(price, random, budget)


class _Regions:
    """A placing, and where the pairs of patterns and the lenders of classes begin."""

    def __init__(self, placing: Placing) -> None:
        self.placing = placing
        pairs = placing.pairs
        self.of_pattern = np.argsort(pairs.pattern, kind="stable")
        self.begin = np.searchsorted(pairs.pattern[self.of_pattern], np.arange(len(pairs.need) + 1))
        classes = np.arange(pairs.n_classes + 1)
        self.of_class = np.searchsorted(pairs.group, classes)
        self.lenders = np.searchsorted(pairs.lender_group, classes)

    def turn(self, price: Floats, random: np.random.Generator, budget: Budget) -> float:
        """Empty and fill one region; return how much cheaper the release has become."""
        placing, pairs = self.placing, self.placing.pairs
        emptied = self._classes_of(self._region(random))
        inside = _joined(self.of_class, emptied)
        inside = inside[placing.taken[inside] > 0]
        lenders = _joined(self.lenders, emptied)
        lenders = lenders[placing.lent[lenders] > 0]
        before = float(
            placing.taken[inside] @ pairs.cost[inside]
            + placing.lent[lenders] @ pairs.lender_cost[lenders]
        )
        number, which = np.unique(pairs.pattern[inside], return_inverse=True)
        left = np.bincount(which, weights=placing.taken[inside]).astype(np.int64)
        at = np.sort(self.of_pattern[_joined(self.begin, number)])
        part, there, spare = self._part(number, at, emptied, lenders)
        local = Placing(
            part, left, spare, np.zeros(len(at), dtype=np.int64),
            np.zeros(len(there), dtype=np.int64), part.is_open,
        )  # fmt: skip
        changed = price[number] * np.exp(NOISE * random.standard_normal(len(number)))
        local.fill(changed, random, budget, (np.inf,))
        gain = before - local.cost
        if local.left.any() or gain < 0:
            return 0.0
        np.add.at(placing.spare, pairs.lender[lenders], placing.lent[lenders])
        placing.taken[inside] = 0
        placing.lent[lenders] = 0
        placing.is_open[emptied] = pairs.is_open[emptied]
        placing.taken[at] += local.taken
        placing.lent[there] += local.lent
        np.subtract.at(placing.spare, pairs.lender[there], local.lent)
        placing.is_open[pairs.group[at[local.taken > 0]]] = True
        return gain

    def _region(self, random: np.random.Generator) -> Integers:
        """Return patterns in need that share classes, from a random one on."""
        pairs = self.placing.pairs
        region = random.integers(0, len(pairs.need), 1)
        while True:
            at = self.of_pattern[_joined(self.begin, region)]
            classes = np.unique(pairs.group[at])
            if not len(classes):
                return region
            some = random.choice(classes, min(len(classes), MANY_CLASSES), replace=False)
            near = np.unique(np.concatenate([region, pairs.pattern[_joined(self.of_class, some)]]))
            if len(near) > FEW_PATTERNS:
                others = np.setdiff1d(near, region)
                more = random.choice(others, FEW_PATTERNS - len(region), replace=False)
                return np.concatenate([region, more])
            if len(near) == len(region):
                return near
            region = near

    def _classes_of(self, region: Integers) -> Integers:
        """Return the classes in which the records of some patterns are."""
        at = self.of_pattern[_joined(self.begin, region)]
        return np.unique(self.placing.pairs.group[at[self.placing.taken[at] > 0]])

    def _part(
        self, number: Integers, at: Integers, emptied: Integers, lenders: Integers
    ) -> tuple[ClassPairs, Integers, Integers]:
        """Return some pairs as a question of its own, its lenders, and what these can lend."""
        placing, pairs = self.placing, self.placing.pairs
        classes, group = np.unique(pairs.group[at], return_inverse=True)
        is_open = placing.is_open[classes]
        is_open[np.searchsorted(classes, emptied)] = pairs.is_open[emptied]
        there = _joined(self.lenders, classes)
        lending, lender = np.unique(pairs.lender[there], return_inverse=True)
        spare = placing.spare[lending]
        back = np.searchsorted(lending, pairs.lender[lenders])
        np.add.at(spare, back, placing.lent[lenders])
        part = ClassPairs(
            k=pairs.k,
            need=pairs.need[number],
            frequency=pairs.frequency[number],
            pattern=np.searchsorted(number, pairs.pattern[at]),
            group=group.ravel(),
            cost=pairs.cost[at],
            way=pairs.way[classes],
            recruit_cost=pairs.recruit_cost[classes],
            is_open=is_open,
            lender=lender.ravel(),
            lender_group=np.searchsorted(classes, pairs.lender_group[there]),
            lender_cost=pairs.lender_cost[there],
        )
        return part, there, spare


def _joined(begin: Integers, numbers: Integers) -> Integers:
    """Return the positions from begin[n] to begin[n + 1], for some numbers n in turn."""
    length = begin[numbers + 1] - begin[numbers]
    total = int(length.sum())
    first = np.cumsum(length) - length
    return np.repeat(begin[numbers] - first, length) + np.arange(total)
