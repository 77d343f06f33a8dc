"""Programs with given directions: linear, and the way to every point of a search.

Simplex methods are known to go round in circles, so that each of these programs has a limit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tablecloak.budget import Stopwatch
from tablecloak.cta.search.schedule import SIMPLEX_SHARE
from tablecloak.cta.search.state import Point, SearchState
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.solver import Solution, SolveStatus

__all__ = ["given", "priced", "with_directions"]

Floats = npt.NDArray[np.float64]


def with_directions(
    state: SearchState, directions: Floats, time_limit: float = np.inf
) -> Point | None:
    """Solve with given directions and offer the point; None if they are infeasible."""
    solution = _solved(state, directions, time_limit)
    if solution.status not in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE):
        return None
    if state.is_from_scratch and state.root is None:
        state.root = solution
    point = Point(solution.x, solution.value)
    state.offer(point, "directions")
    return point


def given(state: SearchState, directions: Floats) -> SearchState:
    """Solve once with the only directions; where that takes long, by the interior point method."""
    solution = _from_scratch(state, directions, state.left(SIMPLEX_SHARE))
    if solution.status is SolveStatus.UNKNOWN:
        program = state.form.directed(directions)
        solver = LinearSolver(program, interior="always", crossover=False)
        solution = solver.solve(state.seconds_for_one)
    state.root = solution
    if solution.status in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE):
        state.offer(Point(solution.x, solution.value), "directions")
    return state


def priced(
    state: SearchState, directions: Floats, time_limit: float = np.inf
) -> tuple[float, Floats]:
    """Optimal value for given directions, and a lower bound on what turning each changes."""
    columns = state.form.direction_columns
    solution = _solved(state, directions, time_limit, confirm=False)
    if not len(solution.x) or not len(solution.duals):
        return np.inf, np.zeros(len(columns))
    state.offer(Point(solution.x, solution.value), "turning directions")
    program = (state.light if state.is_from_scratch else state.form).program
    reduced = (program.cost - program.matrix.T @ solution.duals)[columns]
    return solution.value, np.where(directions > 0, -reduced, reduced)


def _solved(
    state: SearchState, directions: Floats, time_limit: float, *, confirm: bool = True
) -> Solution:
    watch = Stopwatch()
    time_limit = min(time_limit, state.seconds_for_one)
    if state.is_from_scratch:
        solution = _from_scratch(state, directions, time_limit, confirm=confirm)
    else:
        solution = _warm(state, directions, time_limit, confirm=confirm)
    if len(solution.x):
        state.reserve.observe_program(watch.seconds)
    return solution


def _warm(state: SearchState, directions: Floats, time_limit: float, *, confirm: bool) -> Solution:
    """Solve from the last basis of the whole program."""
    solver = state.solver
    columns, *ends = state.form.direction_bounds(directions)
    low, high = solver.lower[columns].copy(), solver.upper[columns].copy()
    solver.change_bounds(columns, *ends)
    solution = solver.solve(time_limit, confirm=confirm)
    solver.change_bounds(columns, low, high)
    return solution


def _from_scratch(
    state: SearchState, directions: Floats, time_limit: float, *, confirm: bool = True
) -> Solution:
    """Solve from scratch, without rows that say nothing once directions are given."""
    solver = LinearSolver(state.light.directed(directions))
    return solver.solve(time_limit, confirm=confirm)
