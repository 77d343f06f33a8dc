"""The bench: programs mean what they should, wrong answers are caught, profiles are right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.bench.answers import Answer, judge_methods, judge_programs
from tablecloak.bench.instances import generated, instances, linked
from tablecloak.bench.profile import performance_profile
from tablecloak.bench.programs import PROGRAMS
from tablecloak.bench.runner import run_bench
from tablecloak.bench.solvers import solver_named
from tablecloak.cli.main import app
from tablecloak.solve.program import Program

STUBS = '''
import time
import numpy as np
from tablecloak.bench.answers import Answer
from tablecloak.bench.solvers import solver_named

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


def test_wrong_solvers_are_reported_as_wrong(stubs):
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


def test_a_tool_that_protects_too_little_is_reported_as_wrong(stubs):
    found = run_bench(
        {"cox": tc.examples.cox}, ["tablecloak", f"{stubs}:bare"], ["suppress"], time_limit=5
    ).table.set_index("solver")
    assert found.loc["tablecloak", "verdict"] == "solved"
    assert found.loc[f"{stubs}:bare", "verdict"] == "wrong"
    assert found.loc[f"{stubs}:bare", "why"] == "not protected"


def test_time_and_memory_limits_end_a_solver_and_nothing_else(stubs, monkeypatch):
    from tablecloak.bench import runner

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


def test_judgement_needs_one_honest_solver_only():
    """min -x with x <= 1 and a row 2 x <= 1.5: the optimum is -0.75."""
    program = Program(
        np.array([-1.0]), csr_array(np.array([[2.0]])), np.array([-np.inf]), np.array([1.5]),
        np.array([0.0]), np.array([1.0]),
    )  # fmt: skip
    answers = {
        "honest": Answer("optimal", np.array([0.75]), -0.75),
        "outside": Answer("optimal", np.array([1.0]), -1.0),
        "liar": Answer("optimal", np.array([0.75]), -2.0),
        "short": Answer("optimal", np.array([0.5]), -0.5),
        "modest": Answer("feasible", np.array([0.5]), -0.5),
        "bound": Answer("feasible", np.array([0.5]), -0.5, bound=-0.6),
        "unlimited": Answer("unbounded"),
        "late": Answer("limit"),
        "none": Answer("optimal", np.empty(0)),
    }
    found = {name: judged.verdict for name, judged in judge_programs(program, answers).items()}
    assert found == {
        "honest": "solved", "outside": "wrong", "liar": "wrong", "short": "wrong",
        "modest": "limit", "bound": "wrong", "unlimited": "wrong", "late": "limit",
        "none": "wrong",
    }  # fmt: skip


def test_adjustments_are_judged_by_their_audit():
    problem = tc.examples.cox_rounded()
    good = tc.adjust(problem, time_limit=5)
    near = problem.table.values + 0.5 * good.changes
    answers = {
        "good": Answer("optimal", good.values, good.loss),
        "near": Answer("optimal", near),
        "truth": Answer("optimal", problem.table.values),
    }
    found = judge_methods(problem, answers)
    assert [judged.verdict for judged in found.values()] == ["solved", "wrong", "wrong"]


def test_the_complete_formulation_has_the_optimum_of_the_exact_method():
    problem = generated((4, 4), 0.2)
    program = PROGRAMS["suppression-complete"](problem)
    found = milp(
        program.cost,
        constraints=LinearConstraint(program.matrix, program.row_lower, program.row_upper),
        bounds=Bounds(program.lower, program.upper),
        integrality=program.integral.astype(int),
    )
    pattern = tc.suppress(problem, method="exact")
    assert pattern.is_optimal
    chosen = np.rint(found.x[: problem.table.n_cells]) > 0
    assert problem.weights[chosen].sum() == pytest.approx(pattern.loss)


def test_every_solver_gives_the_same_optimum_of_every_program():
    problem = generated((6, 6), 0.1)
    # The complete formulation is solved by another test, on a smaller table.
    assert "suppression-complete" in PROGRAMS
    for name in set(PROGRAMS) - {"suppression-complete"}:
        program = PROGRAMS[name](problem)
        solvers = [
            "tablecloak",
            "highs-mip" if program.is_mixed_integer else "highs-simplex",
            "cbc",
        ]
        answers = {solver: solver_named(solver)(program, name, 20) for solver in solvers}
        found = judge_programs(program, answers)
        assert {judged.verdict for judged in found.values()} == {"solved"}, name
        assert np.ptp([judged.value for judged in found.values()]) < 1e-4, name


def test_performance_profile_by_hand():
    times = {"a": [1.0, 4.0, 9.0], "b": [2.0, 2.0, 1.0]}
    verdicts = {"a": ["solved", "solved", "limit"], "b": ["solved", "solved", "wrong"]}
    table = pd.DataFrame(
        [
            {"instance": f"i{k}", "question": "q", "solver": s, "seconds": times[s][k],
             "verdict": verdicts[s][k]}
            for s in "ab" for k in range(3)
        ]
    )  # fmt: skip
    found = performance_profile(table)
    for solver, factors in (("a", [1, 2]), ("b", [1, 2])):
        part = found[found["solver"] == solver]
        assert part["factor"].tolist() == factors
        # The third question, solved by nobody, counts as one of three.
        assert part["share"].tolist() == pytest.approx([1 / 3, 2 / 3])


def test_families_have_the_sizes_and_severities_they_say():
    problem = generated((5, 6), 0.2)
    assert problem.table.n_cells == 42
    assert problem.n_sensitive == 6
    assert generated((5, 6), 0.2).table.values.tolist() == problem.table.values.tolist()
    assert set(linked(300).table.keys.columns) == {"region", "industry", "size"}
    assert set(instances(quick=True)) < set(instances())
    with pytest.raises(tc.InputError, match="does not exist"):
        instances("/nowhere")


def test_the_command_writes_answers_profiles_and_a_summary(tmp_path, stubs):
    words = "bench --quick --only cox-rounded --question audit --time-limit 20 --out"
    command = [*words.split(), str(tmp_path / "out"), "--solver", "tablecloak"]
    both = ["--question", "suppression-master", "--solver", "highs-mip"]
    done = CliRunner().invoke(app, [*command, *both])
    assert done.exit_code == 0, done.output
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"answers.parquet", "history.parquet", "summary.md"} <= written
    assert "profile-suppression-master.svg" in written
    table = pd.read_parquet(tmp_path / "out" / "answers.parquet")
    assert set(table["verdict"]) == {"solved"}
    assert (table["memory"] > 20).all()
    assert "| tablecloak | 1 | 1 |" in Path(tmp_path / "out" / "summary.md").read_text()
    done = CliRunner().invoke(app, [*command, "--solver", f"{stubs}:pessimist"])
    assert done.exit_code == 1
    assert "claims that no point exists" in done.output
    done = CliRunner().invoke(app, ["bench", "--solver", "hihgs-mip"])
    assert done.exit_code == 2
    assert "highs-mip" in done.output
