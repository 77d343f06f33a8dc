"""Infeasibility confirmed by multipliers, and the rows that cause it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack

from tablecloak.arrays import Floats, LongFloats
from tablecloak.errors import SolverError
from tablecloak.solve.bounds import proves_infeasible
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.polish import settled_duals
from tablecloak.solve.program import Program


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
    duals: Floats | LongFloats
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
    duals: Floats | LongFloats = solution.duals
    confirmed = proves_infeasible(program, duals)
    if not confirmed:
        # A price of a column without bounds that is not exactly 0 proves nothing.
        duals = settled_duals(replace(program, cost=np.zeros(n)), solution.duals)
        confirmed = proves_infeasible(program, duals)
    return Infeasibility(confirmed, slack, duals, solution.x[:n])


def elastic(program: Program) -> Program:
    """Return the elastic program, whose value is the least total violation of the rows.

    min sum of slacks, row_lower <= A x + s+ - s- <= row_upper, s >= 0; the slacks are the
    last 2 n_rows columns. Its value is 0 exactly if the program is feasible; otherwise its row
    multipliers prove infeasibility.
    """
    m, n = program.n_rows, program.n_columns
    unit = eye_array(m, format="csr")
    return Program(
        cost=np.concatenate([np.zeros(n), np.ones(2 * m)]),
        matrix=csr_array(hstack([program.matrix, unit, -unit], format="csr")),
        row_lower=program.row_lower,
        row_upper=program.row_upper,
        lower=np.concatenate([program.lower, np.zeros(2 * m)]),
        upper=np.concatenate([program.upper, np.full(2 * m, np.inf)]),
        integral=np.concatenate([program.integral, np.zeros(2 * m, dtype=bool)]),
    )
