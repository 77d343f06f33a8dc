"""A whole publication from one file: the plan, and a release for each cluster."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from typer.testing import CliRunner

import tablecloak as tc
from instances import Instances
from private import is_private
from tablecloak.cli.main import app
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.load import load_problem
from tablecloak.jobs.publication import read_publication

METADATA = """table_name,field,indicator,spanning_1,hrc_spanning_1,spanning_2,hrc_spanning_2
T1,2026,lettuce,region,hrc_geo,size,
T2,2026,batavia,district,hrc_geo,size,
T3,2026,arugula,district,hrc_geo,size,
T4,2026,lettuce,district,hrc_geo,size,
T5,2026,pizza,region,hrc_geo,cj,
T6,2026,pizza,size,,,
"""

JOB = """title = "Food"
[publication]
metadata = "metadata.csv"
equations = ["lettuce = batavia + arugula"]
levels = {geo = ["region", "district"]}

[data]
file = "firms.csv"
contributor = "firm"

[[rules]]
rule = "p-percent"
p = 10

[suppression]
time_limit = 1000
hold = "off"
groups = false

[transmission]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("food")
    rng = np.random.default_rng(3)
    district = rng.choice(["N1", "N2", "S1", "S2"], 60)
    firms = pd.DataFrame(
        {"firm": [f"f{number}" for number in range(60)], "district": district,
         "region": [code[0] for code in district], "size": rng.choice(["big", "small"], 60),
         "cj": rng.choice(["LL", "PA"], 60), "batavia": rng.integers(1, 90, 60),
         "arugula": rng.integers(1, 90, 60), "pizza": rng.integers(1, 90, 60)}
    )  # fmt: skip
    firms["lettuce"] = firms.batavia + firms.arugula
    firms.loc[0, "pizza"] = 4000
    firms.to_csv(place / "firms.csv", index=False)
    (place / "metadata.csv").write_text(METADATA)
    (place / "job.toml").write_text(JOB)
    return place


@pytest.fixture(scope="module")
def done(folder, tmp_path_factory):
    """What one command prints and writes."""
    out = tmp_path_factory.mktemp("out")
    found = CliRunner().invoke(app, ["protect", str(folder / "job.toml"), "-o", str(out)])
    assert found.exit_code == 0, found.output
    return found.output, out


def test_each_cluster_is_one_problem_of_its_variables(done):
    _, out = done
    cells = pd.read_csv(out / "2026.lettuce/internal/problem.csv", dtype=str)
    assert set(cells.variable) == {"batavia", "arugula", "lettuce"}
    assert len(cells) == 3 * 7 * 3
    pizza = pd.read_csv(out / "2026.pizza/internal/problem.csv", dtype=str)
    assert {"geo", "cj", "size"} <= set(pizza.columns) and "variable" not in pizza
    # Each variable has 7 relations of sizes and 3 of regions for each size; the equation has one
    # for each of 21 cells.
    lettuce = tc.read_problem(out / "2026.lettuce/internal/problem.jj").table
    assert lettuce.n_relations == 3 * (7 + 3 * 3) + 7 * 3


def test_one_command_writes_the_plan_and_a_release_for_each_cluster(done):
    output, out = done
    assert "6 tables to publish: 3 to protect in 2 clusters" in output
    assert output.count("It is proved that nobody who knows") == 2
    names = {path.name for path in out.iterdir()}
    assert names == {"plan.html", "plan.csv", "2026.lettuce", "2026.pizza"}
    for name in ("2026.lettuce", "2026.pizza"):
        assert (out / name / "release/suppression/table.csv").exists()
        assert (out / name / "internal/transmission.csv").exists()


def test_planned_jobs_are_those_that_a_publication_runs(folder, tmp_path):
    """Their paths are relative to the folder where they are written."""
    planned = CliRunner().invoke(app, ["plan", str(folder / "job.toml"), "-o", str(tmp_path)])
    assert planned.exit_code == 0, planned.output
    for name, job in read_publication(folder / "job.toml", tmp_path).jobs.items():
        written = read_job(tmp_path / "jobs" / f"{name}.toml")
        assert written.data.file.resolve() == job.data.file.resolve()
        written.data.file = job.data.file
        assert written.model_dump() == job.model_dump()


