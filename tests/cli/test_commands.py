"""The command line, as a user types it."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from private import is_private
from random_tables import random_problem
from tablecloak.cli.display import Reporter
from tablecloak.cli.main import app

RUN = CliRunner()


@pytest.fixture
def cox(tmp_path) -> Path:
    tc.write_jj(tc.examples.cox_rounded(), tmp_path / "cox.jj")
    return tmp_path / "cox.jj"


def test_suppress_writes_a_status_for_every_cell_in_file_order(cox, tmp_path):
    result = RUN.invoke(app, ["suppress", str(cox), "--verbose", "-o", str(tmp_path / "s.csv")])
    assert result.exit_code == 0
    assert result.output.startswith("Safe against all who know")
    assert "loss 3,076, bound 3,076, gap 0.00 %" in result.output
    frame = pd.read_csv(tmp_path / "s.csv")
    assert list(frame.columns) == ["cell", "status"]
    assert frame.cell.tolist() == list(range(50))
    assert frame.status.value_counts().to_dict() == {"published": 38, "primary": 7, "secondary": 5}


def test_audit_accepts_the_pattern_and_refuses_it_with_one_cell_less(cox, tmp_path):
    path = tmp_path / "s.csv"
    RUN.invoke(app, ["suppress", str(cox), "-o", str(path)])
    assert RUN.invoke(app, ["audit", str(cox), str(path)]).exit_code == 0
    frame = pd.read_csv(path)
    frame.loc[frame.index[frame.status == "secondary"][0], "status"] = "published"
    frame.to_csv(path, index=False)
    assert RUN.invoke(app, ["audit", str(cox), str(path)]).exit_code == 1


def test_adjust_writes_a_value_for_every_cell_and_audit_accepts_it(cox, tmp_path):
    path = tmp_path / "a.csv"
    result = RUN.invoke(app, ["adjust", str(cox), "-o", str(path), "--weights", "unit"])
    assert result.exit_code == 0
    assert list(pd.read_csv(path).columns) == ["cell", "value"]
    assert RUN.invoke(app, ["audit", str(cox), str(path)]).exit_code == 0
    true = pd.DataFrame({"cell": range(50), "value": tc.read_jj(cox).table.values})
    true.to_csv(path, index=False)
    assert RUN.invoke(app, ["audit", str(cox), str(path)]).exit_code == 1


@pytest.mark.parametrize("name", ["cox.csv", "cox.parquet"])
def test_convert_there_and_back_gives_the_same_file(cox, tmp_path, name):
    RUN.invoke(app, ["convert", str(cox), str(tmp_path / name)])
    RUN.invoke(app, ["convert", str(tmp_path / name), str(tmp_path / "back.jj")])
    assert (tmp_path / "back.jj").read_text() == cox.read_text()


def test_a_missing_file_is_named_and_nothing_is_written(tmp_path):
    out = tmp_path / "out.csv"
    result = RUN.invoke(app, ["suppress", str(tmp_path / "none.jj"), "-o", str(out)])
    assert result.exit_code == 2
    assert "none.jj: this file does not exist" in result.output
    assert not out.exists()


JOB = """
[data]
file = "firms.csv"
value = "turnover"
[dimensions.region]
[dimensions.branch]
[[rules]]
rule = "p-percent"
p = 20
[suppression]
[adjustment]
"""


def test_protect_keeps_hidden_values_out_of_every_released_file(tmp_path):
    rows = [
        (region, branch, 1000 + 137 * r + 71 * b + 13 * firm)
        for r, region in enumerate("NESW")
        for b, branch in enumerate(["food", "steel", "wood"])
        for firm in range(1 if (r + b) % 5 == 0 else 6)
    ]
    frame = pd.DataFrame(rows, columns=["region", "branch", "turnover"])
    frame.to_csv(tmp_path / "firms.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB)
    out = tmp_path / "out"
    result = RUN.invoke(app, ["protect", str(tmp_path / "job.toml"), "--out", str(out)])
    assert result.exit_code == 0, result.output
    status = pd.read_csv(out / "internal" / "suppression_statuses.csv")
    hidden = status.turnover[status.status != "published"].astype(int)
    assert len(hidden) >= 3
    released = [path for path in (out / "release" / "suppression").rglob("*") if path.is_file()]
    assert released
    for path in released:
        text = path.read_text()
        assert not [value for value in hidden if str(value) in text]
        assert "primary" not in text
    secret = list((out / "internal").iterdir())
    assert all(is_private(path) for path in secret)


def test_audit_writes_a_certificate_that_verify_accepts(cox, tmp_path):
    path, proof = tmp_path / "s.csv", tmp_path / "proof.npz"
    RUN.invoke(app, ["suppress", str(cox), "-o", str(path)])
    arguments = ["audit", str(cox), str(path), "--certificate", str(proof), "--intruder", "zeros"]
    assert RUN.invoke(app, arguments).exit_code == 0
    assert is_private(proof)
    result = RUN.invoke(app, ["verify", str(proof), str(cox)])
    assert result.exit_code == 0
    assert "PROVED: 7 sensitive cells" in result.output


@pytest.mark.parametrize(("number", "safe"), [(11, True), (1, False)])
def test_audit_reads_code_values_with_the_statuses_of_tau_argus(cox, tmp_path, number, safe):
    """Statuses 3 to 9 and 11, 12 hide a cell; here secondaries are 11, or one of them is 1."""
    problem = tc.read_jj(cox)
    pattern = tc.suppress(problem)
    status = np.select([pattern.secondary, problem.sensitive], [11, 5], 1)
    status[np.flatnonzero(pattern.secondary)[0]] = number
    lines = [f'" {cell}",{problem.table.values[cell]:g},{status[cell]}' for cell in range(50)]
    (tmp_path / "argus.txt").write_text("\n".join(lines) + "\n")
    result = RUN.invoke(app, ["audit", str(cox), str(tmp_path / "argus.txt"), "--show", "0"])
    assert result.exit_code == (0 if safe else 1), result.output


def test_audit_of_a_job_knows_its_contributors_and_groups(tmp_path):
    rows = [("A", "x", 50), ("A", "y", 40), ("B", "x", 60), ("B", "y", 30)]
    rows += [(r, "z", 20 + k) for k, r in enumerate("AABBB")]
    frame = pd.DataFrame(rows, columns=["region", "branch", "turnover"])
    frame.to_csv(tmp_path / "firms.csv", index=False)
    job = JOB.replace('rule = "p-percent"\np = 20', 'rule = "p-percent"\np = 5')
    (tmp_path / "job.toml").write_text(job)
    out, arguments = tmp_path / "out", ["protect", str(tmp_path / "job.toml"), "--out"]
    assert RUN.invoke(app, [*arguments, str(out)]).exit_code == 0
    table = str(out / "release" / "suppression" / "table.csv")
    audit = ["audit", str(tmp_path / "job.toml"), table]
    assert RUN.invoke(app, audit).exit_code == 0
    attacked = RUN.invoke(app, [*audit, "--intruder", "contributors", "--groups"])
    assert attacked.exit_code == 0
    assert "contributors: 9 tried, 0 successful attacks" in attacked.output
    # With one cell less the two firms of a row read each other's figure.
    release = pd.read_csv(table, dtype=str)
    inner = release["region"].isin(["A", "B"]) & release["branch"].isin(["x", "y"])
    release["status"] = np.where(inner, "suppressed", "published")
    release.drop(columns="turnover").to_csv(tmp_path / "other.csv", index=False)
    audit[2] = str(tmp_path / "other.csv")
    attacked = RUN.invoke(app, [*audit, "--intruder", "contributors", "--groups"])
    assert attacked.exit_code == 1
    assert "4 sensitive groups" in attacked.output
    # Members of each, with the rule that finds their sum unsafe.
    assert "(region=A, branch=x) + (region=A, branch=y)" in attacked.output
    assert attacked.output.startswith("audit (two-sided): NOT SAFE: 7 attackable")


def test_job_with_insiders_own_costs_and_last_periods_pattern(tmp_path):
    """Costs count employees; last period's file has cells that no longer exist."""
    random = np.random.default_rng(3)
    n = 60
    frame = pd.DataFrame(
        {
            "r": random.choice(list("ABCD"), n),
            "b": random.choice(list("xyz"), n),
            "firm": range(n),
            "v": random.lognormal(3, 1.5, n).round(),
            "staff": random.integers(1, 50, n),
        }
    )
    frame.to_csv(tmp_path / "firms.csv", index=False)
    (tmp_path / "last.csv").write_text("r,b,status\nA,x,suppressed\nE,x,suppressed\n")
    (tmp_path / "job.toml").write_text(
        """
        [data]
        file = "firms.csv"
        value = "v"
        contributor = "firm"
        [dimensions.r]
        [dimensions.b]
        [[rules]]
        rule = "p-percent"
        p = 15
        [suppression]
        cost = "staff"
        protect_against = ["contributors", "pairs"]
        previous = "last.csv"
        discount = 0.25
        time_limit = 5
        """
    )
    result = tc.run_job(tmp_path / "job.toml")
    assert result.is_safe
    assert set(result.audit("suppression").intruders) == {"contributors", "pairs of contributors"}
    staff = frame.groupby(["r", "b"]).staff.sum()
    cell = result.problem.table.cell(r="A", b="x")
    assert result.pattern.problem.weights[cell] == pytest.approx(0.75 * staff["A", "x"])
    cell = result.problem.table.cell(r="B", b="x")
    assert result.pattern.problem.weights[cell] == pytest.approx(staff["B", "x"])


