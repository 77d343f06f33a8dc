"""Commands that take a job protect and attack against its insiders, or say that they do not."""

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


def run(*words):
    return RUN.invoke(app, [*map(str, words)])


def told(done):
    return " ".join(done.output.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A job that protects against contributors as far as possible, and one that must."""
    folder = tmp_path_factory.mktemp("insiders")
    tc.examples.firms(60).to_csv(folder / "firms.csv", index=False)
    (folder / "job.toml").write_text(JOB)
    (folder / "must.toml").write_text(f'{JOB}protect_against = ["contributors"]\n')
    (folder / "outsiders.toml").write_text(f'{JOB}hold = "off"\n')
    done = run("suppress", folder / "outsiders.toml", "-o", folder / "outsiders.csv")
    assert done.exit_code == 0, done.output
    return folder


def test_suppress_protects_against_the_insiders_of_its_job(folder, tmp_path):
    pattern = tmp_path / "pattern.csv"
    done = run("suppress", folder / "job.toml", "-o", pattern)
    assert "against 35 contributors, of whom none succeeds" in told(done)
    attacked = run("audit", folder / "job.toml", pattern)
    assert attacked.exit_code == 0
    assert "contributors: 35 tried, 0 successful" in told(attacked)


def test_what_is_typed_goes_before_the_job(folder, tmp_path):
    done = run("suppress", folder / "job.toml", "-o", tmp_path / "p.csv", "--hold", "off")
    assert "contributors" not in told(done)
    attacked = run("audit", folder / "job.toml", tmp_path / "p.csv", "--intruder", "external")
    assert attacked.exit_code == 0
    assert "contributors" not in told(attacked)


def test_audit_lets_the_insiders_of_its_job_attack(folder):
    attacked = run("audit", folder / "job.toml", folder / "outsiders.csv")
    assert attacked.exit_code == 1
    assert "contributors: 32 tried, 4 successful" in told(attacked)
    # What an insider can do is no smaller matter than what everybody can.
    headline, worst, *_ = attacked.output.splitlines()
    assert "NOT SAFE: 1 attackable and 0 undecided of 15 sensitive cells" in headline
    assert "0 attackable" not in headline
    assert "f40" not in headline and "15836" not in headline
    assert worst.startswith("contributors: f40 knows ") and "region=N2, industry=trade" in worst
    assert run("audit", folder / "outsiders.toml", folder / "outsiders.csv").exit_code == 0


def test_publish_writes_no_pattern_that_an_insider_attacks_whom_the_job_must_keep_out(
    folder, tmp_path
):
    done = run("publish", folder / "must.toml", folder / "outsiders.csv", "-o", tmp_path / "out")
    assert done.exit_code == 1
    assert not (tmp_path / "out").exists()
    # As in `protect`: what is held as far as possible is said, and does not keep a release back.
    done = run("publish", folder / "job.toml", folder / "outsiders.csv", "-o", tmp_path / "out")
    assert done.exit_code == 0
    assert "note: contributors did not attack" in told(done)


@pytest.mark.parametrize(
    "command", [("compare", "--time-limit", "2"), ("round", "-o", "rounded.csv", "--base", "5")]
)
def test_commands_that_know_no_insiders_say_that_those_of_the_job_count_for_nothing(
    folder, command
):
    name, *words = command
    done = run(name, folder / "job.toml", *(folder / w if "." in w else w for w in words))
    assert "note: contributors did not attack" in told(done)
