"""Levels of keys: values as they are, grouped more and more, and at last all in one or missing.

A node is a level for each key. Where records are recoded one by one, the last level of each key is
a missing value, which loses 1; values that are missing already are there without loss. Records at
one node with equal codes are a class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from heapq import heappop, heappush
from itertools import pairwise
from math import prod
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.errors import InputError, listed
from tablecloak.graph import path_to_root
from tablecloak.microdata.anonymity.classes import Way
from tablecloak.microdata.anonymity.patterns import KeyPatterns, bits_of
from tablecloak.microdata.coding import renumbered
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
"""A level of each key."""

Fits = Callable[[Node, Integers], Flags]
"""Returns which of some patterns, whose values are there at a node, are safe there."""

FEW_PATTERNS = 5_000
"""Most patterns whose distances are worked out, 2 s."""


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
    def of_keys(cls, patterns: KeyPatterns, keys: int, costs: Floats) -> RecordLevels:
        """Return the two levels of some keys, a set of them: as it is, and missing."""
        codes, losses = [], []
        for key in bits_of(keys):
            is_missing = (patterns.missing >> key) & 1 == 1
            code, cost = patterns.codes[key], costs[key]
            codes.append((code, np.zeros(len(code), dtype=np.int64)))
            losses.append((np.where(is_missing, np.inf, 0.0), np.where(is_missing, 0.0, cost)))
        return cls(patterns, tuple(codes), tuple(losses))

    @property
    def n_levels(self) -> tuple[int, ...]:
        """Number of levels of each key, that of missing values included."""
        return tuple(len(each) for each in self.codes)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return prod(self.n_levels)

    @property
    def top(self) -> Node:
        """The node at which all values are missing."""
        return tuple(size - 1 for size in self.n_levels)

    @property
    def home(self) -> Integers:
        """Number of the node of each pattern as it is."""
        node = [
            np.where(np.isfinite(losses[0]), 0, last)
            for losses, last in zip(self.losses, self.top, strict=True)
        ]
        return np.asarray(np.ravel_multi_index(tuple(node), self.n_levels).astype(np.int64))

    @cached_property
    def is_whole(self) -> bool:
        """Whether all losses are whole numbers."""
        return all(
            np.all(loss[np.isfinite(loss)] % 1 == 0) for of_key in self.losses for loss in of_key
        )

    @cached_property
    def mean_weight(self) -> float:
        """Mean cost of a missing value that was there."""
        return float(np.mean([np.max(of_key[-1], initial=0.0) for of_key in self.losses]))

    @cached_property
    def _least(self) -> list[list[float]]:
        """Least loss of a value that is there, by key and level."""
        return [
            [float(np.min(loss[there], initial=np.inf)) if there.any() else 0.0 for loss in of_key]
            for of_key in self.losses
            for there in [np.isfinite(of_key[0])]
        ]

    @cached_property
    def _given(self) -> Floats:
        """What the values that are missing already would have cost at least, by pattern."""
        given: Floats = np.sum(
            [
                np.where(np.isfinite(of_key[0]), 0.0, least[-1])
                for of_key, least in zip(self.losses, self._least, strict=True)
            ],
            axis=0,
        )
        return given

    def number(self, node: Node) -> int:
        """Return the number of a node."""
        return int(np.ravel_multi_index(node, self.n_levels))

    def levels_of(self, number: Integers) -> Integers:
        """Return the levels at nodes with some numbers, shape (n, n_keys)."""
        return np.column_stack(np.unravel_index(number, self.n_levels))

    def losses_of(self, pattern: Integers, level: Integers) -> Floats:
        """Return what records of some patterns lose at levels of the keys, shape (n, n_keys)."""
        parts = [
            np.column_stack(losses)[pattern, level[:, key]]
            for key, losses in enumerate(self.losses)
        ]
        return np.asarray(np.sum(parts, axis=0), dtype=np.float64)

    def total(self, level: Integers) -> float:
        """Return what all records lose at the levels of their keys, shape (n_records, n_keys)."""
        return float(self.losses_of(self.patterns.of_record, level).sum())

    def loss(self, node: Node) -> Floats:
        """Return what a record of each pattern loses at a node.

        Losses are added in the order of keys, so that equal ones have equal sums.
        """
        total = np.zeros(self.patterns.n_patterns)
        for key, level in enumerate(node):
            total += self.losses[key][level]
        return total

    def groups(self, node: Node) -> tuple[Integers, int]:
        """Return the group of each pattern by the codes of a node, and their number."""
        label, used = renumbered(self.patterns.stratum, int(self.patterns.stratum.max()) + 1)
        for codes, level in zip(self.codes, node, strict=True):
            code = codes[level]
            size = int(code.max(initial=0)) + 1
            if size > 1:
                label, used = renumbered(label * size + code, used * size)
        return label, used

    def nodes(self) -> Iterator[tuple[float, Node]]:
        """Return all nodes, and the least that values which are there lose; in this order.

        Of equal nodes those come first that lose least in the whole file.
        """
        frequency = self.patterns.frequency
        mean = [
            [float(np.where(np.isfinite(loss), loss, 0.0) @ frequency) for loss in each]
            for each in self.losses
        ]
        start = (0,) * len(mean)
        heap: list[tuple[float, float, Node, int]] = [(0.0, 0.0, start, 0)]
        while heap:
            least, total, node, last = heappop(heap)
            yield least, node
            # Each node is made once: levels are raised in the order of keys.
            for key in range(last, len(mean)):
                if node[key] + 1 < len(mean[key]):
                    raised = (*node[:key], node[key] + 1, *node[key + 1 :])
                    more = mean[key][raised[key]] - mean[key][node[key]]
                    least = float(
                        sum(of[level] for of, level in zip(self._least, raised, strict=True))
                    )
                    heappush(heap, (least, total + more, raised, key))

    def ways(self, most: Floats | None = None) -> Iterator[Way]:
        """Return nodes as ways to change keys.

        Parameters
        ----------
        most : numpy.ndarray of float, shape (n_patterns,), optional
            Nodes at which every pattern loses more than this may be left out.
        """
        highest = np.inf if most is None else float(np.max(most + self._given, initial=0.0))
        for least, node in self.nodes():
            if least > highest:
                return
            yield Way(self.number(node), self.loss(node), partial(self.groups, node))

    def cheapest(self, fits: Fits, budget: Budget) -> tuple[Integers, Floats]:
        """Return where each pattern fits at the least loss, and a loss below which it does not.

        Parameters
        ----------
        fits : callable
        budget : Budget
            Without enough time the loss may be lower.

        Returns
        -------
        number : numpy.ndarray of int, shape (n_patterns,)
            Number of a node; -1 where none was found in time.
        floor : numpy.ndarray of float, shape (n_patterns,)
        """
        number = np.full(self.patterns.n_patterns, -1)
        floor = np.full(len(number), np.inf)
        for least, node in self.nodes():
            reached = least - self._given
            if np.all(floor <= reached):
                break
            if budget.is_over:
                return number, np.asarray(np.minimum(floor, np.maximum(reached, 0.0)))
            loss = self.loss(node)
            cheaper = np.flatnonzero(loss < floor)
            if len(cheaper):
                good = cheaper[fits(node, cheaper)]
                floor[good], number[good] = loss[good], self.number(node)
        return number, floor

    def floor(self, k: int, budget: Budget) -> Floats:
        """Return a loss at which k records fit each pattern, and below which none do.

        Each class of a release holds k records that are equal at its node, whatever others do.
        Without enough time it may be lower.
        """

        def holds_k(node: Node, among: Integers) -> Flags:
            label, n_groups = self.groups(node)
            size = np.bincount(label, weights=self.patterns.frequency, minlength=n_groups)
            return np.asarray(size[label[among]] >= k)

        return self.cheapest(holds_k, budget)[1]

    def to_neighbours(self, k: int) -> Floats:
        """Return the loss by which each pattern becomes equal to its k-th nearest record.

        A class holds k records, so that each loses at least this. With many keys this is more than
        what nodes prove in the time; files with many patterns get zeros.
        """
        patterns = self.patterns
        floor = np.zeros(patterns.n_patterns)
        for begin in range(0, len(floor) if len(floor) <= FEW_PATTERNS else 0, 500):
            part = slice(begin, begin + 500)
            apart = patterns.stratum[part, None] != patterns.stratum[None, :]
            distance = np.where(apart, np.inf, 0.0)
            for codes, losses in zip(self.codes, self.losses, strict=True):
                nearest = np.full(distance.shape, np.inf)
                for code, loss in zip(codes[::-1], losses[::-1], strict=True):
                    same = code[part, None] == code[None, :]
                    nearest = np.where(same & np.isfinite(loss[None, :]), loss[part, None], nearest)
                distance += nearest
            order = np.argsort(distance, axis=1)
            near = np.argmax(np.cumsum(patterns.frequency[order], axis=1) >= k, axis=1)
            rows = np.arange(len(order))
            floor[part] = distance[rows, order[rows, near]]
        return floor


def n_kept(each: KeyLevels) -> int:
    """Return the number of levels of a key that are not its total."""
    return each.n_levels - (1 if each.n_levels > 1 and each.labels[-1].tolist() == [TOTAL] else 0)
