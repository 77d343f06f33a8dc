"""Jobs for records: steps from a file give what the methods give, and nothing else leaves."""

from __future__ import annotations

import json
import stat

import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from people import people
from tablecloak.cli.main import app
from tablecloak.jobs.job_file import read_job
from tablecloak.microdata import CovarianceNoise, LocalSuppression
from tablecloak.microdata.steps_job import read_steps, run_steps

JOB = """
title = "Staff"
seed = 5
[data]
file = "people.csv"
[[steps]]
method = "noise"
columns = ["wage"]
noise = 0.1
[[steps]]
method = "local-suppression"
keys = ["state", "job"]
k = 20
"""


@pytest.fixture
def folder(tmp_path):
    people().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    return tmp_path


def test_steps_are_methods_with_parameters_checked_as_those_of_the_constructor(folder):
    job = read_steps(folder / "job.toml")
    assert job.steps == [
        CovarianceNoise(["wage"], 0.1),
        LocalSuppression(["state", "job"], k=20),
    ]


def test_a_job_protects_all_columns_in_random_order_and_tells_its_steps(folder):
    done = CliRunner().invoke(
        app, ["protect", str(folder / "job.toml"), "--out", str(folder / "out")]
    )
    assert done.exit_code == 0, done.output
    assert "step 1:  noise: 120 records" in done.output
    assert "step 2:  local suppression: " in done.output
    text = {"state": str, "job": str}
    released = pd.read_csv(folder / "out" / "release" / "records.csv", dtype=text)
    original = pd.read_csv(folder / "people.csv", dtype=text)
    assert list(released.columns) == list(original.columns)
    assert released.home.tolist() != original.home.tolist()
    again = released.set_index("home").loc[original.home]
    assert again.hours.tolist() == original.hours.tolist()
    assert not set(released.wage) & set(original.wage)
    known = again[["state", "job"]].notna().all(axis=1)
    counts = again[known].groupby(["state", "job"]).size()
    alike = again[["state", "job"]].apply(
        lambda row: sum(
            all(pd.isna(row[name]) or row[name] == other[name] for name in ("state", "job"))
            for other in original.to_dict("records")
        ),
        axis=1,
    )
    assert len(counts)
    assert alike.min() >= 20


def test_the_folder_for_publication_holds_the_records_alone(folder):
    result = run_steps(folder / "job.toml", folder / "out")
    assert sorted(each.name for each in (folder / "out" / "release").iterdir()) == ["records.csv"]
    internal = folder / "out" / "internal"
    assert stat.S_IMODE(internal.stat().st_mode) == 0o700
    page = (internal / "report.html").read_text(encoding="utf-8")
    assert "step 2 (local-suppression)" in page
    state = json.loads((internal / "result.json").read_text(encoding="utf-8"))
    assert state["is_safe"]
    assert state["message"] == result.summary()
    names = {"records.csv", "report.html", "assessment.csv", "result.json"}
    assert {each.name for each in result.files} == names
    table = pd.read_csv(internal / "assessment.csv").set_index("measure")
    # Only what is missing has changed: "01" is still "01".
    changed = table.loc["changed categories", "after"]
    assert changed == table.loc["missing categories", "after"] > 0
    assert table.loc["sample uniques", "meaning"] in page
    first = (folder / "out" / "release" / "records.csv").read_bytes()
    run_steps(folder / "job.toml", folder / "out")
    assert (folder / "out" / "release" / "records.csv").read_bytes() == first


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"noise"', '"noize"', r"job.toml, line 7: unknown method 'noize'. Did you mean 'noise'\?"),
        ("k = 20", "kk = 20", r"line 13: unknown key 'kk' in .*Did you mean 'k'\?"),
        ("k = 20", "k = 1", "line 13: steps.k must be"),
        ("people.csv", "peple.csv", "peple.csv"),
        ('file = "people.csv"', 'fil = "people.csv"', "unknown key 'fil' .*Did you mean 'file'"),
        ('"state", "job"', '"state", "jib"', "there is no column 'jib'. Did you mean 'job'"),
    ],
)
def test_wrong_jobs_are_told_where_and_leave_nothing(folder, old, new, message):
    (folder / "job.toml").write_text(JOB.replace(old, new), encoding="utf-8")
    with pytest.raises(tc.InputError, match=message):
        run_steps(folder / "job.toml", folder / "out")
    assert not (folder / "out").exists()


def test_a_job_for_records_is_not_one_for_tables(folder):
    with pytest.raises(tc.InputError, match="protects records, step by step, not a table"):
        read_job(folder / "job.toml")
