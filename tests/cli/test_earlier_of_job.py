"""Commands that take a job count the earlier releases that it names, or refuse it."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.cli.main import app

RUN = CliRunner()

JOB = """
[data]
file = "firms.csv"
value = "turnover"
contributor = "firm"
[dimensions.region]
[dimensions.industry]
[[rules]]
rule = "p-percent"
p = 10
[suppression]
time_limit = 10
"""

EARLIER = """
[[published]]
file = "first/release/suppression/table.csv"
problem = "first/internal/problem.csv"
"""


def run(*words):
    return RUN.invoke(app, [*map(str, words)])


@pytest.fixture
def folder(tmp_path):
    """A job with an earlier release, and a pattern that is safe but for that release."""
    tc.examples.firms(60).to_csv(tmp_path / "firms.csv", index=False)
    (tmp_path / "first.toml").write_text(JOB)
    (tmp_path / "alone.toml").write_text(f'{JOB}weights = "unit"\n')
    (tmp_path / "job.toml").write_text(f'{JOB}weights = "unit"\n{EARLIER}')
    for name in ("first", "alone"):
        done = run("protect", tmp_path / f"{name}.toml", "--out", tmp_path / name)
        assert done.exit_code == 0, done.output
    return tmp_path


def test_what_an_earlier_release_of_the_job_tells_counts_in_each_command(folder):
    pattern = folder / "alone" / "release" / "suppression" / "table.csv"
    earlier = "{0}/first/release/suppression/table.csv={0}/first/internal/problem.csv"
    alone = run("audit", folder / "alone.toml", pattern)
    beside = run("audit", folder / "alone.toml", pattern, "--published", earlier.format(folder))
    assert (alone.exit_code, beside.exit_code) == (0, 1)
    of_job = run("audit", folder / "job.toml", pattern)
    assert of_job.exit_code == 1
    assert of_job.output.split(";")[0] == beside.output.split(";")[0]
    published = run("publish", folder / "job.toml", pattern, "-o", folder / "out")
    assert published.exit_code == 1
    assert not (folder / "out").exists()
    better = folder / "better.csv"
    assert run("suppress", folder / "job.toml", "-o", better).exit_code == 0
    assert run("audit", folder / "job.toml", better).exit_code == 0
    assert run("publish", folder / "job.toml", better, "-o", folder / "out").exit_code == 0


@pytest.mark.parametrize(
    "command",
    [
        ("explain", "job.toml", "alone/release/suppression/table.csv", "Total, Total"),
        ("compare", "job.toml"),
        ("round", "job.toml", "-o", "rounded.csv", "--base", "5"),
    ],
)
def test_commands_that_look_at_one_release_alone_refuse_such_a_job(folder, command):
    name, *words = command
    done = run(name, *(folder / word if "." in word else word for word in words))
    assert done.exit_code == 2
    assert "the job has earlier releases" in " ".join(done.output.split())
