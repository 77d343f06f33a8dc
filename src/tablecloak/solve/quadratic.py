"""Quadratic objectives over the points of a linear program."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.solve.bounds import ACCEPTED_VIOLATION, violation
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Capability, Request, chosen_solver


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
