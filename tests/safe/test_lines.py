"""Which lines of a table leave, and in which order: neither tells of who is hidden."""

import json

import numpy as np
import pandas as pd
import pytest

from tablecloak.safe import Outcome, Project, Reason
from tablecloak.safe.decisions import Bundle

SURE = {"safe_threshold": 10, "zeros_are_disclosive": False}


def people(n=400, n_west=0, age=81):
    """Persons of three areas, and a few old ones of a fourth one."""
    random = np.random.default_rng(5)
    data = pd.DataFrame(
        {
            "area": random.choice(["North", "South", "East"], n, p=[0.2, 0.5, 0.3]),
            "sex": random.choice(["f", "m"], n),
            "age": random.integers(16, 76, n),
            "income": random.gamma(6, 10, n).round(1),
        }
    )
    more = data.iloc[:n_west].assign(area="West", age=age)
    return pd.concat([data, more], ignore_index=True)


def written(project, folder):
    """Lines of the files of all outputs, the first column of each apart."""
    bundle = project.finalise(folder)
    lines = [
        line.split(",")
        for path in sorted(bundle.glob("*.csv"))
        for line in path.read_text().splitlines()
    ]
    return [line[0] for line in lines], lines


ASKED = {
    "counts": lambda p, d: p.crosstab(d.area, d.sex),
    "columns": lambda p, d: p.crosstab(d.sex, d.area),
    "with margins": lambda p, d: p.crosstab(d.area, d.sex, margins=True),
    "two keys": lambda p, d: p.crosstab([d.area, d.sex], pd.Series("all", d.index, name="who")),
    "means": lambda p, d: p.pivot_table(d, "income", "area", "sex"),
    "several figures": lambda p, d: p.pivot_table(d, "income", "sex", "area", ["mean", "count"]),
    "shares": lambda p, d: p.crosstab(d.area, d.sex, normalize="index"),
    "rounded": lambda p, d: p.crosstab(d.area, d.sex, protect="rounding"),
    "empty categories": lambda p, d: p.crosstab(
        pd.Categorical(d.area, ["East", "North", "South", "West"]), d.sex, dropna=False
    ),
    "slices": lambda p, d: p.pie(d, "area"),
    "bins": lambda p, d: p.histogram(d, "age", bins=[0, 30, 50, 80, 100]),
    "classes up to the largest": lambda p, d: p.crosstab(
        pd.cut(d.age, [*range(10, d.age.max() + 10, 10)]), d.sex, dropna=False
    ),
}


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("asked", ASKED)
def test_a_line_of_few_leaves_as_one_in_which_nobody_is(asked, zeros, tmp_path):
    labels = []
    for n_west in (0, 2):
        project = Project({"safe_threshold": 10, "zeros_are_disclosive": zeros})
        ASKED[asked](project, people(n_west=n_west))
        first, lines = written(project, tmp_path / f"{n_west}")
        labels.append([*first, *(label for line in lines[:2] for label in line)])
        labels[-1] = [label for label in labels[-1] if not label.replace(".", "").isdigit()]
    # A total takes a further line along.
    is_related = asked in ("with margins", "shares", "slices", "bins")
    assert set(labels[1]) <= set(labels[0]) if is_related else labels[1] == labels[0]


@pytest.mark.parametrize("zeros", [False, True])
def test_what_is_released_does_not_tell_of_lines_that_are_left_out(zeros, tmp_path):
    """Findings count them, and records outside of a histogram: they stay with the checker."""
    released = []
    for n_west in (0, 2):
        project = Project({"safe_threshold": 10, "zeros_are_disclosive": zeros})
        data = people(n_west=n_west)
        for name in ("counts", "columns", "means", "empty categories"):
            ASKED[name](project, data)
        project.histogram(data, "age", bins=[10, 30, 50, 80])
        project.record("regression", "ols()", Outcome((Reason("review", "x", f"{n_west} lost"),)))
        folder = project.finalise(tmp_path / f"{n_west}", "xlsx")
        bundle = Bundle(folder)
        for name in bundle.outputs:
            bundle.decide(name, "approved", comment="for the paper")
        files = bundle.release(tmp_path / f"{n_west} released")
        released.append({path.name: path.read_bytes() for path in files})
        there = {path.name for path in (tmp_path / f"{n_west} released").iterdir()}
        assert there == {*released[-1], "released.json"}
    assert released[0] == released[1]


