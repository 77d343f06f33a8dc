"""Phases of a suppression that work in null spaces: a first pattern, and a search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.budget import Budget, Stopwatch
from tablecloak.suppression.search.closing import with_first
from tablecloak.suppression.search.nullspace.opening import Opening
from tablecloak.suppression.search.nullspace.proposal import proved_candidate
from tablecloak.suppression.search.nullspace.search import LEAST_GAIN, Found, NullSpaceSearch
from tablecloak.suppression.search.state import SearchState

AWAITED_SECONDS = 15.0
"""Most expected seconds of a first deletion that is begun however little time is left, since
programs take many times as long for a first pattern. docs/decisions, "Null space"."""

FEW_CELLS = 1_000
"""Most free cells for which programs give a first pattern in about a second. docs/decisions, "A
deletion that time cuts short"."""

PROOF_GAIN = 0.01
"""Share by which the loss must fall before the pattern is proved during the search, so that little
is lost if the search is stopped."""

PROOF_RESERVE = 2.0
"""Time kept back for the last proof, as a multiple of that of the first."""


def delete_from_all_hidden(state: SearchState, budget: Budget) -> SearchState:
    """Hide every cell and publish as many as possible: a first pattern if the table has room."""
    if budget.is_over or not len(state.system.needs.cells):
        return state
    budget.report("protecting", float(state.problem.weights[state.system.cells].sum()))
    search = _search_of(state, budget)
    least = AWAITED_SECONDS if state.best is None else 0.0
    if search is None or search.expected_seconds > max(budget.left, least):
        return state
    # What time cuts short is a pattern too, and the search goes on from there.
    found = search.opened(budget.at_least(min(search.expected_seconds, least)))
    if found is None:
        return state
    watch = Stopwatch()
    opening = Opening(search, found)
    state = replace(state, opening=opening)
    # A deletion that was cut short is worth its proof where there is no other pattern, and programs
    # take long: of a small table it may hide everything, and its proof takes longer than they do.
    is_slow = state.n_free > FEW_CELLS
    is_only = state.best is None and found.is_cut_short and not found.n_open and is_slow
    if not (opening.is_roomy or is_only):
        return state
    state = _with_proved(state, found, budget)
    return replace(state, opening=replace(opening, proof_seconds=watch.seconds))


def search_null_space(state: SearchState, budget: Budget) -> SearchState:
    """Hide a part again and delete in another order, until the budget ends or the gain stops."""
    assert state.opening is not None
    opening, best = state.opening, state.opening.found
    search, stale, proved = opening.search, 0, best.loss
    kept_back = PROOF_RESERVE * opening.proof_seconds
    left = budget.within(max(budget.left - kept_back, 0.0))
    if best.is_cut_short and not left.is_over:
        best = search.deleted(best.hidden, left, is_proved=not best.n_open) or best
    while not left.is_over and stale < search.patience:
        found = search.tried(best, left)
        stale += 1
        if found is not None and found.loss < best.loss * (1 - LEAST_GAIN):
            best, stale = found, 0
            budget.report("deleting", best.loss)
            if best.loss < proved * (1 - PROOF_GAIN):
                state, proved = _with_proved(state, best, budget), best.loss
    if best.loss < proved:
        state = _with_proved(state, best, budget)
    return replace(state, opening=replace(opening, found=best))


def _search_of(state: SearchState, budget: Budget) -> NullSpaceSearch | None:
    system, problem = state.system, state.problem
    return NullSpaceSearch.of(
        system,
        problem.weights[system.cells],
        state.must,
        np.abs(problem.table.values[system.cells]),
        budget.seed,
    )


def _with_proved(state: SearchState, found: Found, budget: Budget) -> SearchState:
    """Return the state with a pattern as its best one, if that can be proved and is better."""
    if budget.is_stopped:
        return state
    weights = state.problem.weights[state.system.cells]
    working = budget.at_least(np.inf) if state.best is None else budget
    candidate = proved_candidate(
        state.system, weights, state.must, found.hidden, found.deviations, working
    )
    if not candidate.is_proved or (state.best and candidate.loss >= state.best.loss):
        return state
    return (
        with_first(state, candidate, budget)
        if state.best is None
        else replace(state, best=candidate)
    )
