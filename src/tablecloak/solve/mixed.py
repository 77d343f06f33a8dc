"""One program solved once, linear or mixed-integer, with a checked answer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tablecloak.budget import Budget
from tablecloak.solve.bounds import ACCEPTED_VIOLATION, violation
from tablecloak.solve.branch import branch_and_bound
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Capability, Claim, Request, Solution, SolveStatus, chosen_solver

__all__ = ["solve"]

Floats = npt.NDArray[np.float64]

ROUNDED = 1e-5
"""Largest distance to a whole number at which a point may still be called optimal."""

MOST_NODES = 1_000_000
"""Nodes of our own branch and bound where no limit is given."""

CONTRADICTED = 1e-4
"""Relative excess of a claimed bound over the value of a point that shows the claim to be false."""


def solve(
    program: Program,
    *,
    start: Floats | None = None,
    time_limit: float = np.inf,
    gap: float = 1e-6,
    target: float = -np.inf,
    nodes: int | None = None,
) -> Solution:
    """Solve one program once, mixed-integer or linear.

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
        For a mixed-integer program `bound` is the solver's claim; prove it by
        `branch_and_bound`, or take `dual_bound` of the relaxation instead.
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
    """Round the point, check it, and call it optimal only if nothing speaks against it."""
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
    """Solve by our own branch and bound, for solvers of linear programs."""
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