def test_job_adjusts_within_measurement_errors_at_costs_of_its_own(tmp_path):
    random = np.random.default_rng(5)
    n = 80
    frame = pd.DataFrame(
        {
            "r": random.choice(list("ABCD"), n),
            "b": random.choice(list("xyz"), n),
            "firm": range(n),
            "v": random.lognormal(3, 1.5, n).round(),
            "error": random.uniform(5, 20, n).round(),
            "staff": random.integers(1, 50, n),
        }
    )
    frame.to_csv(tmp_path / "firms.csv", index=False)
    (tmp_path / "job.toml").write_text(
        """
        [data]
        file = "firms.csv"
        value = "v"
        contributor = "firm"
        [dimensions.r]
        [dimensions.b]
        [[rules]]
        rule = "p-percent"
        p = 15
        [adjustment]
        distance = "L2"
        cost = "staff"
        measurement_error = "error"
        capacity_percent = 60
        time_limit = 5
        """
    )
    result = tc.run_job(tmp_path / "job.toml")
    assert result.is_safe
    table, other = result.problem.table, ~result.problem.sensitive
    errors = frame.groupby(["r", "b"]).error.sum()
    cell = table.cell(r="A", b="x")
    limit = min(errors["A", "x"], 0.6 * table.values[cell])
    assert result.adjustment.problem.capacity_up[cell] == pytest.approx(limit)
    changes = np.abs(result.adjustment.changes)
    assert (changes <= result.adjustment.problem.capacity_up + 1e-6)[other].all()
    staff = frame.groupby(["r", "b"]).staff.sum()
    assert result.adjustment.weights[cell] == staff["A", "x"]
    assert result.adjustment.distance == "L2"


