"""Coupled cells: unknown cells that can only move together share a column of the programs.

Once a pattern is given, many relations have two hidden cells left, and both move by the same
amount. One column for all coupled cells leaves fewer columns, far fewer rows, and one answer for
all sensitive cells of the group. A witness moves all of them. Multipliers are carried back to the
rows that couple them, so that they prove the same limit by the relations of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.sparse.linalg import SuperLU, splu

from tablecloak.arrays import Floats, Integers
from tablecloak.suppression.system.system import System
from tablecloak.tables.coupled import CoupledCells, whole_rows
from tablecloak.tables.distinct import distinct_rows

__all__ = ["CoupledSystem"]


@dataclass(frozen=True, eq=False)
class CoupledSystem:
    """The system over groups of cells that move together, and the way back to the cells.

    Parameters
    ----------
    system : System
    cells : CoupledCells
        Group and sign of each unknown cell. Rows with fractional coefficients couple no cells,
        since their sums would be rounded.
    matrix : scipy.sparse.csr_array, shape (n_rows_left, n_groups)
        Distinct rows over groups.
    rows : numpy.ndarray of int, shape (n_rows_left,)
        Row of the system from which each comes.
    """

    system: System
    cells: CoupledCells
    matrix: csr_array
    rows: Integers

    @classmethod
    def of(cls, system: System) -> CoupledSystem:
        """Couple the cells of a system; where none are, it is the system itself."""
        whole = np.flatnonzero(whole_rows(system.matrix))
        every = np.ones(system.n_unknown, dtype=bool)
        found = CoupledCells.find(csr_array(system.matrix[whole, :]), every, ~every)
        found = CoupledCells(found.group, found.sign, whole[found.rows])
        if not len(found.rows):
            return cls(system, found, system.matrix, np.arange(len(system.rows)))
        return cls(system, found, *distinct_rows(found.relations(system.matrix)))

    @property
    def is_smaller(self) -> bool:
        """Whether any cells are coupled."""
        return len(self.cells.rows) > 0

    @cached_property
    def n_needs(self) -> Integers:
        """Number of needs of the cells of each group."""
        group = self.cells.group[self.system.needs.cells]
        return np.bincount(group[group >= 0], minlength=self.cells.n_groups)

    def room(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return how far each group may move, given how far each cell may."""
        if not self.is_smaller:
            return low, high
        up, down = self.cells.least(high, -low)
        return -down, up

    def deviation(self, moves: Floats) -> Floats:
        """Return the deviations of cells from the moves of groups."""
        if not self.is_smaller or not len(moves):
            return moves
        found: Floats = self.cells.spread @ moves
        return found

    def multipliers(
        self, duals: Floats, cell: int, sign: int, nearest: tuple[Integers, Integers] | None
    ) -> Floats:
        """Return multipliers of all rows that prove the limit of multipliers of rows over groups.

        The entries of s e_p - A^T gamma in a group are moved to its nearest cell on that side,
        whose room limits the group, since those of other cells would count with larger rooms.

        Parameters
        ----------
        duals : numpy.ndarray of float, shape (n_rows_left,)
        cell : int
            Position of p in the system.
        sign : {1, -1}
            s, upwards or downwards.
        nearest : tuple of numpy.ndarray of int, shape (n_groups,), or None
            The result of `nearest`; None if no cells are coupled.
        """
        found = np.zeros(len(self.system.rows))
        found[self.rows] = duals
        if nearest is None:
            return found
        left = -(self.system.by_cell @ found)
        left[cell] += sign
        of_group = self._gathered @ left
        carrier = np.where(of_group > 0, *nearest)
        left[carrier] -= self.cells.sign[carrier] * of_group
        found[self.cells.rows] += self._factors.solve(left[self._dependent])
        return found

    def nearest(self, low: Floats, high: Floats) -> tuple[Integers, Integers]:
        """Return for each group a cell that has least room as the group moves up, and down.

        Parameters
        ----------
        low, high : numpy.ndarray of float, shape (n_unknown,)
            How far each cell may move down (as a number <= 0) and up.
        """
        cells = np.flatnonzero(self.cells.group >= 0)
        group, same = self.cells.group[cells], self.cells.sign[cells] > 0
        found = []
        for own, other in ((high, -low), (-low, high)):
            order = np.lexsort([np.where(same, own[cells], other[cells]), group])
            first = np.unique(group[order], return_index=True)[1]
            found.append(cells[order[first]])
        return found[0], found[1]

    @cached_property
    def _gathered(self) -> csr_array:
        """Matrix of shape (n_groups, n_unknown) that adds up coefficients of cells by group."""
        return csr_array(self.cells.spread.T)

    @cached_property
    def _dependent(self) -> Integers:
        """Cells whose moves follow from another cell: all but the first of each group."""
        first = np.unique(self.cells.group, return_index=True)[1]
        is_first = np.zeros(self.system.n_unknown, dtype=bool)
        is_first[first] = True
        return np.flatnonzero(~is_first | (self.cells.group < 0))

    @cached_property
    def _factors(self) -> SuperLU:
        """Factors of the coupling rows, which determine these cells."""
        square = self.system.matrix[self.cells.rows, :][:, self._dependent]
        return splu(csc_array(square.T))
