"""Solvers are asked in processes of their own, and wrong answers are reported as wrong."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from bench import runner
from bench.command import app
from bench.isolated import Outcome
from bench.runner import run_bench

STUBS = '''
import time
import numpy as np
from bench.answers import Answer
from bench.solvers import solver_named

def off(program, kind, seconds):
    """A point that breaks a row, called optimal."""
    found = solver_named("tablecloak")(program, kind, seconds)
    return Answer("optimal", found.x + 0.1, found.value)

def lazy(program, kind, seconds):
    """A feasible point that is not optimal, called optimal."""
    x = np.zeros(program.n_columns)
    return Answer("optimal", x, program.objective(x))

def pessimist(program, kind, seconds):
    return Answer("infeasible")

def asleep(program, kind, seconds):
    time.sleep(3600)

def broken(program, kind, seconds):
    raise RuntimeError("no licence")

def greedy(program, kind, seconds):
    return Answer("feasible", np.ones(10**10))

def bare(problem, kind, seconds):
    """Hides the sensitive cells and nothing else."""
    return Answer("optimal", problem.sensitive.astype(float))
'''


@pytest.fixture
def stubs(tmp_path, monkeypatch):
    (tmp_path / "bench_stubs.py").write_text(STUBS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "bench_stubs"


@pytest.fixture
def in_this_process(monkeypatch):
    """Ask without starting a process for each solver, which would cost seconds."""

    def called(function, *arguments, seconds, memory):
        try:
            return Outcome(function(*arguments), memory=100.0, cpu_seconds=1.0)
        except Exception as error:
            return Outcome(error=f"{type(error).__name__}: {error}")

    monkeypatch.setattr(runner, "isolated", called)


def test_wrong_solvers_are_reported_as_wrong(stubs, in_this_process):
    solvers = [
        "tablecloak",
        *(f"{stubs}:{name}" for name in ("off", "lazy", "pessimist", "broken")),
    ]
    found = run_bench({"cox": tc.examples.cox}, solvers, ["audit"], time_limit=5).table
    found = found.set_index("solver")
    assert found.loc["tablecloak", "verdict"] == "solved"
    for name, why in (
        ("off", "breaks the program"),
        ("lazy", "claims to be optimal"),
        ("pessimist", "there is one"),
    ):
        assert found.loc[f"{stubs}:{name}", "verdict"] == "wrong", name
        assert why in found.loc[f"{stubs}:{name}", "why"]
    assert found.loc[f"{stubs}:broken", "verdict"] == "failed"
    assert "no licence" in found.loc[f"{stubs}:broken", "why"]


def test_a_tool_that_protects_too_little_is_reported_as_wrong(stubs, in_this_process):
    found = run_bench(
        {"cox": tc.examples.cox}, ["tablecloak", f"{stubs}:bare"], ["suppress"], time_limit=5
    ).table.set_index("solver")
    assert found.loc["tablecloak", "verdict"] == "solved"
    assert found.loc[f"{stubs}:bare", "verdict"] == "wrong"
    assert found.loc[f"{stubs}:bare", "why"] == "not protected"


def test_time_and_memory_limits_end_a_solver_and_nothing_else(stubs, monkeypatch):
    # Only who sleeps has little time: the others end in time also on a busy machine.
    with monkeypatch.context() as patch:
        patch.setattr(runner, "GRACE", 0.5)
        cox = {"cox": tc.examples.cox}
        asleep = run_bench(cox, [f"{stubs}:asleep"], ["audit"], time_limit=1).table
    assert asleep["why"].tolist() == ["did not end; it was killed"]
    found = run_bench(
        cox, [f"{stubs}:greedy", "tablecloak"], ["audit"], time_limit=60, memory_limit=2000
    ).table.set_index("solver")
    assert found.loc[f"{stubs}:greedy", "verdict"] == "limit"
    assert "memory" in found.loc[f"{stubs}:greedy", "why"]
    assert found.loc["tablecloak", "verdict"] == "solved"


def test_the_command_writes_answers_profiles_and_a_summary(tmp_path, stubs, in_this_process):
    words = "--quick --only cox-rounded --question audit --time-limit 20 --out"
    command = [*words.split(), str(tmp_path / "out"), "--solver", "tablecloak"]
    both = ["--question", "suppression-master", "--solver", "highs-mip"]
    done = CliRunner().invoke(app, [*command, *both])
    assert done.exit_code == 0, done.output
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"answers.parquet", "history.parquet", "summary.md"} <= written
    assert "profile-suppression-master.svg" in written
    table = pd.read_parquet(tmp_path / "out" / "answers.parquet")
    assert set(table["verdict"]) == {"solved"}
    assert (table["memory"] == 100).all() and (table["cpu_seconds"] == 1).all()
    assert "| tablecloak | 1 | 1 |" in Path(tmp_path / "out" / "summary.md").read_text()
    done = CliRunner().invoke(app, [*command, "--solver", f"{stubs}:pessimist"])
    assert done.exit_code == 1
    assert "claims that no point exists" in done.output
    done = CliRunner().invoke(app, ["--solver", "hihgs-mip"])
    assert done.exit_code == 2
    assert "highs-mip" in done.output
