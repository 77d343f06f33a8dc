"""One program solved once, linear or mixed-integer, with a checked answer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tablecloak.solve.bounds import ACCEPTED_VIOLATION, violation
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Request, Solution, SolveStatus, chosen_solver

__all__ = ["solve"]

Floats = npt.NDArray[np.float64]


def solve(
    program: Program,
    *,
    start: Floats | None = None,
    time_limit: float = np.inf,
    gap: float = 1e-6,
    target: float = -np.inf,
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

    Returns
    -------
    Solution
        For a mixed-integer program `bound` is the solver's claim; prove it by
        `branch_and_bound`, or take `dual_bound` of the relaxation instead.
    """
    if not program.is_mixed_integer:
        return LinearSolver(program).solve(time_limit)
    request = Request(seconds=time_limit, start=start, gap=gap, target=target)
    claim = chosen_solver().run(program, request)
    if claim.x is None:
        return Solution.without_point(claim.status)
    x = claim.x.copy()
    x[program.integral] = np.rint(x[program.integral])
    if violation(program, x).worst > 10 * ACCEPTED_VIOLATION:
        return Solution.without_point(SolveStatus.UNKNOWN, claim.bound)
    is_optimal = claim.status is SolveStatus.OPTIMAL
    status = SolveStatus.OPTIMAL if is_optimal else SolveStatus.FEASIBLE
    return Solution(status, x, np.empty(0), program.objective(x), claim.bound)
