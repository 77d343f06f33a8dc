"""Search for the node of each record: classes from the top down, and classes by prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.class_pairs import ClassPairs
from tablecloak.microdata.anonymity.classes import ClassProgram
from tablecloak.microdata.anonymity.placing import Placing
from tablecloak.microdata.anonymity.prices import price_bound, raised_prices
from tablecloak.microdata.anonymity.record_levels import RecordLevels
from tablecloak.microdata.anonymity.refilling import refill
from tablecloak.microdata.anonymity.top_down import split_from_the_top

__all__ = ["RecodedClasses", "cheapest_nodes"]

MANY_NODES = 5_000
"""Most nodes that prices are raised over."""

REACH = 1.6
"""Values that a record may lose in a class beyond its floor.

With 1.0, Adult (seven keys, bands of ages) loses 12,000 values, with 1.3 or more 9,100.
"""


@dataclass(frozen=True, eq=False)
class RecodedClasses:
    """The node of each record, and prices that prove a bound.

    Parameters
    ----------
    level : numpy.ndarray of int, shape (n_records, n_keys)
    price : numpy.ndarray of float, shape (n_patterns,)
        See `tablecloak.microdata.anonymity.prices`.
    loss, bound : float
    """

    level: Integers
    price: Floats
    loss: float
    bound: float


@dataclass(frozen=True, eq=False)
class _Counts:
    """How many records of a pattern are at a node; patterns and nodes may occur several times."""

    pattern: Integers
    node: Integers
    count: Integers
    loss: float

    def per_record(self, levels: RecordLevels) -> Integers:
        """Return the levels of each record; equal records take them in the order of the file."""
        order = np.argsort(levels.patterns.of_record, kind="stable")
        at = np.argsort(self.pattern, kind="stable")
        node = np.empty(levels.patterns.n_records, dtype=np.int64)
        node[order] = np.repeat(self.node[at], self.count[at])
        found = [(node // stride) % size for stride, size in _strides(levels.n_levels)]
        return np.column_stack(found)


def cheapest_nodes(
    levels: RecordLevels, k: int, random: np.random.Generator, budget: Budget
) -> RecodedClasses:
    """Search for nodes that lose little and put k records in each class."""
    frequency = levels.patterns.frequency
    best = _from_the_top(levels, k, budget.share(0.3))
    price, bound = np.zeros(len(frequency)), 0.0
    if levels.n_nodes <= MANY_NODES and np.any(frequency < k) and not budget.is_over:
        floor = np.where(frequency < k, levels.floor(k, budget.share(0.2)), 0.0)
        price, bound = floor, float(floor @ frequency)
        if not budget.is_over and bound:
            other, price, bound = _by_prices(levels, k, floor, best.loss, random, budget)
            exact = _by_program(levels, k, budget)
            best = min((each for each in (best, other, exact) if each), key=lambda each: each.loss)
    return RecodedClasses(best.per_record(levels), price, best.loss, min(bound, best.loss))


def _from_the_top(levels: RecordLevels, k: int, budget: Budget) -> _Counts:
    level = split_from_the_top(levels, k, budget)
    node = np.zeros(len(level), dtype=np.int64)
    loss = np.zeros(len(level))
    for key, (stride, _) in enumerate(_strides(levels.n_levels)):
        node += stride * level[:, key]
        loss += np.column_stack(levels.losses[key])[np.arange(len(level)), level[:, key]]
    frequency = levels.patterns.frequency
    return _Counts(np.arange(len(level)), node, frequency, float(loss @ frequency))


def _by_prices(
    levels: RecordLevels, k: int, floor: Floats, loss: float, random: np.random.Generator,
    budget: Budget,
) -> tuple[_Counts | None, Floats, float]:  # fmt: skip
    """Return classes that are formed by prices, the prices and their bound."""
    frequency = levels.patterns.frequency
    most = floor + REACH * levels.mean_weight
    pairs = ClassPairs.of(frequency, k, levels.ways(), levels.home, most, budget)
    price = floor.copy()
    for raised, _ in raised_prices(pairs, price[pairs.need], loss, budget.share(0.4)):
        price[pairs.need] = raised
    bound = price_bound(frequency, k, price, levels.ways(), budget.share(0.5))
    if bound < float(floor @ frequency):
        price, bound = floor, float(floor @ frequency)
    state = Placing.empty(pairs, frequency)
    state.fill(price[pairs.need], random, budget)
    refill(state, price[pairs.need], bound, random, budget)
    return _counted(levels, pairs, state), price, bound


def _by_program(levels: RecordLevels, k: int, budget: Budget) -> _Counts | None:
    """Return the classes of the exact program; None for files that are too large."""
    frequency = levels.patterns.frequency
    program = ClassProgram.of(frequency, k, levels.ways(), levels.n_nodes)
    counts = {} if program is None else program.chosen(len(frequency), budget)
    if not counts:
        return None
    loss = sum(
        float(levels.loss(levels.node(node))[count > 0] @ count[count > 0])
        for node, count in counts.items()
    )
    everybody = np.tile(np.arange(len(frequency)), len(counts))
    nodes = np.repeat(list(counts), len(frequency))
    found = _Counts(everybody, nodes, np.concatenate(list(counts.values())), loss)
    return found if np.array_equal(sum(counts.values()), frequency) else None


def _counted(levels: RecordLevels, pairs: ClassPairs, state: Placing) -> _Counts | None:
    """Return where records are; None if those that are left cannot lose all keys together."""
    frequency = levels.patterns.frequency
    taken, lent = np.flatnonzero(state.taken), np.flatnonzero(state.lent)
    top = tuple(size - 1 for size in levels.n_levels)
    all_lost, last = levels.loss(top), levels.number(top)
    left = np.zeros(len(frequency), dtype=np.int64)
    left[pairs.need] = state.left
    if left.any():
        there = state.taken[taken] @ (pairs.way[pairs.group[taken]] == last)
        there += state.lent[lent] @ (pairs.way[pairs.lender_group[lent]] == last)
        short = max(pairs.k - int(left.sum()) - int(there), 0)
        order = np.argsort(all_lost, kind="stable")
        spare = state.spare[order]
        left[order] += np.clip(short - (np.cumsum(spare) - spare), 0, spare)
        if int(spare.sum()) < short:
            return None
    gone = np.bincount(pairs.lender[lent], weights=state.lent[lent], minlength=len(frequency))
    home = np.where(frequency >= pairs.k, frequency - gone.astype(np.int64) - left, 0)
    loss = state.cost + float(all_lost @ left)
    everybody = np.arange(len(frequency))
    return _Counts(
        pattern=np.concatenate(
            [pairs.need[pairs.pattern[taken]], pairs.lender[lent], everybody, everybody]
        ),
        node=np.concatenate(
            [
                pairs.way[pairs.group[taken]], pairs.way[pairs.lender_group[lent]],
                np.full(len(frequency), last), levels.home,
            ]
        ),
        count=np.concatenate([state.taken[taken], state.lent[lent], left, home]),
        loss=loss,
    )  # fmt: skip


def _strides(n_levels: Sequence[int]) -> list[tuple[int, int]]:
    """Return for each key what a level adds to the number of a node, and the number of levels."""
    stride, found = 1, []
    for size in reversed(n_levels):
        found.append((stride, size))
        stride *= size
    return found[::-1]
