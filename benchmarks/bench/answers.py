"""Answers of solvers, and our judgement of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.protection import required_way
from tablecloak.publish.audit import AdjustedAudit, audit
from tablecloak.solve.bounds import violation
from tablecloak.solve.program import Program
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["Answer", "Judgement", "answer_of", "judge_methods", "judge_programs"]

FEASIBLE = 1e-5
"""Largest violation of a scaled program at which a point counts as feasible: ten times the usual
tolerance of solvers, since some hand over their points as text."""

EQUAL = 1e-5
"""Largest relative difference at which objectives count as equal; solvers stop at gaps of 1e-6."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer of a solver.

    Parameters
    ----------
    status : str
        "optimal", "feasible", "infeasible", "unbounded", "limit" (time or memory), "error".
    x : numpy.ndarray of float
        The point found; for methods the adjusted values, or 1 for suppressed cells. Empty if none.
    value, bound : float
        Objective and bound that the solver claims; NaN if it claims none.
    seconds : float
    memory : float
        Peak memory, in MiB.
    cpu_seconds : float
        CPU time of the whole process.
    history : list of (float, float, float)
        Seconds, value and bound during the search.
    message : str
    """

    status: str
    x: Floats = field(default_factory=lambda: np.empty(0))
    value: float = np.nan
    bound: float = np.nan
    seconds: float = np.nan
    memory: float = np.nan
    cpu_seconds: float = np.nan
    history: list[tuple[float, float, float]] = field(default_factory=list)
    message: str = ""


@dataclass(frozen=True)
class Judgement:
    """The verdict on an answer.

    Parameters
    ----------
    verdict : {"solved", "limit", "wrong", "failed"}
        "solved": claimed to be optimal, and not refuted. "limit": a correct answer without that
        claim, or none in time.
    why : str
        Reason for the verdict "wrong".
    value : float
        Objective of the point, computed by us; NaN without a feasible point.
    """

    verdict: str
    why: str
    value: float


def judge_programs(program: Program, answers: dict[str, Answer]) -> dict[str, Judgement]:
    """Judge the answers to one program against the program and against each other.

    Points are checked row by row. A claim "optimal" is wrong if any solver has a better feasible
    point, a claim "infeasible" if any has a feasible point, and a bound if it exceeds the value of
    any feasible point. One correct solver is therefore enough to refute another.
    """
    return _judged(answers, {name: _checked(program, a) for name, a in answers.items()})


def judge_methods(problem: ProtectionProblem, answers: dict[str, Answer]) -> dict[str, Judgement]:
    """Judge releases of a problem by an audit, and by comparing their losses."""
    return _judged(answers, {name: _audited(problem, a) for name, a in answers.items()})


def _judged(
    answers: dict[str, Answer], checked: dict[str, tuple[float, str]]
) -> dict[str, Judgement]:
    """Judge answers whose points were checked, given the value and the fault of each."""
    sound = [value for value, why in checked.values() if not why and np.isfinite(value)]
    best = min(sound, default=np.inf)
    return {
        name: _verdict(answer, *checked[name], best, len(sound) > 0)
        for name, answer in answers.items()
    }


def _checked(program: Program, answer: Answer) -> tuple[float, str]:
    """Return the objective of a point, and what is wrong with it."""
    if answer.status not in ("optimal", "feasible"):
        return np.nan, ""
    if len(answer.x) != program.n_columns:
        return np.nan, f"{answer.status}, but the point has {len(answer.x)} columns"
    worst = violation(program, answer.x).worst
    if not worst <= FEASIBLE:
        return np.nan, f"the point breaks the program by {worst:.3g}"
    return program.objective(answer.x), ""


def _audited(problem: ProtectionProblem, answer: Answer) -> tuple[float, str]:
    if answer.status not in ("optimal", "feasible"):
        return np.nan, ""
    if answer.x.shape != problem.table.values.shape:
        return np.nan, f"the release has {answer.x.size} cells"
    pattern = bool(np.all((answer.x == 0) | (answer.x == 1)))
    found = audit(problem, answer.x.astype(bool) if pattern else answer.x)
    if not found.is_safe:
        return np.nan, found.summary() if isinstance(found, AdjustedAudit) else "not protected"
    if pattern:
        return float(problem.weights[answer.x.astype(bool)].sum()), ""
    size = np.abs(problem.table.values)
    relative = np.abs(answer.x - problem.table.values) / np.where(size > 0, size, 1.0)
    return float(relative.sum()), ""


def _verdict(answer: Answer, value: float, why: str, best: float, any_point: bool) -> Judgement:
    slack = EQUAL * (1 + abs(best)) if np.isfinite(best) else 0.0
    if not why and np.isfinite(answer.value) and np.isfinite(value):
        off = abs(answer.value - value)
        if off > EQUAL * (1 + abs(value)):
            why = f"claims the objective {answer.value:.9g}, but its point has {value:.9g}"
    if not why and answer.status == "optimal" and value > best + slack:
        why = f"claims to be optimal with {value:.9g}, but a point with {best:.9g} exists"
    if not why and answer.status == "infeasible" and any_point:
        why = "claims that no point exists, but there is one"
    if not why and answer.status == "unbounded" and any_point and np.isfinite(best):
        why = "claims that the objective has no limit, but all columns have bounds"
    if not why and np.isfinite(answer.bound) and answer.bound > best + slack:
        why = f"claims the bound {answer.bound:.9g}, but a point with {best:.9g} exists"
    if why:
        return Judgement("wrong", why, value)
    if answer.status == "error":
        return Judgement("failed", answer.message, value)
    solved = answer.status in ("optimal", "infeasible", "unbounded")
    return Judgement("solved" if solved else "limit", answer.message, value)


def answer_of(found: Any) -> Answer:
    """Return the answer of one of our own methods."""
    way = required_way(found, "measured")
    hidden = way.hidden(found)
    x: Any = way.values(found) if hidden is None else hidden.astype(np.float64)
    bound = found.bound
    if hidden is not None and found.bound_certificate is None:
        bound = np.nan
    status = "optimal" if found.is_optimal else "feasible"
    return Answer(status, x, found.loss, bound)
