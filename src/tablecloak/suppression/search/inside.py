"""Search among the cells of several patterns: with all others published, the problem is small.

Patterns that were built in different ways differ in few cells, and the best choice among the cells
of all of them is often far better than each. With all other cells published, most relations have
two or three cells left, so that many cells merge; what remains suits the exact method.
Where it is not, cells that all patterns hide stay hidden (relaxation induced neighbourhood search
fixes variables that agree in the same way [1]_).

References
----------
.. [1] Danna, Rothberg, Le Pape: Exploring relaxation induced neighborhoods to improve MIP
   solutions, Mathematical Programming 102 (2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tablecloak.arrays import Flags
from tablecloak.budget import Budget
from tablecloak.errors import ModelError
from tablecloak.phases import Phase, run_phases
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.search.merging import merged_for, spread_pool
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.changes.merged_cells import MergedCells


def searched_inside(
    state: SearchState,
    among: Flags,
    agreed: Flags,
    phases: Sequence[Phase[SearchState]],
    budget: Budget,
) -> Candidate | None:
    """Return the best pattern found among some cells; None if it is no better than the present one.

    Parameters
    ----------
    state : SearchState
        With a best pattern.
    among : numpy.ndarray of bool, shape (n_unknown,)
        Cells that may be hidden, those of the best pattern included.
    agreed : numpy.ndarray of bool, shape (n_unknown,)
        Cells among them that stay hidden.
    phases : sequence of Phase
        The search of the smaller problem, which begins with the best pattern.
    budget : Budget
    """
    best = state.best
    assert best is not None
    status = state.problem.status.copy()
    cells, is_choice = state.system.cells, ~state.must
    status[cells[is_choice & ~among]] = CellStatus.FROZEN.value
    status[cells[is_choice & among & agreed]] = CellStatus.FORCED.value
    try:
        merged = merged_for(state.problem.with_changes(status=status), state.requirement)
        inner = SearchState.of(merged.problem, Requirement.TWO_SIDED, state.method)
        start = gathered(best, merged, inner)
        if not start.is_proved:
            return None
        inner = run_phases(phases, replace(inner, best=start), budget)
    except ModelError:
        # The bounds of a merged cell are sums, which rounding can bring just below a need.
        return None
    assert inner.best is not None
    if inner.best.loss >= start.loss or not inner.best.is_proved:
        return None
    pool = spread_pool(inner.best.pool, merged, state.system)
    hidden = state.must | pool.moved()
    better = Candidate(hidden, pool, best.weights)
    return better if better.is_proved and better.loss < best.loss else None


def gathered(candidate: Candidate, merged: MergedCells, inner: SearchState) -> Candidate:
    """Return a pattern of cells as one of merged cells; its witnesses move one cell of each."""
    given, system = candidate.pool.system, inner.system
    # Each merged cell moves as the cell that it is named by.
    column = np.full(merged.given.table.n_cells, -1, dtype=np.int64)
    column[merged.namesakes[system.cells]] = np.arange(system.n_unknown)
    pool = WitnessPool(system)
    witnesses = []
    for cells, moves in candidate.pool.whole_proof().witnesses:
        place = column[given.cells[cells]]
        kept = place >= 0
        order = np.argsort(place[kept])
        witnesses.append((place[kept][order], moves[kept][order]))
    pool.take(witnesses)
    return Candidate(inner.must | pool.moved(), pool, inner.problem.weights[system.cells])
