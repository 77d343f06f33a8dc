"""Noise of records beside other methods, judged by the same measures."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import tablecloak as tc
from tablecloak.comparison.figures import compared
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.load import contributed_records

FIRMS = pd.DataFrame(
    {
        "firm": list("abcdefghij"),
        "region": list("NNSSSWWWEE"),
        "sold": [900, 100, 800, 150, 50, 400, 300, 200, 70, 90],
    }
)


@cache
def given() -> tc.Contributed:
    return tc.contributed(FIRMS, ["region"], "sold", contributor="firm")


@cache
def problem(p: float = 10) -> tc.ProtectionProblem:
    table = tc.tabulate(FIRMS, ["region"], "sold", contributor="firm", decimals=0)
    return table.protect(tc.PPercent(p))


def is_safe(made: tc.NoisyTable, asked: tc.ProtectionProblem) -> bool:
    way = compared(made)
    return way.protects(asked, made, *way.ends(made))


def test_with_records_noise_stands_beside_the_other_methods_and_has_their_measures():
    found = tc.compare(problem(), records=given(), time_limit=1000).table
    others = list(tc.compare(problem(), {"s": tc.suppress}).table.columns)
    noise = ["noise of records", "balanced noise of records"]
    assert [name for name in found.index if name.endswith("noise of records")] == noise
    assert set(others) - {"dimension", "told_by_one"} <= set(found.columns)
    rows = found.loc[noise]
    assert rows[["guessed", "value_lost", "slope", "correlation", "loss"]].notna().all(axis=None)
    for name in ("window", "insider_window", "insider_guessed"):
        assert rows[name].between(0, 1).all()
    assert found["window"].isna().sum() == len(found) - 2


def test_without_records_there_is_no_noise_of_records():
    assert "noise of records" not in tc.compare(tc.examples.cox_rounded(), time_limit=5).table.index


def test_noise_is_safe_where_both_windows_reach_as_far_as_the_levels():
    made = tc.noisy_table(problem(), given(), least=0.2, most=0.6, seed=4)
    low = problem().with_changes(
        lower_protection=0.01 * problem().lower_protection,
        upper_protection=0.01 * problem().upper_protection,
    )
    assert is_safe(made, low)
    assert not is_safe(tc.noisy_table(problem(), given(), seed=1), problem(60))


def test_levels_that_are_asked_for_count_and_not_those_of_the_release():
    """Twice the levels that a release was made for: fewer windows are wide enough."""
    made = tc.noisy_table(problem(), given(), seed=1)
    double = problem().with_changes(
        lower_protection=20 * problem().lower_protection,
        upper_protection=20 * problem().upper_protection,
    )
    own, more = (compared(made).figures(each, made) for each in (problem(), double))
    assert more["window"] <= own["window"]
    assert more["insider_guessed"] >= own["insider_guessed"]


def test_true_totals_narrow_the_windows_of_their_parts():
    """Each region but S is kept true, and so is the total: S follows."""
    exact = replace(problem(), table=replace(problem().table, decimals=None, integer=False))
    made = tc.noisy_table(exact, given(), seed=1)
    assert compared(made).figures(exact, made)["window"] >= 0
    south = np.flatnonzero(exact.sensitive)[0]
    true = np.ones(5, dtype=bool)
    true[south] = False
    values = np.where(true, exact.table.values, made.values)
    told = replace(made, values=values, kept_cells=true)
    only = exact.with_changes(status=np.where(true, "s", "u"))
    assert compared(told).figures(only, told)["window"] == 0


def test_a_job_with_contributors_gives_the_records_and_others_give_none(tmp_path: Path):
    FIRMS.to_csv(tmp_path / "firms.csv", index=False)
    text = (
        '[data]\nfile = "firms.csv"\nvalue = "sold"\n{who}\n[dimensions.region]\n'
        '[[rules]]\nrule = "p-percent"\np = 10\n[suppression]\n'
    )
    (tmp_path / "job.toml").write_text(text.format(who='contributor = "firm"'), encoding="utf-8")
    records = contributed_records(read_job(tmp_path / "job.toml"))
    assert records is not None
    assert records.names.tolist() == sorted(FIRMS.firm)
    assert records.sizes.tolist() == FIRMS.sold.tolist()
    (tmp_path / "job.toml").write_text(text.format(who=""), encoding="utf-8")
    assert contributed_records(read_job(tmp_path / "job.toml")) is None


def test_a_sweep_of_levels_judges_noise_by_the_levels_of_the_problem():
    methods = {"noise": lambda each: tc.noisy_table(each, given(), seed=1)}
    found = tc.compare(problem(), methods, level_factors=[2]).table
    plain = tc.compare(problem(), methods).table
    assert found["window"].tolist() == plain["window"].tolist()