def test_a_picture_draws_no_bin_beyond_the_last_that_is_shown(tmp_path):
    pytest.importorskip("matplotlib")
    drawn = []
    for age in (81, 121):
        data = people(n_west=2, age=age)
        project = Project(SURE)
        edges = [*range(0, int(data.age.max()) + 20, 20)]
        project.histogram(data, "age", bins=edges, filename=tmp_path / "bars.png")
        project.pie(data, "area", filename=tmp_path / "pie.png")
        drawn.append((tmp_path / "bars.png").read_bytes())
    assert drawn[0] == drawn[1]


def by_sums(data):
    """Areas from the one with the least sum to that with the most."""
    return data.groupby("area").income.sum().sort_values().index


@pytest.mark.parametrize("declared", [False, True])
def test_lines_leave_in_the_order_of_codes_and_not_of_amounts(declared, tmp_path):
    data = people()
    assert list(by_sums(data)) != sorted(by_sums(data))
    project = Project(SURE, data=data if declared else None)
    ordered = data.assign(area=pd.Categorical(data.area, by_sums(data), ordered=True))
    shown = project.crosstab(ordered.area, ordered.sex)
    project.crosstab(ordered.sex, ordered.area)
    project.pivot_table(data.sort_values("income"), "income", "area", sort=False)
    project.pie(ordered, "area")
    # The researcher sees what pandas gives.
    assert list(shown.index) == list(by_sums(data))
    first, lines = written(project, tmp_path / "out")
    assert [one for one in first if one in set(data.area)] == ["East", "North", "South"] * 3
    assert next(line for line in lines if "South" in line[1:])[1:] == ["East", "North", "South"]


def test_classes_of_amounts_and_numbers_in_names_keep_their_order(tmp_path):
    data = people()
    project = Project(SURE, data=data)
    classes = pd.cut(data.age, [0, 29, 64, 120], labels=["young", "middle", "old"])
    project.crosstab(classes, data.sex)
    project.crosstab(pd.cut(data.age, [0, 29, 64, 120]), data.sex)
    named = pd.cut(data.age, [0, 29, 64, 120], labels=["under 30", "30 to 64", "65+"])
    Project(SURE).crosstab(named, data.sex)
    first, _ = written(project, tmp_path / "out")
    assert first == ["age", "young", "middle", "old", "age", '"(0', '"(29', '"(64']
    project = Project(SURE)
    project.crosstab(named, data.sex)
    assert written(project, tmp_path / "undeclared")[0] == ["age", "under 30", "30 to 64", "65+"]


def test_categories_of_the_data_keep_their_order(tmp_path):
    data = people()
    data["answer"] = pd.Categorical(
        np.random.default_rng(1).choice(["never", "often"], len(data)), ["never", "seldom", "often"]
    )
    project = Project(SURE, data=data)
    project.crosstab(data.answer.cat.remove_unused_categories(), data.sex)
    project.crosstab(data.answer.cat.reorder_categories(["often", "seldom", "never"]), data.sex)
    assert written(project, tmp_path / "out")[0] == ["answer", "never", "often"] * 2


def test_places_that_broke_a_rule_are_those_of_the_file(tmp_path):
    data = people(n_west=3)
    data.loc[data.index[(data.area == "North") & (data.sex == "m")][5:], "sex"] = "f"
    ordered = data.assign(area=pd.Categorical(data.area, ["West", *by_sums(people())]))
    project = Project(SURE)
    project.crosstab(ordered.area, ordered.sex)
    first, lines = written(project, tmp_path / "out")
    assert first == ["area", "East", "North", "South"]
    results = json.loads((tmp_path / "out" / "results.json").read_text())["results"]["output_0"]
    told = results["files"][0]["sdc"]
    assert told == {"summary": {"threshold": 1}, "cells": {"threshold": [[1, 1]]}}
    assert lines[1 + 1][1 + 1] == ""
    assert results["outcome"]["m"] == {"East": "ok", "North": "threshold", "South": "ok"}
    checks = json.loads((tmp_path / "out" / "checks.json").read_text())["outputs"]["output_0"]
    assert checks["cells"] == {"threshold": [[1, 1]]}
    assert "1 rows and 0 columns" in " ".join(checks["notes"])
    assert "West" not in (tmp_path / "out" / "check.html").read_text()


def test_a_table_that_is_hidden_whole_leaves_as_a_file_without_lines(tmp_path):
    data = people(n=12)
    project = Project({"safe_threshold": 10})
    shown = project.crosstab(data.area, data.sex)
    assert shown.shape[0] == data.area.nunique()
    assert shown.isna().all().all()
    folder = project.finalise(tmp_path / "out", "xlsx")
    assert pd.read_csv(folder / "output_0_0.csv").shape[0] == 0
