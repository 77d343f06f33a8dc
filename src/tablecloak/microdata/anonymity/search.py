"""Classes of at least k equal records of which little is lost: one search over ways to lose values.

A way is a level of each key: a value as it is, a group of its hierarchy, or missing, so that local
suppression is local recoding without hierarchies. Records at one node whose values are equal there
are a class. To find the classes that lose least is NP-hard [1]_. All records are split from the top
down; prices of records show which classes are good and prove a bound; in small files branching over
classes finds and proves the best ones.

References
----------
.. [1] Meyerson, Williams: On the complexity of optimal k-anonymity, PODS 2004.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.branching import MANY_PLACES, branched_classes
from tablecloak.microdata.anonymity.class_tree import ClassTree
from tablecloak.microdata.anonymity.classes import ClassPairs, proved_prices, way_of_each
from tablecloak.microdata.anonymity.levels import RecordLevels
from tablecloak.microdata.anonymity.placing import Placing, split_from_the_top
from tablecloak.microdata.anonymity.verification import rounded_up

MANY_NODES = 20_000
"""Most nodes that are looked at for pairs."""

MANY_RECODED = 5_000
"""Most nodes of hierarchies for which anything is proved: the check goes through all of them."""

REACH = 1.6
"""Values that a record may lose in a class beyond its floor.

With 1.0, Adult (seven keys, bands of ages) loses 12,000 values, with 1.3 or more 9,100. See
docs/decisions, "Prices of records".
"""

LACKING = 0.5
"""What a class may collect too little to be searched, as a share of the mean price of a record.

