"""CBC, GLPK and the commercial solvers, through PuLP.

PuLP writes each program to a file or passes it row by row, starts the solver, and reads its
answer. That suits small tables and comparisons, but is far too slow for large tables. Most answers
have eight digits; `tablecloak.solve.polish` restores full precision before they are checked.
"""

from __future__ import annotations

import shutil
from typing import Any, ClassVar

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.errors import SolverError
from tablecloak.extras import required
from tablecloak.solve.polish import polished
from tablecloak.solve.program import Program
from tablecloak.solve.solver import (
    FEASIBILITY_TOLERANCE,
    SOLVERS,
    Capability,
    Claim,
    Request,
    Solver,
    SolveStatus,
)

LEAST_SECONDS = 0.01
"""Least time limit that is passed to a solver; some take 0 for no limit."""


class PulpSolver(Solver):
    """Base class of the solvers that PuLP calls. Each class adds its name and its settings."""

    theirs: ClassVar[str]
    """PuLP's name of the solver."""

    program: ClassVar[str] = ""
    """Executable that must be on the search path; empty if none is needed."""

    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.INTEGERS})

    @classmethod
    def missing(cls) -> str:
        """Return the program or package that must be installed, or ""."""
        if cls.program and shutil.which(cls.program) is None:
            return f"the program {cls.program}"
        return super().missing()

    def settings(self, request: Request) -> dict[str, Any]:
        """Return the arguments of PuLP's class of the solver."""
        limited = np.isfinite(request.seconds)
        return {"timeLimit": max(request.seconds, LEAST_SECONDS)} if limited else {}

    def run(self, program: Program, request: Request) -> Claim:
        """Solve a program once, from scratch."""
        pulp: Any = required("pulp", "Solvers other than HiGHS")
        if not program.n_columns:
            return _without_columns(program)
        model, columns, rows = _model(pulp, program)
        settings = {"mip": program.is_mixed_integer, "msg": False, **self.settings(request)}
        try:
            model.solve(pulp.getSolver(self.theirs, **settings))
        except (pulp.PulpError, OSError) as error:
            raise SolverError(
                f"The solver {self.name!r} broke off: {error}. Check its installation and its "
                "licence, or choose another solver."
            ) from error
        values = [column.value() for column in columns]
        status = _status(pulp, model)
        message = pulp.LpSolution[model.sol_status]
        if status in _POINTLESS or any(value is None for value in values):
            return Claim(status, message=message)
        x, duals = np.array(values, dtype=np.float64), np.empty(0)
        if self.can(Capability.DUALS) and not program.is_mixed_integer:
            duals = _duals(rows, program.n_rows)
        x, duals = polished(program, x, duals)
        bound = -np.inf
        if status is SolveStatus.OPTIMAL and program.is_mixed_integer:
            value = program.objective(x)
            bound = value - request.gap * max(1.0, abs(value))
        return Claim(status, x, duals, bound, message=message)


@SOLVERS.register
class Cbc(PulpSolver):
    """CBC of COIN-OR, through PuLP, which brings it along. Each program starts from scratch."""

    name = "cbc"
    theirs = "PULP_CBC_CMD"
    packages: ClassVar[tuple[str, ...]] = ("pulp",)
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.INTEGERS, Capability.DUALS}
    )

    def settings(self, request: Request) -> dict[str, Any]:
        """Return the arguments of PuLP's class of the solver."""
        options = [f"primalT {FEASIBILITY_TOLERANCE}", f"dualT {FEASIBILITY_TOLERANCE}"]
        return {
            **super().settings(request),
            "gapRel": request.gap,
            "maxNodes": request.nodes,
            "options": [] if request.as_shipped else options,
        }


@SOLVERS.register
class Glpk(PulpSolver):
    """GLPK, through PuLP: the program glpsol must be on the search path."""

    name = "glpk"
    theirs = "GLPK_CMD"
    program = "glpsol"
    packages: ClassVar[tuple[str, ...]] = ("pulp",)


@SOLVERS.register
class Scip(PulpSolver):
    """SCIP, through PuLP and pyscipopt."""

    name = "scip"
    theirs = "SCIP_PY"
    packages: ClassVar[tuple[str, ...]] = ("pulp", "pyscipopt")


@SOLVERS.register
class Cplex(PulpSolver):
    """CPLEX, through PuLP and its own Python package."""

    name = "cplex"
    theirs = "CPLEX_PY"
    packages: ClassVar[tuple[str, ...]] = ("pulp", "cplex")


@SOLVERS.register
class Gurobi(PulpSolver):
    """Gurobi, through PuLP and its own Python package."""

    name = "gurobi"
    theirs = "GUROBI"
    packages: ClassVar[tuple[str, ...]] = ("pulp", "gurobipy")


@SOLVERS.register
class Xpress(PulpSolver):
    """Xpress, through PuLP and its own Python package."""

    name = "xpress"
    theirs = "XPRESS_PY"
    packages: ClassVar[tuple[str, ...]] = ("pulp", "xpress")


@SOLVERS.register
class Copt(PulpSolver):
    """COPT, through PuLP and its own Python package."""

    name = "copt"
    theirs = "COPT"
    packages: ClassVar[tuple[str, ...]] = ("pulp", "coptpy")


_POINTLESS = (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED)

Row = tuple[int, Any]
"""Number of a row, and PuLP's constraint for one side of the row."""


def _status(pulp: Any, model: Any) -> SolveStatus:
    names = {
        pulp.LpSolutionOptimal: SolveStatus.OPTIMAL,
        pulp.LpSolutionIntegerFeasible: SolveStatus.FEASIBLE,
        pulp.LpSolutionInfeasible: SolveStatus.INFEASIBLE,
        pulp.LpSolutionUnbounded: SolveStatus.UNBOUNDED,
    }
    return names.get(model.sol_status, SolveStatus.UNKNOWN)


def _model(pulp: Any, program: Program) -> tuple[Any, list[Any], list[Row]]:
    """Return PuLP's model, its variables in the order of the columns, and its constraints."""
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
    model += pulp.lpDot(program.cost.tolist(), columns)
    rows: list[Row] = []
    for row in range(program.n_rows):
        for constraint in _constraints(pulp, program, columns, row):
            model += constraint
            rows.append((row, constraint))
    return model, columns, rows


def _constraints(pulp: Any, program: Program, columns: list[Any], row: int) -> list[Any]:
    """Return a constraint for each side of a row, since PuLP has no ranges."""
    part = slice(program.matrix.indptr[row], program.matrix.indptr[row + 1])
    factors = program.matrix.data[part].tolist()
    used = [columns[column] for column in program.matrix.indices[part].tolist()]
    low, high = float(program.row_lower[row]), float(program.row_upper[row])
    activity = pulp.lpDot(factors, used)
    if low == high:
        return [activity == low]
    sides = [activity >= low] if np.isfinite(low) else []
    return sides + ([activity <= high] if np.isfinite(high) else [])


def _duals(rows: list[Row], n_rows: int) -> Floats:
    """Return the multipliers of the rows; empty if one is missing."""
    duals = np.zeros(n_rows)
    for row, constraint in rows:
        if constraint.pi is None:
            return np.empty(0)
        duals[row] += constraint.pi
    return duals


def _without_columns(program: Program) -> Claim:
    is_feasible = bool(np.all((program.row_lower <= 0) & (program.row_upper >= 0)))
    status = SolveStatus.OPTIMAL if is_feasible else SolveStatus.INFEASIBLE
    return Claim(status, np.empty(0) if is_feasible else None, np.zeros(program.n_rows))
