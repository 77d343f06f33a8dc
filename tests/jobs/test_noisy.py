"""Jobs that multiply the values of contributors: what leaves, what stays, what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from private import is_private
from tablecloak.cli.main import app
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.result import JobResult
from tablecloak.jobs.run import run_job
from tablecloak.protection import PROTECTIONS, Attackers, Product

JOB = """
title = "Turnover"
[data]
file = "firms.csv"
value = "turnover"
contributor = "firm"
decimals = 0
[dimensions.region]
levels = ["part", "region"]
[dimensions.industry]
[[rules]]
rule = "p-percent"
p = 10
[noise]
least = 0.08
most = 0.2
keep = ["industry"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("noise")
    tc.examples.firms(120, seed=3).to_csv(folder / "firms.csv", index=False)
    (folder / "job.toml").write_text(JOB, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def made(folder) -> JobResult:
    return run_job(folder / "job.toml", folder / "out")


def test_what_leaves_adds_up_and_is_not_what_was_tabulated(folder, made):
    release = folder / "out" / "release" / "noise"
    assert {path.name for path in release.iterdir()} == {"table.csv", "about.json", "report.html"}
    table = pd.read_csv(release / "table.csv")
    wide = table.pivot_table("turnover", "region", "industry", aggfunc="sum", fill_value=0)
    assert (wide.loc[["N", "S", "W"]].sum() == wide.loc["Total"]).all()
    inside = pd.read_csv(folder / "out" / "internal" / "noise_cells.csv")
    both = inside.merge(table.rename(columns={"turnover": "shown"}), on=["region", "industry"])
    assert len(both) == len(inside) == len(table)
    assert (both.published == both.shown).all()
    assert (both.turnover + both.change == both.published).all()
    assert (both.change.abs() >= both.least_distance * (1 - 1e-9)).all()
    assert (both.change == 0).any()


def test_readers_are_told_how_and_neither_bounds_nor_truth(folder, made):
    about = json.loads((folder / "out/release/noise/about.json").read_text("utf-8"))
    assert about["method"] == "multiplicative noise of records"
    assert "Totals are the sums of their parts." in about["reading"]
    assert not {"least", "most", "seed"} & set(about)


def test_what_is_measured_stays_inside(folder, made):
    internal = folder / "out" / "internal"
    assert all(is_private(path) for path in internal.iterdir())
    figures = pd.read_csv(internal / "noise_figures.csv").set_index("figure")["value"]
    assert {"guessed", "insider_guessed", "window", "insider_window", "loss"} <= set(figures.index)
    state = json.loads((internal / "result.json").read_text("utf-8"))
    assert "an outsider guesses" in state["message"]
    assert state["is_safe"] is made.is_safe is True
    text = (internal / "report.html").read_text("utf-8")
    for told in ("What was multiplied", " became ", "insider_guessed", "Nothing else is proved."):
        assert told in text


def test_the_same_seed_gives_the_same_table_and_without_a_contributor_each_record_is_one(folder):
    text = JOB.replace('contributor = "firm"\n', "")
    (folder / "seeded.toml").write_text("seed = 5\n" + text, encoding="utf-8")
    first, second = (run_job(folder / "seeded.toml").release("noise") for _ in range(2))
    assert np.array_equal(first.values, second.values)
    assert len(first.multipliers.sizes) == 120


def test_a_sensitive_value_that_comes_out_as_it_was_is_not_safe(made):
    noisy = made.release("noise")
    problem = noisy.problem
    same = replace(noisy, values=problem.table.values)
    audit = PROTECTIONS["noise"]().audited(same, made.material, Attackers())
    told = JobResult(made.material, {"noise": Product(same, audit)})
    assert not told.is_safe
    (refusal,) = told.refusals()
    assert refusal.startswith(f"NOT SAFE: {problem.n_sensitive} sensitive cells are published")


def test_the_command_says_what_is_proved_and_guessed_and_draws_anew(folder, made, tmp_path):
    found = CliRunner().invoke(app, ["protect", str(folder / "job.toml"), "--out", f"{tmp_path}/o"])
    assert found.exit_code == 0
    assert "cells of one contributor keep their distance" in found.output
    assert "an outsider guesses" in found.output
    drawn = pd.read_csv(tmp_path / "o" / "internal" / "noise_cells.csv").published
    assert not np.array_equal(drawn, made.release("noise").values)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("[noise]", "[suppression]\n[noise]", "two releases of one table together reveal more"),
        ('keep = ["industry"]', 'keep = ["indutry"]', "Did you mean 'industry'"),
        ("least = 0.08", "least = 0.3", "`least` must lie above 0 and below `most`"),
        ("least = 0.08", "lest = 0.08", "Did you mean 'least'"),
        ('value = "turnover"\n', "", "needs microdata, and the column of values"),
    ],
)
def test_a_section_that_makes_no_sense_is_refused(folder, before, after, message):
    path = folder / "bad.toml"
    path.write_text(JOB.replace(before, after), encoding="utf-8")
    with pytest.raises(tc.InputError, match=message):
        read_job(path)
