"""The last step of a reconciliation: whole numbers next to real numbers."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats
from tablecloak.budget import Budget
from tablecloak.errors import InputError, SolverError
from tablecloak.reconciliation.distances import settled
from tablecloak.reconciliation.problem import WHOLE, ReconciliationProblem
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.solve.solver import SolveStatus

LEAST_SECONDS = 1.0
"""Time limit in seconds of one program after the time is over: without it there is no answer."""


def whole_table(problem: ReconciliationProblem, real: Floats, budget: Budget) -> Floats:
    """Return whole numbers that add up, each less than 1 from the real number if possible.

    Parameters
    ----------
    problem : ReconciliationProblem
        Its bounds and sides are whole numbers.
    real : numpy.ndarray of float, shape (n_cells,)
        The real table.
    budget : Budget

    Returns
    -------
    numpy.ndarray of float, shape (n_cells,)

    Raises
    ------
    InputError
        If no whole table lies within 1 of the real one.
    SolverError
        If none was found in time.

    Notes
    -----
    The two whole numbers next to each value are tried first. In two dimensions they always suffice
    (Cox and Ernst 1982) and a linear program finds them. In more dimensions they may not suffice;
    then a value that is whole already may also change, by 1 at most.
    """
    found, is_certain = _nearest(problem, real, budget)
    if found is None and np.any(np.abs(problem.residual(real)) > WHOLE):
        # Large numbers add up to within some units only, and no whole table is near such a one.
        found, is_certain = _nearest(problem, settled(problem, real, budget), budget)
    if found is not None:
        return found
    if is_certain:
        raise InputError(
            "No table of whole numbers lies within 1 of the real one (proved). Allow more by "
            "fixing fewer cells, or take the table of real numbers."
        )
    raise SolverError(
        "No table of whole numbers was found in time. Raise `time_limit`, or take the table of "
        "real numbers."
    )


def _nearest(
    problem: ReconciliationProblem, real: Floats, budget: Budget
) -> tuple[Floats | None, bool]:
    """Return whole numbers within 1 of real ones, or None and whether it is certain."""
    near = np.where(np.abs(real - np.rint(real)) <= WHOLE, np.rint(real), real)
    tightest = np.floor(near), np.ceil(near)
    widest = np.ceil(near - 1.0), np.floor(near + 1.0)
    bounds, is_certain = problem.in_whole_numbers(), True
    for ends in (tightest, widest):
        low, high = np.maximum(ends[0], bounds.lower), np.minimum(ends[1], bounds.upper)
        if np.any(low > high):
            continue
        steps, is_settled = _solved(_program(problem, near, low, high), budget)
        if steps is not None:
            return low + steps, True
        is_certain &= is_settled
    return None, is_certain


def _program(problem: ReconciliationProblem, near: Floats, low: Floats, high: Floats) -> Program:
    """Return the program min sum w (low + t - x)^2, linear in t, which is exact for t in {0, 1}."""
    slope = problem.weights * (2 * (low - near) + (high - low))
    side = problem.sides - problem.relations @ low
    return Program(
        cost=slope / max(float(np.median(np.abs(slope[slope != 0]))), 1e-12)
        if np.any(slope)
        else slope,
        matrix=csr_array(problem.relations),
        row_lower=side,
        row_upper=side,
        lower=np.zeros(len(low)),
        upper=high - low,
        integral=np.ones(len(low), dtype=bool),
    )


def _solved(program: Program, budget: Budget) -> tuple[Floats | None, bool]:
    """Return the steps above the lower whole numbers or None, and whether that is settled."""
    seconds = max(budget.left, LEAST_SECONDS)
    relaxed = LinearSolver(program).solve(seconds)
    if relaxed.status is SolveStatus.INFEASIBLE:
        return None, True
    if len(relaxed.x) and np.all(np.abs(relaxed.x - np.rint(relaxed.x)) <= WHOLE):
        return np.rint(relaxed.x), True
    found = solve(program, time_limit=max(budget.left, LEAST_SECONDS), gap=0.05)
    if len(found.x):
        return np.rint(found.x), True
    return None, found.status is SolveStatus.INFEASIBLE
