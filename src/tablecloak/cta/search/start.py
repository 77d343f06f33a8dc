"""The first directions of a search, and the first bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tablecloak.budget import Stopwatch
from tablecloak.cta.search.directed import with_directions
from tablecloak.cta.search.relaxing import relax
from tablecloak.cta.search.schedule import (
    ELASTIC_SHARE,
    INTERIOR_ROWS,
    MISSED_AT_MOST,
    RELAXATION_SHARE,
    SPARE_SECONDS,
)
from tablecloak.cta.search.state import SearchState
from tablecloak.solve.bounds import dual_bound
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Solution, SolveStatus

__all__ = ["start"]

Floats = npt.NDArray[np.float64]

_NONE = np.empty(0)


def start(state: SearchState) -> SearchState:
    """Try all up, all down, and the rounded relaxation, as far as bounds allow."""
    low, high = state.form.model.allowed()
    if state.is_from_scratch and not (state.best is not None and state.budget.is_over):
        with_directions(state, high)
    relaxed = _relaxed(state)
    choices = [] if state.is_from_scratch and state.best is not None else [high, low]
    if len(relaxed.x) and state.form.program.n_rows <= INTERIOR_ROWS:
        choices.append(np.clip(state.form.directions(relaxed.x), low, high))
    for directions in choices:
        if state.best is not None and state.budget.is_over:
            return state
        with_directions(state, directions)
    if state.best is None and state.form.model.preserved and not state.form.is_elastic:
        _start_elastic(state)
    return state


def _relaxed(state: SearchState) -> Solution:
    """Solve the relaxation, and keep the best proof."""
    seconds = state.left(RELAXATION_SHARE if state.is_from_scratch else 1.0)
    # Where there is a table already, the relaxation is only a proof.
    relaxed = state.solver.solve(max(seconds, 1.0 if state.best is None else SPARE_SECONDS))
    state.relaxed = relaxed
    watch = Stopwatch()
    state.root = _best_proof(state.form.program, [relaxed, state.root])
    state.reserve.product = watch.seconds
    state.bound = max(state.bound, state.root.bound)
    return relaxed


def _best_proof(program: Program, solutions: Sequence[Solution | None]) -> Solution:
    """Return the solution whose multipliers prove most of the whole program.

    The multipliers of an interrupted program can prove less than multipliers of zero do.
    """
    best = Solution(SolveStatus.UNKNOWN, _NONE, _NONE, np.inf, dual_bound(program, _NONE))
    for solution in solutions:
        if solution is None or not len(solution.duals):
            continue
        bound = dual_bound(program, solution.duals)
        if bound > best.bound:
            best = replace(solution, bound=bound)
    return best


def _start_elastic(state: SearchState) -> None:
    """Let statistics be missed at first, and search directions that do not need it."""
    budget = state.budget.share(ELASTIC_SHARE).quiet()
    elastic = start(SearchState(state.form.elastic(), budget))
    missed = slice(-2 * len(state.form.model.preserved), None)

    def is_met(x: Floats) -> bool:
        return bool(np.all(x[missed] <= MISSED_AT_MOST))

    relax(elastic, 1.0, enough=is_met)
    if elastic.best is not None:
        with_directions(state, elastic.best_directions)
        state.notes.append("statistics were missed at first")
