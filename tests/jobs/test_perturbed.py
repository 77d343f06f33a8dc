"""Jobs that perturb counts and sums by cell keys: what leaves, what stays, what is inferred."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from private import is_private
from tablecloak.cellkey import (
    PERTURBATIONS,
    KeyRows,
    design_count_table,
    design_magnitude_table,
    draw_record_keys,
    write_perturbations,
)
from tablecloak.errors import InputError
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.run import run_job

SECRET = bytes(range(32))
COUNTS = """
title = "Persons"
[data]
file = "people.csv"
[dimensions.region]
[dimensions.sex]
[dimensions.age]
[[tables]]
dimensions = ["region", "sex"]
[[tables]]
dimensions = ["region", "age"]
[perturbation]
kind = "counts"
ptable = "ptable.csv"
[output]
formats = ["csv", "json-stat"]
"""
SUMS = """
[data]
file = "people.csv"
value = "savings"
[dimensions.region]
[dimensions.sex]
[perturbation]
kind = "magnitudes"
ptable = "sums.csv"
epsilon = [1.0, 0.5]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keyed")
    random = np.random.default_rng(3)
    n = 4000
    people = pd.DataFrame(
        {
            "region": random.choice(["N", "E", "S"], n, p=[0.5, 0.4995, 0.0005]),
            "sex": random.choice(["f", "m"], n),
            "age": random.choice(["young", "old"], n),
            "savings": random.integers(1000, 9000, n),
            "record_key": draw_record_keys(range(n), secret=SECRET),
        }
    )
    people.to_csv(folder / "people.csv", index=False)
    write_perturbations(
        design_count_table(4, 2.0, blocked=2).shuffled(seed=1), folder / "ptable.csv"
    )
    write_perturbations(design_magnitude_table(3, 1.0, rows=[1, 3]), folder / "sums.csv")
    (folder / "counts.toml").write_text(COUNTS)
    (folder / "sums.toml").write_text(SUMS)
    return folder


@pytest.fixture(scope="module")
def counted(folder):
    return run_job(folder / "counts.toml", folder / "out")


def test_a_release_of_counts_tells_neither_true_counts_nor_keys(folder, counted):
    release = folder / "out" / "release" / "perturbation"
    names = {path.name for path in release.iterdir()}
    assert names == {"table.csv", "table.json", "about.json", "report.html"}
    table = pd.read_csv(release / "table.csv")
    assert list(table) == ["region", "sex", "age", "count"]
    inside = pd.read_csv(folder / "out" / "internal" / "perturbation_cells.csv")
    assert (inside.change != 0).sum() > 5
    for row in inside[inside.change != 0].itertuples():
        shown = set(table["count"]) | {4000}
        if row.true_count >= 1000 and row.true_count not in shown:
            for path in release.iterdir():
                assert str(row.true_count) not in path.read_text(), path
        assert all(str(row.cell_key) not in path.read_text() for path in release.iterdir())


def test_readers_are_told_that_counts_were_perturbed_and_may_not_add_up(folder, counted):
    release = folder / "out" / "release" / "perturbation"
    about = json.loads((release / "about.json").read_text("utf-8"))
    assert about["method"] == "cell-key perturbation"
    for text in (about["reading"], (release / "report.html").read_text("utf-8")):
        assert "totals may differ from the sums of their parts" in text
    # The table of changes stays inside: not even its largest change is told.
    assert "deviation" not in json.dumps(about) and "ptable" not in json.dumps(about)


def test_true_values_changes_and_intervals_stay_inside(folder, counted):
    internal = folder / "out" / "internal"
    assert all(is_private(path) for path in internal.iterdir())
    cells = pd.read_csv(internal / "perturbation_cells.csv")
    assert (cells.true_count + cells.change == cells.perturbed).all()
    found = pd.read_csv(internal / "perturbation_attack.csv").merge(cells)
    assert found.true_count.between(found.lower, found.upper).all()
    text = (internal / "report.html").read_text("utf-8")
    for told in (
        "d1",
        "d2",
        "d3",
        "false zeros",
        "mean width of the intervals",
        "inferred: ",
        "The most likely count",
    ):
        assert told in text
    state = json.loads((internal / "result.json").read_text("utf-8"))
    assert "published counts follow exactly" in state["message"] and state["is_safe"]


def test_a_cell_of_two_tables_is_published_once_and_attacked_with_both(counted):
    released = counted.release("perturbation").release()
    assert not released.duplicated(["region", "sex", "age"]).any()
    attack = counted.audit("perturbation").attack
    assert attack is not None
    # 4 regions by 3 + 3 codes, with their common totals once.
    assert len(attack.codes) == 4 * 5


def test_a_release_whose_counts_are_determined_is_not_safe(folder, tmp_path):
    write_perturbations(KeyRows(np.zeros((9, 4), dtype=int), period=9), folder / "none.csv")
    people = pd.read_csv(folder / "people.csv").assign(record_key=1)
    people.to_csv(folder / "whole.csv", index=False)
    text = COUNTS.replace("ptable.csv", "none.csv").replace("people.csv", "whole.csv")
    (folder / "open.toml").write_text(text)
    result = run_job(folder / "open.toml", tmp_path / "out")
    assert result.audit("perturbation").attack.determined_share == 1 and not result.is_safe


def test_sums_are_perturbed_and_published_with_the_digits_of_the_data(folder, tmp_path):
    result = run_job(folder / "sums.toml", tmp_path / "out")
    table = pd.read_csv(tmp_path / "out" / "release" / "perturbation" / "table.csv")
    assert table["savings"].dtype == np.int64
    inside = pd.read_csv(tmp_path / "out" / "internal" / "perturbation_cells.csv")
    assert np.allclose(inside["savings"] + inside["change"], inside["perturbed"])
    assert (
        result.is_safe
        and result.audit("perturbation").attack is None
        and "Not attacked" in result.summary()
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "counts"', 'kind = "count"', "line 13: unknown kind of perturbation 'count'. Did"),
        ('ptable = "ptable.csv"', "", "perturbation.ptable is missing"),
        ('ptable = "ptable.csv"', 'ptable = "ptable.csv"\nkeys = 3', "unknown key 'keys' in pertu"),
        ("[output]", "threshold = -1\n[output]", "perturbation.threshold must be a whole number"),
        ("[output]", "[suppression]\n[output]", "reveal more than each of them"),
        ('file = "people.csv"', 'file = "people.csv"\nkind = "table"', "needs microdata"),
        ('"region", "age"]', '"region", "job"]', "A table names 'job'"),
    ],
)
def test_a_job_that_asks_for_what_cannot_be_is_refused(folder, old, new, message):
    assert old in COUNTS
    (folder / "wrong.toml").write_text(COUNTS.replace(old, new))
    with pytest.raises(InputError, match=message):
        run_job(folder / "wrong.toml")


def test_another_perturbation_table_gives_another_fingerprint(folder):
    job = read_job(folder / "counts.toml")
    before = job.fingerprint()
    with (folder / "ptable.csv").open("a") as file:
        file.write("\n")
    assert job.fingerprint() != before


def test_the_documentation_lists_the_kinds_of_perturbation_with_their_parameters():
    page = Path(__file__).parents[2] / "docs" / "job-file.md"
    assert PERTURBATIONS.table() in page.read_text("utf-8")
