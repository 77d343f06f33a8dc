"""Means beside hidden counts, and order statistics of two jobs of one register, are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.cli.main import app
from tablecloak.jobs.publication import read_publication
from tablecloak.publish.register import Register

HEAD = """title = "{title}"
[data]
file = "firms.csv"
{value}
[dimensions.region]
[dimensions.industry]
[[rules]]
rule = "minimum-frequency"
minimum = 3
[suppression]
hold = "off"
method = "sequential"
[output]
report = false
"""
REGISTER = '[register]\nfolder = "register"\n'
MEAN = '[[derived]]\nfigure = "average"\nvariable = "sales"\ndecimals = 2\n'
BOTH = '[variables.sales]\nvalue = "sales"\n[variables.number]\n'
MEDIAN = """[[derived]]
figure = "{figure}"
variable = "sales"
base = {base}
where = {{region = "Total", industry = ["C", "D"]}}
"""


@pytest.fixture
def run(tmp_path):
    random = np.random.default_rng(4)
    n = 90
    pd.DataFrame({
        "region": random.choice(list("NOPQRS"), n),
        "industry": random.choice(list("CDE"), n, p=[0.5, 0.4, 0.1]),
        "sales": np.ceil(random.lognormal(5, 0.8, n)),
    }).to_csv(tmp_path / "firms.csv", index=False)  # fmt: skip

    def runs(title: str, value: str, *further: str) -> pd.DataFrame:
        path = tmp_path / f"{title}.toml"
        path.write_text(HEAD.format(title=title, value=value) + "".join(further))
        assert tc.run_job(path, tmp_path / title).is_safe
        return pd.read_csv(tmp_path / title / "release" / "suppression" / "table.csv")

    runs.folder = tmp_path
    return runs


def test_a_mean_beside_its_total_tells_the_hidden_count(run):
    """What is refused below: counts and means in two jobs that know nothing of each other."""
    counts = run("counts", "")
    totals = run("totals", 'value = "sales"', MEAN)
    means = pd.read_csv(run.folder / "totals" / "release" / "suppression" / "figures.csv")
    keys = ["region", "industry"]
    every = counts.merge(totals, on=keys, suffixes=("", "_of_sales")).merge(means, on=keys)
    known = np.rint(every["sales"] / every["value"])
    assert (every["count"].isna() & known.notna()).sum() >= 1


def test_a_mean_beside_counts_in_one_job_is_refused_with_the_ratio_as_remedy(run):
    with pytest.raises(tc.InputError, match=r"mean of sales.*number counts.*'sales / number'"):
        run("both", "", BOTH, MEAN)


@pytest.mark.parametrize("first", ["counts", "means"])
def test_a_mean_and_hidden_counts_of_one_series_are_refused_in_either_order(run, first):
    jobs = {"counts": ("",), "means": ('value = "sales"', MEAN)}
    other = next(name for name in jobs if name != first)
    run(first, *jobs[first], REGISTER)
    with pytest.raises(tc.InputError, match=rf"entry 1 \({first}\).*ratio"):
        run(other, *jobs[other], REGISTER)
    assert len(Register(run.folder / "register").entries) == 1
    # Nothing else is refused: totals without means.
    run("plain", 'value = "sales"', REGISTER)


def test_other_order_statistics_of_one_series_are_refused_and_the_same_are_not(run):
    value = 'value = "sales"'
    run("first", value, MEDIAN.format(figure="median", base=20), REGISTER)
    run("again", value, MEDIAN.format(figure="median", base=20), REGISTER)
    for figure, base in (("median", 30), ("maximum", 20)):
        with pytest.raises(tc.InputError, match=r"entry 1 \(first\).*in one job"):
            run("other", value, MEDIAN.format(figure=figure, base=base), REGISTER)


def test_a_publication_with_means_in_one_cluster_and_counts_in_another_is_refused(run):
    names = "table_name,field,indicator,spanning_1,hrc_spanning_1\n"
    lines = f"{names}t,f,sales,region,\nn,f,firms,region,\n"
    (run.folder / "meta.csv").write_text(lines)
    head = HEAD.format(title="all", value="").replace("[dimensions.industry]\n", "")
    plan = '[publication]\nmetadata = "meta.csv"\ncolumns = {firms = ""}\n'
    path = run.folder / "all.toml"
    path.write_text(head + MEAN + plan)
    with pytest.raises(tc.InputError, match=r"cluster f.sales: mean of sales.*f.firms"):
        read_publication(path, run.folder / "out")
    path.write_text(head + plan)
    assert len(read_publication(path, run.folder / "out").jobs) == 2


def test_a_count_without_a_column_of_its_own_is_told_how_to_be_one(run):
    with pytest.raises(tc.InputError, match=r"no column 'firms'.*columns = \{firms = ''\}"):
        run("count", 'value = "firms"')
    amounts = '[[rules]]\nrule = "p-percent"\np = 10\n'
    with pytest.raises(tc.InputError, match=r"\[variables.NAME\] rules"):
        run("rules", "", amounts)


@pytest.mark.parametrize(
    ("figure", "other", "words"),
    [(MEAN, ("counts", ""), "hides counts|has means"),
     (MEDIAN.format(figure="median", base=20),
      ("more", 'value = "sales"', MEDIAN.format(figure="median", base=30)), "order statistics")],
)  # fmt: skip
def test_figures_beside_a_file_that_no_job_entered_count_as_those_of_a_job(
    run, figure, other, words
):
    run("added", 'value = "sales"', figure)
    release = run.folder / "added" / "release" / "suppression" / "table.csv"
    problem = run.folder / "added" / "internal" / "suppression_problem.csv"
    add = ["register", "add", str(run.folder / "register"), str(release), "--problem", str(problem)]
    add += ["--variable", "sales"]
    assert CliRunner().invoke(app, add).exit_code == 0
    with pytest.raises(tc.InputError, match=words):
        run(*other, REGISTER)
    # In the other order: refused, but for what has left already.
    (run.folder / "register").rename(run.folder / "before")
    run(*other, REGISTER)
    assert CliRunner().invoke(app, add).exit_code == 2
    assert CliRunner().invoke(app, [*add, "--already-out"]).exit_code == 0
    assert [entry.is_safe for entry in Register(run.folder / "register").entries] == [True, False]
