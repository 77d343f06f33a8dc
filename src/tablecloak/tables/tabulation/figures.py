"""What is known of the contributors of cells, and how that of parts becomes that of the whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tablecloak.arrays import FEW_TIMES, AnyIntegers, Floats, Integers, numbered_rows

Numbers: TypeAlias = npt.NDArray[Any]
"""Whole numbers or others, which are added up as what they are."""


def group_rows(rows: Integers) -> tuple[Integers, Integers]:
    """Distinct rows in sorted order, and the number of each row among them."""
    (flat,) = numbered_rows(rows)
    _, first, group = np.unique(flat, return_index=True, return_inverse=True)
    return rows[first], group.reshape(-1)


def locate(rows: AnyIntegers, cells: AnyIntegers) -> Integers:
    """Index of each row among the cells, which are sorted and unique."""
    among, flat = numbered_rows(cells, rows)
    size = int(among.max(initial=-1)) + 1
    if size > FEW_TIMES * len(rows):
        index: Integers = np.searchsorted(among, flat)
        return index
    index = np.zeros(size, dtype=np.int64)
    index[among] = np.arange(len(among))
    return index[flat]


def roll_up(
    positions: AnyIntegers,
    sums: Sequence[Numbers],
    maxima: Floats,
    levels: Sequence[Sequence[AnyIntegers]],
) -> tuple[AnyIntegers, list[Numbers], Floats]:
    """Add up sums, and take maxima, over all codes of all axes.

    Parameters
    ----------
    positions : numpy.ndarray of int, shape (n_leaves, n_axes)
        Positions of leaves on each axis.
    sums, maxima : (list of) numpy.ndarray, shape (n_leaves, ...)
    levels : list of list of numpy.ndarray
        See `levels_of`, for each axis.

    Returns
    -------
    positions : numpy.ndarray of int, shape (n_cells, n_axes)
        Positions of codes, sorted.
    sums, maxima
    """
    # Leaves that differ only on dimensions outside this table fall together first.
    rows = _reduced(positions, [*sums, maxima])
    for axis, maps in enumerate(levels):
        parts = [_moved(*rows, axis, maps[0])]
        parts += [_reduced(*_moved(*rows, axis, above)) for above in maps[1:]]
        columns = zip(*(figures for _, figures in parts), strict=True)
        rows = (
            np.concatenate([cells for cells, _ in parts]),
            [np.concatenate(column) for column in columns],
        )
    order = np.argsort(numbered_rows(rows[0])[0])
    *sums, maxima = (figure[order] for figure in rows[1])
    return rows[0][order], sums, maxima


def _moved(
    positions: AnyIntegers, figures: Sequence[Numbers], axis: int, above: AnyIntegers
) -> tuple[AnyIntegers, list[Numbers]]:
    """Put codes of a level in the place of leaves on one axis; leave out what has none."""
    code = above[positions[:, axis]]
    kept = np.flatnonzero(code >= 0) if np.any(code < 0) else slice(None)
    moved = positions[kept].copy()
    moved[:, axis] = code[kept]
    return moved, [figure[kept] for figure in figures]


def _reduced(
    positions: AnyIntegers, figures: Sequence[Numbers]
) -> tuple[AnyIntegers, list[Numbers]]:
    """Add up rows of the same positions; of the last figures the maxima are taken."""
    if not len(positions):
        return positions, list(figures)
    (flat,) = numbered_rows(positions)
    if np.all(flat[1:] > flat[:-1]):
        return positions, list(figures)
    order = np.argsort(flat, kind="stable")
    flat = flat[order]
    start = np.flatnonzero(np.concatenate([[True], flat[1:] != flat[:-1]]))
    *sums, maxima = figures
    added: list[Numbers] = [np.add.reduceat(column[order], start) for column in sums]
    return positions[order[start]], [*added, np.maximum.reduceat(maxima[order], start)]


def rank_within(sorted_groups: Integers) -> Integers:
    """Position of each row within its run of equal group numbers."""
    index = np.arange(len(sorted_groups))
    starts = np.ones(len(index), dtype=bool)
    starts[1:] = sorted_groups[1:] != sorted_groups[:-1]
    return index - np.maximum.accumulate(np.where(starts, index, 0))


@dataclass(frozen=True)
class Largest:
    """Largest contributions as rows: position of the cell, size, weight, contributor, marks.

    The marks, shape (n_rows, n_marks), are what else is known of each contributor.
    """

    positions: AnyIntegers
    size: Floats
    weight: Floats
    contributor: AnyIntegers
    marks: Floats

    def take(self, rows: Integers, positions: AnyIntegers) -> Largest:
        """Return some rows, at other positions."""
        return Largest(
            positions,
            self.size[rows],
            self.weight[rows],
            self.contributor[rows],
            self.marks[rows],
        )

    def rolled_up(self, levels: Sequence[Sequence[AnyIntegers]], k: int) -> Largest:
        """Return the k largest of each cell, over all codes of all axes."""
        rows = self.largest(k)
        for axis, maps in enumerate(levels):
            parts = [rows._at(axis, maps[0])]
            parts += [rows._at(axis, above).largest(k) for above in maps[1:]]
            rows = Largest.joined(parts)
        return rows

    def _at(self, axis: int, above: AnyIntegers) -> Largest:
        """Put codes of a level in the place of leaves on one axis; leave out what has none."""
        index = np.arange(len(self.size))
        positions, (kept,) = _moved(self.positions, [index], axis, above)
        return self.take(kept, positions)

    def _order(self, group: Integers) -> Integers:
        """Order by group, then size, weight and marks, the largest first, then contributor.

        Where each record is a contributor, its number is that of its row. It decides only between
        records that are alike in all else, so that shuffling records changes no figure.
        """
        order: Integers = np.lexsort((-self.size, group))
        size, group = self.size[order], group[order]
        same = (size[1:] == size[:-1]) & (group[1:] == group[:-1])
        if np.any(same):
            # Few are alike; only these are looked at more closely.
            alike = np.flatnonzero(np.append(same, False) | np.concatenate([[False], same]))
            rows = order[alike]
            further = (self.contributor[rows], *-self.marks[rows].T[::-1], -self.weight[rows])
            order[alike] = rows[np.lexsort((*further, -size[alike], group[alike]))]
        return order

    def largest(self, k: int) -> Largest:
        """Keep the k largest of each cell."""
        rows, _ = self.ranked(k)
        return self.take(rows, self.positions[rows])

    def ranked(self, k: int) -> tuple[Integers, Integers]:
        """Return the rows of the k largest of each cell, and the rank of each in its cell."""
        (group,) = numbered_rows(self.positions)
        order = self._order(group)
        rank = rank_within(group[order])
        kept = rank < k
        return order[kept], rank[kept]

    @staticmethod
    def joined(parts: Sequence[Largest]) -> Largest:
        """Return the rows of several."""
        names = ("positions", "size", "weight", "contributor", "marks")
        return Largest(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))


@dataclass(frozen=True)
class Figures:
    """What is known of the contributors of some cells, which may be listed more than once.

    Parameters
    ----------
    positions : numpy.ndarray of int, shape (n_cells, n_axes)
    counts : numpy.ndarray of int, shape (n_cells, 1 or more)
        Count; the words of the sum of weights if there are weights; number of full waivers if there
        are waivers.
    maxima : numpy.ndarray of float, shape (n_cells, 0, 2 or 4)
        Largest contribution of those that asked for protection, by request code 1 and 2, if anybody
        can ask; largest contribution without a waiver, and largest margin that somebody named, if
        there are waivers.
    largest : Largest
    """

    positions: AnyIntegers
    counts: Integers
    maxima: Floats
    largest: Largest

    def of_codes(
        self, chosen: Mapping[int, int], levels: Mapping[str, Sequence[AnyIntegers]]
    ) -> Figures:
        """Return those of some axes at the positions of codes; level 0 is given as leaves.

        Parameters
        ----------
        chosen : mapping of int to int
            The level of each axis that is kept.
        levels : mapping of str to list of numpy.ndarray
            See `levels_of`.
        """
        listed = list(levels.values())

        def codes(positions: AnyIntegers) -> Integers:
            columns = []
            for axis, level in chosen.items():
                above, code = listed[axis][level], positions[:, axis]
                if not level:
                    code = above[code]
                elif np.all(above == above[0]):
                    # The only code of a level takes no part in the key.
                    code = np.full(len(code), above[0])
                columns.append(code)
            return np.column_stack(columns)

        largest = replace(self.largest, positions=codes(self.largest.positions))
        return replace(self, positions=codes(self.positions), largest=largest)

    def rolled_up(
        self, axes: Sequence[int], levels: Sequence[Sequence[AnyIntegers]], k: int
    ) -> Figures:
        """Return those of all cells over some axes, whose contributors are in one leaf each."""
        positions, (counts,), maxima = roll_up(
            self.positions[:, axes], [self.counts], self.maxima, levels
        )
        top = replace(self.largest, positions=self.largest.positions[:, axes])
        return Figures(positions, counts, maxima, top.rolled_up(levels, k))

    @staticmethod
    def joined(parts: Sequence[Figures]) -> Figures:
        """Return the figures of different contributors together."""
        if len(parts) == 1:
            return parts[0]
        return Figures(
            np.concatenate([part.positions for part in parts]),
            np.concatenate([part.counts for part in parts]),
            np.concatenate([part.maxima for part in parts]),
            Largest.joined([part.largest for part in parts]),
        )


class FiguresOfCells:
    """Figures of given cells, added up from those of different contributors part by part.

    Parameters
    ----------
    cells : numpy.ndarray of int, shape (n_cells, n_axes)
        Sorted and unique.
    k : int
        Contributors that are kept for each cell.
    parts : iterable of Figures
        At least one.

    Attributes
    ----------
    counts, maxima : numpy.ndarray, shape (n_cells, ...)
        See `Figures`; 0 where nobody contributes.
    largest : numpy.ndarray of float, shape (n_cells, k)
        Sizes of the k largest; 0 where a cell has fewer, as are weights and marks.
    weight : numpy.ndarray of float, shape (n_cells, k)
    contributor : numpy.ndarray of int, shape (n_cells, k)
        -1 where a cell has fewer.
    marks : numpy.ndarray of float, shape (n_cells, k, n_marks)
    """

    def __init__(self, cells: AnyIntegers, k: int, parts: Iterable[Figures]) -> None:
        n, self.cells = len(cells), cells
        self.largest, self.weight = np.zeros((n, k)), np.zeros((n, k))
        self.contributor = np.full((n, k), -1, dtype=np.int64)
        for number, part in enumerate(parts):
            if not number:
                self.counts = np.zeros((n, part.counts.shape[1]), dtype=np.int64)
                self.maxima = np.zeros((n, part.maxima.shape[1]))
                self.marks = np.zeros((n, k, part.largest.marks.shape[1]))
            self._add(part)

    def _add(self, part: Figures) -> None:
        """Add the figures of other contributors than before."""
        index = locate(part.positions, self.cells)
        for column, added in zip(self.counts.T, part.counts.T, strict=True):
            np.add.at(column, index, added)
        for highest, largest in zip(self.maxima.T, part.maxima.T, strict=True):
            np.maximum.at(highest, index, largest)
        rows = replace(part.largest, positions=locate(part.largest.positions, self.cells)[:, None])
        ranked = self._standing(rows.positions[:, 0])
        rows = Largest.joined([ranked, rows]) if len(ranked.size) else rows
        order, rank = rows.ranked(self.largest.shape[1])
        at = rows.positions[order, 0], rank
        self.largest[at], self.weight[at] = rows.size[order], rows.weight[order]
        self.contributor[at], self.marks[at] = rows.contributor[order], rows.marks[order]

    def _standing(self, concerned: AnyIntegers) -> Largest:
        """Return the largest so far of some cells, given by their numbers."""
        is_concerned = np.zeros(len(self.cells), dtype=bool)
        is_concerned[concerned] = True
        at = np.nonzero((self.contributor >= 0) & is_concerned[:, None])
        values = (self.largest[at], self.weight[at], self.contributor[at], self.marks[at])
        return Largest(at[0][:, None], *values)
