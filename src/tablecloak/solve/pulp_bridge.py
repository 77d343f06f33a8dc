"""The same program through PuLP: CBC, SCIP, GLPK and others, for comparison and for their owners.

Building a PuLP model costs many times what HiGHS needs for the arrays; use it to compare
solvers, not in a loop. The answer is checked like any other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tablecloak.errors import InputError, SolverError, suggestion
from tablecloak.solve.bounds import ACCEPTED_VIOLATION, violation
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Solution, SolveStatus

__all__ = ["pulp_model", "solve_with_pulp"]


def solve_with_pulp(
    program: Program, solver: str = "PULP_CBC_CMD", *, time_limit: float = 60.0
) -> Solution:
    """Solve a program with a solver that PuLP finds on this machine.

    Parameters
    ----------
    program : Program
        Scaled: see `Scaling`.
    solver : str, default="PULP_CBC_CMD"
        PuLP's name of the solver.
    time_limit : float, default=60
        Seconds.

    Returns
    -------
    Solution
        Without multipliers and bound: PuLP does not hand them over for all solvers. `OPTIMAL`
        is the solver's claim; that the point is feasible was checked.

    Raises
    ------
    InputError
        If the solver is not available.
    SolverError
        If its point does not satisfy the program.
    """
    import pulp

    available = pulp.listSolvers(onlyAvailable=True)
    if solver not in available:
        raise InputError(f"PuLP finds no solver {solver!r} here.{suggestion(solver, available)}")
    model, columns = pulp_model(pulp, program)
    model.solve(pulp.getSolver(solver, msg=False, timeLimit=time_limit))
    status = {
        pulp.LpStatusOptimal: SolveStatus.OPTIMAL,
        pulp.LpStatusInfeasible: SolveStatus.INFEASIBLE,
        pulp.LpStatusUnbounded: SolveStatus.UNBOUNDED,
    }.get(model.status, SolveStatus.UNKNOWN)
    if status is not SolveStatus.OPTIMAL:
        return Solution(status, np.empty(0), np.empty(0), np.inf, -np.inf)
    x = np.array([column.value() or 0.0 for column in columns])
    worst = violation(program, x).worst
    if worst > 100 * ACCEPTED_VIOLATION:
        raise SolverError(f"{solver} calls a point optimal that breaks the program by {worst:g}.")
    return Solution(status, x, np.empty(0), program.objective(x), -np.inf)


def pulp_model(pulp: Any, program: Program) -> tuple[Any, list[Any]]:
    """Build PuLP's model of a program; return it and its variables in the order of the columns."""
    model = pulp.LpProblem("tablecloak", pulp.LpMinimize)
    columns = [
        pulp.LpVariable(
            f"x{index}",
            None if np.isinf(low) else float(low),
            None if np.isinf(high) else float(high),
            "Integer" if whole else "Continuous",
        )
        for index, (low, high, whole) in enumerate(
            zip(program.lower, program.upper, program.integral, strict=True)
        )
    ]
    model += pulp.lpDot([float(cost) for cost in program.cost], columns)
    matrix = program.matrix
    for row in range(program.n_rows):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        terms = zip(matrix.indices[part], matrix.data[part], strict=True)
        activity = pulp.lpSum(float(factor) * columns[column] for column, factor in terms)
        low, high = float(program.row_lower[row]), float(program.row_upper[row])
        if low == high:
            model += activity == low
            continue
        if np.isfinite(low):
            model += activity >= low
        if np.isfinite(high):
            model += activity <= high
    return model, columns
