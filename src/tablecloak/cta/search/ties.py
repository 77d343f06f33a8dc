"""Breaking ties: among tables with the same loss, one in which sensitive cells move least."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.cta.model.schedule import INTERIOR_ROWS, PRICED, TIED
from tablecloak.cta.search.state import Point, SearchState
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Solution, SolveStatus

__all__ = ["with_broken_ties"]


def with_broken_ties(state: SearchState, time_limit: float) -> Point | None:
    """Return a point as good as the best, with its directions, that moves sensitive cells least.

    Columns and rows with a nonzero reduced cost or multiplier are fixed, which keeps the search on
    the optimal face. None if the solver does not finish, or if the point is worse than the best.
    """
    assert state.best is not None
    program = state.light.directed(state.best_directions).relaxed()
    if program.n_rows > INTERIOR_ROWS:
        return None
    solution = LinearSolver(program).solve(time_limit)
    if solution.status is not SolveStatus.OPTIMAL:
        return None
    second = LinearSolver(_optimal_face(state, program, solution)).solve(time_limit)
    if second.status is not SolveStatus.OPTIMAL:
        return None
    point = Point(second.x, program.objective(second.x))
    is_as_good = point.value <= state.best.value + TIED * max(1.0, abs(state.best.value))
    return point if is_as_good else None


def _optimal_face(state: SearchState, program: Program, solution: Solution) -> Program:
    """Return the program over all optima that minimises how far sensitive cells move."""
    model = state.form.model
    reduced = program.cost - program.matrix.T @ solution.duals
    beyond = np.concatenate([model.sensitive, model.sensitive + model.n_groups])
    cost = np.zeros(program.n_columns)
    cost[beyond] = program.cost[beyond]
    duals = solution.duals
    return replace(
        program,
        cost=cost,
        lower=np.where(reduced < -PRICED, program.upper, program.lower),
        upper=np.where(reduced > PRICED, program.lower, program.upper),
        row_lower=np.where(duals < -PRICED, program.row_upper, program.row_lower),
        row_upper=np.where(duals > PRICED, program.row_lower, program.row_upper),
    )
