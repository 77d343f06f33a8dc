"""Jobs protect sums of hidden cells where the data tell who contributed."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.cli.main import app
from tablecloak.jobs.job_file import read_job

JOB = """
[data]
file = "firms.csv"
value = "turnover"
{contributor}
[dimensions.region]
[dimensions.trade]
[[rules]]
{rule}
{frozen}
[suppression]
hold = "off"
{more}
[audit]
groups = true
[output]
report = false
"""
AMOUNTS = 'rule = "p-percent"\np = 10'
COUNTS = 'rule = "minimum-frequency"\nminimum = 3'
FROZEN = """
[[rules]]
rule = "manual"
status = "frozen"
cells = [{region = "r0", trade = "t2"}, {region = "r0", trade = "t3"},
         {region = "r0", trade = "Total"}]
"""


@pytest.fixture
def folder(tmp_path) -> Path:
    """Firms of four regions and trades; four cells have one firm, in two rows and two columns."""
    rows = [
        (f"r{region}", f"t{trade}", f"f{region}.{trade}.{number}", 25 + 7 * number + region + trade)
        for region, trade in product(range(4), range(4))
        if region > 1 or trade > 1
        for number in range(4)
    ]
    rows += [("r0", "t0", "A", 100), ("r0", "t1", "B", 90)]
    rows += [("r1", "t0", "C", 80), ("r1", "t1", "D", 95)]
    columns = ["region", "trade", "firm", "turnover"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "firms.csv", index=False)
    return tmp_path


def job(folder: Path, more: str = "", *, frozen: str = "", rule: str = AMOUNTS) -> Path:
    contributor = 'contributor = "firm"' if rule == AMOUNTS else ""
    text = JOB.format(contributor=contributor, rule=rule, frozen=frozen, more=more)
    (folder / "job.toml").write_text(text)
    return folder / "job.toml"


def test_a_job_protects_sums_and_its_audit_passes(folder, tmp_path):
    made = str(job(folder, "groups = true"))
    command = ["protect", made, "--out", str(tmp_path / "out"), "--verbose"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "4 of these sums could be estimated too well: loss 365 -> 973" in done.output
    internal, release = tmp_path / "out/internal", tmp_path / "out/release"
    for file in release.rglob("*.*"):
        assert b"~sum~" not in file.read_bytes()
    verify = ["verify", str(internal / "suppression_certificate.npz"), str(internal / "problem.jj")]
    proved = CliRunner().invoke(app, verify)
    assert proved.exit_code == 0, proved.output
    assert "4 sums of cells of the problem file are protected as well" in proved.output


def test_a_job_without_groups_fails_its_audit(folder):
    result = tc.run_job(job(folder))
    assert result.pattern.loss == 365
    assert len(result.audit("suppression").groups) == 4


def test_a_job_names_the_sum_that_no_pattern_protects(folder):
    with pytest.raises(tc.ModelError, match="~sum~t0\\+t1"):
        tc.run_job(job(folder, "groups = true", frozen=FROZEN))


def test_groups_need_contributors_and_a_rule_for_sums(folder):
    with pytest.raises(tc.InputError, match="needs contributors of each cell"):
        tc.run_job(job(folder, "groups = true", rule=COUNTS))


@pytest.mark.parametrize("section", ["suppression", "audit"])
def test_groups_without_a_rule_for_sums_are_refused_when_the_job_is_read(folder, section):
    text = job(folder, rule=COUNTS).read_text().replace("groups = true", "")
    (folder / "job.toml").write_text(text.replace(f"[{section}]", f"[{section}]\ngroups = true"))
    told = rf"\[{section}\] groups: needs .* dominance, p-percent or prior-posterior"
    with pytest.raises(tc.InputError, match=told):
        read_job(folder / "job.toml")


@pytest.mark.parametrize("command", ["suppress", "audit"])
def test_commands_refuse_groups_that_they_could_not_judge(folder, tmp_path, command):
    plain = job(folder, rule=COUNTS).read_text().replace("groups = true", "")
    (folder / "job.toml").write_text(plain)
    tc.write_jj(tc.examples.cox_rounded(), folder / "table.jj")
    pd.DataFrame({"cell": range(25), "status": "published"}).to_csv(folder / "p.csv")
    more = {"suppress": ["-o", str(tmp_path / "s.csv")], "audit": [str(folder / "p.csv")]}
    for file in ("job.toml", "table.jj"):
        words = [command, str(folder / file), *more[command], "--groups"]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2
        told = " ".join(done.output.split())
        assert f"{file}: --groups needs a job (.toml) with a rule that applies to sums" in told


def test_the_command_protects_sums_by_the_rules_of_a_job(folder, tmp_path):
    words = ["suppress", str(job(folder)), "-o", str(tmp_path / "s.csv"), "--groups", "--verbose"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "loss 365 -> 973" in done.output
    statuses = pd.read_csv(tmp_path / "s.csv")
    assert len(statuses) == 25
    assert (statuses["status"] != "published").sum() == 8
