"""Which codes of a dimension are sums of others, told by the figures and by indentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from tablecloak.arrays import Flags, Floats
from tablecloak.tables.hierarchy import Group, Hierarchy

PROJECTIONS = 6
"""Random combinations of columns in which sums are looked for before they are checked in all."""

MOST_SCATTERED = 300
"""Most codes among which a sum of codes that do not stand side by side is looked for."""

PARTS = 5
"""Parts of the columns that are left out, or looked at alone, where a figure may be wrong."""

RIGHT = 0.6
"""Least share of the columns in which a tree holds that some figures contradict. Chosen."""

EXACT = 1e-9
"""Share of the summed sizes by which a sum of floating-point numbers may be off."""


@dataclass(frozen=True)
class CodeTree:
    """What is known of the order of codes.

    Parameters
    ----------
    total : str
        The code that no other one contains; empty if several such are left.
    groups : tuple of (str, tuple of str)
    unplaced : tuple of str
        Codes that belong to no group and are not the total.
    """

    total: str
    groups: tuple[Group, ...]
    unplaced: tuple[str, ...]

    @property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy; only for a tree in which every code has its place."""
        return Hierarchy(self.total, self.groups)


@dataclass
class _Work:
    """Codes that still stand at the top, in their order, and the groups found below them."""

    values: Floats
    codes: list[str]
    tops: list[int]
    groups: list[Group]
    rounding: float

    def equals(self, parent: int, children: Sequence[int]) -> bool:
        """Whether a code is the sum of others in every column, up to rounding."""
        return bool(self.equal_in(parent, children).all())

    def equal_in(self, parent: int, children: Sequence[int]) -> Flags:
        """Return in which columns a code is the sum of others, up to rounding."""
        parts = self.values[list(children)]
        allowed = EXACT * (np.abs(parts).sum(axis=0) + np.abs(self.values[parent]))
        allowed = allowed + self.rounding * (len(children) + 1) / 2
        is_equal: Flags = np.abs(self.values[parent] - parts.sum(axis=0)) <= allowed
        return is_equal

    def has_children(self, code: int) -> bool:
        """Whether a group was put below a code; a second one would be another tree."""
        return any(self.codes[code] == parent for parent, _ in self.groups)

    def put(self, parent: int, children: Sequence[int]) -> None:
        """Put children below their parent."""
        self.groups.append((self.codes[parent], tuple(self.codes[child] for child in children)))
        below = set(children)
        self.tops = [top for top in self.tops if top not in below]


def code_tree(
    values: Floats, codes: Sequence[str], depths: Sequence[int] = (), *, rounding: float = 0.0
) -> CodeTree:
    """Find the tree of codes in which every parent is the sum of its children.

    Parameters
    ----------
    values : numpy.ndarray of float, shape (n_codes, n_columns)
        One row for each code, one column for each combination of the other codes. Without columns
        nothing is told.
    codes : sequence of str
        In the order in which they stand in the table.
    depths : sequence of int, optional
        Indentation of each code. It decides where it agrees with the figures.
    rounding : float, default=0
        Unit to which figures were rounded one by one; 0 if they add up exactly.

    Returns
    -------
    CodeTree

    Notes
    -----
    Parents stand beside their children in nearly every published table, before or after them. So
    the shortest runs of neighbours that add up to the code before or after them are put together
    until nothing changes; only then sums of scattered codes are looked for, by least squares
    without negative coefficients. Equal rows side by side are taken for a parent with one child.
    """
    if not values.shape[1]:
        return _tree(_Work(values, list(codes), list(range(len(codes))), [], rounding))
    if len(set(depths)) > 1:
        drawn = _by_depth(values, codes, depths, rounding)
        if drawn is not None:
            return drawn
    work = _Work(values, list(codes), list(range(len(codes))), [], rounding)
    random = np.random.default_rng(0)
    # A handful of combinations finds the candidates; `equals` decides in all columns.
    columns = values.shape[1]
    mix = random.uniform(0.5, 1.5, (columns, PROJECTIONS)) if columns > PROJECTIONS else None
    seen = values if mix is None else values @ mix
    steps = (_runs, _twins, _scattered, _below_leaves)
    while len(work.tops) > 1 and any(step(work, seen) for step in steps):
        pass
    return _tree(work)


