"""Records are placed in classes: by prices, again in each region, or from the top down.

What a release costs above the bound is the sum of what its classes collect too little. Classes that
lack least for each record in need are therefore formed first, all that do not compete at once, with
prices that stay as they are: a Lagrangian heuristic as for set covering [1]_. Then regions of
patterns that compete for classes are emptied and filled again by prices that are a little changed
at random, and kept if that is no dearer: large neighbourhood search [2]_.

From the top down, all records are in one class, which is split as long as k records stay in each. A
class is split by one key: of the values one level below, those that k of its records share form
classes of their own, and the other records stay, if k of them are left. This is the partition of
Mondrian [3]_ by hierarchies instead of medians, as top-down specialisation does [4]_, but each
class by itself.

References
----------
.. [1] Caprara, Fischetti, Toth: A heuristic method for the set covering problem, Operations
   Research 47, 1999.
.. [2] Shaw: Using constraint programming and local search methods to solve vehicle routing
   problems, CP 1998.
.. [3] LeFevre, DeWitt, Ramakrishnan: Mondrian multidimensional k-anonymity, ICDE 2006.
.. [4] Fung, Wang, Yu: Top-down specialization for information and privacy preservation, ICDE 2005.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.classes import ClassPairs, before
from tablecloak.microdata.anonymity.levels import RecordLevels

LACKING = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0, np.inf)
"""What classes may lack for each record in need, in turns, as a share of the mean price."""

MANY_ROUNDS = 400
"""Most rounds of one turn."""

MANY_STEPS = 60
"""Most steps of the price of the greedy rule."""

TINY = 1e-6
"""Share of a price within which a class counts as paying for itself."""


@dataclass(eq=False)
class Placing:
    """Where records are: how many of each pair, and of each lender in each class.

    Parameters
    ----------
    pairs : ClassPairs
    left : numpy.ndarray of int, shape (n_need,)
        Records that are in no class yet.
    spare : numpy.ndarray of int, shape (n_patterns,)
        Records that each pattern can still lend.
    taken : numpy.ndarray of int, shape (n_pairs,)
    lent : numpy.ndarray of int, shape (n_lenders,)
    is_open : numpy.ndarray of bool, shape (n_classes,)
        Classes that have k records.
    """

    pairs: ClassPairs
    left: Integers
    spare: Integers
    taken: Integers
    lent: Integers
    is_open: Flags

    @classmethod
    def begun(cls, pairs: ClassPairs, left: Integers, spare: Integers) -> Placing:
        """Begin with some records in no class yet, and some that patterns can lend."""
        return cls(
            pairs=pairs,
            left=left.copy(),
            spare=spare.copy(),
            taken=np.zeros(len(pairs.pattern), dtype=np.int64),
            lent=np.zeros(len(pairs.lender), dtype=np.int64),
            is_open=pairs.is_open.copy(),
        )

    def fill_greedily(self, random: np.random.Generator, budget: Budget) -> None:
        """Form classes in the order of their cost per record in need.

        That is by one price for all records, which rises from step to step.
        """
        pairs, k = self.pairs, self.pairs.k
        costs = np.unique(np.concatenate([pairs.cost, pairs.recruit_cost]))
        rising = np.unique(np.outer(costs[np.isfinite(costs)], k / np.arange(1, k + 1)))
        steps = np.linspace(0, len(rising) - 1, min(len(rising), MANY_STEPS)).astype(np.int64)
        for price in rising[steps].tolist():
            # A little more, so that classes that just pay are formed.
            self.fill(np.full(len(pairs.need), price * (1 + TINY)), random, budget, (TINY,))

    def improve(
        self, price: Floats, bound: float, random: np.random.Generator, budget: Budget
    ) -> None:
        """Fill regions again until the bound is reached, or the time is over.

        Parameters
        ----------
        price : numpy.ndarray of float, shape (n_need,)
        bound : float
        random : numpy.random.Generator
            Decides between equal classes.
        budget : Budget
        """
        # Who is left over loses all keys.
        dearest = float(self.pairs.cost.max(initial=0.0)) + 1.0
        regions = _Regions(self, dearest)
        cost = self.cost + dearest * float(self.left.sum())
        for _ in range(TURNS * len(self.left)):
            if budget.is_over or cost <= bound + 1e-9:
                break
            cost -= regions.turn(price, random, budget)

    @property
    def cost(self) -> float:
        """Cost of all records that are placed."""
        return float(self.taken @ self.pairs.cost + self.lent @ self.pairs.lender_cost)

    def entries(self) -> tuple[Integers, Integers, Integers]:
        """Return patterns, ways and numbers of the records that are placed."""
        pairs = self.pairs
        taken, lent = np.flatnonzero(self.taken), np.flatnonzero(self.lent)
        return (
            np.concatenate([pairs.need[pairs.pattern[taken]], pairs.lender[lent]]),
            np.concatenate([pairs.way[pairs.group[taken]], pairs.way[pairs.lender_group[lent]]]),
            np.concatenate([self.taken[taken], self.lent[lent]]),
        )

    def fill(
        self,
        price: Floats,
        random: np.random.Generator,
        budget: Budget,
        lacking: tuple[float, ...] = LACKING,
    ) -> None:
        """Place the records that are left, as far as classes can be formed.

        Parameters
        ----------
        price : numpy.ndarray of float, shape (n_need,)
        random : numpy.random.Generator
            Decides between equal classes.
        budget : Budget
        """
        unit = float(np.mean(price)) if len(price) else 0.0
        for limit in lacking:
            for _ in range(MANY_ROUNDS):
                if (
                    budget.is_over
                    or not self.left.any()
                    or not self._round(price, limit * unit, random)
                ):
                    break

    def _round(self, price: Floats, limit: float, random: np.random.Generator) -> bool:
        """Form all classes that lack little and less than those that compete with them."""
        pairs = self.pairs
        # Where classes must pay for themselves, those who pay less than their cost stay out.
        dearest = price if limit <= TINY else np.full(len(price), np.inf)
        near = pairs.cost <= dearest[pairs.pattern]
        entrants = np.flatnonzero(near & (self.left[pairs.pattern] > 0))
        if not len(entrants):
            return False
        classes, group = np.unique(pairs.group[entrants], return_inverse=True)
        over = price[pairs.pattern[entrants]] - pairs.cost[entrants]
        order = np.lexsort((-over, group))
        entrants, group, over = entrants[order], group[order], over[order]
        there = self.left[pairs.pattern[entrants]]
        # A class that exists takes anybody, and one record at least to be of use.
        least = np.where(self.is_open[classes], 1, pairs.k)
        forced = np.clip(least[group] - before(group, there), 0, there)
        wanted = np.where(over >= 0, there, forced)
        size = np.bincount(group, weights=wanted, minlength=len(classes))
        gain = np.bincount(group, weights=wanted * over, minlength=len(classes))
        lacking = np.asarray(-gain, dtype=np.float64)
        recruits = np.maximum(least - size, 0).astype(np.int64)
        calling = recruits > 0
        lacking[calling] += recruits[calling] * pairs.recruit_cost[classes[calling]]
        score = lacking / np.maximum(size, 1) * (1 + 1e-6 * random.random(len(classes)))
        score += 1e-9 * random.random(len(classes))
        score[calling & (self._supply(classes) < recruits)] = np.inf
        score[score > limit] = np.inf
        joining = (wanted > 0) & np.isfinite(score[group])
        entrants, group, wanted = entrants[joining], group[joining], wanted[joining]
        best = np.full(len(self.left), np.inf)
        np.minimum.at(best, pairs.pattern[entrants], score[group])
        beaten = score[group] > best[pairs.pattern[entrants]]
        formed = np.isfinite(score)
        formed[group[beaten]] = False
        for call in np.flatnonzero(formed & calling)[np.argsort(score[formed & calling])]:
            formed[call] = self._recruit(int(classes[call]), int(recruits[call]))
        inside = formed[group]
        self.taken[entrants[inside]] += wanted[inside]
        np.subtract.at(self.left, pairs.pattern[entrants[inside]], wanted[inside])
        self.is_open[classes[formed]] = True
        return bool(inside.any())

    def _supply(self, classes: Integers) -> Integers:
        """Return how many recruits some classes can call."""
        pairs = self.pairs
        supply = np.bincount(
            pairs.lender_group, weights=self.spare[pairs.lender], minlength=pairs.n_classes
        )
        return supply[classes].astype(np.int64)

    def _recruit(self, group: int, number: int) -> bool:
        """Call recruits to a class, the cheapest first; return whether there were enough."""
        pairs = self.pairs
        begin, end = np.searchsorted(pairs.lender_group, [group, group + 1])
        spare = self.spare[pairs.lender[begin:end]]
        if int(spare.sum()) < number:
            return False
        order = np.lexsort((-spare, pairs.lender_cost[begin:end]))
        called = np.clip(number - (np.cumsum(spare[order]) - spare[order]), 0, spare[order])
        self.lent[begin + order] += called
        self.spare[pairs.lender[begin + order]] -= called
        return True


FEW_PATTERNS = 15
"""Patterns in need of a region."""

MANY_CLASSES = 8
"""Classes of a region in which further patterns are looked for."""

NOISE = 0.15
"""Spread of the share by which prices are changed."""

WAITING = 0.5
"""Share of the regions that begin with a pattern that is in no class."""

TURNS = 15
"""Most regions for each pattern in need."""


class _Regions:
    """A placing, and where the pairs of patterns and the lenders of classes begin."""

    def __init__(self, placing: Placing, dearest: float) -> None:
        self.placing = placing
        self.dearest = dearest
        pairs = placing.pairs
        self.of_pattern = np.argsort(pairs.pattern, kind="stable")
        self.begin = np.searchsorted(pairs.pattern[self.of_pattern], np.arange(len(pairs.need) + 1))
        classes = np.arange(pairs.n_classes + 1)
        self.of_class = np.searchsorted(pairs.group, classes)
        self.lenders = np.searchsorted(pairs.lender_group, classes)

    def turn(self, price: Floats, random: np.random.Generator, budget: Budget) -> float:
        """Empty and fill one region; return how much cheaper the release has become."""
        placing, pairs = self.placing, self.placing.pairs
        region = self._region(random)
        emptied = self._classes_of(region)
        inside = _joined(self.of_class, emptied)
        inside = inside[placing.taken[inside] > 0]
        lenders = _joined(self.lenders, emptied)
        lenders = lenders[placing.lent[lenders] > 0]
        before = float(
            placing.taken[inside] @ pairs.cost[inside]
            + placing.lent[lenders] @ pairs.lender_cost[lenders]
        )
        waiting = region[placing.left[region] > 0]
        before += self.dearest * float(placing.left[waiting].sum())
        number, which = np.unique(
            np.concatenate([pairs.pattern[inside], waiting]), return_inverse=True
        )
        count = np.concatenate([placing.taken[inside], placing.left[waiting]])
        left = np.bincount(which, weights=count).astype(np.int64)
        entries = np.sort(self.of_pattern[_joined(self.begin, number)])
        part, there, spare = self._part(number, entries, emptied, lenders)
        local = Placing(
            part, left, spare, np.zeros(len(entries), dtype=np.int64),
            np.zeros(len(there), dtype=np.int64), part.is_open,
        )  # fmt: skip
        changed = price[number] * np.exp(NOISE * random.standard_normal(len(number)))
        local.fill(changed, random, budget, (np.inf,))
        gain = before - local.cost - self.dearest * float(local.left.sum())
        if gain < 0:
            return 0.0
        np.add.at(placing.spare, pairs.lender[lenders], placing.lent[lenders])
        placing.taken[inside] = 0
        placing.lent[lenders] = 0
        placing.is_open[emptied] = pairs.is_open[emptied]
        placing.taken[entries] += local.taken
        placing.lent[there] += local.lent
        np.subtract.at(placing.spare, pairs.lender[there], local.lent)
        placing.is_open[pairs.group[entries[local.taken > 0]]] = True
        placing.left[waiting] = 0
        placing.left[number] += local.left
        return gain

    def _region(self, random: np.random.Generator) -> Integers:
        """Return patterns in need that share classes, from a random one on.

        Every other region begins with a pattern that is in no class, if there is one.
        """
        pairs = self.placing.pairs
        region = random.integers(0, len(pairs.need), 1)
        waiting = np.flatnonzero(self.placing.left)
        if len(waiting) and random.random() < WAITING:
            region = random.choice(waiting, 1)
        while True:
            entries = self.of_pattern[_joined(self.begin, region)]
            classes = np.unique(pairs.group[entries])
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
        entries = self.of_pattern[_joined(self.begin, region)]
        return np.unique(self.placing.pairs.group[entries[self.placing.taken[entries] > 0]])

    def _part(
        self, number: Integers, entries: Integers, emptied: Integers, lenders: Integers
    ) -> tuple[ClassPairs, Integers, Integers]:
        """Return some pairs as a problem of its own, its lenders, and what these can lend."""
        placing, pairs = self.placing, self.placing.pairs
        classes, group = np.unique(pairs.group[entries], return_inverse=True)
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
            pattern=np.searchsorted(number, pairs.pattern[entries]),
            group=group.ravel(),
            cost=pairs.cost[entries],
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


def split_from_the_top(levels: RecordLevels, k: int, budget: Budget) -> Integers:
    """Split classes by the key that saves most, all classes at once, until none can be split.

    Returns
    -------
    numpy.ndarray of int, shape (n_patterns, n_keys)
        Level of each key for each pattern. When the time is over, classes stay as they are.
    """
    n_keys = len(levels.n_levels)
    top = np.array(levels.n_levels) - 1
    level = np.tile(top, (levels.patterns.n_patterns, 1))
    label, n_strata = levels.groups(levels.top)
    open_ = np.ones(n_strata, dtype=bool)
    while open_.any() and not budget.is_over:
        rows = np.flatnonzero(open_[label])
        saved, down = _best(levels, k, level, label, rows, len(open_))
        chosen = np.argmax(saved, axis=0)
        splits = saved[chosen, np.arange(len(open_))] > 0
        again = np.zeros(len(open_), dtype=bool)
        goes = np.zeros(len(rows), dtype=np.int64)
        for key in range(n_keys):
            moving, child = down[key]
            here = moving & splits[label[rows]] & (chosen[label[rows]] == key)
            level[rows[here], key] -= 1
            goes[here] = child[here] + 1
        again[:] = splits
        pair = label.astype(np.int64).copy()
        both = np.zeros(len(label), dtype=np.int64)
        both[rows] = goes
        still = again[label]
        _, label = np.unique(np.column_stack([pair, both]), axis=0, return_inverse=True)
        label = label.ravel()
        open_ = np.zeros(int(label.max()) + 1, dtype=bool)
        open_[label[still]] = True
    return level


def _best(
    levels: RecordLevels, k: int, level: Integers, label: Integers, rows: Integers, n_classes: int
) -> tuple[Floats, list[tuple[Flags, Integers]]]:
    """Return for each key and class what a split saves, who would move, and to which child."""
    frequency = levels.patterns.frequency[rows]
    mine = label[rows]
    total = np.bincount(mine, weights=frequency, minlength=n_classes)
    saved, down = [], []
    for key, codes in enumerate(levels.codes):
        now = level[rows, key]
        code = np.column_stack(codes)[rows, np.maximum(now - 1, 0)]
        loss = np.column_stack(levels.losses[key])
        finer = loss[rows, np.maximum(now - 1, 0)]
        may = (now > 0) & np.isfinite(finer)
        pair = mine * (int(code.max(initial=0)) + 1) + code
        _, child = np.unique(pair, return_inverse=True)
        child = child.ravel()
        size = np.bincount(child, weights=frequency * may).astype(np.int64)
        moves = may & (size[child] >= k)
        gone = np.bincount(mine, weights=frequency * moves, minlength=n_classes)
        stay = (total - gone).astype(np.int64)
        moves &= ~_kept_back(mine, child, size, moves, stay, k)[child]
        gain = np.where(moves, loss[rows, now] - np.where(may, finer, 0.0), 0.0) * frequency
        saved.append(np.bincount(mine, weights=gain, minlength=n_classes))
        down.append((moves, child))
    return np.array(saved), down


def _kept_back(
    mine: Integers, child: Integers, size: Integers, moves: Flags, stay: Integers, k: int
) -> Flags:
    """Return the children that stay so that k records are left: in each class the smallest one."""
    back = np.zeros(len(size), dtype=bool)
    short = (stay > 0) & (stay < k)
    movers = np.flatnonzero(moves & short[mine])
    if len(movers):
        order = movers[np.lexsort((size[child[movers]], mine[movers]))]
        first = np.concatenate([[True], mine[order][1:] != mine[order][:-1]])
        back[child[order[first]]] = True
    return back
