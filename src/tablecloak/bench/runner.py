"""Ask every solver every question, each in a process of its own, and judge the answers."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.bench.answers import Answer, judge_methods, judge_programs
from tablecloak.bench.instances import Instance
from tablecloak.bench.programs import METHODS, PROGRAMS
from tablecloak.bench.solvers import solver_named, takes
from tablecloak.errors import InputError, ModelError, listed, suggestion

__all__ = ["Bench", "run_bench"]

GRACE = 10.0
"""Seconds beyond the limit after which a process is ended: start, model and clean-up."""

Said = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Bench:
    """Judged answers.

    Parameters
    ----------
    table : pandas.DataFrame
        One row for each instance, question and solver: ``instance``, ``question``, ``solver``,
        ``columns``, ``rows``, ``verdict``, ``why``, ``status``, ``value``, ``claimed``, ``bound``,
        ``seconds``, ``memory`` (MiB).
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
    instances: Mapping[str, Instance],
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
        Each returns a `ProtectionProblem`; see `tablecloak.bench.instances.instances`.
    solvers : sequence of str
        Names, or ``module:function``; see `tablecloak.bench.solvers.solver_named`.
    questions : sequence of str
        Of "audit", "adjustment-linear", "adjustment-mixed", "suppression-master",
        "suppression-complete" (programs), "suppress", "adjust" (whole problems).
    time_limit : float, default=60
        Seconds for each answer.
    memory_limit : float, default=4096
        MiB for each process.
    said : callable, optional
        Told each verdict in a line.

    Raises
    ------
    InputError
        For an unknown question or solver.
    """
    known = [*PROGRAMS, *METHODS]
    for question in questions:
        if question not in known:
            raise InputError(f"There is no question {question!r}.{suggestion(question, known)}")
    for solver in solvers:
        solver_named(solver)
    rows: list[dict[str, Any]] = []
    steps: list[pd.DataFrame] = []
    for name, build in instances.items():
        try:
            problem = build()
        except ModelError as error:
            _say(said, f"{name}: {error}")
            continue
        for question in questions:
            try:
                asked: Any = PROGRAMS[question](problem) if question in PROGRAMS else problem
            except ModelError as error:
                _say(said, f"{name}, {question}: {error}")
                continue
            if asked is None:
                continue
            mixed = question in PROGRAMS and asked.is_mixed_integer
            answers = {
                solver: _asked(solver, asked, question, time_limit, memory_limit)
                for solver in solvers
                if takes(solver, question, mixed)
            }
            judge: Any = judge_programs if question in PROGRAMS else judge_methods
            verdicts = judge(asked, answers)
            size = (
                (asked.n_columns, asked.n_rows)
                if question in PROGRAMS
                else (problem.table.n_cells, problem.table.n_relations)
            )
            for solver, answer in answers.items():
                found = verdicts[solver]
                rows.append(
                    {
                        "instance": name,
                        "question": question,
                        "solver": solver,
                        "columns": size[0],
                        "rows": size[1],
                        "verdict": found.verdict,
                        "why": found.why,
                        "status": answer.status,
                        "value": found.value,
                        "claimed": answer.value,
                        "bound": answer.bound,
                        "seconds": answer.seconds,
                        "memory": answer.memory,
                    }
                )
                told = f" ({found.why})" if found.why else ""
                _say(
                    said,
                    f"{name}, {question}, {solver}: {found.verdict}, {answer.seconds:.2f} s{told}",
                )
                if answer.history:
                    step = pd.DataFrame(answer.history, columns=["seconds", "value", "bound"])
                    steps.append(step.assign(instance=name, question=question, solver=solver))
    if not rows:
        raise InputError(
            f"There is nothing to measure: no question of {listed(list(questions))} suits the "
            f"solvers {listed(list(solvers))}."
        )
    columns = ["instance", "question", "solver", "seconds", "value", "bound"]
    history = pd.concat(steps)[columns] if steps else pd.DataFrame(columns=columns)
    return Bench(pd.DataFrame(rows), history.reset_index(drop=True), time_limit)


def _say(said: Said | None, text: str) -> None:
    if said is not None:
        said(text)


def _places() -> list[str]:
    """Where modules may lie: as here, and in the folder from which the bench is run."""
    return [*(place for place in sys.path if place), str(Path.cwd())]


def _asked(solver: str, question: Any, kind: str, seconds: float, memory: float) -> Answer:
    """Run one solver in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="tablecloak-bench-") as folder:
        task, answer = Path(folder) / "task", Path(folder) / "answer"
        task.write_bytes(pickle.dumps((solver, question, kind, seconds, memory, _places())))
        command = [sys.executable, "-m", "tablecloak.bench.worker", str(task), str(answer)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                env=environment,
                capture_output=True,
                text=True,
                timeout=seconds + GRACE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Answer("limit", seconds=seconds + GRACE, message="did not end; it was killed")
        if not answer.exists():
            last = (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1]
            return Answer("error", seconds=np.nan, message=last)
        found: Answer = pickle.loads(answer.read_bytes())
        return found
