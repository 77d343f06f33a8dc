"""Ask every solver every question, each in a separate process, and judge the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from bench.answers import Answer, Judgement, judge_methods, judge_programs
from bench.instances import Build
from bench.isolated import OUT_OF_MEMORY, isolated
from bench.programs import METHODS, PROGRAMS
from bench.solvers import ask, solver_named, takes
from tablecloak.errors import InputError, ModelError, listed, suggestion
from tablecloak.solve.program import Program
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["Bench", "run_bench"]

GRACE = 10.0
"""Seconds beyond the limit after which a process is killed: time for start, model and clean-up."""

Said = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Bench:
    """Judged answers.

    Parameters
    ----------
    table : pandas.DataFrame
        One row for each instance, question and solver: ``instance``, ``question``, ``solver``,
        ``columns``, ``rows``, ``verdict``, ``why``, ``status``, ``value``, ``claimed``, ``bound``,
        ``seconds``, ``cpu_seconds`` (of the whole process), ``memory`` (MiB).
    history : pandas.DataFrame
        Value and bound over time: ``instance``, ``question``, ``solver``, ``seconds``, ``value``,
        ``bound``.
    time_limit : float
        Seconds that each solver had.
    """

    table: pd.DataFrame
    history: pd.DataFrame
    time_limit: float


def run_bench(
    instances: Mapping[str, Build],
    solvers: Sequence[str],
    questions: Sequence[str] = (*PROGRAMS, *METHODS),
    *,
    time_limit: float = 60.0,
    memory_limit: float = 4096.0,
    said: Said | None = None,
) -> Bench:
    """Ask every solver every question about every instance.

    Parameters
    ----------
    instances : mapping of str to callable
        Each returns a `ProtectionProblem`; see `bench.instances.instances`.
    solvers : sequence of str
        Names, or ``module:function``; see `bench.solvers.solver_named`.
    questions : sequence of str
        Some of "audit", "adjustment-linear", "adjustment-mixed", "suppression-master",
        "suppression-complete" (programs), "suppress", "adjust" (whole problems).
    time_limit : float, default=60
        Seconds for each answer.
    memory_limit : float, default=4096
        MiB for each process.
    said : callable, optional
        Called with each verdict, as a line of text.

    Raises
    ------
    InputError
        If a question or solver is unknown.
    """
    known = [*PROGRAMS, *METHODS]
    for question in questions:
        if question not in known:
            raise InputError(f"There is no question {question!r}.{suggestion(question, known)}")
    for solver in solvers:
        solver_named(solver)
    contest = _Contest(solvers, time_limit, memory_limit, said or _say_nothing)
    for name, build in instances.items():
        contest.ask_about(name, build, questions)
    if not contest.rows:
        raise InputError(
            f"There is nothing to measure: no question of {listed(list(questions))} suits the "
            f"solvers {listed(list(solvers))}."
        )
    columns = ["instance", "question", "solver", "seconds", "value", "bound"]
    steps = contest.steps
    history = pd.concat(steps)[columns] if steps else pd.DataFrame(columns=columns)
    return Bench(pd.DataFrame(contest.rows), history.reset_index(drop=True), time_limit)


class _Contest:
    """Asks the solvers, judges their answers, and keeps the verdicts as rows of a table."""

    def __init__(
        self, solvers: Sequence[str], time_limit: float, memory_limit: float, said: Said
    ) -> None:
        self.solvers = solvers
        self.time_limit, self.memory_limit = time_limit, memory_limit
        self.said = said
        self.rows: list[dict[str, Any]] = []
        self.steps: list[pd.DataFrame] = []

    def ask_about(self, instance: str, build: Build, questions: Sequence[str]) -> None:
        """Ask all questions about an instance; those that do not apply to it are left out."""
        try:
            problem = build()
        except ModelError as error:
            self.said(f"{instance}: {error}")
            return
        for question in questions:
            try:
                asked = PROGRAMS[question](problem) if question in PROGRAMS else problem
            except ModelError as error:
                self.said(f"{instance}, {question}: {error}")
                continue
            if asked is not None:
                self._ask(instance, question, asked)

    def _ask(self, instance: str, question: str, asked: Program | ProtectionProblem) -> None:
        is_mixed = isinstance(asked, Program) and asked.is_mixed_integer
        answers = {
            solver: _asked(solver, asked, question, self.time_limit, self.memory_limit)
            for solver in self.solvers
            if takes(solver, question, is_mixed)
        }
        if isinstance(asked, Program):
            verdicts, size = judge_programs(asked, answers), (asked.n_columns, asked.n_rows)
        else:
            verdicts = judge_methods(asked, answers)
            size = (asked.table.n_cells, asked.table.n_relations)
        for solver, answer in answers.items():
            place = {"instance": instance, "question": question, "solver": solver}
            self._note(place, size, answer, verdicts[solver])

    def _note(
        self, place: dict[str, Any], size: tuple[int, int], answer: Answer, judged: Judgement
    ) -> None:
        self.rows.append(
            {
                **place,
                "columns": size[0],
                "rows": size[1],
                "verdict": judged.verdict,
                "why": judged.why,
                "status": answer.status,
                "value": judged.value,
                "claimed": answer.value,
                "bound": answer.bound,
                "seconds": answer.seconds,
                "cpu_seconds": answer.cpu_seconds,
                "memory": answer.memory,
            }
        )
        why = f" ({judged.why})" if judged.why else ""
        self.said(f"{', '.join(place.values())}: {judged.verdict}, {answer.seconds:.2f} s{why}")
        if answer.history:
            step = pd.DataFrame(answer.history, columns=["seconds", "value", "bound"])
            self.steps.append(step.assign(**place))


def _say_nothing(text: str) -> None:
    del text


def _asked(solver: str, question: Any, kind: str, seconds: float, memory: float) -> Answer:
    """Run one solver in a separate process."""
    outcome = isolated(ask, solver, question, kind, seconds, seconds=seconds + GRACE, memory=memory)
    if outcome.timed_out:
        return Answer("limit", seconds=seconds + GRACE, message=outcome.error)
    answer: Answer = outcome.result
    if outcome.error:
        status = "limit" if outcome.error == OUT_OF_MEMORY else "error"
        answer = Answer(status, message=outcome.error)
    return replace(answer, memory=outcome.memory, cpu_seconds=outcome.cpu_seconds)