Nine of ten classes of good releases lack less than 1 %, 99 of 100 less than 60 %.
"""


FINISHING = 5.0
"""Time that is kept for records left over, as a multiple of what finding the pairs takes."""


@dataclass(frozen=True, eq=False)
class RecordClasses:
    """Levels of keys at which k records are equal, and what is proved about their loss.

    Parameters
    ----------
    level : numpy.ndarray of int, shape (n_records, n_keys)
    price : numpy.ndarray of float, shape (n_patterns,)
        See `tablecloak.microdata.anonymity.classes`.
    bound : float
        What they prove, or the tree; 0 if nothing is proved.
    tree : ClassTree, optional
        What proves the bound otherwise.
    """

    level: Integers
    price: Floats
    bound: float
    tree: ClassTree | None = None


def cheapest_classes(
    levels: RecordLevels, k: int, budget: Budget, *, is_greedy: bool = False
) -> RecordClasses:
    """Search for classes of at least k records that lose little.

    Parameters
    ----------
    levels : RecordLevels
        Each stratum has k records.
    k : int
    budget : Budget
    is_greedy : bool, default=False
        Form classes in the order of their cost per record; the bound is then what each record
        loses by itself.
    """
    # The seed is fixed: chance only breaks ties, and what is released does not depend on it.
    random = np.random.default_rng(0)
    patterns, frequency = levels.patterns, levels.patterns.frequency
    nothing = np.zeros(len(frequency))
    if not np.any(frequency < k):
        return RecordClasses(levels.levels_of(levels.home)[patterns.of_record], nothing, 0.0)
    top_down = split_from_the_top(levels, k, budget.share(0.3))[patterns.of_record]
    if levels.n_nodes > MANY_RECODED and max(levels.n_levels) > 2:
        return RecordClasses(top_down, nothing, 0.0)
    floor = levels.floor(k, budget.share(0.3))
    if not budget.is_over:
        floor = np.maximum(floor, levels.to_neighbours(k))
    floor = np.where(frequency < k, floor, 0.0)
    alone = RecordClasses(top_down, floor, float(floor @ frequency))
    if budget.is_over:
        return alone
    often = np.flatnonzero(frequency >= k)
    home = often, levels.home[often]
    most = floor + (np.inf if is_greedy else REACH * levels.mean_weight)
    ways = islice(levels.ways(most), MANY_NODES)
    begun = budget.elapsed
    pairs = ClassPairs.of(frequency, k, ways, home, most, budget.share(0.5))
    searching = budget.within(budget.left - FINISHING * (budget.elapsed - begun))
    spare = np.maximum(frequency - k, 0)
    if is_greedy:
        placing = Placing.begun(pairs, pairs.frequency, spare)
        placing.fill_greedily(random, budget)
        return replace(alone, level=_best(levels, alone.level, placing, budget))
    raised, price, bound = proved_prices(
        pairs, frequency, floor, levels.ways, levels.total(top_down), searching
    )
    guide = raised[pairs.need]
    pairs = pairs.kept(pairs.lacking(guide) <= LACKING * float(np.mean(guide)))
    placing = Placing.begun(pairs, pairs.frequency, spare)
    incumbent = RecordClasses(top_down, price, bound)
    target = float(np.ceil(bound)) if levels.is_whole else bound
    placing.fill(guide, random, searching)
    if len(frequency) * levels.n_nodes <= MANY_PLACES:
        placing.improve(guide, target, random, searching.share(0.2))
        incumbent = replace(incumbent, level=_best(levels, incumbent.level, placing, budget))
        branched = _branched(levels, k, incumbent, budget)
        if branched is not None:
            return branched
    placing.improve(guide, target, random, searching)
    return replace(incumbent, level=_best(levels, incumbent.level, placing, budget))


Placed = tuple[Integers, Integers, Integers]
"""Patterns, numbers of nodes, and how many records of a pattern are at this node."""


def _best(levels: RecordLevels, incumbent: Integers, placing: Placing, budget: Budget) -> Integers:
    """Return the levels of what is placed, if they lose less than the incumbent.

    Records that are in no class are placed greedily, whatever that costs them.
    """
    frequency, k = levels.patterns.frequency, placing.pairs.k
    often = np.flatnonzero(frequency >= k)
    entries, rest = [placing.entries()], placing
    if placing.left.any():
        pattern, node, _ = entries[0]
        placed = np.append(pattern, often), np.append(node, levels.home[often])
        most = np.full(len(frequency), -np.inf)
        most[placing.pairs.need[placing.left > 0]] = np.inf
        ways = islice(levels.ways(most), MANY_NODES)
        pairs = ClassPairs.of(frequency, k, ways, placed, most, budget.share(0.5))
        rest = Placing.begun(pairs, placing.left, placing.spare)
        rest.fill_greedily(np.random.default_rng(0), budget)
        entries.append(rest.entries())
    everything = np.full(len(rest.left), levels.number(levels.top))
    entries.append((rest.pairs.need, everything, rest.left))
    entries.append((often, levels.home[often], k + rest.spare[often]))
    joined = (np.concatenate(part) for part in zip(*entries, strict=True))
    node = way_of_each(levels.patterns.of_record, *completed(levels, k, *joined))
    # Sums of the same losses round differently: of equal ones the first stays.
    tried = incumbent, levels.levels_of(node)
    return min(tried, key=lambda level: float(f"{levels.total(level):.12g}"))


def completed(
    levels: RecordLevels, k: int, pattern: Integers, node: Integers, count: Integers
) -> Placed:
    """Let records lose everything until k do so in each stratum in which some do.

    Records that their class can spare come first, otherwise the class that loses least does.
    """
    pattern, node, count = pattern[count > 0], node[count > 0], count[count > 0]
    top, loss = levels.number(levels.top), levels.loss(levels.top)
    stratum = levels.patterns.stratum[pattern]
    there = np.bincount(stratum, weights=count * (node == top)).astype(np.int64)
    for number in np.flatnonzero((there > 0) & (there < k)).tolist():
        here = np.flatnonzero(stratum == number)
        level = levels.levels_of(node[here])
        released = [
            np.column_stack(codes)[pattern[here], level[:, key]]
            for key, codes in enumerate(levels.codes)
        ]
        rows = np.column_stack([node[here], *released])
        label = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
        dearer = loss[pattern[here]] - levels.losses_of(pattern[here], level)
        size = np.bincount(label, weights=count[here]).astype(np.int64)
        whole = np.bincount(label, weights=count[here] * dearer)
        whole[label[node[here] == top]] = np.inf
        missing = k - int(there[number])
        while missing > 0:
            spare = np.where(node[here] == top, 0, np.minimum(size[label] - k, count[here]))
            one = int(np.argmin(np.where(spare > 0, dearer, np.inf)))
            moved = min(max(int(spare[one]), 0), missing)
            chosen = int(np.argmin(whole))
            if moved and dearer[one] * moved <= whole[chosen]:
                count[here[one]] -= moved
                size[label[one]] -= moved
                pattern, node = np.append(pattern, pattern[here[one]]), np.append(node, top)
                count = np.append(count, moved)
                missing -= moved
            else:
                inside = here[label == chosen]
                node[inside] = top
                missing -= int(count[inside].sum())
                whole[chosen] = np.inf
    return pattern, node, count


def _branched(
    levels: RecordLevels, k: int, incumbent: RecordClasses, budget: Budget
) -> RecordClasses | None:
    """Return classes and a bound by branching over classes; None where there are too many."""
    patterns, loss = levels.patterns, levels.total(incumbent.level)
    step = 1.0 if levels.is_whole else 0.0
    if rounded_up((1 - 1e-7) * incumbent.bound, is_whole=levels.is_whole) >= (1 - 1e-7) * loss:
        return incumbent
    branched = branched_classes(
        patterns.frequency, k, levels.ways(), incumbent.price, loss, step, budget
    )
    if branched is None:
        return None
    level = incumbent.level
    if branched.placed is not None:
        level = levels.levels_of(way_of_each(patterns.of_record, *branched.placed))
    if branched.bound <= incumbent.bound:
        return RecordClasses(level, incumbent.price, incumbent.bound)

    def node_of(way: int) -> Sequence[int]:
        return tuple(levels.levels_of(np.array([way]))[0].tolist())

    tree = branched.proof(patterns.of_record, node_of, is_whole=levels.is_whole)
    return RecordClasses(level, incumbent.price, tree.bound, tree)
