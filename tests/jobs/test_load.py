"""From a job file to problems: paths, ready tables, costs, capacities."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.errors import InputError
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.load import load_data, load_problem

JOB = """\
[data]
file = "sales.csv"
value = "sales"
{data}
[dimensions.town]
[dimensions.kind]
[[rules]]
rule = "minimum-frequency"
minimum = 2
{sections}
"""


@pytest.fixture
def written(tmp_path):
    frame = pd.DataFrame(
        {
            "town": [*"aabbccbb"],
            "kind": [*"xyxyxyxy"],
            "sales": [7, 60, 80, 9, 55, 65, 1, 2],
            "staff": [1, 2, 3, 4, 5, 6, 7, 8],
            "error": [1, 1, 2, 2, 3, 3, 4, 4],
        }
    )
    frame.to_csv(tmp_path / "sales.csv", index=False)

    def write(data: str = "", sections: str = "[suppression]") -> Path:
        (tmp_path / "job.toml").write_text(JOB.format(data=data, sections=sections))
        return tmp_path / "job.toml"

    return write


def test_paths_of_a_job_are_relative_to_its_file(written, tmp_path, monkeypatch):
    path = written(sections='[suppression]\nprevious = "last.csv"\n')
    monkeypatch.chdir("/")
    job = read_job(path)
    assert job.data.file == tmp_path / "sales.csv"
    assert job.suppression.previous == tmp_path / "last.csv"
    assert job.source == path.read_text()


def test_a_problem_has_the_cells_of_the_data_and_the_rules_of_the_job(written):
    problem = load_problem(read_job(written()))
    table = problem.table
    assert table.values[table.cell(town="b", kind="x")] == 81
    assert table.values[table.cell(town="Total", kind="Total")] == 279
    # Cells of one record are sensitive.
    assert problem.sensitive[table.cell(town="a", kind="x")]
    assert not problem.sensitive[table.cell(town="b", kind="x")]


@pytest.mark.parametrize(
    ("keys", "lower", "upper"),
    [("floor = 0", 1.4, 1.4), ("floor = 0\nlower_factor = 2", 2.8, 1.4), ("floor = 5", 5, 5)],
)
def test_protection_says_how_far_a_sensitive_cell_must_be_hidden(written, keys, lower, upper):
    problem = load_problem(read_job(written(sections=f"[suppression]\n[protection]\n{keys}\n")))
    # 20 per cent of 7, unless the floor is higher.
    cell = problem.table.cell(town="a", kind="x")
    assert problem.lower_protection[cell] == pytest.approx(lower)
    assert problem.upper_protection[cell] == pytest.approx(upper)


def test_protection_says_what_everybody_knows(written):
    bounds = "[suppression]\n[protection]\nlower_bound = 0\nupper_bound = 500\n"
    problem = load_problem(read_job(written(sections=bounds)))
    assert problem.upper_bound.max() == 500


def asked(job, way: str, function: str):
    """Return the problem and the options with which a way to protect calls a function."""
    calls = []

    @functools.wraps(getattr(tc, function))
    def called(problem, **options):
        calls.append((problem, options))
        raise tc.ModelError("enough")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tc, function, called)
        with pytest.raises(tc.ModelError, match="enough"):
            job.ways[way].run(load_data(job))
    return calls[0]


def test_costs_of_hiding_and_of_changing_are_sums_of_a_column(written):
    sections = '[suppression]\ncost = "staff"\n[adjustment]\ncost = "staff"\n'
    job = read_job(written(sections=sections))
    problem = load_data(job).problem
    cell = problem.table.cell(town="b", kind="x")
    given, _ = asked(job, "suppression", "suppress")
    _, options = asked(job, "adjustment", "adjust")
    assert given.weights[cell] == options["weights"][cell] == 10
    assert problem.weights[cell] != 10


@pytest.mark.parametrize(
    ("keys", "limit"),
    [
        ("capacity = 5", 5),
        ("capacity_percent = 50", 40.5),
        ('measurement_error = "error"', 6),
        ('capacity = 5\nmeasurement_error = "error"', 5),
        ('capacity = 9\nmeasurement_error = "error"\ncapacity_percent = 1', 0.81),
    ],
)
def test_the_smallest_of_several_capacities_counts(written, keys, limit):
    job = read_job(written(sections=f"[adjustment]\n{keys}\n"))
    problem = load_data(job).problem
    cell = problem.table.cell(town="b", kind="x")
    given, _ = asked(job, "adjustment", "adjust")
    assert given.capacity_up[cell] == pytest.approx(limit)
    assert given.capacity_down[cell] == pytest.approx(limit)
    # What protects sensitive cells is no change of the problem itself.
    assert np.isinf(problem.capacity_up).all()


def test_what_is_not_asked_for_is_not_read(written):
    job = read_job(written(sections="[suppression]\n[adjustment]\n"))
    given, options = asked(job, "suppression", "suppress")
    assert options["previous"] is None
    assert np.isinf(given.capacity_up).all()
    given, options = asked(job, "adjustment", "adjust")
    assert options["weights"] == "relative"
    assert np.isinf(given.capacity_up).all()


def test_the_pattern_of_last_period_is_found_by_its_codes(written, tmp_path):
    lines = ["town,kind,status", "a,x,suppressed", "b,y,published", "z,z,suppressed"]
    (tmp_path / "last.csv").write_text("\n".join(lines) + "\n")
    job = read_job(written(sections='[suppression]\nprevious = "last.csv"\n'))
    given, options = asked(job, "suppression", "suppress")
    hidden = np.flatnonzero(options["previous"])
    assert hidden.tolist() == [given.table.cell(town="a", kind="x")]


def test_weighted_sums_that_add_up_only_unrounded_are_told_of(written, tmp_path):
    frame = pd.read_csv(tmp_path / "sales.csv").assign(weight=[1, 2, 3, 4, 5, 6, 7, 9])
    (frame.assign(weight=1 + 1 / frame.weight)).to_csv(tmp_path / "sales.csv", index=False)
    with pytest.warns(tc.TablecloakWarning, match="decimals"):
        load_problem(read_job(written('weight = "weight"')))
    # Published values add up, and nothing is said.
    table = load_problem(read_job(written('weight = "weight"\ndecimals = 2'))).table
    cents = np.rint(table.values * 100)
    assert not np.any(table.relations @ cents)
    frame.to_csv(tmp_path / "sales.csv", index=False)
    load_problem(read_job(written('weight = "weight"')))


def test_an_error_of_the_data_names_their_file(written, tmp_path):
    job = read_job(written(sections='[suppression]\ncost = "price"\n'))
    with pytest.raises(InputError, match=r"sales\.csv: .*no column 'price'"):
        job.ways["suppression"].prepare(load_data(job))


@pytest.fixture
def ready(tmp_path):
    frame = pd.DataFrame(
        {
            "place": ["a", "b", "Total"],
            "town": [1, 2, 3],
            "sales": [10.0, 20.0, 30.0],
            "n": [1, 5, 6],
            "first": [10.0, 8.0, 10.0],
            "second": [np.nan, 6.0, 8.0],
        }
    )
    frame.to_csv(tmp_path / "cells.csv", index=False)

    def write(column: str = "place", dimension: str = "town") -> Path:
        text = f"""
        [data]
        file = "cells.csv"
        kind = "table"
        value = "sales"
        frequency = "n"
        largest = ["first", "second"]
        [dimensions.{dimension}]
        column = "{column}"
        [[rules]]
        rule = "minimum-frequency"
        minimum = 3
        [suppression]
        """
        (tmp_path / "job.toml").write_text(text)
        return tmp_path / "job.toml"

    return write


def test_a_ready_table_has_its_contributors_and_the_names_of_the_job(ready):
    problem = load_problem(read_job(ready()))
    # The column `town` holds something else: the dimension of this name has its codes elsewhere.
    codes = problem.table.keys["town"].tolist()
    counts = problem.table.contributions.count.tolist()
    assert dict(zip(codes, counts, strict=True)) == {"a": 1, "b": 5, "Total": 6}
    assert problem.sensitive.tolist() == [code == "a" for code in codes]


def test_a_dimension_cannot_have_the_name_of_a_column_with_numbers(ready):
    with pytest.raises(InputError, match="'sales' has the name of a column with numbers"):
        load_problem(read_job(ready(dimension="sales")))


@pytest.mark.parametrize("engine", ["duckdb", "pandas"])
@pytest.mark.parametrize("data", ["", 'only = {town = ["b", "c"]}'])
@pytest.mark.parametrize(
    ("column", "what"), [("kind", "the code of dim"), ("sales", "column 'sal")]
)
def test_a_wrong_record_is_named_by_the_line_that_an_editor_shows(
    written, tmp_path, engine, data, column, what
):
    path = written(data)
    lines = (tmp_path / "sales.csv").read_text().splitlines()
    town, kind, sales, *rest = lines[4].split(",")
    entries = {"town": town, "kind": kind, "sales": sales} | {column: ""}
    lines[4] = ",".join([*entries.values(), *rest])
    (tmp_path / "sales.csv").write_text("\n".join(lines))
    with pytest.raises(InputError, match=rf"sales\.csv, line 5: {what}"):
        load_problem(read_job(path), engine)


def test_a_file_without_lines_is_told_by_its_rows(written, tmp_path):
    path = written()
    frame = pd.read_csv(tmp_path / "sales.csv").assign(sales=[1, np.nan, *range(6)])
    frame.to_parquet(tmp_path / "sales.parquet")
    path.write_text(path.read_text().replace("sales.csv", "sales.parquet"))
    with pytest.raises(InputError, match=r"sales\.parquet, row 2: column 'sales' is missing"):
        load_problem(read_job(path))
