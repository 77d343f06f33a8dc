"""Infeasibility confirmed by multipliers, and the rows that cause it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.errors import SolverError
from tablecloak.solve.bounds import elastic, proves_infeasible
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program

__all__ = ["Infeasibility", "find_infeasibility"]


@dataclass(frozen=True, eq=False)
class Infeasibility:
    """Outcome of the elastic program: the least violation of the rows.

    Parameters
    ----------
    confirmed : bool
        Whether the multipliers prove that no point exists.
    shortfall : numpy.ndarray of float, shape (n_rows,)
        Violation of each row at the point with the least total violation.
    duals : numpy.ndarray of float, shape (n_rows,)
        Multipliers of the proof.
    x : numpy.ndarray of float, shape (n_columns,)
        That point; feasible if no row is violated.
    """

    confirmed: bool
    shortfall: Floats
    duals: Floats
    x: Floats


def find_infeasibility(program: Program, *, time_limit: float = np.inf) -> Infeasibility:
    """Confirm or refute "infeasible" by an elastic linear program.

    Whole-number conditions are left out: a program that is infeasible without them is infeasible
    with them, but one that is feasible without them may not be.

    Raises
    ------
    SolverError
        If the elastic program is not solved in time.
    """
    relaxed = elastic(program.relaxed())
    solution = LinearSolver(relaxed).solve(time_limit)
    if not len(solution.x):
        raise SolverError(
            "The elastic program, which always has a solution, was not solved: status "
            f"{solution.status.value}. Raise the time limit, or check the scale of the data."
        )
    n, m = program.n_columns, program.n_rows
    slack = solution.x[n : n + m] + solution.x[n + m :]
    confirmed = proves_infeasible(program, solution.duals)
    return Infeasibility(confirmed, slack, solution.duals, solution.x[:n])
