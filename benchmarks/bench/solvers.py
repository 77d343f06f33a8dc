"""Solvers that can be compared: our own, all registered ones, and functions of the user by name."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.answers import Answer, answer_of
from tablecloak.budget import Budget, Stopwatch
from tablecloak.cta.adjust import adjust
from tablecloak.errors import InputError, suggestion
from tablecloak.history import History
from tablecloak.solve.branch import branch_and_bound
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.solve.solver import SOLVERS, Capability, Request, SolveStatus, installed_solver
from tablecloak.solve.solver import Solver as RegisteredSolver
from tablecloak.suppression.suppress import suppress

__all__ = ["Solver", "ask", "available_solvers", "solver_named", "takes"]

Solver = Callable[[Any, str, float], Answer]
"""A function of a program or problem, the kind of question, and the time limit in seconds."""

OURS = "tablecloak"
"""Name of this package among the solvers."""


@dataclass(frozen=True)
class Contestant:
    """A registered solver without our own methods, with one of its algorithms.

    Parameters
    ----------
    sibling : type
        A class of `tablecloak.solve.solver.SOLVERS`.
    algorithm : str
        Name of the algorithm; "" leaves the choice to the solver.
    is_linear, is_mixed : bool
        Whether it takes part in linear, and in mixed-integer, programs.
    """

    sibling: type[RegisteredSolver]
    algorithm: str
    is_linear: bool
    is_mixed: bool

    def __call__(self, program: Program, kind: str, seconds: float) -> Answer:
        """Return the solver's answer; the time for building its model counts."""
        request = Request(seconds=seconds, algorithm=self.algorithm, as_shipped=True)
        claim = self.sibling().run(program, request)
        status = _STATUS[claim.status]
        x = claim.x if claim.x is not None and status in ("optimal", "feasible") else np.empty(0)
        value = float(program.cost @ x) if len(x) else np.nan
        bound = claim.bound if np.isfinite(claim.bound) else np.nan
        return Answer(status, x, value, bound, history=claim.history, message=claim.message)


def contestants() -> dict[str, Contestant]:
    """Return all registered solvers by name; each algorithm that can be chosen has its own name."""
    named: dict[str, Contestant] = {}
    for sibling in SOLVERS:
        mixed = Capability.INTEGERS in sibling.capabilities
        for algorithm in sibling.algorithms:
            named[f"{sibling.name}-{algorithm}"] = Contestant(sibling, algorithm, True, False)
        if not sibling.algorithms:
            named[sibling.name] = Contestant(sibling, "", True, mixed)
        elif mixed:
            named[f"{sibling.name}-mip"] = Contestant(sibling, "", False, True)
    return named


def available_solvers() -> list[str]:
    """Return the names of all solvers that are installed."""
    return [OURS, *(name for name, each in contestants().items() if not each.sibling.missing())]


def takes(name: str, kind: str, mixed: bool) -> bool:
    """Tell whether a solver is meant for a kind of question."""
    if kind in ("suppress", "adjust"):
        return name == OURS or ":" in name
    contestant = contestants().get(name)
    if contestant is None:
        return True
    return contestant.is_mixed if mixed else contestant.is_linear


def solver_named(name: str) -> Solver:
    """Return a solver by its name, or by ``module:function`` for one of your own.

    A function of your own is called with the program (`tablecloak.solve.program.Program`) or
    problem (`ProtectionProblem`), the kind of question and the seconds, and returns an
    `bench.answers.Answer`.

    Raises
    ------
    InputError
        If there is no such solver.
    """
    if ":" in name:
        module, function = name.split(":", 1)
        # The folder comes last, so that no file in it hides a module of Python.
        if str(Path.cwd()) not in sys.path:
            sys.path.append(str(Path.cwd()))
        try:
            found: Solver = getattr(importlib.import_module(module), function)
        except (ImportError, AttributeError, ValueError) as error:
            raise InputError(f"Solver {name!r} cannot be loaded: {error}.") from error
        return found
    if name == OURS:
        return _ours
    known = contestants()
    if name not in known:
        raise InputError(f"There is no solver {name!r}.{suggestion(name, [OURS, *known])}")
    installed_solver(known[name].sibling.name)
    return known[name]


def ask(name: str, question: Any, kind: str, seconds: float) -> Answer:
    """Ask a solver by its name; the time for loading it does not count."""
    solve = solver_named(name)
    watch = Stopwatch()
    return replace(solve(question, kind, seconds), seconds=watch.seconds)


def _ours(question: Any, kind: str, seconds: float) -> Answer:
    """Answer with a proof: weak duality, or a search tree with multipliers."""
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

    result = branch_and_bound(question, budget=Budget.of(seconds), progress=note)
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
