"""Records are placed in classes: by prices, again in each region, or from the top down.

What a release costs above the bound is the sum of what its classes collect too little. Classes that
lack least for each record in need are therefore formed first, all that do not compete at once, with
prices that stay as they are: a Lagrangian heuristic as for set covering [1]_. Then regions of
patterns that compete for classes are emptied and filled again by prices that are a little changed
at random, and kept if that is no dearer: large neighbourhood search [2]_. Many regions are filled
at once, each with classes of its own; see docs/decisions, "Regions".

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

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

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
        idle, most = 0, IDLE * len(self.left) // regions.n_regions
        while idle <= most and cost > bound + 1e-9 and not budget.is_over:
            gain = regions.turn(price, random, budget)
            cost -= gain
            idle = 0 if gain > 1e-9 else idle + 1

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
        # Where classes must pay for themselves, dear records stay out.
        pays = limit <= TINY * price.max(initial=0.0)
        dearest = price if pays else np.full(len(price), np.inf)
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


MANY_CLASSES = 6
"""Classes in which the patterns of a region are looked for, those of one pattern."""

MEMBERS = 3
"""Patterns that each of them gives to the region."""

SPREAD = 30
"""Patterns in need for each region that is filled at once."""

NOISE = 0.15
"""Spread of the share by which prices are changed."""

IDLE = 15
"""Regions for each pattern in need that are filled in vain before the search ends."""


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
        self.n_regions = max(len(pairs.need) // SPREAD, 1)

    def _drawn(self, random: np.random.Generator) -> Integers:
        """Return the region of each pattern in need, -1 for most: patterns that share classes.

        Half of the regions begin with a pattern that is in no class, if there are so many.
        """
        pairs, degree = self.placing.pairs, np.diff(self.begin)
        seeds = random.permutation(np.flatnonzero(degree))[: self.n_regions]
        waiting = random.permutation(np.flatnonzero((self.placing.left > 0) & (degree > 0)))
        half = min(len(waiting), (len(seeds) + int(random.integers(2))) // 2)
        seeds = np.unique(np.concatenate([waiting[:half], seeds[half:]]))
        region = np.repeat(np.arange(len(seeds)), MANY_CLASSES)
        chosen = (random.random(len(region)) * degree[seeds][region]).astype(np.int64)
        group = pairs.group[self.of_pattern[self.begin[seeds][region] + chosen]]
        region, group = np.repeat(region, MEMBERS), np.repeat(group, MEMBERS)
        chosen = (random.random(len(region)) * np.diff(self.of_class)[group]).astype(np.int64)
        drawn = np.full(len(pairs.need), -1)
        drawn[pairs.pattern[self.of_class[group] + chosen]] = region
        drawn[seeds] = np.arange(len(seeds))
        return drawn

    def turn(self, price: Floats, random: np.random.Generator, budget: Budget) -> float:
        """Empty and fill some regions at once; return how much cheaper the release has become.

        A class is emptied, or formed anew, by one region alone, so that each is judged by itself.
        """
        placing, pairs, n_regions = self.placing, self.placing.pairs, self.n_regions
        drawn = self._drawn(random)
        chosen = np.flatnonzero(drawn >= 0)
        held = self.of_pattern[_joined(self.begin, chosen)]
        held = held[placing.taken[held] > 0]
        group, mine = pairs.group[held], drawn[pairs.pattern[held]]
        owner = np.full(pairs.n_classes, -1)
        owner[group] = mine
        owner[group[owner[group] != mine]] = -1
        emptied = np.flatnonzero(owner >= 0)
        inside = _joined(self.of_class, emptied)
        inside = inside[placing.taken[inside] > 0]
        returned = _joined(self.lenders, emptied)
        returned = returned[placing.lent[returned] > 0]
        waiting = chosen[placing.left[chosen] > 0]
        of_inside, of_returned = owner[pairs.group[inside]], owner[pairs.lender_group[returned]]
        before = self._costs(
            (of_inside, placing.taken[inside] * pairs.cost[inside]),
            (of_returned, placing.lent[returned] * pairs.lender_cost[returned]),
            (drawn[waiting], self.dearest * placing.left[waiting]),
        )
        # A pattern is one unit in each region that has records of it.
        units, which = np.unique(
            np.concatenate([
                pairs.pattern[inside] * n_regions + of_inside, waiting * n_regions + drawn[waiting],
            ]),
            return_inverse=True,
        )  # fmt: skip
        count = np.concatenate([placing.taken[inside], placing.left[waiting]])
        left = np.bincount(which.ravel(), weights=count).astype(np.int64)
        pattern, region = np.divmod(units, n_regions)
        entries = self.of_pattern[_joined(self.begin, pattern)]
        unit = np.repeat(np.arange(len(units)), np.diff(self.begin)[pattern])
        is_open = np.where(owner >= 0, pairs.is_open, placing.is_open)
        group = pairs.group[entries]
        fresh = random.permutation(np.flatnonzero(~is_open[group] & (owner[group] < 0)))
        owner[group[fresh]] = region[unit[fresh]]
        may = np.flatnonzero(is_open[group] | (owner[group] == region[unit]))
        may = may[np.argsort(entries[may], kind="stable")]
        entries, unit = entries[may], unit[may]
        local, there = self._local(pattern, left, entries, unit, is_open, returned)
        part = local.pairs
        changed = price[pattern] * np.exp(NOISE * random.standard_normal(len(units)))
        local.fill(changed, random, budget, (np.inf,))
        of_entry, of_lent = region[unit], owner[pairs.lender_group[there]]
        after = self._costs(
            (of_entry, local.taken * part.cost),
            (of_lent, local.lent * part.lender_cost),
            (region, self.dearest * local.left),
        )
        is_better = self._affordable(
            after <= before, of_lent, there, local.lent, of_returned, returned
        )
        gone, back = inside[is_better[of_inside]], returned[is_better[of_returned]]
        np.add.at(placing.spare, pairs.lender[back], placing.lent[back])
        placing.taken[gone], placing.lent[back] = 0, 0
        placing.left[waiting[is_better[drawn[waiting]]]] = 0
        closed = emptied[is_better[owner[emptied]]]
        placing.is_open[closed] = pairs.is_open[closed]
        new, called = is_better[of_entry], is_better[of_lent] & (local.lent > 0)
        np.add.at(placing.taken, entries[new], local.taken[new])
        placing.is_open[pairs.group[entries[new & (local.taken > 0)]]] = True
        placing.lent[there[called]] += local.lent[called]
        np.subtract.at(placing.spare, pairs.lender[there[called]], local.lent[called])
        np.add.at(placing.left, pattern[is_better[region]], local.left[is_better[region]])
        return float((before - after)[is_better].sum())

    def _local(
        self, pattern: Integers, left: Integers, entries: Integers, unit: Integers,
        is_open: Flags, returned: Integers,
    ) -> tuple[Placing, Integers]:  # fmt: skip
        """Return the records of units, in no class yet, and the lenders of their classes."""
        placing, pairs = self.placing, self.placing.pairs
        classes, group = np.unique(pairs.group[entries], return_inverse=True)
        there = _joined(self.lenders, classes)
        lending, lender = np.unique(pairs.lender[there], return_inverse=True)
        spare = placing.spare[lending]
        back = np.searchsorted(lending, pairs.lender[returned])
        np.add.at(spare, back, placing.lent[returned])
        part = replace(
            pairs,
            need=pairs.need[pattern],
            frequency=left,
            pattern=unit,
            group=group.ravel(),
            cost=pairs.cost[entries],
            way=pairs.way[classes],
            recruit_cost=pairs.recruit_cost[classes],
            is_open=is_open[classes],
            lender=lender.ravel(),
            lender_group=np.searchsorted(classes, pairs.lender_group[there]),
            lender_cost=pairs.lender_cost[there],
        )
        return Placing.begun(part, left, spare), there

    def _costs(self, *parts: tuple[Integers, npt.NDArray[np.floating]]) -> Floats:
        """Add up costs by region."""
        region, cost = (np.concatenate(part) for part in zip(*parts, strict=True))
        # Classes that all may join lend nothing.
        is_owned = region >= 0
        sums = np.bincount(region[is_owned], weights=cost[is_owned], minlength=self.n_regions)
        return np.asarray(sums, dtype=np.float64)

    def _affordable(
        self, is_better: Flags, of_lent: Integers, there: Integers, lent: Integers,
        of_returned: Integers, returned: Integers,
    ) -> Flags:  # fmt: skip
        """Return the better regions without those that count on records which others keep."""
        placing, lender = self.placing, self.placing.pairs.lender
        while True:
            called, back = is_better[of_lent] & (lent > 0), is_better[of_returned]
            spare = placing.spare.copy()
            np.add.at(spare, lender[returned[back]], placing.lent[returned[back]])
            np.subtract.at(spare, lender[there[called]], lent[called])
            if spare.min(initial=0) >= 0:
                return is_better
            is_better = is_better.copy()
            is_better[of_lent[called & (spare[lender[there]] < 0)]] = False


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
