"""Wide releases: the same cells, markers for hidden ones, searched for leaks, and audited."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from openpyxl import load_workbook
from typer.testing import CliRunner

import tablecloak as tc
from random_tables import random_problem
from tablecloak.cli.main import app
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.run import run_job
from tablecloak.publish.leaks import find_leaks
from tablecloak.publish.publication import write_release
from tablecloak.publish.released_cells import read_release
from tablecloak.tables.formats.layouts import Layout

WIDE = Layout("wide", "d1", ":", "last")


@pytest.fixture(scope="module")
def pattern() -> tc.SuppressionPattern:
    problem = random_problem(4)
    table = problem.table
    # Values too long to occur by chance.
    large = tc.Table(
        table.keys, 7919 * table.values, table.relations, table.right_hand_side, table.hierarchies
    )
    grown = tc.ProtectionProblem(
        large, problem.status, 7919 * problem.lower_protection, 7919 * problem.upper_protection,
        problem.sliding_protection, problem.lower_bound, 7919 * problem.upper_bound, large.values,
    )  # fmt: skip
    return tc.suppress(grown, time_limit=1000)


def test_csv_and_excel_show_the_same_wide_table(pattern, tmp_path):
    csv, excel, *_ = write_release(pattern, tmp_path, formats=["csv", "excel"], layout=WIDE)
    frame = pd.read_csv(csv, dtype=str)
    assert list(frame.columns) == ["d0", "10", "11", "12", "13", "Total"]
    assert frame.d0.tolist() == ["00", "01", "02", "Total"]
    assert (frame == ":").to_numpy().sum() == pattern.n_suppressed
    rows = [list(map(str, row)) for row in load_workbook(excel)["table"].values]
    assert rows == [list(frame.columns), *frame.to_numpy().tolist()]
    table = pattern.problem.table
    for cell in np.flatnonzero(~pattern.suppressed):
        row, column = table.keys.iloc[cell]
        assert float(frame.set_index("d0").loc[row, column]) == table.values[cell]


def test_a_wide_release_reads_back_as_the_pattern_it_was_made_of(pattern, tmp_path):
    (csv,) = write_release(pattern, tmp_path, layout=WIDE, report=False)[:1]
    suppressed, _ = read_release(pattern.problem, csv)
    assert np.array_equal(suppressed, pattern.suppressed)
    assert tc.audit(pattern.problem, csv).is_safe


def test_the_search_for_leaks_reads_wide_files(pattern, tmp_path):
    hidden = pattern.problem.table.values[pattern.suppressed]
    files = write_release(pattern, tmp_path, formats=["csv", "excel"], layout=WIDE)
    assert not find_leaks(files, hidden, pattern.release()["value"].dropna())
    spoilt = tmp_path / "spoilt.csv"
    spoilt.write_text(files[0].read_text().replace(":", f"{hidden[0]:.0f}", 1))
    assert [leak.value for leak in find_leaks([spoilt], hidden)] == [hidden[0]]


def test_formats_without_columns_of_their_own_stay_long(pattern, tmp_path):
    csv, sdmx, *_ = write_release(pattern, tmp_path, formats=["csv", "sdmx-csv"], layout=WIDE)
    assert len(pd.read_csv(csv)) == 4
    assert len(pd.read_csv(sdmx)) == len(pattern.release())
    with pytest.raises(tc.InputError, match="None of the formats px has a wide layout"):
        write_release(pattern, tmp_path / "px", formats=["px"], layout=WIDE)


def test_an_adjusted_table_is_wide_without_markers(tmp_path):
    adjusted = tc.adjust(random_problem(4), time_limit=1000)
    (csv,) = write_release(adjusted, tmp_path, layout=WIDE, report=False)[:1]
    frame = pd.read_csv(csv)
    assert not (frame == ":").to_numpy().any()
    suppressed, values = read_release(adjusted.problem, csv)
    assert suppressed is None
    assert np.array_equal(values, adjusted.values)


JOB = """
[data]
file = "sales.csv"
value = "sales"
decimals = 0
[dimensions.town]
[dimensions.year]
[[rules]]
rule = "minimum-frequency"
minimum = 2
[suppression]
time_limit = 1000
[output]
report = false
layout = "wide"
columns = "year"
marker = "conf."
totals = "last"
"""


@pytest.fixture
def job(tmp_path):
    rows = [(town, year, 7 + place) for town in "abc" for year in ("2024", "2025")
            for place in range(1 if (town, year) == ("a", "2024") else 3)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["town", "year", "sales"])
    frame.to_csv(tmp_path / "sales.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path / "job.toml"


def test_a_job_lays_its_releases_out_as_it_says(job):
    run_job(job, job.parent / "out")
    table = pd.read_csv(job.parent / "out" / "release" / "suppression" / "table.csv", dtype=str)
    assert list(table.columns) == ["town", "2024", "2025", "Total"]
    assert table.town.tolist() == ["a", "b", "c", "Total"]
    assert table["2024"][0] == "conf."


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('columns = "year"', 'columns = "yaer"', "There is no dimension 'yaer'"),
        ('columns = "year"', "", "A wide layout needs `columns`"),
        ('marker = "conf."', 'marker = "9"', "The marker '9'"),
        ("report = false", 'report = false\nformats = ["px"]', "needs csv or excel"),
        ('totals = "last"', 'totals = "below"', "totals"),
    ],
)
def test_a_job_with_a_layout_that_cannot_be_is_refused_when_it_is_read(job, old, new, message):
    job.write_text(JOB.replace(old, new))
    with pytest.raises(tc.InputError, match=message):
        read_job(job)


def test_the_command_publishes_a_pattern_that_protects_and_no_other(pattern, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tc.write_problem(pattern.problem, "p.csv")
    keys = pattern.problem.table.keys
    keys.assign(status=pattern.statuses()).to_csv("found.csv", index=False)
    words = ["publish", "p.csv", "found.csv", "--columns", "d1", "--marker", "x", "-o"]
    done = CliRunner().invoke(app, [*words, "out"])
    assert done.exit_code == 0, done.output
    assert (pd.read_csv("out/table.csv") == "x").to_numpy().sum() == pattern.n_suppressed
    named = CliRunner().invoke(app, [*words, "rel.xlsx"])
    assert named.exit_code == 2 and not (tmp_path / "rel.xlsx").exists()
    bare = np.where(pattern.problem.sensitive, "primary", "published")
    keys.assign(status=bare).to_csv("found.csv", index=False)
    done = CliRunner().invoke(app, [*words, "bare"])
    assert done.exit_code == 1
    assert not (tmp_path / "bare").exists()
