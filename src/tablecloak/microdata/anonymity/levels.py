"""Levels of keys: values as they are, grouped more and more, and at last all in one or missing.

A node is a level for each key. Where records are recoded one by one, the last level of each key is
a missing value, which loses 1; values that are missing already are there without loss. Records at
one node with equal codes are a class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import pairwise
from math import prod
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.errors import InputError, listed
from tablecloak.graph import path_to_root
from tablecloak.microdata.anonymity.classes import Way
from tablecloak.microdata.anonymity.patterns import KeyPatterns, bits_of
from tablecloak.microdata.anonymity.problem import AnonymityProblem
from tablecloak.microdata.columns import row_label
from tablecloak.tables.hierarchy import Hierarchy

HierarchyLike = Hierarchy | Sequence[float] | str
"""A hierarchy, rising widths of bands such as [5, 10], or on the command line either as text."""

TOTAL = "Total"


@dataclass(frozen=True, eq=False)
class KeyLevels:
    """The levels of one key.

    Parameters
    ----------
    name : str
    codes : tuple of numpy.ndarray of int, each of shape (n_values,)
        For each level, the code of each value of the file; level 0 leaves values as they are, and
        the last level gives all of them the same code.
    labels : tuple of numpy.ndarray of str
        For each level, the text of each code.
    """

    name: str
    codes: tuple[Integers, ...]
    labels: tuple[npt.NDArray[np.object_], ...]

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.codes)

    def lost(self, level: int) -> Floats:
        """Return the loss of each value at a level: (n - 1) / (N - 1) [1]_.

        n is the number of values of the file that share its code, N that of all values, so that the
        loss is 0 for a value as it is and 1 in the total.

        References
        ----------
        .. [1] Iyengar: Transforming data to satisfy privacy constraints, 2002.
        """
        code = self.codes[level]
        n = len(code)
        together = np.bincount(code)[code]
        return (together - 1) / max(n - 1, 1)

    def texts(self, column: pd.Series, level: int) -> npt.NDArray[np.object_]:
        """Return the text of each value of a column at a level; None where it is missing."""
        code = pd.factorize(column, sort=True)[0]
        text = np.append(self.labels[level][self.codes[level]], [None])[code]
        return np.asarray(text, dtype=object)

    @classmethod
    def of(cls, column: pd.Series, source: Hierarchy | Sequence[float] | None) -> KeyLevels:
        """Return the levels of a column.

        Parameters
        ----------
        column : pandas.Series
            Missing values have no code.
        source : Hierarchy, sequence of float or None
            None: values as they are, or all in one.

        Raises
        ------
        InputError
            If a value is not a leaf of the hierarchy, or widths do not nest.
        """
        values = np.asarray(pd.factorize(column, sort=True)[1], dtype=object)
        as_is = np.array([str(value) for value in values], dtype=object)
        if source is None:
            steps = []
        elif isinstance(source, Hierarchy):
            steps = _of_tree(column, as_is, source)
        else:
            steps = _of_widths(column, values, source)
        steps = [as_is, *steps, np.full(len(as_is), TOTAL, dtype=object)]
        codes: list[Integers] = []
        labels: list[npt.NDArray[np.object_]] = []
        for step in steps:
            code, label = pd.factorize(step, sort=False)
            # A step that groups nothing, such as the total of one value, is no level of its own.
            if not codes or len(label) < len(labels[-1]):
                codes.append(code.astype(np.int64))
                labels.append(np.asarray(label, dtype=object))
        return cls(str(column.name), tuple(codes), tuple(labels))


def read_hierarchy(given: HierarchyLike) -> Hierarchy | Sequence[float]:
    """Return a hierarchy or widths; text such as "5/10" holds widths, other text is a path.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    if not isinstance(given, str):
        return given
    try:
        return [float(word) for word in given.split("/")]
    except ValueError:
        return Hierarchy.from_hrc(Path(given), total=TOTAL)


def key_levels(
    frame: pd.DataFrame, keys: Sequence[str], hierarchies: Mapping[str, HierarchyLike] | None
) -> tuple[KeyLevels, ...]:
    """Return the levels of each key in a file; keys without a hierarchy have their values alone."""
    given = hierarchies or {}
    return tuple(
        KeyLevels.of(frame[name], read_hierarchy(given[name]) if name in given else None)
        for name in keys
    )


