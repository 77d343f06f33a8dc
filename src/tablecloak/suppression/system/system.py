"""The system of cells that an intruder does not know, and of the relations that touch them.

The unknowns are the deviations d from the true table: A d = 0 and low <= d <= high. Published cells
do not occur. A large system falls apart into components that share no relation; values in one tell
nothing of another, so each component is attacked on its own.

Once a pattern is given, many relations have two hidden cells left, and both move by the same
amount. One column for all coupled cells leaves fewer columns, far fewer rows, and one answer for
all sensitive cells of the group. A witness moves all of them. Multipliers are carried back to the
rows that couple them, so that they prove the same limit by the relations of the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.sparse.linalg import SuperLU, splu

from tablecloak.arrays import Flags, Floats, Integers, ranked
from tablecloak.graph import components_of_columns
from tablecloak.solve.exact import NullSpace, whole_factors
from tablecloak.suppression.system.basis import ExactSpan
from tablecloak.suppression.system.needs import Needs
from tablecloak.tables.coupling import CoupledCells, whole_rows
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.relations import distinct_rows

BUNDLE_CELLS = 300
"""Components smaller than this share a solver, since starting one costs more than a program."""


@dataclass(frozen=True, eq=False)
class System:
    """Unknown cells with their relations, room and needs; all positions are local.

    Parameters
    ----------
    cells : numpy.ndarray of int, shape (n_unknown,)
        Number of each unknown cell in the table, increasing.
    matrix : scipy.sparse.csr_array, shape (n_rows, n_unknown)
        Coefficients of the unknown cells in the relations that touch them.
    rows : numpy.ndarray of int, shape (n_rows,)
        Number of the relation behind each row.
    low, high : numpy.ndarray of float, shape (n_unknown,)
        Smallest and largest deviation of each cell: external bound minus true value.
    needs : Needs
        Distances to which sensitive cells must be able to move; cells are local positions.
    unit : float
        Median protection level.
    integer : bool
        Whether the table is one of whole numbers.
    factor : numpy.ndarray of float, shape (n_rows,)
        Power of ten that makes the coefficients of each row whole; 0 where none does.
    slack : numpy.ndarray of float, shape (n_unknown,)
        Rounding error of each cell's own value.
    forced : numpy.ndarray of bool, shape (n_unknown,)
        Cells that every pattern hides, although they are not sensitive.
    null_spaces : dict
        Eliminations of the relations over sets of cells, kept for witnesses over the same cells.
    spans : dict
        Bases of deviations over large sets of cells; None where one would take too much memory.
    """

    cells: Integers
    matrix: csr_array
    rows: Integers
    low: Floats
    high: Floats
    needs: Needs
    unit: float
    integer: bool
    factor: Floats
    slack: Floats
    forced: Flags
    null_spaces: dict[bytes, NullSpace] = field(default_factory=dict, repr=False)
    spans: dict[bytes, ExactSpan | None] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, problem: ProtectionProblem, needs: Needs, unknown: Flags) -> System:
        """Return the system of all unknown cells of a problem.

        Parameters
        ----------
        problem : ProtectionProblem
            With finite external bounds.
        needs : Needs
            Needs of all sensitive cells, by their numbers in the table.
        unknown : numpy.ndarray of bool, shape (n_cells,)
            Cells that are suppressed, or that may be.
        """
        cells = np.flatnonzero(unknown)
        position = np.full(problem.table.n_cells, -1, dtype=np.int64)
        position[cells] = np.arange(len(cells))
        relations = problem.table.relations
        matrix, rows = distinct_rows(csr_array(relations[:, cells]))
        values = problem.table.values[cells]
        return cls(
            cells=cells,
            matrix=matrix,
            rows=rows,
            low=problem.lower_bound[cells] - values,
            high=problem.upper_bound[cells] - values,
            needs=needs.among(position),
            unit=problem.unit,
            integer=bool(problem.table.integer),
            factor=whole_factors(csr_array(relations[rows, :])),
            slack=problem.table.precision[cells],
            forced=problem.forced[cells],
        )

    @property
    def n_unknown(self) -> int:
        """Number of unknown cells."""
        return len(self.cells)

    def with_room(self, low: Floats, high: Floats) -> System:
        """Return the system for an intruder who knows other bounds; needs are cut to them."""
        found = replace(self, low=low, high=high, needs=self.needs.cut(low, high))
        found.__dict__.update(by_cell=self.by_cell, need_of=self.need_of, rooms=self.rooms)
        return found

    def narrowed(self, positions: Integers, low: Floats, high: Floats) -> System:
        """Return the system for an intruder who knows some cells better.

        Parameters
        ----------
        positions : numpy.ndarray of int, shape (n_known,)
        low, high : numpy.ndarray of float, shape (n_known,)
            Smallest and largest deviation that the intruder considers possible.
        """
        lowest, highest = self.low.copy(), self.high.copy()
        lowest[positions] = np.maximum(lowest[positions], low)
        highest[positions] = np.minimum(highest[positions], high)
        return self.with_room(lowest, highest)

    def part(self, positions: Integers) -> System:
        """Return the system in which only some cells are unknown."""
        taken = entries_of(self.by_cell, positions)
        n_used, row = ranked(self.by_cell.indices[taken])
        used = np.empty(n_used, dtype=np.int64)
        used[row] = self.by_cell.indices[taken]
        length = np.diff(self.by_cell.indptr)[positions]
        column = np.repeat(np.arange(len(positions)), length)
        needed = self.need_of[positions]
        kept = np.flatnonzero(needed >= 0)
        return System(
            cells=self.cells[positions],
            matrix=csr_array(
                (self.by_cell.data[taken], (row, column)), shape=(n_used, len(positions))
            ),
            rows=self.rows[used],
            low=self.low[positions],
            high=self.high[positions],
            needs=self.needs.chosen(needed[kept], kept),
            unit=self.unit,
            integer=self.integer,
            factor=self.factor[used],
            slack=self.slack[positions],
            forced=self.forced[positions],
        )

    @cached_property
    def by_cell(self) -> csr_array:
        """The transposed matrix: the rows of each cell."""
        return csr_array(self.matrix.T)

    @cached_property
    def need_of(self) -> Integers:
        """Position of the need of each cell, -1 where it has none."""
        found = np.full(self.n_unknown, -1, dtype=np.int64)
        found[self.needs.cells] = np.arange(len(self.needs.cells))
        return found

    @cached_property
    def rooms(self) -> Flags:
        """Forced cells of coefficient 1 in a row of larger ones: they absorb its rounding.

        Two of them may be alone in a row, where their sum is known.
        """
        size = np.abs(self.matrix.data)
        row = np.repeat(np.arange(self.matrix.shape[0]), np.diff(self.matrix.indptr))
        largest = np.zeros(self.matrix.shape[0])
        np.maximum.at(largest, row, size)
        absorbs = (size == 1) & (largest[row] > 1)
        flags = np.zeros(self.n_unknown, dtype=bool)
        flags[self.matrix.indices[absorbs]] = True
        flags &= self.forced
        among = np.bincount(row[flags[self.matrix.indices]], minlength=len(largest)) > 0
        alone = among & (
            np.bincount(row[~self.forced[self.matrix.indices]], minlength=len(largest)) == 0
        )
        flags[self.matrix.indices[alone[row] & (size == 1)]] = True
        return flags

    @cached_property
    def has_rooms(self) -> bool:
        """Whether any cells absorb rounding."""
        return bool(np.any(self.rooms))

    def with_rooms(self, cells: Integers, d: Floats) -> tuple[Integers, Floats]:
        """Return a deviation with moves of 0 of the rooms in its relations."""
        rows = np.unique(self.by_cell.indices[entries_of(self.by_cell, cells)])
        touched = np.unique(self.matrix.indices[entries_of(self.matrix, rows)])
        added = np.setdiff1d(touched[self.rooms[touched]], cells)
        every = np.concatenate([cells, added])
        order = np.argsort(every)
        return every[order], np.append(d, np.zeros(len(added)))[order]

    def determined(self) -> list[tuple[int, int]]:
        """Return cells that follow from single relations, one after the other.

        A cell that is the only unknown of a relation follows from it. Once it is known, another
        cell may be the only unknown of another relation, and so on.

        Returns
        -------
        list of (int, int)
            Each cell with the row that determines it, in the order in which the cells follow.
        """
        matrix, by_cell = self.matrix, self.by_cell
        left = np.diff(matrix.indptr).astype(np.int64)
        known = np.zeros(self.n_unknown, dtype=bool)
        waiting = np.flatnonzero(left == 1).tolist()
        order: list[tuple[int, int]] = []
        while waiting:
            row = waiting.pop()
            inside = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
            unknown = inside[~known[inside]]
            if len(unknown) != 1:
                continue
            cell = int(unknown[0])
            known[cell] = True
            order.append((cell, row))
            touched = by_cell.indices[by_cell.indptr[cell] : by_cell.indptr[cell + 1]]
            left[touched] -= 1
            waiting.extend(touched[left[touched] == 1].tolist())
        return order

    def components(self) -> Integers:
        """Return the number of the component of each cell."""
        return components_of_columns(self.matrix)

    def bundles(self) -> list[System]:
        """Split into components, small ones bundled; components without needs are left out.

        Returns
        -------
        list of System
            The largest first. The split depends on the system alone, so that results do not
            depend on how many threads work on them.
        """
        label = self.components()
        size = np.bincount(label)
        needed = np.zeros(len(size), dtype=bool)
        needed[label[self.needs.cells]] = True
        order = np.argsort(label, kind="stable")
        starts = np.concatenate([[0], np.cumsum(size)])
        ranked = np.argsort(-size, kind="stable")
        groups: list[list[int]] = []
        filled = BUNDLE_CELLS
        for number in ranked[needed[ranked]]:
            if filled + size[number] > BUNDLE_CELLS:
                groups.append([])
                filled = 0
            groups[-1].append(int(number))
            filled += int(size[number])
        return [
            self.part(np.sort(np.concatenate([order[starts[g] : starts[g + 1]] for g in group])))
            for group in groups
        ]


def entries_of(matrix: csr_array, rows: Integers) -> Integers:
    """Return the positions in `matrix.indices` of the entries of several rows, row by row."""
    return ranges(matrix.indptr[rows], matrix.indptr[rows + 1])


def ranges(start: Integers, stop: Integers) -> Integers:
    """Return the numbers from `start` to before `stop` for each pair, one range after the other."""
    length = stop - start
    ends = np.cumsum(length)
    numbers: Integers = np.arange(length.sum()) + np.repeat(start - ends + length, length)
    return numbers


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
