"""Waivers in jobs: whom they leave unprotected, and what they save."""

from __future__ import annotations

import pandas as pd
import pytest

import tablecloak as tc

JOB = """[data]
file = "firms.csv"
value = "turnover"
contributor = "firm"
waiver = "waiver"
[dimensions.region]
[dimensions.branch]
[[rules]]
rule = "p-percent"
p = 7
[suppression]
time_limit = 1000
hold = "off"
groups = false
"""


@pytest.fixture
def job_file(tmp_path):
    frame = pd.DataFrame(
        {
            "firm": list("abcdefghijkl"), "region": list("NNNNNNSSSSSS"),
            "branch": list("xxxyyyxxxyyy"),
            "turnover": [80, 5, 2, 40, 38, 20, 30, 29, 8, 50, 52, 9],
            "waiver": ["yes"] + ["no"] * 11,
        }
    )  # fmt: skip
    frame.to_csv(tmp_path / "firms.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path / "job.toml"


def test_a_job_publishes_what_waivers_allow_and_tells_what_each_saves(job_file):
    result = tc.run_job(job_file, out=job_file.parent / "results")
    assert result.is_safe
    assert not result.pattern.suppressed.any()
    internal = next(path for path in result.files if path.name == "waivers.csv")
    assert internal.parent.name == "internal"
    saved = pd.read_csv(internal).set_index("contributor")
    assert saved.loc["a", ["cells", "value", "published_value"]].tolist() == [1, 87, 87]
    report = (internal.parent / "report.html").read_text()
    assert "Waivers" in report and "every pattern hides them" in report


def test_a_waiver_that_says_neither_is_refused_with_file_row_and_column(job_file):
    path = job_file.parent / "firms.csv"
    path.write_text(path.read_text().replace("2,no", "2,perhaps"))
    with pytest.raises(tc.InputError, match="firms.csv: Row 3: column 'waiver' is perhaps"):
        tc.run_job(job_file)
