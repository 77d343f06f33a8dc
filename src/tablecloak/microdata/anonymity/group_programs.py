"""Regions of records divided into the best groups: set partitioning over groups that are cheap.

A group is a choice of k to 2k - 1 records of a class; larger ones can be divided without loss. With
prices of records, a group lacks what its records cost beyond what they pay. All groups of a region
that lack no more than those there now are listed, and a program chooses among them [1]_: it is as
strong as the prices are, and far easier than one over classes that exist or not. Regions are
emptied and filled again like this one after the other: large neighbourhood search [2]_.

References
----------
.. [1] Balinski, Quandt: On an integer program for a delivery problem, Operations Research 12, 1964.
.. [2] Shaw: Using constraint programming and local search methods to solve vehicle routing
   problems, CP 1998.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.placing import Placing, joined
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program

REGION = 100
"""Patterns in need of a region, before those who share a class with them are added."""

SMALL = 250
"""Patterns in need of a file that is one region."""

MANY_GROUPS = 1_500, 6_000
"""Most groups that a program chooses from, those that lack least: of a region, and a small file."""

MANY_PARTS = 1_000_000
"""Parts of groups that are looked at; with more, only groups that lack less are listed."""

MANY_NODES = 50, 5_000
"""Nodes of branch and bound after which the best choice so far is taken, in the same order."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of records of a region.

    Parameters
    ----------
    number : numpy.ndarray of int, shape (n_groups,)
        Class of each group.
    recruits : numpy.ndarray of int, shape (n_groups,)
        How many records it calls from patterns that k records have.
    lack : numpy.ndarray of float, shape (n_groups,)
        Cost beyond prices.
    group, entry : numpy.ndarray of int, shape (n_members,)
        Members: the group, and the entry of the list that it was made from.
    """

    number: Integers
    recruits: Integers
    lack: Floats
    group: Integers
    entry: Integers


def cheap_groups(
    number: Integers, over: Floats, copy: Integers, recruit_cost: Floats, k: int, most: float
) -> Groups:
    """List groups of k to 2k - 1 entries of a class that lack at most a given cost.

    Parameters
    ----------
    number : numpy.ndarray of int, shape (n_entries,)
        Class of each entry, in rising order; a class begins with those who pay most.
    over : numpy.ndarray of float, shape (n_entries,)
        What an entry, one record, pays beyond its cost.
    copy : numpy.ndarray of int, shape (n_entries,)
        How many equal records come right before it; they are taken in this order.
    recruit_cost : numpy.ndarray of float, shape (n_classes,)
        Infinite where none can be called.
    k : int
    most : float
    """
    n = len(number)
    end = np.searchsorted(number, number, side="right")
    called = -recruit_cost[number]
    # What the m best records after an entry, or recruits, pay beyond their cost.
    further = [np.zeros(n)]
    for step in range(1, k):
        following = np.minimum(np.arange(n) + step, n - 1)
        is_there = np.arange(n) + step < end
        further.append(
            further[-1] + np.maximum(np.where(is_there, over[following], -np.inf), called)
        )
    members = np.flatnonzero((copy == 0) & (over + further[k - 1] >= -most))[:, None]
    total = over[members[:, 0]]
    numbers, recruits, lacks, groups, entries, n_groups = [], [], [], [], [], 0
    for size in range(1, 2 * k):
        last = members[:, -1]
        missing = max(k - size, 0)
        lack = -total - (missing * called[last] if missing else 0.0)
        good = np.flatnonzero(lack <= most)
        numbers.append(number[last[good]])
        recruits.append(np.full(len(good), missing))
        lacks.append(lack[good])
        groups.append(n_groups + np.repeat(np.arange(len(good)), size))
        entries.append(members[good].ravel())
        n_groups += len(good)
        length = end[last] - last - 1
        if length.sum() > MANY_PARTS:
            return cheap_groups(number, over, copy, recruit_cost, k, most / 2)
        if size == 2 * k - 1 or not length.any():
            break
        state = np.repeat(np.arange(len(last)), length)
        new = (
            last[state] + 1 + np.arange(len(state)) - np.repeat(np.cumsum(length) - length, length)
        )
        more = total[state] + over[new]
        reachable = more + further[max(k - size - 1, 0)][new] >= -most
        kept = reachable & ((copy[new] == 0) | (new == last[state] + 1))
        members = np.column_stack([members[state[kept]], new[kept]])
        total = more[kept]
    return Groups(*(np.concatenate(part) for part in (numbers, recruits, lacks, groups, entries)))


@dataclass(frozen=True, eq=False)
class _Region:
    """Records to be placed, by pattern; what is emptied for that, and what it costs."""

    units: Integers
    count: Integers
    inside: Integers
    returned: Integers
    spare: Integers
    is_open: Flags
    cost: float


@dataclass(frozen=True, eq=False)
class _Choices:
    """A program over groups, single records that join open classes, and records left over.

    `column` and `member` are the groups and pairs of their records, `single` the pairs of those
    that join; the groups `calling` have recruits from the entry `lender`.
    """

    program: Program
    of_group: Integers
    column: Integers
    member: Integers
    single: Integers
    calling: Integers
    recruits: Integers
    lender: Integers


class GroupRegions:
    """A placing, whose regions are emptied and divided into the best groups.

    Parameters
    ----------
    placing : Placing
    price : numpy.ndarray of float, shape (n_need,)
        Of a record of each pattern in need.
    """

    def __init__(self, placing: Placing, price: Floats) -> None:
        self.placing, self.price = placing, price
        pairs = placing.pairs
        # Who is left over is placed with others, which costs these something as well.
        self.dearest = 2.0 * (float(pairs.cost.max(initial=0.0)) + 1.0)
        self.lacking = pairs.lacking(price)
        self.of_pattern = np.lexsort((self.lacking, pairs.pattern))
        self.begin = np.searchsorted(pairs.pattern[self.of_pattern], np.arange(len(pairs.need) + 1))
        classes = np.arange(pairs.n_classes + 1)
        self.of_class = np.searchsorted(pairs.group, classes)
        self.lenders = np.searchsorted(pairs.lender_group, classes)

    def improve(self, bound: float, random: np.random.Generator, budget: Budget) -> None:
        """Fill regions again until the bound is reached or two turns gain nothing."""
        placing, price = self.placing, self.price
        cost = placing.cost + self.dearest * float(placing.left.sum())
        self.is_small = len(price) <= SMALL
        idle, size = 0, len(price) if self.is_small else REGION
        while idle < 2 and cost > bound + 1e-9 and not budget.is_over:
            gained, is_done = 0.0, np.zeros(len(price), dtype=bool)
            for seed in random.permutation(len(price)):
                if cost <= bound + 1e-9 or budget.is_over:
                    return
                if not is_done[seed]:
                    region = self._around(int(seed), size, random)
                    is_done[region] = True
                    gained += (gain := self._refilled(region, budget))
                    cost -= gain
            idle = 0 if gained > 1e-9 else idle + 1

    def _around(self, seed: int, size: int, random: np.random.Generator) -> Integers:
        """Return patterns near one: those with which it may be in classes that lack little."""
        pairs = self.placing.pairs
        if size >= len(self.price):
            return np.arange(len(self.price))
        chosen, queue = {seed: True}, [seed]
        for pattern in queue:
            near = self.of_pattern[self.begin[pattern] : self.begin[pattern + 1]][:12]
            for pair in near[random.random(len(near)) < 0.6].tolist():
                group = pairs.group[pair]
                inside = np.arange(self.of_class[group], self.of_class[group + 1])
                inside = inside[self.lacking[inside] <= self.lacking[pair] + 0.5][:6]
                for other in pairs.pattern[inside].tolist():
                    if other not in chosen:
                        chosen[other] = True
                        queue.append(other)
            if len(queue) >= size:
                break
        return np.array(list(chosen))

    def _refilled(self, patterns: Integers, budget: Budget) -> float:
        """Empty the classes of some patterns and fill them again; return what is saved."""
        placing, pairs = self.placing, self.placing.pairs
        region = self._emptied(patterns)
        choices = self._choices(region)
        answer = solve(
            choices.program, time_limit=budget.left, gap=1e-4, nodes=MANY_NODES[self.is_small]
        )
        if not len(answer.x) or answer.value > region.cost - 1e-9:
            return 0.0
        x = np.rint(answer.x).astype(np.int64)
        n_groups, n_single = len(choices.of_group), len(choices.single)
        placing.taken[region.inside], placing.lent[region.returned] = 0, 0
        np.add.at(placing.taken, choices.member, x[choices.column])
        placing.taken[choices.single] += x[n_groups : n_groups + n_single]
        placing.left[region.units] = x[n_groups + n_single :]
        called = choices.recruits * x[choices.calling]
        placing.spare[:] = region.spare
        np.add.at(placing.lent, choices.lender, called)
        np.subtract.at(placing.spare, pairs.lender[choices.lender], called)
        placing.is_open[:] = region.is_open
        placing.is_open[choices.of_group[x[:n_groups] > 0]] = True
        return region.cost - float(answer.value)

    def _emptied(self, patterns: Integers) -> _Region:
        """Return the region of all records that are in a class with some patterns, or in none."""
        placing, pairs = self.placing, self.placing.pairs
        held = self.of_pattern[joined(self.begin, patterns)]
        emptied = np.unique(pairs.group[held[placing.taken[held] > 0]])
        inside = joined(self.of_class, emptied)
        inside = inside[placing.taken[inside] > 0]
        returned = joined(self.lenders, emptied)
        returned = returned[placing.lent[returned] > 0]
        waiting = patterns[placing.left[patterns] > 0]
        units, which = np.unique(
            np.concatenate([pairs.pattern[inside], waiting]), return_inverse=True
        )
        count = np.concatenate([placing.taken[inside], placing.left[waiting]])
        cost = float(
            placing.taken[inside] @ pairs.cost[inside]
            + placing.lent[returned] @ pairs.lender_cost[returned]
            + self.dearest * placing.left[waiting].sum()
        )
        spare, is_open = placing.spare.copy(), placing.is_open.copy()
        np.add.at(spare, pairs.lender[returned], placing.lent[returned])
        is_open[emptied] = pairs.is_open[emptied]
        there = np.bincount(which.ravel(), weights=count).astype(np.int64)
        return _Region(units, there, inside, returned, spare, is_open, cost)

    def _choices(self, region: _Region) -> _Choices:
        """List the groups of a region that lack no more than those there now, and the program."""
        pairs, price, k = self.placing.pairs, self.price, self.placing.pairs.k
        units, there = region.units, region.count
        most = region.cost - float(price[units] @ there)
        pair = self.of_pattern[joined(self.begin, units)]
        unit = np.repeat(np.arange(len(units)), np.diff(self.begin)[units])
        over = price[units][unit] - pairs.cost[pair]
        is_open = region.is_open[pairs.group[pair]]
        single = np.flatnonzero(is_open & (over >= -most))
        # One entry for each record, so that groups may divide those of a pattern.
        many = np.flatnonzero(~is_open)
        copies = np.minimum(there[unit[many]], 2 * k - 1)
        entry = np.repeat(many, copies)
        copy = np.arange(len(entry)) - np.repeat(np.cumsum(copies) - copies, copies)
        order = np.lexsort((copy, unit[entry], -over[entry], pairs.group[pair[entry]]))
        entry, copy = entry[order], copy[order]
        classes, number = np.unique(pairs.group[pair[entry]], return_inverse=True)
        lender, recruit_cost = self._callable(classes, region.spare)
        listed = cheap_groups(number.ravel(), over[entry], copy, recruit_cost, k, most)
        best = np.argsort(listed.lack, kind="stable")[: MANY_GROUPS[self.is_small]]
        rank = np.full(len(listed.lack), -1)
        rank[best] = np.arange(len(best))
        is_kept = rank[listed.group] >= 0
        column, member = rank[listed.group[is_kept]], entry[listed.entry[is_kept]]
        calling = np.flatnonzero(listed.recruits[best])
        calls = lender[listed.number[best[calling]]]
        recruits = listed.recruits[best[calling]]
        # Several classes may call the same records.
        lending, row = np.unique(pairs.lender[calls], return_inverse=True)
        n_units, n_more = len(units), len(single) + len(units)
        entries = [
            (np.ones(len(column)), unit[member], column),
            (recruits, n_units + row.ravel(), calling),
            (np.ones(n_more), np.append(unit[single], np.arange(n_units)),
             len(best) + np.arange(n_more)),
        ]  # fmt: skip
        data, rows, columns = (np.concatenate(part) for part in zip(*entries, strict=True))
        shape = (n_units + len(lending), len(best) + n_more)
        paid = np.bincount(column, weights=price[units[unit[member]]], minlength=len(best))
        parts = listed.lack[best] + paid, pairs.cost[pair[single]], np.full(n_units, self.dearest)
        program = Program(
            cost=np.concatenate(parts),
            matrix=csr_array(coo_array((data.astype(np.float64), (rows, columns)), shape=shape)),
            row_lower=np.append(there, np.zeros(len(lending))).astype(np.float64),
            row_upper=np.append(there, region.spare[lending]).astype(np.float64),
            lower=np.zeros(shape[1]),
            upper=np.full(shape[1], float(there.max())),
            integral=np.ones(shape[1], dtype=bool),
        )
        of_group = classes[listed.number[best]]
        return _Choices(
            program, of_group, column, pair[member], pair[single], calling, recruits, calls
        )

    def _callable(self, classes: Integers, spare: Integers) -> tuple[Integers, Floats]:
        """Return the lender of each class that is cheapest, and what a recruit from it costs."""
        pairs = self.placing.pairs
        lender, cost = np.full(len(classes), -1), np.full(len(classes), np.inf)
        there = joined(self.lenders, classes)
        number = np.repeat(np.arange(len(classes)), np.diff(self.lenders)[classes])
        able = np.flatnonzero(spare[pairs.lender[there]] > 0)
        order = np.lexsort((spare[pairs.lender[there[able]]], -pairs.lender_cost[there[able]]))
        dearest_first = able[order]
        lender[number[dearest_first]] = there[dearest_first]
        has = lender >= 0
        cost[has] = pairs.lender_cost[lender[has]]
        return lender, cost
