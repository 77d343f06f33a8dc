"""The largest contributions to each cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.tables.tabulation.roll_up import expand, group_rows, locate, rank_within

__all__ = ["Largest"]


@dataclass(frozen=True)
class Largest:
    """Largest contributions as rows: position of the cell, size, weight, contributor, marks.

    The marks, shape (n_rows, n_marks), are what else is known of each contributor.
    """

    positions: Integers
    size: Floats
    weight: Floats
    contributor: Integers
    marks: Floats

    def take(self, rows: Integers, positions: Integers) -> Largest:
        """Return some rows, at other positions."""
        return Largest(
            positions,
            self.size[rows],
            self.weight[rows],
            self.contributor[rows],
            self.marks[rows],
        )

    def expanded(self, axis: int, above: tuple[Integers, Integers]) -> Largest:
        """Repeat each row for each code above its leaf on one axis."""
        source, positions = expand(self.positions, axis, above)
        return self.take(source, positions)

    def _order(self, group: Integers) -> Integers:
        """Order by group, then size, weight and marks, the largest first, then contributor.

        Where each record is a contributor, its number is that of its row. It decides only between
        records that are alike in all else, so that shuffling records changes no figure.
        """
        order: Integers = np.lexsort(
            (self.contributor, *-self.marks.T[::-1], -self.weight, -self.size, group)
        )
        return order

    def largest(self, k: int) -> Largest:
        """Keep the k largest of each cell."""
        _, group = group_rows(self.positions)
        order = self._order(group)
        rank = rank_within(group[order])
        keep = order[rank < k]
        return self.take(keep, self.positions[keep])

    def joined(self, other: Largest) -> Largest:
        """Return the rows of both."""
        return Largest(
            np.concatenate([self.positions, other.positions]),
            np.concatenate([self.size, other.size]),
            np.concatenate([self.weight, other.weight]),
            np.concatenate([self.contributor, other.contributor]),
            np.concatenate([self.marks, other.marks]),
        )

    def as_matrix(self, cells: Integers, k: int) -> tuple[Floats, Floats, Integers, Floats]:
        """Return sizes, weights, contributors and marks, one row for each cell.

        Where there is no contributor, its number is -1 and all else is 0.
        """
        at = locate(self.positions, cells)
        order = self._order(at)
        row, rank = at[order], rank_within(at[order])
        size, weight = np.zeros((len(cells), k)), np.zeros((len(cells), k))
        contributor = np.full((len(cells), k), -1, dtype=np.int64)
        size[row, rank] = self.size[order]
        weight[row, rank] = self.weight[order]
        contributor[row, rank] = self.contributor[order]
        marks = np.zeros((len(cells), k, self.marks.shape[1]))
        marks[row, rank] = self.marks[order]
        return size, weight, contributor, marks
