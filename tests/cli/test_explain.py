"""``tablecloak explain``: text and JSON of one or several cells, from files of anybody."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.cli.main import app
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.load import load_problem

RUN = CliRunner()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A problem and two releases of it."""
    folder = tmp_path_factory.mktemp("explain")
    problem = tc.examples.cox_rounded()
    tc.write_problem(problem, folder / "cox.csv")
    tc.suppress(problem, time_limit=1000).release().to_csv(folder / "pattern.csv", index=False)
    tc.adjust(problem).release().to_csv(folder / "adjusted.csv", index=False)
    return folder


def run(files, *words):
    return RUN.invoke(app, ["explain", str(files / "cox.csv"), str(files / words[0]), *words[1:]])


def test_the_command_prints_each_explanation_and_marks_it_as_secret(files):
    found = run(files, "pattern.csv", "r2, c8", "r4, c9", "--no-alternative")
    assert found.exit_code == 0
    assert found.stdout.count("SECRET") == 2
    assert "Needed by (row=r3, column=c8)." in found.stdout
    assert "= 192, as" in found.stdout


def test_json_holds_the_numbers_of_every_sum(files):
    found = run(files, "pattern.csv", "row=r2, column=c8", "--json", "--no-alternative")
    (told,) = json.loads(found.stdout)
    assert told["secret"]
    assert told["cell"] == {"row": "r2", "column": "c8"}
    assert told["needed_by"] == [{"row": "r3", "column": "c8"}]
    total = told["attacks"][0]["upper_sum"]
    assert sum(t["coefficient"] * t["value"] for t in total["terms"]) == total["limit"] == 300


def test_an_adjusted_file_is_explained_by_the_same_command(files):
    found = run(files, "adjusted.csv", "r2, c9")
    assert found.exit_code == 0
    assert "sensitive, " in found.stdout


def test_a_misspelt_cell_is_answered_with_the_nearest_ones(files):
    found = run(files, "pattern.csv", "r2, c88")
    assert found.exit_code == 2
    assert "Did you mean (row=r2, column=c8)" in found.stderr.replace("\n", " ")


def test_a_job_tells_its_rules_and_its_insiders(tmp_path):
    tc.examples.write("firms", tmp_path)
    problem = load_problem(read_job(tmp_path / "job.toml"))
    keys, sensitive = problem.table.keys, problem.sensitive
    safe = int(np.flatnonzero(~sensitive)[-1])
    hidden = sensitive | (np.arange(len(keys)) == safe)
    statuses = np.where(hidden, "suppressed", "published")
    keys.assign(status=statuses).to_csv(tmp_path / "table.csv", index=False)
    unsafe = int(np.flatnonzero(sensitive & (problem.reasons == "p-percent"))[0])
    words = ["explain", str(tmp_path / "job.toml"), str(tmp_path / "table.csv")]
    cells = [problem.table.label(cell) for cell in (safe, unsafe)]
    found = RUN.invoke(app, [*words, *cells, "--json", "--no-alternative"])
    hidden, primary = json.loads(found.stdout)
    assert hidden["insiders_tried"] == ["contributors", "holdings"]
    assert "PPercent(p=10" in primary["rule"]
    assert primary["contributors"]
