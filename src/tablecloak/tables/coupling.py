"""Cells that can only move together, and are one cell of a problem or one column of a program.

Where all but two cells of a relation are frozen or empty, the two change by the same amount, up
to sign; where all but one are, it cannot change at all. In sparse hierarchies, in which many
totals have a single filled child, whole chains of cells are coupled so, and with them the
directions of the sensitive ones among them: turning one alone is infeasible. One column for all
leaves fewer cells, fewer directions, and a tighter relaxation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.graph import components, spanning_forest

CANCELLED = 1e-14
"""Share of its terms up to which a merged coefficient counts as 0."""

LARGEST_WHOLE = 2.0**31
"""Coefficients up to this size are added up without rounding, however many a relation has."""


@dataclass(frozen=True, eq=False)
class CoupledCells:
    """Groups of cells whose changes are equal up to sign.

    Parameters
    ----------
    group : numpy.ndarray of int, shape (n_cells,)
        Group of each cell; -1 for cells that cannot change.
    sign : numpy.ndarray of float, shape (n_cells,)
        1 or -1: the change of a cell is `sign` times that of its group. The first sensitive cell
        of a group has 1.
    rows : numpy.ndarray of int, shape (n_cells - n_groups,)
        Independent relations that couple the cells, one for each cell that does not move
        independently; empty if unknown.
    """

    group: Integers
    sign: Floats
    rows: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @classmethod
    def find(cls, relations: csr_array, movable: Flags, sensitive: Flags) -> CoupledCells:
        """Find all groups that relations with one or two movable cells imply.

        Parameters
        ----------
        relations : scipy.sparse.csr_array, shape (n_relations, n_cells)
        movable, sensitive : numpy.ndarray of bool, shape (n_cells,)

        Notes
        -----
        Merging cells may couple groups, so that the search is repeated until it finds none. Only
        coefficients of equal size count: with others the values of a group would not stay whole.
        """
        group = np.where(movable, np.cumsum(movable) - 1, -1)
        coupled = cls(group, np.ones(len(group)))
        while True:
            merged = coupled._merged(relations)
            if merged is None:
                break
            coupled = merged
        cells = np.flatnonzero(sensitive & (coupled.group >= 0))
        groups, first = np.unique(coupled.group[cells], return_index=True)
        turn = np.ones(coupled.n_groups + 1)
        turn[groups] = coupled.sign[cells[first]]
        return cls(coupled.group, coupled.sign * turn[coupled.group], coupled.rows)

    @property
    def n_groups(self) -> int:
        """Number of groups; a cell that moves alone is a group as well."""
        return int(self.group.max(initial=-1)) + 1

    @cached_property
    def spread(self) -> csr_array:
        """Matrix of shape (n_cells, n_groups) from changes of groups to changes of cells."""
        cells = np.flatnonzero(self.group >= 0)
        shape = (len(self.group), self.n_groups)
        return csr_array((self.sign[cells], (cells, self.group[cells])), shape=shape)

    def relations(self, relations: csr_array) -> csr_array:
        """Return relations between groups; redundant ones are empty."""
        between = csr_array(relations @ self.spread)
        # Coefficients that are rounding errors of a sum that is 0, judged by the terms of that sum.
        size = csr_array(abs(relations) @ abs(self.spread))
        between = csr_array(between.multiply(abs(between) > CANCELLED * size))
        between.eliminate_zeros()
        between.sort_indices()
        return between

    def least(self, upward: Floats, downward: Floats) -> tuple[Floats, Floats]:
        """Return the least over the cells of each group, of what holds up and down for cells."""
        return self._over_cells(np.minimum, np.inf, upward, downward)

    def largest(self, upward: Floats, downward: Floats) -> tuple[Floats, Floats]:
        """Return the largest over the cells of each group, of what holds up and down for cells."""
        return self._over_cells(np.maximum, 0.0, upward, downward)

    def everywhere(self, upward: Flags, downward: Flags) -> tuple[Flags, Flags]:
        """Return whether something holds for all cells of each group, as it moves up and down."""
        least = self.least(upward.astype(np.float64), downward.astype(np.float64))
        return least[0] > 0, least[1] > 0

    def _over_cells(
        self, chosen: np.ufunc, start: float, upward: Floats, downward: Floats
    ) -> tuple[Floats, Floats]:
        cells = np.flatnonzero(self.group >= 0)
        same = self.sign[cells] > 0
        extremes = []
        for along, against in ((upward, downward), (downward, upward)):
            values = np.full(self.n_groups, start)
            chosen.at(values, self.group[cells], np.where(same, along[cells], against[cells]))
            extremes.append(values)
        return extremes[0], extremes[1]

    def _merged(self, relations: csr_array) -> CoupledCells | None:
        """Return larger groups, or None if there are none."""
        n = self.n_groups
        between = self.relations(relations)
        count, start = np.diff(between.indptr), between.indptr[:-1]
        alone, pairs = np.flatnonzero(count == 1), np.flatnonzero(count == 2)
        at = start[pairs]
        equal = np.abs(between.data[at]) == np.abs(between.data[at + 1])
        pairs, at = pairs[equal], at[equal]
        if not len(alone) and not len(pairs):
            return None
        still = between.indices[start[alone]]
        one, two = between.indices[at], between.indices[at + 1]
        is_same = between.data[at] * between.data[at + 1] < 0
        # Cells that cannot change are joined to the last node, which stands for 0.
        ends = np.append(one, still), np.append(two, np.full(len(still), n))
        low, high = np.minimum(*ends).astype(np.int64), np.maximum(*ends)
        tree = spanning_forest(low, high, low * (n + 1) + high, n + 1)
        inner = tree[tree < len(pairs)]
        plus, minus, part = _turns(one[inner], two[inner], is_same[inner], n)
        odd = np.flatnonzero(plus[one] != np.where(is_same, plus[two], minus[two]))
        # A group joined to itself with the opposite sign cannot change.
        stopped = np.unique(part[still])
        _, first = np.unique(part[one[odd]], return_index=True)
        first = first[~np.isin(part[one[odd[first]]], stopped)]
        rows = np.concatenate([pairs, alone])[np.append(tree, odd[first])]
        moves = ~np.isin(part, np.append(stopped, part[one[odd]]))
        representative = np.where(moves, np.minimum(plus, minus), -1)
        kept = np.unique(representative[moves])
        number = np.append(np.where(moves, np.searchsorted(kept, representative), -1), -1)
        turn = np.append(np.where(plus < minus, 1.0, -1.0), 1.0)
        sign = self.sign * turn[self.group]
        return CoupledCells(number[self.group], sign, np.append(self.rows, rows))


def whole_rows(relations: csr_array) -> Flags:
    """Which relations have whole coefficients whose sums are exact, shape (n_relations,)."""
    data = relations.data
    is_odd = (data != np.rint(data)) | (np.abs(data) > LARGEST_WHOLE)
    row = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    whole: Flags = np.bincount(row[is_odd], minlength=relations.shape[0]) == 0
    return whole


def _turns(
    one: Integers, two: Integers, is_same: Flags, n: int
) -> tuple[Integers, Integers, Integers]:
    """Return labels of both signs of each of n groups along a forest, and a label of its tree.

    Each group is there twice, with both signs; those that move alike have the same label.
    """
    here = np.concatenate([one, one + n])
    there = np.concatenate([np.where(is_same, two, two + n), np.where(is_same, two + n, two)])
    label = components(here, there, 2 * n)
    plus, minus = label[:n], label[n:]
    return plus, minus, np.minimum(plus, minus)