def test_adjust_repairs_what_is_impossible_and_says_so(tmp_path):
    problem = random_problem(1)
    fixed = problem.with_capacity(0.0)
    tc.write_problem(fixed, tmp_path / "fixed.parquet")
    output = tmp_path / "adjusted.csv"
    command = ["adjust", str(tmp_path / "fixed.parquet"), "-o", str(output), "--no-integer"]
    refused = RUN.invoke(app, command)
    assert refused.exit_code != 0
    assert "An adjustment exists after these changes" in " ".join(refused.output.split())
    assert not output.exists()
    done = RUN.invoke(app, [*command, "--repair", "--distance", "Linf"])
    assert done.exit_code == 0, done.output
    assert "note: relaxed" in " ".join(done.output.split())


def test_intervals_are_written_and_audit_refuses_them_once_narrowed(cox, tmp_path):
    out = tmp_path / "intervals.csv"
    done = RUN.invoke(app, ["intervals", str(cox), "-o", str(out), "--seed", "5"])
    assert done.exit_code == 0
    assert "proved for 7 of 7 sensitive cells" in " ".join(done.output.split())
    assert RUN.invoke(app, ["audit", str(cox), str(out)]).exit_code == 0
    frame = pd.read_csv(out)
    values = tc.examples.cox_rounded().table.values
    frame["lower"] = frame["upper"] = values.astype(int)
    frame.to_csv(out, index=False)
    assert RUN.invoke(app, ["audit", str(cox), str(out)]).exit_code == 1