def keys_in_bands(hierarchies: Mapping[str, HierarchyLike] | None) -> list[str]:
    """Return the keys whose hierarchy is widths of bands, so that they are numbers."""
    read = {name: read_hierarchy(each) for name, each in (hierarchies or {}).items()}
    return [name for name, each in read.items() if not isinstance(each, Hierarchy)]


def _of_tree(
    column: pd.Series, as_is: npt.NDArray[np.object_], tree: Hierarchy
) -> list[npt.NDArray[np.object_]]:
    """Cut a tree at each depth, from the deepest parents up to the children of the total."""
    parent: dict[str, str] = {}
    for above, below in tree.groups:
        for code in below:
            if parent.setdefault(code, above) != above:
                raise InputError(
                    f"The hierarchy of {column.name!r} puts {code!r} below {parent[code]!r} and "
                    f"{above!r}. Recoding needs one tree: give each code one parent."
                )
    leaves = set(tree.leaves)
    odd = [text for text in as_is.tolist() if text not in leaves]
    if odd:
        first = int(np.flatnonzero((column.astype(str) == odd[0]).to_numpy())[0])
        row = row_label(column.to_frame(), first)
        raise InputError(
            f"Column {column.name!r} has values that are no leaves of its hierarchy: "
            f"{listed(odd)}, the first in row {row}. Add them to the hierarchy."
        )
    paths = []
    for text in as_is.tolist():
        paths.append(path_to_root(text, parent)[::-1])
    deepest = max(len(path) for path in paths)
    return [
        np.array([path[min(depth, len(path) - 1)] for path in paths], dtype=object)
        for depth in range(deepest - 2, 0, -1)
    ]


def _of_widths(
    column: pd.Series, values: npt.NDArray[np.object_], widths: Sequence[float]
) -> list[npt.NDArray[np.object_]]:
    """Put numbers into bands, each of several of the bands before."""
    if not pd.api.types.is_numeric_dtype(column):
        raise InputError(
            f"Column {column.name!r} has widths of bands but no numbers: its type is "
            f"{column.dtype}. Give a hierarchy instead."
        )
    if not all(1e-100 <= width <= 1e100 for width in widths):
        raise InputError(
            f"Widths of bands of {column.name!r} must be above 0, from 1e-100 to 1e+100. "
            f"Got {widths!r}."
        )
    for fine, coarse in pairwise(widths):
        if coarse <= fine or not float(coarse / fine).is_integer():
            raise InputError(
                f"Bands of {column.name!r} must nest: {coarse:g} is no multiple of {fine:g}."
            )
    numbers = values.astype(np.float64)
    is_whole = bool(np.all(numbers == np.rint(numbers)))
    steps = []
    for width in widths:
        low = np.floor(numbers / width) * width
        # Bands of whole numbers name their last number, others the end that they leave out.
        whole = is_whole and float(width).is_integer()
        high = low + width - 1 if whole else low + width
        join = "-" if whole else " to below "
        texts = [f"{a:g}{join}{b:g}" for a, b in zip(low, high, strict=True)]
        steps.append(np.array(texts, dtype=object))
    return steps


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
    def of_keys(cls, problem: AnonymityProblem) -> RecordLevels:
        """Return the two levels of each key that is asked for: as it is, and missing."""
        patterns, codes, losses = problem.patterns, [], []
        for key in bits_of(problem.keys):
            is_missing = (patterns.missing >> key) & 1 == 1
            code, cost = patterns.codes[key], problem.costs[key]
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
        missing = [(self.patterns.missing >> key) & 1 for key in range(len(self.n_levels))]
        top = np.array(self.n_levels) - 1
        node = tuple(absent * last for absent, last in zip(missing, top, strict=True))
        return np.asarray(np.ravel_multi_index(node, self.n_levels).astype(np.int64))

    def number(self, node: Node) -> int:
        """Return the number of a node."""
        return int(np.ravel_multi_index(node, self.n_levels))

    def total(self, level: Integers) -> float:
        """Return what records lose at the levels of their keys, shape (n_records, n_keys)."""
        pattern = self.patterns.of_record
        return sum(
            float(np.column_stack(losses)[pattern, level[:, key]].sum())
            for key, losses in enumerate(self.losses)
        )

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
            present, label = np.unique(label, return_inverse=True)
            label, used = label.ravel().astype(np.int64), len(present)
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