def tree_of_most(values: Floats, codes: Sequence[str], depths: Sequence[int] = ()) -> CodeTree:
    """Find the tree in which every parent is the sum of its children in most columns, not in all.

    A wrong figure stands in one column, and the others still tell the tree.

    Parameters
    ----------
    values, codes, depths
        See `code_tree`.

    Returns
    -------
    CodeTree
        A complete one, or that of no column.
    """
    count = values.shape[1]
    n_parts = min(count, PARTS) if len(codes) <= MOST_SCATTERED else 0
    part = np.arange(count) % max(n_parts, 1)
    for number in range(2 * n_parts):
        # All but one part, for a single wrong figure; then one part alone, for several.
        chosen = (part == number % n_parts) ^ (number < n_parts)
        tree = code_tree(values[:, chosen], codes, depths)
        if tree.groups and tree.total and not tree.unplaced:
            right = np.all([~gap for _, gap in failing_sums(values, codes, tree)], axis=0)
            if right.mean() >= RIGHT:
                return tree
    return code_tree(values[:, :0], codes)


def failing_sums(values: Floats, codes: Sequence[str], tree: CodeTree) -> list[tuple[str, Flags]]:
    """Return for each parent of a tree in which columns its children do not add up to it."""
    work = _Work(values, list(codes), [], [], 0.0)
    at = {code: number for number, code in enumerate(codes)}
    return [
        (parent, ~work.equal_in(at[parent], [at[child] for child in children]))
        for parent, children in tree.groups
    ]


def _tree(work: _Work) -> CodeTree:
    parents = {parent for parent, _ in work.groups}
    tops = [work.codes[top] for top in work.tops]
    if len(tops) == 1:
        return CodeTree(tops[0], tuple(work.groups[::-1]), ())
    roots = [code for code in tops if code in parents]
    if len(roots) == 1:
        rest = tuple(code for code in tops if code not in parents)
        return CodeTree(roots[0], tuple(work.groups[::-1]), rest)
    return CodeTree("", tuple(work.groups[::-1]), tuple(tops))


def _by_depth(
    values: Floats, codes: Sequence[str], depths: Sequence[int], rounding: float
) -> CodeTree | None:
    """Return the tree that indentation draws, if it has one root and the figures agree."""
    for numbers in (range(len(codes)), range(len(codes) - 1, -1, -1)):
        work = _Work(values, list(codes), list(range(len(codes))), [], rounding)
        children: dict[int, list[int]] = {}
        above: list[int] = []
        for code in numbers:
            while above and depths[above[-1]] >= depths[code]:
                above.pop()
            if above:
                children.setdefault(above[-1], []).append(code)
            above.append(code)
        if all(work.equals(parent, below) for parent, below in children.items()):
            for parent in sorted(children, key=lambda code: -depths[code]):
                work.put(parent, sorted(children[parent]))
            if len(work.tops) == 1:
                return _tree(work)
    return None


def _runs(work: _Work, seen: Floats) -> bool:
    """Put the shortest runs of two codes or more below the code beside them."""
    tops = np.array(work.tops)
    sums = np.vstack([np.zeros(seen.shape[1]), np.cumsum(seen[tops], axis=0)])
    sizes = np.vstack([np.zeros(seen.shape[1]), np.cumsum(np.abs(seen[tops]), axis=0)])
    n = len(tops)
    for length in range(2, n):
        starts = np.arange(n - length + 1)
        run, size = sums[starts + length] - sums[starts], sizes[starts + length] - sizes[starts]
        slack = EXACT * size + 2 * work.rounding * (length + 1) * max(work.values.shape[1], 1)
        candidates = []
        for beside in (starts - 1, starts + length):
            inside = (beside >= 0) & (beside < n)
            parents = tops[np.clip(beside, 0, n - 1)]
            near = np.all(np.abs(seen[parents] - run) <= slack + EXACT * sizes[-1], axis=1)
            candidates += [
                (int(tops[beside[start]]), tops[start : start + length].tolist())
                for start in np.flatnonzero(inside & near).tolist()
            ]
        if _take(work, candidates):
            return True
    return False


def _take(work: _Work, candidates: list[tuple[int, list[int]]]) -> bool:
    """Put the groups that hold in all columns, in their order, where they do not overlap."""
    taken: set[int] = set()
    for parent, children in candidates:
        is_free = taken.isdisjoint([parent, *children])
        is_open = np.any(work.values[parent]) and not work.has_children(parent)
        if is_free and is_open and work.equals(parent, children):
            work.put(parent, children)
            taken.update([parent, *children])
    return bool(taken)


