"""The bound of a search where external bounds are infinite.

A search replaces them by distant finite ones (module `external_bounds`). In infinite rooms less is
proved by the same multipliers, and patterns protect that protect nowhere else. So tables that end
early are searched once more, from the best pattern on, with the bounds that were given.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.budget import Budget
from tablecloak.phases import run_phases
from tablecloak.results import OPTIMAL
from tablecloak.suppression.rows.claims import proved_pattern_bound
from tablecloak.suppression.search.inside import gathered
from tablecloak.suppression.search.merging import as_given, merged_for
from tablecloak.suppression.search.schedule import GIVEN_BOUNDS
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.problem import ProtectionProblem


def with_given_bounds(
    state: SearchState,
    problem: ProtectionProblem,
    budget: Budget,
) -> SearchState:
    """Return the state with a bound that is proved for the external bounds that were given.

    Parameters
    ----------
    state : SearchState
        Of a search with finite bounds; its best candidate is proved.
    problem : ProtectionProblem
        With the given bounds.
    budget : Budget
    """
    if state.best is None or state.bound_certificate is None:
        return state
    loss, bound = state.best.loss, _bound(state, problem)
    if budget.is_over or bound >= loss * (1 - OPTIMAL):
        return state
    merged = merged_for(problem, state.requirement)
    inner = SearchState.of(merged.problem, Requirement.TWO_SIDED, state.method)
    start = gathered(state.best, merged, inner)
    if not start.is_proved:
        return state
    inner = run_phases(GIVEN_BOUNDS, replace(inner, best=start), budget)
    again = as_given(inner, merged, state.requirement)
    assert again.best is not None
    if again.best.loss < loss:
        state = replace(state, best=again.best)
    if _bound(again, problem) <= bound:
        return replace(state, is_settled=False)
    return replace(state, bound_certificate=again.bound_certificate, is_settled=again.is_settled)


def _bound(state: SearchState, problem: ProtectionProblem) -> float:
    """Return the bound that the proof at hand proves for the given bounds."""
    best, certificate = state.best, state.bound_certificate
    if best is None or certificate is None:
        return -np.inf
    suppressed = np.zeros(problem.table.n_cells, dtype=bool)
    suppressed[best.pool.system.cells[best.hidden]] = True
    return proved_pattern_bound(suppressed, problem, certificate)
