"""The search for the best levels of all keys, with or without missing values on top.

A node is a level for each key. Raising a level never lowers the loss of recoding, so that nodes are
looked at in the order of this loss: once it reaches the best total, no other node can be better,
and the best one is proved. Where no values may be missing and requirements are monotone, a node
that fails shows that all finer ones fail as well; such nodes are found by bisection on chains to
the top, as in Flash [1]_.

References
----------
.. [1] Kohlmayer, Prasser, Eckert, Kemper, Kuhn: Flash: efficient, stable and optimal k-anonymity,
   2012; LeFevre, DeWitt, Ramakrishnan: Incognito, SIGMOD 2005.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.generalisation import KeyLevels
from tablecloak.microdata.anonymity.lightest import cheapest_choice
from tablecloak.microdata.anonymity.question import SuppressionQuestion

__all__ = ["LatticeAnswer", "RecodingQuestion", "best_levels"]

Node = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class RecodingQuestion:
    """Levels to choose from.

    Parameters
    ----------
    base : SuppressionQuestion
        The question on the values as they are; its costs are those of missing values.
    levels : tuple of KeyLevels
    weights : numpy.ndarray of float, shape (n_keys,)
        Cost of a value of each key in the total.
    may_suppress : bool
    """

    base: SuppressionQuestion
    levels: tuple[KeyLevels, ...]
    weights: Floats
    may_suppress: bool
    _lost: dict[tuple[int, int], float] = field(default_factory=dict, repr=False)

    @property
    def top(self) -> Node:
        """The node in which all keys are in one."""
        return tuple(each.n_levels - 1 for each in self.levels)

    def loss(self, node: Node) -> float:
        """Return the loss of recoding to a node."""
        return float(sum(self._loss_of(key, level) for key, level in enumerate(node)))

    def _loss_of(self, key: int, level: int) -> float:
        if (key, level) not in self._lost:
            patterns = self.base.patterns
            # A value that is missing already loses nothing.
            values = np.append(self.levels[key].lost(level), 0.0)[patterns.codes[key]]
            total = float(np.sum(values * patterns.frequency))
            self._lost[key, level] = float(self.weights[key]) * total
        return self._lost[key, level]

    def at(self, node: Node) -> SuppressionQuestion:
        """Return the question on recoded values."""
        patterns = self.base.patterns
        # Missing values, whose code is the last one, stay a category of their own.
        chosen = [
            np.append(each.codes[level], each.codes[level].max(initial=-1) + 1)
            for each, level in zip(self.levels, node, strict=True)
        ]
        recoded = replace(
            patterns,
            codes=tuple(code[old] for code, old in zip(chosen, patterns.codes, strict=True)),
            sizes=tuple(int(code.max()) + 1 for code in chosen),
        )
        base = self.base
        return SuppressionQuestion(recoded, base.combinations, base.requirements, base.costs)

    def above(self, node: Node) -> list[Node]:
        """Return the nodes in which one level is raised by one."""
        return [
            (*node[:key], level + 1, *node[key + 1 :])
            for key, level in enumerate(node)
            if level < self.top[key]
        ]


@dataclass(frozen=True, eq=False)
class LatticeAnswer:
    """The best node that was found.

    Parameters
    ----------
    node : tuple of int
        Level of each key.
    suppressed : numpy.ndarray of int, shape (n_patterns,)
        Set of missing keys of each pattern.
    loss, bound : float
    n_counted : int
        Nodes whose groups were counted.
    """

    node: Node
    suppressed: Integers
    loss: float
    bound: float
    n_counted: int


def best_levels(question: RecodingQuestion, budget: Budget) -> LatticeAnswer:
    """Search for the node of the smallest total loss."""
    return _Search(question, budget).run()


class _Search:
    def __init__(self, question: RecodingQuestion, budget: Budget) -> None:
        self.question = question
        self.budget = budget
        self.node = question.top
        self.suppressed = np.zeros(question.base.patterns.n_patterns, dtype=np.int64)
        self.loss = question.loss(question.top)
        self.unproved = np.inf
        """Least bound of the nodes whose missing values were not searched to the end."""
        self.failing: list[Node] = []
        self.n_counted = 0
        base = question.base
        self.is_monotone = base.is_monotone and not question.may_suppress

    def run(self) -> LatticeAnswer:
        """Look at nodes in the order of their loss."""
        start = (0,) * len(self.question.levels)
        heap, seen = [(self.question.loss(start), start)], {start}
        reached = 0.0
        while heap:
            reached, node = heappop(heap)
            if reached >= self.loss or self.budget.is_over:
                break
            if self._look(node):
                continue
            for other in self.question.above(node):
                if other not in seen:
                    seen.add(other)
                    heappush(heap, (self.question.loss(other), other))
        else:
            reached = self.loss
        bound = min(self.loss, self.unproved, reached)
        return LatticeAnswer(self.node, self.suppressed, self.loss, bound, self.n_counted)

    def _look(self, node: Node) -> bool:
        """Return whether a node is safe as it is, so that coarser ones are no better."""
        if self._is_known_to_fail(node):
            return False
        if self.is_monotone:
            return self._bisect(node)
        asked = self.question.at(node)
        if self._is_safe(node, asked):
            return True
        if self.question.may_suppress:
            self._suppress(node, asked)
        return False

    def _is_known_to_fail(self, node: Node) -> bool:
        return any(
            all(level <= other for level, other in zip(node, failed, strict=True))
            for failed in self.failing
        )

    def _is_safe(self, node: Node, asked: SuppressionQuestion) -> bool:
        """Count the groups of a node, and note it if it is safe and better than the best."""
        self.n_counted += 1
        if any(asked.unsafe(each) is not None for each in asked.combinations):
            return False
        self._note(node, np.zeros_like(self.suppressed), self.question.loss(node))
        return True

    def _note(self, node: Node, suppressed: Integers, loss: float) -> None:
        if loss < self.loss:
            self.node, self.suppressed, self.loss = node, suppressed, loss
            self.budget.report("levels", loss)

    def _bisect(self, node: Node) -> bool:
        """Find on a chain from a node to the top where groups become safe."""
        chain, top = [node], self.question.top
        while chain[-1] != top:
            # The key whose next level costs least.
            chain.append(min(self.question.above(chain[-1]), key=self.question.loss))
        low, high = -1, len(chain) - 1
        while high - low > 1 or low < 0 < high:
            middle = (low + high) // 2 if low >= 0 else 0
            if self._is_safe(chain[middle], self.question.at(chain[middle])):
                high = middle
            else:
                low = middle
        if low >= 0:
            self.failing.append(chain[low])
        return high == 0

    def _suppress(self, node: Node, asked: SuppressionQuestion) -> None:
        """Search for the fewest missing values at a node, unless they cannot be few enough."""
        recoded = self.question.loss(node)
        frequency = asked.patterns.frequency
        unsafe = np.zeros(len(frequency), dtype=bool)
        for combination in asked.combinations:
            failed = asked.unsafe(combination)
            if failed is not None:
                unsafe |= failed
        least = float(np.sum(frequency[unsafe])) * float(np.min(asked.costs))
        if recoded + least >= self.loss:
            return
        choice = cheapest_choice(asked, self.budget)
        more = choice.suppressed & ~asked.patterns.missing
        kinds, which = np.unique(more, return_inverse=True)
        cost = np.array([asked.cost(int(kind)) for kind in kinds])[which.ravel()]
        self._note(node, choice.suppressed, recoded + float(np.sum(cost * frequency)))
        floor = recoded + float(np.sum(choice.floor * frequency))
        if np.any(choice.floor < cost):
            self.unproved = min(self.unproved, floor)
