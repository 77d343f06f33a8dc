"""Why no adjustment was found: a proof that there is none, or merely too little time."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.cta.model.loosened import loosened, opened
from tablecloak.cta.model.question import Question
from tablecloak.cta.search.bounds import DistanceBound
from tablecloak.cta.search.state import SearchState
from tablecloak.errors import ModelError, SolverError, TablecloakError, listed
from tablecloak.solve.bounds import proves_infeasible
from tablecloak.solve.feasibility import Infeasibility, find_infeasibility
from tablecloak.solve.program import Program

__all__ = ["NAMING_SECONDS", "reason"]

NAMING_SECONDS = 5.0
"""Time limit in seconds for finding what makes a problem infeasible, past the time limit of the
search if need be, since the user needs the names of the cells to change anything."""

NAMED = 5
"""Most conflicting rows whose cells an error names."""

SHORT = 1e-7
"""Scaled shortfall above which a row belongs to the conflict."""


def reason(
    question: Question, state: SearchState, fixed: Floats | None, budget: Budget
) -> TablecloakError:
    """Return the error for a search without an answer: proved infeasible, or merely not found.

    Parameters
    ----------
    question : Question
    state : SearchState
        Without a point.
    fixed : numpy.ndarray of float or None
        Directions, if they were given.
    budget : Budget
    """
    form, allowed = state.form, question.allowed
    program = opened(form, form.program, allowed)
    certain = opened(form, loosened(form), allowed)
    if fixed is not None:
        program, certain = form.directed(fixed, program), form.directed(fixed, certain)
    try:
        conflict = find_infeasibility(program, time_limit=max(budget.left, NAMING_SECONDS))
    except SolverError:
        return _not_found()
    if proves_infeasible(certain, conflict.duals):
        return _impossible(
            state, program, conflict, "" if fixed is None else "with these directions "
        )
    if state.bound == np.inf:
        # Infeasibility of the loosened program proves that of the exact one.
        proof = DistanceBound.of(state.proved, state.tree, np.empty(0))
        rebuilt = proof.form(question)
        certain = opened(rebuilt, loosened(rebuilt), allowed)
        if state.tree is not None and state.tree.verify(certain) == np.inf:
            return ModelError(
                "No choice of directions satisfies all levels, bounds, capacities and statistics "
                "(proved by a complete search). Raise `sensitive_limit`, widen bounds or "
                "capacities, or preserve fewer statistics.",
                cells=np.flatnonzero(question.problem.sensitive),
            )
    return _not_found()


def _impossible(
    state: SearchState, program: Program, conflict: Infeasibility, which: str
) -> ModelError:
    model = state.form.model
    cells = _conflicting_cells(state, program, conflict)
    return ModelError(
        f"No additive table {which}satisfies all levels, bounds, capacities and statistics (proved "
        f"by an elastic program). The conflict involves "
        f"{listed(model.problem.table.labels(cells))}. Lower these levels, widen bounds or "
        f"capacities in their relations, or preserve fewer statistics.",
        cells=cells,
    )


def _conflicting_cells(state: SearchState, program: Program, conflict: Infeasibility) -> Integers:
    """Return the sensitive cells in the worst rows of a conflict, or all cells if none is."""
    model = state.form.model
    worst = np.argsort(-conflict.shortfall)[:NAMED]
    worst = worst[conflict.shortfall[worst] > SHORT]
    touched = np.unique(program.matrix[worst, :].indices)
    n = model.n_groups
    groups = touched[touched < 2 * n] % n
    cells = np.flatnonzero(np.isin(model.coupled.group, groups))
    sensitive = model.problem.sensitive[cells]
    return cells[sensitive] if np.any(sensitive) else cells


def _not_found() -> SolverError:
    return SolverError(
        "No adjustment was found, and none was proved to be impossible. Raise `time_limit`, "
        "or relax `preserve`, capacities or levels."
    )