def _twins(work: _Work, seen: Floats) -> bool:
    """Put a code below its neighbour with the same figures: a parent with one child."""
    del seen
    for first, second in zip(work.tops, work.tops[1:], strict=False):
        is_open = np.any(work.values[first]) and not work.has_children(first)
        if is_open and work.equals(first, [second]):
            work.put(first, [second])
            return True
    return False


def _scattered(work: _Work, seen: Floats) -> bool:
    """Put codes below one that is their sum, wherever they stand."""
    del seen
    if len(work.tops) < 3:
        return False
    tops = np.array(work.tops)
    order = np.argsort(-np.abs(work.values[tops]).sum(axis=1), kind="stable")
    return any(
        _summed(work, parent, [top for top in work.tops if top != parent])
        for parent in tops[order].tolist()
        if not work.has_children(parent)
    )


def _below_leaves(work: _Work, seen: Floats) -> bool:
    """Put codes that are left below one that was placed before, and has nothing below it yet.

    Where codes stand level by level, a run of the level above is found before that of their own.
    """
    placed = sorted(set(range(len(work.codes))) - set(work.tops))
    # The largest code is the total, and no part of another one.
    sizes = np.abs(work.values[work.tops]).sum(axis=1)
    loose = [top for top in work.tops if top != work.tops[int(np.argmax(sizes))]]
    leaves = [code for code in placed if np.any(work.values[code]) and not work.has_children(code)]
    runs = _RunSums.of(seen[loose], work.rounding * max(work.values.shape[1], 1))
    for leaf in leaves:
        for start, end in runs.equal_to(seen[leaf]):
            if work.equals(leaf, loose[start:end]):
                work.put(leaf, loose[start:end])
                return True
    return any(len(loose) > 1 and _summed(work, leaf, loose) for leaf in leaves)


@dataclass(frozen=True)
class _RunSums:
    """Sums of the first rows, in the order of their first column, to find runs by their sum."""

    sums: Floats
    order: npt.NDArray[np.intp]
    slack: float

    @classmethod
    def of(cls, rows: Floats, rounding: float) -> _RunSums:
        sums = np.vstack([np.zeros(rows.shape[1]), np.cumsum(rows, axis=0)])
        slack = EXACT * float(np.abs(rows).sum(axis=0).max(initial=0.0)) + 4 * rounding * len(rows)
        return cls(sums, np.argsort(sums[:, 0], kind="stable"), slack)

    def equal_to(self, row: Floats) -> list[tuple[int, int]]:
        """Return runs of rows, as start and end, that add up to a row; the shortest first."""
        keys = self.sums[self.order, 0]
        wanted = self.sums[:, 0] + row[0]
        first = np.searchsorted(keys, wanted - self.slack, side="left")
        last = np.searchsorted(keys, wanted + self.slack, side="right")
        starts = np.repeat(np.arange(len(keys)), last - first)
        within = np.arange(len(starts)) - np.repeat(
            np.cumsum(last - first) - (last - first), last - first
        )
        ends = self.order[np.repeat(first, last - first) + within]
        near = np.abs(self.sums[ends] - self.sums[starts] - row) <= self.slack
        good = (ends > starts) & near.all(axis=1)
        runs = zip(starts[good].tolist(), ends[good].tolist(), strict=True)
        return sorted(runs, key=lambda run: run[1] - run[0])


def _summed(work: _Work, parent: int, others: list[int]) -> bool:
    """Put those of the other codes below a parent that add up to it, if there are such."""
    scale = float(np.abs(work.values[parent]).max(initial=0.0))
    if scale == 0 or len(others) > MOST_SCATTERED:
        return False
    if np.all(work.values >= 0):
        # A code adds up to nothing where the parent is empty, up to rounding.
        beside = work.values[others][:, work.values[parent] == 0]
        empty = ~np.any(beside > work.rounding * (len(others) + 1) / 2, axis=1)
        others = [code for code, is_empty in zip(others, empty.tolist(), strict=True) if is_empty]
    if len(others) < 2:
        return False
    share, _ = nnls(work.values[others].T / scale, work.values[parent] / scale)
    # Codes without figures belong to the largest one as well as anywhere.
    children = [
        code
        for code, part in zip(others, share, strict=True)
        if part > 0.5 or not np.any(work.values[code])
    ]
    if len(children) < 2 or not work.equals(parent, children):
        return False
    work.put(parent, children)
    return True
