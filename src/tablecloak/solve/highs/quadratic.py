"""Convex quadratic programs with a diagonal Hessian, by the active-set method of HiGHS."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.budget import Stopwatch
from tablecloak.errors import SolverError
from tablecloak.solve.bounds import ACCEPTED_VIOLATION, violation
from tablecloak.solve.highs.instance import highspy, new_instance, pass_program, run
from tablecloak.solve.program import Program
from tablecloak.solve.solver import FEASIBILITY_TOLERANCE, Claim, Request, SolveStatus

__all__ = ["run_quadratic"]

TOLERANCES = (FEASIBILITY_TOLERANCE, 1e-7)
"""Tolerances of the active-set method, tried one after the other."""

LEAST_ITERATIONS = 1000
"""Iterations of the active-set method that are allowed for every program."""

ITERATIONS = 20
"""Further iterations allowed for each row and column; some limit is needed since the method can
cycle."""


def run_quadratic(program: Program, curvature: Floats, request: Request) -> Claim:
    """Minimise c.x + 1/2 sum q_i x_i^2 over the points of a linear program.

    At some tolerances HiGHS breaks off on feasible programs, or cycles without end. Tolerances are
    tried in order, and the first point that satisfies the program is returned, optimal or not.

    Parameters
    ----------
    program : Program
    curvature : numpy.ndarray of float, shape (n_columns,)
        q, all >= 0.
    request : Request
        Only its time limit is used.

    Raises
    ------
    SolverError
        If HiGHS refuses the program.
    """
    watch = Stopwatch()
    for tolerance in TOLERANCES:
        highs = new_instance()
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            highs.setOptionValue(name, tolerance)
        iterations = LEAST_ITERATIONS + ITERATIONS * (program.n_rows + program.n_columns)
        highs.setOptionValue("qp_iteration_limit", iterations)
        pass_program(highs, program)
        if highs.passHessian(_hessian(curvature)) == highspy().HighsStatus.kError:
            raise SolverError(
                f"HiGHS refused the quadratic objective of a program of {program.n_columns} "
                "columns. Check that all weights are finite and none is negative."
            )
        try:
            run(highs, request.seconds - watch.seconds, is_long=True)
        except SolverError:
            continue
        raw = highs.getSolution()
        x = np.array(raw.col_value, dtype=np.float64)
        if raw.value_valid and violation(program, x).worst <= ACCEPTED_VIOLATION:
            return Claim(SolveStatus.FEASIBLE, x, np.array(raw.row_dual, dtype=np.float64))
    return Claim(SolveStatus.UNKNOWN)


def _hessian(curvature: Floats) -> object:
    """Return the diagonal as HiGHS stores it, without its zeros."""
    hessian = highspy().HighsHessian()
    curved = curvature > 0
    hessian.dim_ = len(curvature)
    hessian.format_ = highspy().HessianFormat.kTriangular
    hessian.start_ = np.concatenate([[0], np.cumsum(curved)]).astype(np.int32)
    hessian.index_ = np.flatnonzero(curved).astype(np.int32)
    hessian.value_ = curvature[curved].astype(np.float64)
    return hessian
