"""A proof by cases that no release costs less: classes exist or not, and prices of records decide.

Prices alone prove no more than the linear relaxation. A tree splits all releases by whether a
class exists; in a leaf its prices prove the bound: a class that exists counts even where it
collects less than it costs, and one that does not counts for nothing. Before that, records leave
classes in which they would make every release as dear as the bound (reduced-cost fixing [1]_).

References
----------
.. [1] Nemhauser, Wolsey: Integer and combinatorial optimization, 1988, section II.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import VerificationError
from tablecloak.microdata.anonymity.verification import LevelClasses


@dataclass(frozen=True)
class ClassSplit:
    """A node of the tree: one case of its parent's.

    Parameters
    ----------
    parent : int
        Number of the parent; -1 for the root.
    levels : sequence of int
        Level of each key in the class.
    record : int
        Position of a record that may be in the class, which tells the values of its other keys.
    exists : bool
        Whether the class exists in this case.
    """

    parent: int
    levels: Sequence[int]
    record: int
    exists: bool


@dataclass(frozen=True, eq=False)
class ClassTree:
    """The proof of a bound.

    Parameters
    ----------
    rounds : sequence of numpy.ndarray of float, each of shape (n_records,)
        Prices by which records leave classes, one round after the other.
    nodes : sequence of ClassSplit
        Node 0 is the root.
    prices : dict of int to numpy.ndarray of float, each of shape (n_records,)
        Prices of each leaf.
    bound : float
        What all of them prove.
    """

    rounds: Sequence[Floats]
    nodes: Sequence[ClassSplit]
    prices: dict[int, Floats]
    bound: float

    def verify(self, classes: LevelClasses) -> float:
        """Check from the file alone that no release costs less than the bound, and return it.

        Raises
        ------
        VerificationError
            If the cases do not cover all releases, or a leaf proves less.
        """
        bound = self.bound
        # The loss below a whole one is at least 1 lower if all losses are whole.
        is_whole = classes.is_whole and float(bound).is_integer()
        wanted = int(np.ceil((bound - is_whole) / classes.unit)) + is_whole
        rounds = [classes.in_units(price) for price in self.rounds]
        places = _Places.of(classes, wanted)
        for price in rounds:
            places.narrow(price, wanted)
        splits = [(-1, 0, True)] + [
            (node.parent, places.class_of(node), node.exists) for node in self.nodes[1:]
        ]
        for node in set(range(len(splits))) - _inner_nodes(splits):
            price, above = classes.in_units(self.prices[node]), node
            fixed: dict[int, bool] = {}
            while above > 0:
                above, number, exists = splits[above]
                if fixed.setdefault(number, exists) != exists:
                    break
            else:
                if places.bound(price, fixed, wanted) < wanted:
                    raise VerificationError(
                        f"The bound is said to be {bound:g}, which leaf {node} of the proof does "
                        "not reach."
                    )
        return bound


def proved_bound(classes: LevelClasses, price: Floats, tree: ClassTree | None) -> float:
    """Return what prices of records prove, or a tree where there is one."""
    return classes.proved(price) if tree is None else tree.verify(classes)


def _inner_nodes(splits: Sequence[tuple[int, int, bool]]) -> set[int]:
    """Return the nodes with children, which must be the two cases of one class."""
    children: dict[int, list[tuple[int, bool]]] = {}
    for node, (parent, number, exists) in enumerate(splits):
        if not -1 <= parent < max(node, 1):
            raise VerificationError(f"Node {node} of the proof comes before its parent {parent}.")
        if node:
            children.setdefault(parent, []).append((number, exists))
    for node, cases in children.items():
        if {exists for _, exists in cases} != {True, False} or len({n for n, _ in cases}) != 1:
            raise VerificationError(
                f"The proof does not cover all releases: the cases of node {node} are not one "
                "class that exists, or does not."
            )
    return set(children)


@dataclass(eq=False)
class _Places:
    """Records and the classes that they may be in, with costs in units."""

    k: int
    record: Integers
    number: Integers
    cost: Integers
    n_classes: int
    ranges: dict[tuple[int, ...], tuple[int, int]]
    """Places of each node: the first one and the end."""
    is_left: Flags

    @classmethod
    def of(cls, classes: LevelClasses, wanted: int) -> _Places:
        """List the classes; a record that costs as much as the bound alone is in none of them."""
        ranges, parts, n_places, n_classes = {}, [], 0, 0
        most = np.full(len(classes.stratum), wanted + 1)
        for node, here, group, cost in classes.by_node(most):
            ranges[node] = (n_places, n_places + len(here))
            parts.append((here, n_classes + group, cost))
            n_places += len(here)
            n_classes += int(group.max()) + 1
        record, number, cost = (np.concatenate(part) for part in zip(*parts, strict=True))
        is_left = np.ones(len(record), dtype=bool)
        return cls(classes.k, record, number, cost, n_classes, ranges, is_left)

    def class_of(self, node: ClassSplit) -> int:
        """Return the number of the class of a node."""
        begin, end = self.ranges.get(tuple(node.levels), (0, 0))
        # Records of a node are in rising order.
        place = begin + int(np.searchsorted(self.record[begin:end], node.record))
        if place >= end or self.record[place] != node.record:
            raise VerificationError(
                f"Record {node.record + 1} is in no class with the levels {list(node.levels)}."
            )
        return int(self.number[place])

    def _gains(self, price: Integers) -> tuple[Integers, Integers, Integers, Integers]:
        """Return what classes collect, their sizes, and places by class, the best payers first."""
        left = np.flatnonzero(self.is_left)
        over = price[self.record[left]] - self.cost[left]
        order = left[np.lexsort((-over, self.number[left]))]
        over = price[self.record[order]] - self.cost[order]
        size = np.bincount(self.number[order], minlength=self.n_classes)
        rank = np.arange(len(order)) - np.repeat(np.cumsum(size) - size, size)
        gain = np.zeros(self.n_classes, dtype=np.int64)
        np.add.at(gain, self.number[order], np.where(rank < self.k, over, np.maximum(over, 0)))
        return gain, size, order, rank

    def narrow(self, price: Integers, wanted: int) -> None:
        """Take records out of classes in which they make every release cost a bound."""
        gain, size, order, rank = self._gains(price)
        is_class = size >= self.k
        bound = int(price.sum()) - int(np.maximum(gain, 0)[is_class].sum())
        number, over = self.number[order], price[self.record[order]] - self.cost[order]
        last = np.zeros(self.n_classes, dtype=np.int64)
        last[number[rank == self.k - 1]] = over[rank == self.k - 1]
        is_taken = (rank < self.k) | (over > 0)
        inside = np.where(is_taken, 0, over - np.minimum(last[number], 0)) + gain[number]
        dear = bound + np.maximum(gain[number], 0) - inside >= wanted
        self.is_left[order[dear | ~is_class[number]]] = False

    def bound(self, price: Integers, fixed: dict[int, bool], wanted: int) -> int:
        """Return what prices prove where some classes exist and others do not."""
        gain, size, _, _ = self._gains(price)
        collected = np.where(size >= self.k, np.maximum(gain, 0), 0)
        for number, exists in fixed.items():
            if exists and size[number] < self.k:
                return wanted
            collected[number] = gain[number] if exists else 0
        return int(price.sum()) - int(collected.sum())
