"""Levels of hierarchies for each record: the nodes that it may be recoded to, and what they lose.

A node is a level for each key. The last level of each key is a missing value, which loses 1; values
that are missing already are there without loss. Records at one node with equal codes are a class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from math import prod

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.class_pairs import Way
from tablecloak.microdata.anonymity.generalisation import TOTAL, KeyLevels
from tablecloak.microdata.anonymity.patterns import KeyPatterns, bits_of
from tablecloak.microdata.anonymity.question import SuppressionQuestion

Node = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class RecordLevels:
    """What patterns become at each level of each key.

    Parameters
    ----------
    patterns : KeyPatterns
    codes : tuple of tuple of numpy.ndarray of int, each of shape (n_patterns,)
        For each key and level the code of each pattern.
    losses : tuple of tuple of numpy.ndarray of float, each of shape (n_patterns,)
        What a record of each pattern loses there; `inf` where the value is missing, but in the
        last level.
    """

    patterns: KeyPatterns
    codes: tuple[tuple[Integers, ...], ...]
    losses: tuple[tuple[Floats, ...], ...]
    _groups: dict[Node, tuple[Integers, int]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, patterns: KeyPatterns, steps: Sequence[KeyLevels], weights: Sequence[float]
    ) -> RecordLevels:
        """Return the levels of a file's patterns."""
        codes, losses = [], []
        for key, (each, weight) in enumerate(zip(steps, weights, strict=True)):
            value = patterns.codes[key]
            is_missing = (patterns.missing >> key) & 1 == 1
            codes_here, losses_here = [], []
            for level in range(n_kept(each)):
                here = np.append(each.codes[level], each.codes[level].max(initial=-1) + 1)
                codes_here.append(here[value])
                lost = weight * np.append(each.lost(level), np.inf)[value]
                losses_here.append(np.where(is_missing, np.inf, lost))
            codes_here.append(np.zeros(len(value), dtype=np.int64))
            losses_here.append(np.where(is_missing, 0.0, weight))
            codes.append(tuple(codes_here))
            losses.append(tuple(losses_here))
        return cls(patterns, tuple(codes), tuple(losses))

    @classmethod
    def of_keys(cls, question: SuppressionQuestion) -> RecordLevels:
        """Return the two levels of each key that is asked for: as it is, and missing."""
        patterns, codes, losses = question.patterns, [], []
        for key in bits_of(question.asked):
            is_missing = (patterns.missing >> key) & 1 == 1
            code, cost = patterns.codes[key], question.costs[key]
            codes.append((code, np.zeros(len(code), dtype=np.int64)))
            losses.append((np.where(is_missing, np.inf, 0.0), np.where(is_missing, 0.0, cost)))
        return cls(patterns, tuple(codes), tuple(losses))

    @property
    def n_levels(self) -> tuple[int, ...]:
        """Number of levels of each key, that of missing values included."""
        return tuple(len(each) for each in self.codes)

    @property
    def mean_weight(self) -> float:
        """Mean cost of a missing value that was there."""
        return float(np.mean([np.max(each[-1], initial=0.0) for each in self.losses]))

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return prod(self.n_levels)

    @property
    def home(self) -> Integers:
        """Number of the node of each pattern as it is."""
        number = np.zeros(self.patterns.n_patterns, dtype=np.int64)
        for key, levels in enumerate(self.n_levels):
            is_missing = (self.patterns.missing >> key) & 1
            number = number * levels + is_missing * (levels - 1)
        return number

    def number(self, node: Node) -> int:
        """Return the number of a node."""
        found = 0
        for level, levels in zip(node, self.n_levels, strict=True):
            found = found * levels + level
        return found

    def node(self, number: int) -> Node:
        """Return the node of a number."""
        found = []
        for levels in reversed(self.n_levels):
            number, level = divmod(number, levels)
            found.append(level)
        return tuple(reversed(found))

    def loss(self, node: Node) -> Floats:
        """Return what a record of each pattern loses at a node."""
        total = np.zeros(self.patterns.n_patterns)
        for key, level in enumerate(node):
            total += self.losses[key][level]
        return total

    def groups(self, node: Node) -> tuple[Integers, int]:
        """Return the group of each pattern by the codes of a node, and their number."""
        label, used = np.zeros(self.patterns.n_patterns, dtype=np.int64), 1
        for key, level in enumerate(node):
            code = self.codes[key][level]
            label = label * (int(code.max(initial=0)) + 1) + code
            found, label = np.unique(label, return_inverse=True)
            label, used = label.ravel().astype(np.int64), len(found)
        return label, used

    def nodes(self) -> Iterator[Node]:
        """Return all nodes, those that lose least in the whole file first."""
        frequency = self.patterns.frequency
        mean = [
            [float(np.where(np.isfinite(loss), loss, 0.0) @ frequency) for loss in each]
            for each in self.losses
        ]
        heap: list[tuple[float, Node, int]] = [(0.0, (0,) * len(mean), 0)]
        while heap:
            total, node, last = heappop(heap)
            yield node
            # Each node is made once: levels are raised in the order of keys.
            for key in range(last, len(mean)):
                if node[key] + 1 < len(mean[key]):
                    more = mean[key][node[key] + 1] - mean[key][node[key]]
                    raised = (*node[:key], node[key] + 1, *node[key + 1 :])
                    heappush(heap, (total + more, raised, key))

    def ways(self) -> Iterator[Way]:
        """Return all nodes as ways to change keys."""
        for node in self.nodes():
            yield Way(self.number(node), self.loss(node), partial(self.groups, node))

    def floor(self, k: int, budget: Budget) -> Floats:
        """Return the least loss at which k records fit each pattern; 0 without enough time.

        Each class of a release holds k records that are equal at its node, whatever others do.
        """
        frequency = self.patterns.frequency
        floor = np.full(len(frequency), np.inf)
        for way in self.ways():
            cheaper = np.flatnonzero(way.cost < floor)
            if len(cheaper):
                label, n_groups = way.groups()
                there = np.where(np.isfinite(way.cost), frequency, 0)
                size = np.bincount(label, weights=there, minlength=n_groups)
                good = cheaper[size[label[cheaper]] >= k]
                floor[good] = way.cost[good]
            if budget.is_over:
                return np.zeros(len(frequency))
        return floor


def n_kept(each: KeyLevels) -> int:
    """Return the number of levels of a key that are not its total."""
    return each.n_levels - (1 if each.n_levels > 1 and each.labels[-1].tolist() == [TOTAL] else 0)