def test_rounding_leaves_no_small_count(tmp_path):
    source, path = tmp_path / "counts.jj", tmp_path / "rounded.csv"
    random = np.random.default_rng(1)
    leaves = pd.DataFrame(
        [(r, c) for r in "abcd" for c in "wxyz"], columns=["row", "column"]
    ).assign(n=random.poisson(3, 16))
    table = tc.tabulate(leaves, ["row", "column"], "n", decimals=0)
    zero, n = np.zeros(table.n_cells), table.n_cells
    problem = tc.ProtectionProblem(
        table, np.full(n, "s"), zero, zero, zero, zero, np.full(n, 1000.0), np.ones(n)
    )
    tc.write_jj(problem, source)
    done = RUN.invoke(app, ["small-counts", str(source), "-o", str(path), "--base", "3"])
    assert done.exit_code == 0, done.output
    assert "4 of 4 sensitive cells are protected" in " ".join(done.output.split())
    values = pd.read_csv(path)["value"].to_numpy()
    assert not ((values > 0) & (values < 3)).any()
    assert not (table.relations @ values).any()


def test_round_writes_an_additive_table_of_multiples_only_if_it_protects(cox, tmp_path):
    path = tmp_path / "r.csv"
    narrow = RUN.invoke(app, ["round", str(cox), "-o", str(path), "--base", "5"])
    assert narrow.exit_code == 1
    assert "a larger base protects more" in narrow.output
    assert not path.exists()
    wide = RUN.invoke(app, ["round", str(cox), "-o", str(path), "--base", "100"])
    assert wide.exit_code == 0
    assert "7 of 7 sensitive cells are protected" in " ".join(wide.output.split())
    values = pd.read_csv(path)["value"].to_numpy()
    assert np.all(values % 100 == 0)
    assert np.all(tc.read_jj(cox).table.relations @ values == 0)


def test_ctrl_c_keeps_the_best_pattern_that_is_proved(cox, tmp_path, monkeypatch):
    reports = []

    def once(self, stage: str, loss: float, bound: float, left: int) -> None:
        reports.append(stage)
        if np.isfinite(loss) and "protecting" not in stage and len(reports) < 100:
            reports.extend([""] * 100)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Reporter, "__call__", once)
    done = RUN.invoke(app, ["suppress", str(cox), "-o", str(tmp_path / "s.csv")])
    assert len(reports) > 100
    assert done.exit_code == 0, done.output
    assert RUN.invoke(app, ["audit", str(cox), str(tmp_path / "s.csv")]).exit_code == 0


def test_ctrl_c_before_there_is_anything_writes_nothing(tmp_path, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tablecloak.tables.formats.read_problem", interrupted)
    done = RUN.invoke(app, ["suppress", "p.jj", "-o", str(tmp_path / "s.csv")])
    assert done.exit_code == 130
    assert "Interrupted; nothing was written" in done.output


def test_a_file_that_could_not_be_written_is_refused_before_the_search(cox, tmp_path):
    done = RUN.invoke(app, ["suppress", str(cox), "-o", str(tmp_path / "s.xyz")])
    assert done.exit_code == 2
    assert "Expected a name in .csv or .parquet" in " ".join(done.output.replace("│", "").split())


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--method", "exat"], "There is no search method 'exat'. Did you mean 'exact'?"),
        (["--weights", "unti"], "There is no weight rule 'unti'. Did you mean 'unit'?"),
        (["--require", "with"], "There is no requirement 'with'. Did you mean 'width'?"),
        (["--protect-against", "pair"], "There is no intruder 'pair'. Did you mean 'pairs'?"),
        (["--solver", "hihgs"], "There is no solver 'hihgs'. Did you mean 'highs'?"),
    ],
)
def test_a_wrong_name_is_answered_with_the_right_one(cox, words, answer):
    done = RUN.invoke(app, ["suppress", str(cox), "-o", "s.csv", *words], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert answer in done.output
