"""Jobs hold against known contributors as far as possible, and tell what that costs."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.cli.main import app

JOB = """
[data]
file = "firms.csv"
value = "turnover"
{contributor}
[dimensions.region]
[dimensions.sector]
[[rules]]
rule = "p-percent"
p = 15
[[rules]]
rule = "minimum-frequency"
minimum = 3
[[rules]]
rule = "manual"
status = "frozen"
cells = [{{region = "{frozen}", sector = "Total"}}]
[suppression]
time_limit = 10
{more}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Firms of three regions and four sectors; two of them are alone in region S."""
    folder = tmp_path_factory.mktemp("firms")
    random = np.random.default_rng(1)
    rows = [
        (r, s, f"firm {r}{s}{number}")
        for r in "NEW"
        for s in ("farms", "mills", "ports", "shops")
        for number in range(random.integers(1, 6))
    ]
    rows += [("S", "farms", "firm one"), ("S", "mills", "firm two")]
    frame = pd.DataFrame(rows, columns=["region", "sector", "firm"])
    frame = frame.assign(turnover=np.ceil(random.lognormal(4, 1.2, len(frame))) + 7)
    frame.to_csv(folder / "firms.csv", index=False)
    return folder


def job(folder: Path, more: str = "", *, known: bool = True, frozen: str = "N") -> Path:
    contributor = 'contributor = "firm"' if known else ""
    (folder / "job.toml").write_text(JOB.format(contributor=contributor, more=more, frozen=frozen))
    return folder / "job.toml"


def test_known_contributors_are_held_against_and_the_cost_is_told(folder, tmp_path):
    result = tc.run_job(job(folder), tmp_path / "out")
    assert result.is_safe
    told = result.pattern.insiders
    assert list(told.intruders) == ["contributors"]
    before = tc.audit(result.problem, told.outsiders, intruders="contributors")
    attackers = {found.intruder for found in before.attacks}
    assert told.successful_before == len(attackers) > told.successful == 0
    assert told.loss > told.loss_before
    before, now = map(len, told.groups)
    assert now <= before
    assert tc.audit(result.problem, result.pattern, intruders="contributors").is_safe
    message = json.loads((tmp_path / "out/internal/result.json").read_text())["message"]
    assert f"successful {told.successful_before} -> 0" in message
    report = (tmp_path / "out/internal/report.html").read_text()
    assert "What protection against insiders costs" in report
    assert "sensitive groups" in report


def test_open_pairs_stay_inside_and_the_release_is_written_all_the_same(folder, tmp_path):
    command = ["protect", str(job(folder, frozen="S")), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "no pattern hides 2 sensitive cells: nothing is claimed of these" in done.output
    assert "It is proved safe against" in done.output
    internal, release = tmp_path / "out/internal", tmp_path / "out/release"
    pairs = pd.read_csv(internal / "suppression_insiders.csv")
    assert sorted(pairs["insider"]) == ["contributors: firm one", "contributors: firm two"]
    assert set(pairs["region"]) == {"S"}
    assert "firm one" in (internal / "report.html").read_text()
    for file in release.rglob("*.*"):
        assert b"firm" not in file.read_bytes()
        assert b"insider" not in file.read_bytes()
    verify = ["verify", str(internal / "suppression_certificate.npz"), str(internal / "problem.jj")]
    proved = CliRunner().invoke(app, verify)
    assert proved.exit_code == 0
    assert "NOTHING is claimed of 2 pairs" in proved.output


def test_strict_and_off_are_said_by_one_key(folder):
    off = tc.run_job(job(folder, 'hold = "off"'))
    assert off.pattern.insiders is None
    unknown = tc.run_job(job(folder, known=False))
    assert unknown.pattern.insiders is None
    # Asked for without a column, each record is a contributor.
    records = tc.run_job(job(folder, 'hold = "possible"', known=False))
    assert records.pattern.insiders.intruders["contributors"] > 0
    strict = tc.run_job(job(folder, 'hold = "strict"'))
    assert list(strict.audit("suppression").intruders) == ["contributors"]
    with pytest.raises(tc.ModelError, match="cannot be protected against contributors: firm"):
        tc.run_job(job(folder, 'hold = "strict"', frozen="S"))
    # Whoever is named is held against strictly, as before; unless it is said how firmly.
    named = 'protect_against = ["contributors"]'
    with pytest.raises(tc.ModelError, match="cannot be protected against contributors: firm"):
        tc.run_job(job(folder, named, frozen="S"))
    possible = tc.run_job(job(folder, f'{named}\nhold = "possible"', frozen="S"))
    assert len(possible.pattern.insiders.open) == 2


def test_a_firm_in_no_holding_is_one_insider_for_the_job_its_certificate_and_an_audit(
    folder, tmp_path
):
    frame = pd.read_csv(folder / "firms.csv")
    groups = np.where(np.arange(len(frame)) % 5 == 1, "group 1", "")
    frame.assign(group=groups).to_csv(tmp_path / "firms.csv", index=False)
    text = job(folder, frozen="S").read_text()
    (tmp_path / "job.toml").write_text(text.replace('"firm"', '"firm"\nholding = "group"'))
    result = tc.run_job(tmp_path / "job.toml", tmp_path / "out")
    told = result.pattern.insiders
    every = sum(told.intruders.values())
    assert told.intruders["holdings"] == 1
    assert sorted(pair.insider for pair in told.open) == [
        "contributors: firm one",
        "contributors: firm two",
    ]
    audit = tc.audit(result.problem, result.pattern, intruders=["holdings", "contributors"])
    assert sum(audit.intruders.values()) == every
    files = tmp_path / "out/internal"
    verify = ["verify", str(files / "suppression_certificate.npz"), str(files / "problem.jj")]
    proved = CliRunner().invoke(app, verify).output
    assert f"against everybody and {every} different insiders" in proved


def test_what_contradicts_itself_is_refused(folder):
    frame = tc.run_job(job(folder)).problem.table.to_frame()
    frame.to_csv(folder / "table.csv", index=False)
    ready = job(folder, 'hold = "strict"', known=False).read_text()
    ready = ready.replace('"firms.csv"', '"table.csv"\nkind = "table"')
    unsafe = 'status = "unsafe"\ncells = [{region = "S", sector = "farms"}]'
    ready = ready.replace('"minimum-frequency"\nminimum = 3', f'"manual"\n{unsafe}')
    ready = ready.replace('[[rules]]\nrule = "p-percent"\np = 15\n', "")
    (folder / "ready.toml").write_text(ready)
    with pytest.raises(tc.InputError, match="who contributed what, but the table"):
        tc.run_job(folder / "ready.toml")
    with pytest.raises(tc.InputError, match="leave out protect_against"):
        tc.run_job(job(folder, 'protect_against = ["zeros"]\nhold = "off"'))
    with pytest.raises(tc.InputError, match="possible"):
        tc.run_job(job(folder, 'hold = "posible"'))


def test_schema_and_docs_name_what_is_registered():
    from tablecloak.jobs.schema import Job
    from tablecloak.suppression.attack.hold import HOLDS

    suppression = Job.model_json_schema()["properties"]["suppression"]["properties"]
    assert suppression["hold"]["enum"] == HOLDS.names
    assert tomllib.loads('hold = "possible"')["hold"] == suppression["hold"]["default"]
    help_text = CliRunner().invoke(app, ["suppress", "--help"]).output
    assert all(name in help_text for name in HOLDS.names)
