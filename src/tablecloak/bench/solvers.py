"""Solvers: our own, HiGHS as it comes, all that PuLP finds, and anybody's by name."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tablecloak.bench.answers import Answer, answer_of
from tablecloak.cta.adjust import adjust
from tablecloak.errors import InputError, suggestion
from tablecloak.history import History
from tablecloak.solve.branch import branch_and_bound
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.solve.pulp_bridge import pulp_model
from tablecloak.solve.solver import Request, SolveStatus, installed_solver
from tablecloak.suppression.suppress import suppress

__all__ = ["Solver", "available_solvers", "solver_named", "takes"]

Solver = Callable[[Any, str, float], Answer]
"""Given a program (or a problem), the kind of question, and seconds."""

LINEAR = ("highs-simplex", "highs-ipm", "highs-pdlp")
PULP_NAMES = {
    "cbc": "PULP_CBC_CMD",
    "glpk": "GLPK_CMD",
    "scip": "SCIP_PY",
    "cplex": "CPLEX_PY",
    "gurobi": "GUROBI",
    "xpress": "XPRESS_PY",
    "copt": "COPT",
}
"""Names here, and those of PuLP."""


def available_solvers() -> list[str]:
    """Return the names of all solvers that are installed."""
    import pulp

    found = set(pulp.listSolvers(onlyAvailable=True))
    others = [name for name, theirs in PULP_NAMES.items() if theirs in found]
    return ["tablecloak", *LINEAR, "highs-mip", *others]


def takes(name: str, kind: str, mixed: bool) -> bool:
    """Tell whether a solver is meant for a kind of question."""
    if kind in ("suppress", "adjust"):
        return name == "tablecloak" or ":" in name
    return not (name in LINEAR and mixed) and not (name == "highs-mip" and not mixed)


def solver_named(name: str) -> Solver:
    """Return a solver by its name, or by ``module:function`` for one of your own.

    A function of your own is called with the program (`tablecloak.solve.program.Program`) or
    problem (`ProtectionProblem`), the kind of question and the seconds, and returns an
    `tablecloak.bench.answers.Answer`.

    Raises
    ------
    InputError
        If there is no such solver.
    """
    if ":" in name:
        module, function = name.split(":", 1)
        # Last, so that no file here takes the place of a module of Python.
        if str(Path.cwd()) not in sys.path:
            sys.path.append(str(Path.cwd()))
        try:
            found: Solver = getattr(importlib.import_module(module), function)
        except (ImportError, AttributeError, ValueError) as error:
            raise InputError(f"Solver {name!r} cannot be loaded: {error}.") from error
        return found
    if name == "tablecloak":
        return _ours
    if name in LINEAR:
        return partial(_highs, name.removeprefix("highs-"))
    if name == "highs-mip":
        return partial(_highs, "choose")
    if name in PULP_NAMES:
        return partial(_pulp, PULP_NAMES[name])
    known = ["tablecloak", *LINEAR, "highs-mip", *PULP_NAMES]
    raise InputError(f"There is no solver {name!r}.{suggestion(name, known)}")


def _ours(question: Any, kind: str, seconds: float) -> Answer:
    """Answers with a proof: weak duality, or a search tree with multipliers."""
    history = History()
    if kind == "suppress":
        found = answer_of(suppress(question, time_limit=seconds, progress=history))
        return _with_history(found, history)
    if kind == "adjust":
        adjusted = adjust(question, integer=False, time_limit=seconds, progress=history)
        return _with_history(answer_of(adjusted), history)
    if not question.is_mixed_integer:
        solved = LinearSolver(question).solve(seconds)
        return Answer(_STATUS[solved.status], solved.x, solved.value, solved.bound)

    def note(value: float, bound: float, open_nodes: int) -> None:
        history("branch and bound", value, bound, open_nodes)

    result = branch_and_bound(question, time_limit=seconds, progress=note)
    proved = result.is_complete or result.bound >= result.value - 1e-6 * (1 + abs(result.value))
    if not len(result.x):
        return _with_history(Answer("infeasible" if result.is_complete else "limit"), history)
    status = "optimal" if proved else "feasible"
    return _with_history(Answer(status, result.x, result.value, result.bound), history)


_STATUS = {
    SolveStatus.OPTIMAL: "optimal",
    SolveStatus.FEASIBLE: "feasible",
    SolveStatus.INFEASIBLE: "infeasible",
    SolveStatus.UNBOUNDED: "unbounded",
    SolveStatus.UNKNOWN: "limit",
}


def _with_history(answer: Answer, history: History) -> Answer:
    frame = history.to_frame()
    rows = list(frame[["seconds", "loss", "bound"]].itertuples(index=False, name=None))
    return Answer(answer.status, answer.x, answer.value, answer.bound, history=rows)


def _highs(algorithm: str, program: Program, kind: str, seconds: float) -> Answer:
    """HiGHS with its own settings, and what it says."""
    request = Request(seconds=seconds, algorithm=algorithm, as_shipped=True)
    claim = installed_solver("highs").run(program, request)
    status = _STATUS[claim.status]
    x = claim.x if claim.x is not None and status in ("optimal", "feasible") else np.empty(0)
    value = float(program.cost @ x) if len(x) else np.nan
    bound = claim.bound if np.isfinite(claim.bound) else np.nan
    return Answer(status, x, value, bound, history=claim.history, message=claim.message)


def _pulp(theirs: str, program: Program, kind: str, seconds: float) -> Answer:
    """A solver through PuLP; building its model counts."""
    import pulp

    started = time.monotonic()
    model, columns = pulp_model(pulp, program)
    left = max(seconds - (time.monotonic() - started), 1.0)
    model.solve(pulp.getSolver(theirs, msg=False, timeLimit=left))
    x = np.array([column.value() or 0.0 for column in columns])
    known = {
        pulp.LpSolutionOptimal: "optimal",
        pulp.LpSolutionIntegerFeasible: "feasible",
        pulp.LpSolutionInfeasible: "infeasible",
        pulp.LpSolutionUnbounded: "unbounded",
    }
    said = known.get(model.sol_status, "limit")
    if said not in ("optimal", "feasible"):
        return Answer(said, message=pulp.LpSolution[model.sol_status])
    return Answer(said, x, float(pulp.value(model.objective) or 0.0))
