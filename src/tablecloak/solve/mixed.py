"""One program, linear, mixed-integer or quadratic, solved once and checked."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.budget import Budget
from tablecloak.solve.bounds import ACCEPTED_VIOLATION, violation
from tablecloak.solve.branch import branch_and_bound
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Capability, Claim, Request, Solution, SolveStatus, chosen_solver

ROUNDED = 1e-5
"""Largest distance of an integral column to a whole number for a point to count as optimal."""

MOST_NODES = 1_000_000
"""Node limit of our own branch and bound where none is given."""

CONTRADICTED = 1e-4
"""A claimed bound that exceeds the value of a feasible point by more than this share is false, and
is not used."""


def solve(
    program: Program,
    *,
    start: Floats | None = None,
    time_limit: float = np.inf,
    gap: float = 1e-6,
    target: float = -np.inf,
    nodes: int | None = None,
) -> Solution:
    """Solve one mixed-integer or linear program once.

    Parameters
    ----------
    program : Program
        Scaled: see `Scaling`.
    start : numpy.ndarray of float, shape (n_columns,), optional
        A feasible point to start a mixed-integer search from.
    time_limit : float, default=inf
        Seconds of wall time.
    gap : float, default=1e-6
        Relative gap at which a mixed-integer search may stop.
    target : float, default=-inf
        Objective at which a mixed-integer search may stop.
    nodes : int, optional
        Nodes after which a mixed-integer search may stop.

    Returns
    -------
    Solution
        For a mixed-integer program `bound` is the solver's claim. For a proved bound use
        `branch_and_bound`, or `dual_bound` of the relaxation.
    """
    if not program.is_mixed_integer:
        return LinearSolver(program).solve(time_limit)
    solver = chosen_solver()
    if not solver.can(Capability.INTEGERS):
        return _branched(program, start, time_limit, nodes)
    request = Request(seconds=time_limit, start=start, gap=gap, target=target, nodes=nodes)
    claim = solver.run(program, request)
    if claim.x is None or len(claim.x) != program.n_columns:
        is_vague = claim.status in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE)
        return Solution.without_point(SolveStatus.UNKNOWN if is_vague else claim.status)
    return _checked(program, claim)


def _checked(program: Program, claim: Claim) -> Solution:
    """Round and check a point; it stays optimal only if it was whole and no bound exceeds it."""
    assert claim.x is not None
    x = claim.x.copy()
    x[program.integral] = np.rint(x[program.integral])
    if violation(program, x).worst > 10 * ACCEPTED_VIOLATION:
        return Solution.without_point(SolveStatus.UNKNOWN, claim.bound)
    value, bound = program.objective(x), claim.bound
    is_whole = violation(program, claim.x).integrality <= ROUNDED
    is_consistent = bound <= value + CONTRADICTED * max(1.0, abs(value))
    is_optimal = claim.status is SolveStatus.OPTIMAL and is_whole and is_consistent
    status = SolveStatus.OPTIMAL if is_optimal else SolveStatus.FEASIBLE
    return Solution(status, x, np.empty(0), value, bound if is_consistent else -np.inf)


def _branched(
    program: Program, start: Floats | None, time_limit: float, nodes: int | None
) -> Solution:
    """Solve by our own branch and bound, for solvers that take linear programs only."""
    value = np.inf if start is None else program.objective(start)
    limit = MOST_NODES if nodes is None else nodes
    budget = Budget.of(max(time_limit, 0.0))
    result = branch_and_bound(program, value=value, budget=budget, node_limit=limit)
    x = result.x if len(result.x) or start is None else start
    if not len(x) and program.n_columns:
        status = SolveStatus.INFEASIBLE if result.is_complete else SolveStatus.UNKNOWN
        return Solution.without_point(status, result.bound)
    status = SolveStatus.OPTIMAL if result.is_complete else SolveStatus.FEASIBLE
    return Solution(status, x, np.empty(0), program.objective(x), result.bound)


def solve_quadratic(
    program: Program, curvature: Floats, time_limit: float = np.inf
) -> tuple[Floats, Floats]:
    """Minimise c.x + 1/2 sum q_i x_i^2 over the points of a linear program.

    Parameters
    ----------
    program : Program
        Scaled.
    curvature : numpy.ndarray of float, shape (n_columns,)
        q, all >= 0.
    time_limit : float, default=inf
        Seconds of wall time.

    Returns
    -------
    x, duals : numpy.ndarray of float
        Both empty if no feasible point was found. The caller must prove how good they are, since
        a solver may stop early.

    Raises
    ------
    InputError
        If the chosen solver cannot solve quadratic programs.
    """
    solver = chosen_solver()
    solver.require(Capability.QUADRATIC)
    claim = solver.run(program, Request(seconds=time_limit, curvature=curvature))
    if claim.x is None or violation(program, claim.x).worst > ACCEPTED_VIOLATION:
        return np.empty(0), np.empty(0)
    return np.clip(claim.x, program.lower, program.upper), claim.duals
