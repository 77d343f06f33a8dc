"""Search on the problem with equal cells merged, and the way back to the given problem."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Integers
from tablecloak.budget import Budget
from tablecloak.errors import ModelError
from tablecloak.suppression.attack.external_bounds import each_unprotected_named
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.bridges import BridgeRow
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.rows.master import (
    BoundCertificate,
    CapacityRow,
    RoundedRow,
    Row,
    UnknownRowError,
)
from tablecloak.suppression.search.method import SearchMethod
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.system.needs import needs_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.suppression.system.system import System
from tablecloak.tables.changes.merged_cells import MergedCells
from tablecloak.tables.problem import ProtectionProblem


@dataclass(frozen=True, eq=False)
class MergedBound(BoundCertificate):
    """A bound proved for the merged problem, as a bound of the given problem.

    A group is named by one of its cells. Rows are multipliers of the given relations, whose numbers
    merging keeps, for the cells that name groups. The verifier merges the given problem again.

    Parameters
    ----------
    problem, requirement, rows, tree
        As of a bound of the given problem; the columns of the tree are groups.
    columns : tuple of (numpy.ndarray of int, float)
        The cell that names the group of each column, and the unit of the objective.
    """

    columns: tuple[Integers, float]

    @classmethod
    def of(
        cls, found: BoundCertificate, merged: MergedCells, requirement: Requirement
    ) -> MergedBound:
        """Return the bound of the given problem that a bound of the merged one proves."""
        cells, renaming = merged.namesakes, Renaming.of_groups(merged)
        rows = [renaming.of(row) for row in found.rows]
        free, scale = found.free_cells()
        columns = cells[free], scale
        return cls(merged.given, requirement, rows, found.tree, columns)

    def free_cells(self) -> tuple[Integers, float]:
        """Return the cell that names each column of the master, and the unit of its objective."""
        return self.columns


def merged_for(problem: ProtectionProblem, requirement: Requirement) -> MergedCells:
    """Return the merged problem, with the needs as its two-sided levels.

    Parameters
    ----------
    problem : ProtectionProblem
        With finite external bounds.
    requirement : Requirement

    Raises
    ------
    ModelError
        If the external bounds of a cell alone already break its needs.
    """
    needs = needs_of(problem, requirement)
    upper, lower, width = np.zeros((3, problem.table.n_cells))
    upper[needs.cells], lower[needs.cells], width[needs.cells] = (
        needs.upper, needs.lower, needs.width,
    )  # fmt: skip
    apart = np.zeros(problem.table.n_cells, dtype=bool)
    while True:
        merged = MergedCells.of(problem, (upper, lower, width), apart)
        try:
            needs_of(merged.problem, Requirement.TWO_SIDED)
        except ModelError as error:
            # No pattern protects such a group. Keep its cells apart, so that the error of the
            # search names each of them.
            own = np.isin(merged.coupled.group, np.array(error.cells, dtype=np.int64))
            if np.all(apart[own]):
                raise
            apart |= own
        else:
            return merged


def search_merged(
    method: SearchMethod, problem: ProtectionProblem, requirement: Requirement, budget: Budget
) -> SearchState:
    """Search for a pattern with equal cells as one; return it as one of the given problem.

    Parameters
    ----------
    method : SearchMethod
    problem : ProtectionProblem
        With finite external bounds.
    requirement : Requirement
    budget : Budget

    Raises
    ------
    ModelError
        If a cell cannot be protected at all.
    SolverError
        If the search was stopped before any pattern was proved.
    """
    merged = merged_for(problem, requirement)
    if not merged.is_needed:
        return method.search(problem, requirement, budget)
    with each_unprotected_named(problem, requirement, budget):
        try:
            state = method.search(merged.problem, Requirement.TWO_SIDED, budget)
        except ModelError as error:
            raise merged.refusal(error) from error
    return as_given(state, merged, requirement)


def as_given(state: SearchState, merged: MergedCells, requirement: Requirement) -> SearchState:
    """Return the state of a search on the merged problem as one on the given problem."""
    assert state.best is not None
    found = SearchState.of(merged.given, requirement, state.method)
    proof = state.bound_certificate
    bound = MergedBound.of(proof.trees[0], merged, requirement) if proof else None
    n_given, n_merged = merged.given.table.n_cells, merged.problem.table.n_cells
    found = replace(
        found,
        best=_spread(state.best, merged, found.system),
        bound_certificate=bound,
        is_settled=state.is_settled,
        first_seconds=state.first_seconds,
        closing_seconds=state.closing_seconds,
        notes=state.notes,
    )
    return found.noted(f"{n_given} cells move as {n_merged}: equal ones were merged")


def _spread(candidate: Candidate, merged: MergedCells, system: System) -> Candidate:
    """Return a candidate over groups as one over cells; its witnesses move all cells of a group."""
    given = merged.given
    hidden = np.zeros(merged.problem.table.n_cells, dtype=bool)
    hidden[candidate.pool.system.cells[candidate.hidden]] = True
    pool = spread_pool(candidate.pool, merged, system)
    return Candidate(merged.flags(hidden)[system.cells], pool, given.weights[system.cells])


def spread_pool(found: WitnessPool, merged: MergedCells, system: System) -> WitnessPool:
    """Return the witnesses of groups as those of cells; a cell of sign -1 moves the other way."""
    pool = WitnessPool(system)
    groups = csr_array(merged.cells[:, found.system.cells].T)[:, system.cells]
    moved = csr_array(csr_array(found.matrix) @ groups)
    moved.sort_indices()
    starts, cells, moves = moved.indptr.tolist(), moved.indices.astype(np.int64), moved.data
    for number, start, stop in zip(found.rows, starts, starts[1:], strict=False):
        pool.rows[number] = (cells[start:stop], moves[start:stop])
    pool._next = found._next
    cells = system.cells[system.needs.cells]
    position = np.searchsorted(found.system.cells, merged.coupled.group[cells])
    index, same = found.need_of[position], merged.coupled.sign[cells] > 0
    for own, other in (("above", "below"), ("upper_witness", "lower_witness")):
        one, two = getattr(found, own)[index], getattr(found, other)[index]
        setattr(pool, own, np.where(same, one, two))
        setattr(pool, other, np.where(same, two, one))
    return pool


@dataclass(frozen=True, eq=False)
class Renaming:
    """Replaces the numbers of cells, and positions among the sensitive cells, in rows."""

    cells: Integers
    index: Integers
    done: dict[int, Row] = field(default_factory=dict)

    @classmethod
    def of_groups(cls, merged: MergedCells) -> Renaming:
        """Return the renaming of groups to the cells that name them."""
        index = np.cumsum(merged.given.sensitive) - 1
        return cls(merged.namesakes, index[merged.namesakes[merged.problem.sensitive]])

    def of(self, row: Row) -> Row:
        """Return the renamed row; for the same row always the same object, as sums refer to it."""
        if id(row) not in self.done:
            self.done[id(row)] = self._renamed(row)
        return self.done[id(row)]

    def _renamed(self, row: Row) -> Row:
        if isinstance(row, RoundedRow):
            parents = tuple(self.of(parent) for parent in row.parents)
            return replace(row, parents=parents, turned=self.cells[row.turned])
        if isinstance(row, BridgeRow):
            return replace(row, cell=int(self.cells[row.cell]))
        if isinstance(row, CapacityRow):
            return replace(row, index=int(self.index[row.index]))
        raise UnknownRowError(row)
