"""Jobs that are protected together with what has left, and enter what they release."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.cli.main import app
from tablecloak.jobs import run
from tablecloak.publish.register import Register
from tablecloak.tables.keys import are_derived, are_earlier, are_figures

JOB = """title = "{other}"
[data]
file = "firms.csv"
value = "turnover"
[dimensions.region]
[dimensions.{other}]
[[rules]]
rule = "minimum-frequency"
minimum = 3
[suppression]
hold = "off"
time_limit = 20
[output]
report = false
[register]
folder = "register"
"""


@pytest.fixture
def folder(tmp_path):
    tc.examples.firms(40, seed=2).to_csv(tmp_path / "firms.csv", index=False)
    for other in ("industry", "size"):
        (tmp_path / f"{other}.toml").write_text(JOB.format(other=other))
    return tmp_path


def command(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_job_that_others_overtook_is_protected_again_together_with_them(folder, monkeypatch):
    """The other job ends between the moment this one reads the register and its own entry."""
    register, searches = Register(folder / "register"), []

    def overtaken(ways, material, attackers):
        result = protected(ways, material, attackers)
        searches.append(None if material.published is None else material.published.names)
        if len(searches) == 1:
            tc.run_job(folder / "industry.toml", folder / "industry")
        return result

    protected = run.protected
    monkeypatch.setattr(run, "protected", overtaken)
    result = tc.run_job(folder / "size.toml", folder / "size")
    # This job alone, the other one meanwhile, and this one again.
    assert searches == [None, None, ("register 1",)]
    (entry,) = result.entries
    assert (entry.number, entry.beside, entry.title) == (2, (1,), "size")
    assert register.faults(entry.receipt) == []
    table = register.folder / "000002/release/suppression/table.csv"
    assert table.read_bytes() == (folder / "size/release/suppression/table.csv").read_bytes()
    said = json.loads((folder / "size/internal/result.json").read_text())
    assert "register" not in json.dumps(said["figures"])
    # Once more: what is entered already is not entered again.
    assert tc.run_job(folder / "size.toml", folder / "size").entries == [entry]
    assert len(register.entries) == 2
    found = command("register", "find", register.folder, folder / "size.toml")
    assert "1: industry shares" in found.output


def test_publish_enters_what_it_writes_and_takes_the_statuses_of_the_job(folder):
    register = Register(folder / "register")
    tc.run_job(folder / "industry.toml", folder / "industry")
    tc.run_job(folder / "size.toml", folder / "size")
    statuses = folder / "size/internal/suppression_statuses.csv"
    assert "~earlier~register 1" in statuses.read_text()
    done = command("publish", folder / "size.toml", statuses, "-o", folder / "out", "--no-report")
    assert done.exit_code == 0, done.output
    assert "Entered in the register as 3, protected together with 1, 2" in done.output
    entered = register.folder / "000003/release/table.csv"
    assert entered.read_bytes() == (folder / "out/table.csv").read_bytes()
    sent = command("transmit", folder / "size.toml", statuses, "-o", folder / "sent.csv")
    assert sent.exit_code == 0, sent.output
    assert "~earlier~" not in (folder / "sent.csv").read_text()


def test_commands_enter_recall_and_check(folder):
    register = folder / "register"
    result = tc.run_job(folder / "industry.toml", folder / "out")
    assert [entry.number for entry in result.entries] == [1]
    internal = folder / "out/internal"
    truth = ["--problem", internal / "problem.csv", "--variable", "turnover"]
    everything = folder / "everything.csv"
    tc.read_problem(internal / "problem.csv").table.to_frame().assign(status="published").to_csv(
        everything, index=False
    )
    refused = command("register", "add", register, everything, *truth)
    assert refused.exit_code == 1
    assert len(Register(register).entries) == 1
    late = command("register", "add", register, everything, *truth, "--already-out")
    assert "Entered as 2." in late.output
    assert not Register(register).entries[1].is_safe
    unsent = command("register", "recall", register, 2, "--reason", "a trial", "--unsent")
    assert "Entered as 3." in unsent.output
    sent = command("register", "add", register, everything, *truth, "--transmission")
    assert sent.exit_code == 2
    assert "is not public" in str(sent.exception or sent.output) + sent.output
    listed = command("register", "list", register)
    assert "NOT SAFE with those before" in listed.output
    assert "recall of 2 (a trial), which nobody received" in listed.output
    assert command("register", "check", register).exit_code == 0
    (register / "000002/told.csv").unlink()
    assert command("register", "check", register).exit_code == 1


def test_a_rounded_table_is_refused_with_what_can_be_done(folder):
    """An empty register has no earlier releases that could be to blame."""
    job = folder / "size.toml"
    text = job.read_text().partition("[suppression]")[0]
    text = text.replace('value = "turnover"\n', "")
    (folder / "counts.toml").write_text(f"{text}[rounding]\nbase = 5\ntime_limit = 5\n")
    tc.run_job(folder / "counts.toml", folder / "counts")
    # A file of its own, beside which nothing says how it was made.
    table = (folder / "counts/release/rounding/table.csv").rename(folder / "rounded.csv")
    truth = ["--problem", folder / "counts/internal/problem.csv", "--variable", "count"]
    refused = command("register", "add", folder / "register", table, *truth)
    assert refused.exit_code == 1, refused.output
    said = " ".join(refused.output.split())
    assert "Not entered: it is not safe" in said
    assert "earlier releases" not in said
    assert "rounded" in said
    assert "--already-out" in said
    assert "--made" in said


def test_a_register_keeps_the_figures_beside_a_release(folder):
    """What a share tells of hidden cells is known to the job that comes after it."""
    share = '[[derived]]\nfigure = "share"\nvariable = "turnover"\nof = "region"\n'
    for other in ("industry", "size"):
        job = folder / f"{other}.toml"
        text = job.read_text().replace("time_limit = 20", 'method = "sequential"\ntime_limit = 1')
        job.write_text(text + share)
        done = tc.run_job(job, folder / other)
        assert done.is_safe
    register = Register(folder / "register")
    told = register.published(done.problem, "")["register 1"]
    figures = pd.read_csv(folder / "industry/release/suppression/figures.csv")
    is_shown = told.is_shown[are_derived(told.problem.table.keys)]
    assert len(is_shown) == len(figures)
    assert is_shown.sum() == (figures.status == "published").sum() > 0
    assert set(register.entries[0].totals.values()) == {"Total"}
    beside = tc.read_problem(folder / "size/internal/suppression_problem.csv").table.keys
    assert (are_figures(beside) & are_earlier(beside)).sum() == 3 * len(figures)


def test_a_register_keeps_one_release_that_can_be_protected_together(folder):
    text = (folder / "size.toml").read_text()
    (folder / "two.toml").write_text(text + "[rounding]\nbase = 3\n")
    with pytest.raises(tc.InputError, match="keeps one release of one table"):
        tc.run_job(folder / "two.toml")
    (folder / "other.toml").write_text(text.replace('[suppression]\nhold = "off"', "[rounding]"))
    with pytest.raises(tc.InputError, match="register"):
        tc.run_job(folder / "other.toml")


def test_a_release_that_no_job_entered_is_found_by_the_name_of_its_own_column(folder):
    """Its file, or what lies beside it, says of which variable it is; else the office says it."""
    register, job = folder / "register", folder / "size.toml"
    text = (folder / "industry.toml").read_text().partition("[register]")[0]
    (folder / "industry.toml").write_text(text)
    tc.run_job(folder / "industry.toml", folder / "out")
    table = folder / "out/release/suppression/table.csv"
    truth = ["--problem", folder / "out/internal/problem.csv"]
    untold = folder / "pattern.csv"
    pd.read_csv(table).drop(columns="turnover").to_csv(untold, index=False)
    nameless = command("register", "add", register, untold, *truth)
    assert nameless.exit_code == 2
    assert "--variable" in nameless.output
    assert "Entered as 1" in command("register", "add", register, table, *truth).output
    (entry,) = Register(register).entries
    assert entry.variables == ("turnover",)
    assert "1: table shares" in command("register", "find", register, job).output


def test_what_a_rounded_release_says_of_itself_need_not_be_said_again(folder):
    job = folder / "size.toml"
    text = job.read_text().partition("[suppression]")[0].replace("minimum = 3", "minimum = 2")
    text = text.replace('value = "turnover"\n', "")
    (folder / "counts.toml").write_text(f"{text}[rounding]\nbase = 5\ntime_limit = 5\n")
    tc.run_job(folder / "counts.toml", folder / "counts")
    table = folder / "counts/release/rounding/table.csv"
    truth = folder / "counts/internal/problem.csv"
    problem = tc.read_problem(truth)
    said = tc.audit(problem, table, made="rounding:5")
    alone = tc.audit(problem, table)
    assert type(alone) is type(said)
    assert alone.to_frame().equals(said.to_frame())
    told = tc.read_published(table, problem)
    assert (
        told.lower.tolist() == tc.read_published(table, problem, made="rounding:5").lower.tolist()
    )
    audited = command("audit", truth, table)
    assert "about.json" in audited.output
    assert "rounding:5" in audited.output
    command("register", "add", folder / "register", table, "--problem", truth, "--already-out")
    (entry,) = Register(folder / "register").entries
    assert (entry.variables, entry.is_bounded) == (("count",), True)
    # Another file in that folder is not what the page speaks of.
    table.rename(table.with_name("other.csv"))
    assert type(tc.audit(problem, table.with_name("other.csv"))) is not type(said)
