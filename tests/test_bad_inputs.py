"""A share of the bad inputs made by hand; all of them by `python tests/bad_inputs.py`."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import bad_inputs
import tablecloak as tc
from bad_inputs import bad_inputs as all_of_them
from bad_inputs import fault, prepare, run_here
from tablecloak.cli.main import app

SHARE = 12
"""One in this many is run here."""

ALWAYS = [
    "job with a seed below 0",
    "suppress p.jj -o out.csv --time-limit 5 --seed -1",
    "swap --seed -1",
    "job with nested 3,000 deep",
    "job with a key nested 3,000 deep",
    "study with nested 3,000 deep",
    "job with a hierarchy that is a number",
    "job with no tables",
    "job with a table of no dimension",
    "job with a file that is a folder",
    "protect: firms.csv is a folder",
    "audit: value 'secret' in adjusted.csv",
    "audit: published text",
    "audit p.jj pattern.csv --plot x.xyz",
    "swap: records with a header only",
    "swap-households: records with a header only",
    "compare: a JJ file without a cell",
    "job with a database that is not there",
    "job with a database of SQLite that is not there",
    "job with a tolerance of nan",
    "job with a floor of nan",
    "rule minimum-frequency with 'minimum = 3\\nrange = -20'",
    "protect job.toml --out out --out p.jj",
    "noise: a wage of 'inf'",
    "neighbours: a wage of 'x'",
    "ready table with n '-1'",
    "ready table with x ''",
    "cellkey keys: office.key is binary",
    "cellkey count: ptable.csv is empty",
    "cellkey count: pvalue '' in ons.csv",
    "cellkey attack: count 'x' in counts.csv",
    "cellkey count keyed.csv -o out.csv --by region --by sex --ptable ptable.csv --inside out.csv",
    "ptable.csv with a header only",
    "reconcile: variance 'inf' in noisy.csv",
    "reconcile: keep 'perhaps' in noisy.csv",
    "serve --host 0.0.0.0",
    'call: \'"file": "/etc/passwd"\' for \'"file": "cells.csv"\'',
    "suppress p.jj: --certificate is p.jj: -o out.csv --time-limit 5",
    "intervals p.jj: --certificate is p.jj: -o out.csv --time-limit 5",
    "adjust p.jj: --certificate is p.jj: -o out.csv --time-limit 5",
    "audit p.jj: --plot is p.jj: pattern.csv",
    "reconcile noisy.csv: --output is noisy.csv: -o out.csv --by region --value count",
    "call round: --output is request.json: request.json -o answer.json",
    "publish into .",
    "publish into /",
    "publish into ~",
    "publish into jobs",
    "job.toml into a folder with files of others",
    "cellkey keys: an endless secret",
    "protect: firms.csv is endless",
    "audit p.jj: pattern.csv with 10^6 columns",
    "protect job.toml: region of 100,000 letters",
    "plan: formula d0*d1*d2*d3*d4*d5*d6 of 149 letters",
    "plan: formula (((((((((((((((((((( of 4,001 letters",
    "a deviation of 100000",
    "job with p that is a number in quotes",
    "job with a table twice",
    "job with 10^9 threads",
    "suppress: a packed file of zeros",
    "plan metadata.csv: broken .zip",
    "topcode people.csv: broken .xz",
    "plan: a workbook with a square at the far end",
    "plan: a workbook with entities within entities",
    "plan: a workbook that is none",
    "adjust: a coefficient of 1e308",
    "noise: a wage of 1e308",
    "microaggregate: a wage of 1e308",
    "noise: a share of 1e308",
    "recode: an infinite width",
    "intervals: a blur of 1e308",
    "cellkey keys: 10^22 whole keys",
    "cellkey attack: a deviation of 10^21",
    "protect: threads:1000000000",
    "job with a key of 20,000 parts",
    "call: a hierarchy of 900 levels",
    "topcode people.csv: two columns age in people.csv",
    "swap-households: a place twice",
    "argus: a dimension twice",
    "cellkey count: p 0.123 contradicts the line",
    "plan: an equation with a coefficient of 0",
    "suppress p.csv: contributions without levels",
    "suppress p.csv: contributions with an unknown level",
    "plan over a job of somebody's own",
    "suppress: a weight of 1e308",
    "compare: a level of 1e-320",
    "round: a base of 400 digits",
    "protect: dask:x",
    "call: a base in quotes",
    "pram: once more --key age",
    "local-recode: once more --key sex",
    "recode: once more --weight sex=1e308",
]
"""Faults that once ended in a traceback, or in a release."""

NAMED = {bad.name: bad for bad in all_of_them()}


def test_bad_inputs_are_many_and_different_and_reach_every_command():
    assert len(NAMED) == len(all_of_them()) >= 1000
    commands = {bad_inputs.typed(bad.words)[0] for bad in NAMED.values() if bad.words}
    help_text = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    listed = {
        line.split()[1]
        for line in help_text.splitlines()
        if line.startswith("│ ") and line[2].isalpha()
    }
    assert listed >= {"suppress", "protect", "agencies"}
    assert listed <= commands


@pytest.mark.parametrize("words", bad_inputs.SOUND, ids=lambda words: " ".join(words[:3]))
def test_every_command_works_on_the_sound_files_and_writes_what_is_declared(
    words, tmp_path, monkeypatch
):
    """A path that is neither there before nor declared `writable` is an output nobody knows of."""
    prepare(tmp_path, {})
    monkeypatch.chdir(tmp_path)
    inputs, outputs = bad_inputs.paths_of(words)
    assert all(Path(name).exists() for name in inputs if name in words)
    before = bad_inputs.state(tmp_path)
    code, output = run_here(words)
    assert code == 0, output
    assert all(Path(word).exists() for word in words if word in outputs.values())
    after = bad_inputs.state(tmp_path)
    # Decisions are kept in the bundle that they are about.
    kept = [name for name in before if after[name] != before[name]]
    assert not kept or words[0] == "check"


@pytest.mark.parametrize("name", sorted({*ALWAYS, *list(NAMED)[::SHARE]}))
def test_a_bad_input_ends_in_one_message_and_nothing_written(name):
    assert fault(NAMED[name]) == ""


def test_a_fault_of_ours_is_told_without_what_it_held(monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise KeyError("secret value 4711")

    monkeypatch.setattr("tablecloak.tables.formats.read_problem", broken)
    done = CliRunner().invoke(app, ["suppress", "p.jj", "-o", "out.csv"])
    assert done.exit_code == 70
    assert "Internal error: KeyError" in done.output
    assert "4711" not in done.output
    monkeypatch.setenv("TABLECLOAK_TRACEBACK", "1")
    assert isinstance(CliRunner().invoke(app, ["suppress", "p.jj", "-o", "o"]).exception, KeyError)


@pytest.mark.parametrize("seed", [-1, 1.5, "x"])
def test_a_seed_that_is_none_is_refused_by_functions_too(seed):
    problem = tc.examples.cox_rounded()
    with pytest.raises(tc.InputError, match="`seed` must be a whole number"):
        tc.suppress(problem, seed=seed)
    with pytest.raises(tc.InputError, match="`seed` must be a whole number"):
        tc.publish_intervals(problem, seed=seed)