def test_a_draft_shows_no_more_detail_than_is_published(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    options = ["--levels", "geo=region,district", "-o", str(tmp_path)]
    done = CliRunner().invoke(app, ["plan", "metadata.csv", *options])
    assert done.exit_code == 0, done.output
    path = tmp_path / "jobs" / "2026.pizza.toml"
    # Pizza is published by region; its table by size is a margin of none, and shares the total.
    text = path.read_text().replace("records.csv", "firms.csv")
    path.write_text(text)
    assert load_problem(read_job(path)).table.n_cells == 3 * 3 + 2


def test_a_cluster_that_fails_names_itself_and_the_others_go_on(folder, tmp_path):
    """What was done is not done again; once the fault is mended, its cluster alone is."""
    metadata = tmp_path / "metadata.csv"
    metadata.write_text(METADATA.replace("pizza", "pasta"))
    shutil.copy(folder / "firms.csv", tmp_path)
    (tmp_path / "job.toml").write_text(JOB)
    command = ["protect", str(tmp_path / "job.toml"), "-o", str(tmp_path / "out")]
    found = CliRunner().invoke(app, [*command, "--executor", "threads:2"])
    assert found.exit_code == 2
    assert "cluster 2026.lettuce: safe" in found.output
    assert re.search(r"cluster 2026\.pasta: FAILED\n.*'pasta'", found.output)
    page = tmp_path / "out" / "plan.html"
    assert is_private(page)
    assert "failed: " in page.read_text()
    metadata.write_text(METADATA)
    again = tc.run_publication(tmp_path / "job.toml", tmp_path / "out")
    assert again.is_safe
    assert {name: each.is_new for name, each in again.outcomes.items()} == {
        "2026.lettuce": False,
        "2026.pizza": True,
    }


def test_the_page_shows_size_loss_bound_and_verdict_of_each_cluster_with_its_report(done):
    _, out = done
    page = (out / "plan.html").read_text()
    assert is_private(out / "plan.html")
    for name in ("2026.lettuce", "2026.pizza"):
        assert f'href="{name}/internal/report.html"' in page
        figures = json.loads((out / name / "internal/result.json").read_text())["figures"]
        problem = tc.read_problem(out / name / "internal/problem.csv")
        assert figures["cells"] == problem.table.n_cells
        assert figures["relations"] == problem.table.n_relations
        statuses = pd.read_csv(out / name / "internal/suppression_statuses.csv")
        hidden = statuses["status"].isin(["primary", "secondary"])
        assert figures["loss"] == problem.weights[hidden].sum()
        assert f"<td>{figures['loss']:.6g}</td>" in page
        assert figures["bound"] <= figures["loss"]


def test_a_plan_tells_the_size_of_each_cluster_and_how_long_it_took_before(folder, done):
    _, out = done
    sizes = read_publication(folder / "job.toml", out).sizes()
    assert sizes["2026.lettuce"].figures["cells"] == 3 * 7 * 3
    for name, size in sizes.items():
        state = json.loads((out / name / "internal/result.json").read_text())
        assert size.figures["expected seconds"] == state["figures"]["seconds"]


def test_a_publication_is_no_job(folder):
    with pytest.raises(tc.InputError, match="describes a whole publication, not one job"):
        read_job(folder / "job.toml")
    with pytest.raises(tc.InputError, match="describes a whole publication, not one job"):
        tc.run_job(folder / "job.toml")


@pytest.fixture
def insee(tmp_path):
    """The metadata and the job of docs/publication.md beside the files of INSEE."""
    page = (Path(__file__).parents[2] / "docs" / "publication.md").read_text("utf-8")
    blocks = dict(re.findall(r"^```(csv|toml)\n(.*?)^```", page, re.M | re.S))
    files = (Instances() / "rtauargus/turnover_act_size.csv.gz").parent
    for path in [*files.glob("turnover_*_*.csv.gz"), *files.glob("*_corr_table.csv.gz")]:
        shutil.copy(path, tmp_path)
    (tmp_path / "metadata.csv").write_text(blocks["csv"])
    (tmp_path / "job.toml").write_text(blocks["toml"])
    return tmp_path


def test_the_four_tables_of_insee_are_one_problem_of_as_many_cells_as_the_docs_say(insee):
    publication = read_publication(insee / "job.toml", insee)
    problem = load_problem(publication.jobs["enterprises.TOT"])
    assert (problem.table.n_cells, problem.table.n_relations) == (1493, 824)
    assert problem.n_sensitive == 260
    assert len(publication.plan.tables) == 4


@pytest.mark.slow
def test_the_four_tables_of_insee_go_from_the_plan_to_the_transmission_file(insee):
    job = (insee / "job.toml").read_text()
    # Without groups and insiders, which take the longest, and whose tests are elsewhere.
    job = job.replace("time_limit = 60", 'time_limit = 3\nhold = "off"\ngroups = false')
    (insee / "job.toml").write_text(job)
    out = insee / "turnover"
    found = CliRunner().invoke(app, ["protect", str(insee / "job.toml"), "-o", str(out)])
    assert found.exit_code == 0, found.output
    sent = pd.read_csv(out / "enterprises.TOT/internal/transmission.csv")
    assert len(sent) == 1493
    assert (
        {"A", "O", "D", "F"} >= set(sent.filter(like="CONF_STATUS").iloc[:, 0]) >= {"A", "D", "F"}
    )
    assert (out / "plan.html").exists()


def test_jobs_drafted_from_a_template_choose_records_by_its_columns(tmp_path, monkeypatch):
    """The records have the columns of the template, and none that is called field."""
    monkeypatch.chdir(tmp_path)
    records = pd.DataFrame(
        [(year, country, branch, size, number)
         for year, country in (("2021", "FR"), ("2022", "FR"), ("2022", "DE"))
         for branch in "ab"
         for size in "xy"
         for number in (len(country + year), 9, 4)],
        columns=["YEAR", "GEO", "BRANCH", "SIZE", "EMP"],
    )  # fmt: skip
    records.to_csv("records.csv", index=False)
    asked = records[["YEAR", "GEO"]].drop_duplicates().assign(INDICATOR="EMP")
    codes = pd.DataFrame([("a", "_T"), ("b", "_T"), ("_T", "x"), ("_T", "y"), ("_T", "_T")])
    asked.merge(codes.set_axis(["BRANCH", "SIZE"], axis=1), how="cross").to_csv(
        "t.csv", index=False
    )
    options = ["--template", "t.csv", "--field", "YEAR", "--field", "GEO", "-o", "plan"]
    done = CliRunner().invoke(app, ["plan", *options])
    assert done.exit_code == 0, done.output
    jobs = {path.stem: read_job(path) for path in Path("plan/jobs").iterdir()}
    assert {name: job.data.only for name, job in jobs.items()} == {
        "2021.FR.EMP": {"YEAR": ["2021"], "GEO": ["FR"]},
        "2022.DE.EMP": {"YEAR": ["2022"], "GEO": ["DE"]},
        "2022.FR.EMP": {"YEAR": ["2022"], "GEO": ["FR"]},
    }
    for job in jobs.values():
        of_field = records.EMP[(records[list(job.data.only)] == [
            code for (code,) in job.data.only.values()]).all(axis=1)]  # fmt: skip
        table = load_problem(job).table
        assert table.values[table.cell(BRANCH="_T", SIZE="_T")] == of_field.sum()


def test_a_ratio_of_two_files_is_read_by_nobody(tmp_path):
    """Who has the tables and the digits of turnover per employee computes no sensitive cell.

    Protected apart, the two files and all ratios give cells away. The intruder reads files alone.
    """
    rng = np.random.default_rng(5)
    cells = [(r, i) for r in ("Total", "N", "S") for i in ("Total", "A", "B", "C")]
    true: dict[str, np.ndarray] = {}
    for name, most in (("turnover", 900), ("employees", 40)):
        inner = rng.integers(5, most, (2, 3))
        rows = np.vstack([inner.sum(0), inner])
        true[name] = np.hstack([rows.sum(1, keepdims=True), rows]).ravel()
        frame = pd.DataFrame(cells, columns=["region", "industry"]).assign(**{name: true[name]})
        frame["n"] = [int(r == "Total") * 20 + 9 for r, _ in cells]
        frame.loc[frame.region.eq("N") & frame.industry.eq("A"), "n"] = 2
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "lines.csv").write_text(
        "table_name,field,indicator,spanning_1,hrc_spanning_1,spanning_2,hrc_spanning_2,file\n"
        "T,2026,turnover,region,,industry,,turnover.csv\n"
        "E,2026,employees,region,,industry,,employees.csv\n"
    )
    job = """[publication]
metadata = "lines.csv"
[data]
kind = "table"
frequency = "n"
[[rules]]
rule = "minimum-frequency"
minimum = 3
range = 20
[suppression]
time_limit = 1
method = "sequential"
hold = "off"
groups = false
"""
    figure = '[[derived]]\nfigure = "ratio"\nformula = "turnover / employees"\ndecimals = 1\n'
    (tmp_path / "apart.toml").write_text(job)
    (tmp_path / "job.toml").write_text(job + figure)
    for name in ("apart", "job"):
        done = read_publication(tmp_path / f"{name}.toml", tmp_path / name).run()
        assert done.is_safe, done.summary()
    ratios = (10 * true["turnover"] / true["employees"]).round() / 10
    released = "release/suppression/table.csv"
    alone = [
        pd.read_csv(tmp_path / "apart" / f"2026.{name}" / released)[name].to_numpy()
        for name in true
    ]
    place = tmp_path / "job/2026.employees/release/suppression"
    table = pd.read_csv(place / "table.csv").set_index("variable").value
    printed = pd.read_csv(place / "figures.csv").value.to_numpy()
    both = [table[name].to_numpy() for name in true]
    assert np.isnan(printed).any() and not np.isnan(printed).all()
    cell = cells.index(("N", "A"))
    for at, name in enumerate(true):
        value = true[name][cell]
        low, high = _read_off(alone, ratios, at, cell)
        assert high - low < 0.2 * value
        low, high = _read_off(both, printed, at, cell)
        assert high - low >= 0.2 * value - 1e-6


