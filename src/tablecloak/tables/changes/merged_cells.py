"""Cells that can only move together as one cell of a smaller problem, and the way back.

Where all but two cells of a relation are frozen, both move by the same amount, up to sign: a total
with a single child that is not empty, say. In every table that an intruder must consider they
deviate alike, so that they are hidden together or not at all. A search that treats them separately
hides the cheaper one first, and has to hide the other one later.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.tables.cell_arrays import CellArrays, CellStatus
from tablecloak.tables.changes.change import Change
from tablecloak.tables.coupling import CoupledCells, whole_rows
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.relations import without_repeated_rows
from tablecloak.tables.table import Table

Levels = tuple[Floats, Floats, Floats]


@dataclass(frozen=True, eq=False)
class MergedTable(Table):
    """The table of a merged problem; it knows the codes of all cells that became one.

    Parameters
    ----------
    given : Table
        Whose cells were merged.
    group : numpy.ndarray of int, shape (given.n_cells,)
        The cell of this table that each of them belongs to.
    turn : numpy.ndarray of float, shape (given.n_cells,)
        1 where it moves as its group does, or else -1.
    """

    given: Table = field(kw_only=True)
    group: Integers = field(kw_only=True)
    turn: Floats = field(kw_only=True)

    @cached_property
    def precision(self) -> Floats:
        """Rounding error of the most exact cell of each group: a move is one of all its cells."""
        least = np.full(self.n_cells, np.inf)
        np.minimum.at(least, self.group, self.given.precision)
        return least


@dataclass(frozen=True, eq=False)
class MergedCells(Change):
    """A problem in which cells that can only move together are one.

    Guarantee: a deviation of the merged problem, spread over the cells, keeps the relations and
    the external bounds of the given one, and every deviation of the given one arises so.
    A pattern of least loss hides all cells of a group or none, so that both problems have the
    same least loss. Proof: docs/guarantees.md, section 2.

    Its problem has one cell for each group, named by one of its cells: the first that is
    sensitive, or else the first. Its weight is the sum over the group; its levels are the largest,
    its bounds and capacities the tightest, as distances from the value, up and down exchanged
    where the sign is -1. Relations keep their numbers; those that became redundant or equal to
    another one are empty. Cells that cannot move and need not be hidden are frozen.

    Parameters
    ----------
    given, problem, cells, relations
        See `Change`.
    coupled : CoupledCells
        The cell of `problem` that each cell belongs to, and its sign there.
    namesakes : numpy.ndarray of int, shape (problem.table.n_cells,)
        The cell that each cell of `problem` is named by; its sign is 1.
    """

    coupled: CoupledCells = field(kw_only=True)
    namesakes: Integers = field(kw_only=True)

    @classmethod
    def of(
        cls,
        problem: ProtectionProblem,
        levels: Levels | None = None,
        apart: Flags | None = None,
    ) -> MergedCells:
        """Merge all cells of a problem that its relations couple.

        Parameters
        ----------
        problem : ProtectionProblem
        levels : tuple of numpy.ndarray of float, shape (n_cells,), optional
            Upper, lower and sliding levels to use in place of those of the problem.
        apart : numpy.ndarray of bool, shape (n_cells,), optional
            Cells to leave as they are, although the relation to the others stays.

        Notes
        -----
        Cells of a relation with fractional coefficients stay apart, since their sums would be
        rounded. So do cells that must be suppressed in a group without a sensitive cell: a
        pattern may hide them alone. Coefficients of unequal size do not couple cells: in a table
        of whole numbers such a group would not stay in whole numbers.
        """
        coupled, still = _coupled(problem, apart)
        every = np.arange(len(coupled.group))
        order = np.lexsort([every, ~problem.sensitive, coupled.group])
        namesakes = order[np.unique(coupled.group[order], return_index=True)[1]].astype(np.int64)
        turn = coupled.sign[namesakes]
        coupled = CoupledCells(coupled.group, coupled.sign * turn[coupled.group])
        merged = _merged(problem, coupled, namesakes, levels, still)
        return cls.within(
            problem, merged, cells=coupled.spread, coupled=coupled, namesakes=namesakes
        )

    @property
    def is_needed(self) -> bool:
        """Whether any cells were merged, or cannot move."""
        is_new = self.problem.table.n_cells < self.given.table.n_cells
        return is_new or int(self.problem.frozen.sum()) > int(self.given.frozen.sum())

    def total(self, amounts: Floats) -> Floats:
        """Return for each group the sum over its cells, whatever their signs."""
        sums: Floats = abs(self.cells).T @ amounts
        return sums

    def members(self, cells: npt.ArrayLike) -> Integers:
        """Return the cells of some groups: the sensitive ones of those that have any."""
        members = super().members(cells)
        sensitive = self.problem.sensitive[self.coupled.group[members]]
        return members[self.given.sensitive[members] | ~sensitive]


def _coupled(problem: ProtectionProblem, apart: Flags | None) -> tuple[CoupledCells, Flags]:
    """Return a group for each cell, and which cells that may be published cannot move."""
    relations = problem.table.relations
    is_whole = whole_rows(relations)
    movable = ~problem.frozen & (problem.upper_bound > problem.lower_bound)
    coupled = CoupledCells.find(csr_array(relations[is_whole, :]), movable, problem.sensitive)
    alone = coupled.group < 0
    still = alone & movable & ~problem.sensitive & ~problem.forced
    alone[csr_array(relations[~is_whole, :]).indices] = True
    if apart is not None:
        alone |= apart
    protected = np.zeros(coupled.n_groups + 1, dtype=bool)
    protected[coupled.group[problem.sensitive & ~alone]] = True
    alone |= problem.forced & ~protected[coupled.group]
    every = np.arange(len(alone))
    first = np.full(coupled.n_groups + 1, len(alone))
    np.minimum.at(first, coupled.group[~alone], every[~alone])
    # Groups follow each other like the first of their cells.
    first = np.where(alone, every, first[coupled.group])
    group = np.unique(first, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return CoupledCells(group, np.where(alone, 1.0, coupled.sign)), still


def _merged(
    problem: ProtectionProblem,
    coupled: CoupledCells,
    cells: Integers,
    levels: Levels | None,
    still: Flags,
) -> ProtectionProblem:
    """Return the problem between groups."""
    names = "upper_protection", "lower_protection", "sliding_protection"
    levels_by_name = dict(zip(names, levels, strict=True)) if levels else {}
    given = CellArrays(**(problem.by_name() | levels_by_name))
    arrays = given.merged(coupled, cells, problem.table.values)
    status = np.where(still[cells], CellStatus.FROZEN.value, arrays.status)
    table = _table(problem.table, coupled, cells)
    return ProtectionProblem.of(table, replace(arrays, status=status))


def _table(table: Table, coupled: CoupledCells, cells: Integers) -> MergedTable:
    """Return the table of groups; its relations are sums of whole coefficients, hence exact."""
    relations = without_repeated_rows(table.relations @ coupled.spread)
    values = table.values[cells]
    return MergedTable(
        keys=table.keys.iloc[cells].reset_index(drop=True),
        values=values,
        relations=relations,
        right_hand_side=relations @ values,
        name=table.name,
        unit=table.unit,
        integer=table.integer,
        decimals=table.decimals,
        given=table,
        group=coupled.group,
        turn=coupled.sign,
    )
