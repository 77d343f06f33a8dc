"""A job of counts: empty cells, hidden zeros, rests of groups; proved, verified, released."""

from __future__ import annotations

import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.cli.main import app

RUN = CliRunner()
PERSONS = list(zip("NNNNSSSSWWWWWW", "yyynynynyyyyyy", strict=True))
JOB = """
[data]
file = "persons.csv"
[dimensions.region]
[dimensions.ill]
[[rules]]
rule = "minimum-frequency"
minimum = 2
[[rules]]
rule = "k-disclosure"
coalition = 1
attributes = ["ill"]
combinations = []
[protection]
zeros = "candidates"
[suppression]
weights = "unit"
protect_against = ["integers"]
[output]
report = false
"""


@pytest.fixture
def folder(tmp_path):
    pd.DataFrame(PERSONS, columns=["region", "ill"]).to_csv(tmp_path / "persons.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


def test_a_job_of_counts_ends_in_a_release_without_rests_and_a_verified_certificate(folder):
    out = folder / "out"
    told = RUN.invoke(app, ["protect", str(folder / "job.toml"), "--out", str(out)])
    assert told.exit_code == 0, told.output
    assert "2 by k-disclosure" in told.output
    assert "in whole numbers" in " ".join(told.output.split())
    release = pd.read_csv(out / "release" / "suppression" / "table.csv")
    assert len(release) == 4 * 3  # with the empty cell (W, n)
    assert not release.ill.str.startswith("~").any()
    internal = out / "internal"
    certificate = internal / "suppression_certificate.npz"
    checked = RUN.invoke(app, ["verify", str(certificate), str(internal / "problem.jj")])
    assert checked.exit_code == 0, checked.output
    assert "PROVED: 3 sensitive cells" in checked.output
    problem = tc.run_job(folder / "job.toml").problem
    assert tc.audit(problem, release, intruders="integers").is_safe


def test_a_ready_table_lists_the_zeros_that_are_in_its_file(folder):
    table = tc.tabulate(folder / "persons.csv", ["region", "ill"], empty_cells=True).to_frame()
    table.to_csv(folder / "table.csv", index=False)
    ready = JOB.replace("persons.csv", "table.csv").replace("[data]", '[data]\nkind = "table"')
    (folder / "job.toml").write_text(
        ready.replace("[dimensions", 'value = "count"\n[dimensions', 1)
    )
    again = tc.run_job(folder / "job.toml")
    assert again.is_safe
    assert again.problem.table.rests.sum() == 2
    table.query("count > 0").to_csv(folder / "table.csv", index=False)
    with pytest.raises(tc.ModelError, match="lists its empty cells"):
        tc.run_job(folder / "job.toml")
    text = (folder / "job.toml").read_text()
    (folder / "job.toml").write_text(text.replace("[data]", "[data]\nempty_cells = true"))
    assert tc.run_job(folder / "job.toml").problem.table.n_cells == 12 + 2


def test_costs_of_a_job_are_those_of_cells_and_none_of_rests(folder):
    frame = pd.read_csv(folder / "persons.csv").assign(age=range(14))
    frame.to_csv(folder / "persons.csv", index=False)
    job = JOB.replace('weights = "unit"', 'cost = "age"')
    (folder / "job.toml").write_text(job)
    result = tc.run_job(folder / "job.toml")
    assert result.pattern.problem.weights[result.problem.table.rests].tolist() == [0.0, 0.0]
    assert result.is_safe