def _read_off(
    shown: list[np.ndarray], ratios: np.ndarray, which: int, cell: int
) -> tuple[float, float]:
    """Least and most that a cell of two tables of 3 x 4 cells can be for whoever has the files."""
    n = len(ratios)
    rows = []
    for first in (0, n):
        for column in range(4):
            row = np.zeros(2 * n)
            row[[first + column, first + column + 4, first + column + 8]] = -1, 1, 1
            rows.append(row)
        for start in (0, 4, 8):
            row = np.zeros(2 * n)
            row[first + start : first + start + 4] = -1, 1, 1, 1
            rows.append(row)
    limits = []
    for at, ratio in enumerate(ratios):
        if not np.isnan(ratio):
            row = np.zeros(2 * n)
            row[[at, n + at]] = 1, -(ratio + 0.05)
            limits.append(row)
            row = np.zeros(2 * n)
            row[[at, n + at]] = -1, ratio - 0.05
            limits.append(row)
    values = np.concatenate(shown)
    bounds = [(0, None) if np.isnan(value) else (value, value) for value in values]
    ends = []
    for sign in (1, -1):
        goal = np.zeros(2 * n)
        goal[which * n + cell] = sign
        solved = linprog(goal, np.array(limits), np.zeros(len(limits)), np.array(rows),
                         np.zeros(len(rows)), bounds)  # fmt: skip
        assert solved.status == 0, solved.message
        ends.append(sign * solved.fun)
    return ends[0], ends[1]
