"""Waivers in jobs: whom they leave unprotected, and what they save."""

from __future__ import annotations

import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.load import load_problem

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
    with pytest.raises(tc.InputError, match="firms.csv, line 4: column 'waiver' is perhaps"):
        tc.run_job(job_file)


SEVERAL = """[data]
file = "pay.csv"
contributor = "firm"
waiver = "waiver"
[dimensions.region]
[dimensions.branch]
[variables.wages]
value = "wages"
[variables.bonuses]
value = "bonuses"
rules = [{rule = "dominance", n = 1, k = 70}]
[variables.pay]
value = "pay"
[variables.firms]
dimensions = ["region"]
rules = [{rule = "minimum-frequency", minimum = 2}]
[[equations]]
equation = "pay = wages + bonuses"
[[rules]]
rule = "p-percent"
p = 7
[suppression]
time_limit = 1000
hold = "off"
"""


def test_in_a_job_of_several_variables_it_tells_what_each_waiver_saves_in_each(tmp_path):
    frame = pd.DataFrame(
        {
            "firm": list("abcdefghijklm"), "region": list("NNNNNNSSSSSSW"),
            "branch": list("xxxyyyxxxyyyx"),
            "wages": [80, 5, 2, 40, 38, 20, 30, 29, 8, 50, 52, 9, 30],
            "bonuses": [3, 3, 2, 90, 3, 2, 5, 4, 6, 4, 9, 8, 7],
            "waiver": ["yes", "no", "no", "yes", *["no"] * 8, "yes"],
        }
    )  # fmt: skip
    frame.assign(pay=frame.wages + frame.bonuses).to_csv(tmp_path / "pay.csv", index=False)
    (tmp_path / "job.toml").write_text(SEVERAL)
    result = tc.run_job(tmp_path / "job.toml", out=tmp_path / "results")
    (tmp_path / "bare.toml").write_text(SEVERAL.replace('waiver = "waiver"\n', ""))
    bare = load_problem(read_job(tmp_path / "bare.toml"))

    internal = tmp_path / "results" / "internal" / "waivers.csv"
    assert internal in result.files
    assert internal.stat().st_mode & 0o777 == 0o600
    saved = pd.read_csv(internal)
    assert list(saved.columns[:2]) == ["variable", "level"]
    together = saved[saved.waiver == "any"].set_index("variable")
    # The variables have rules, hidden cells and numbers of cells of their own.
    assert list(together.index) == ["wages", "bonuses", "pay", "firms"]
    table = bare.table
    again = bare.sensitive & ~result.problem.sensitive
    for variable, row in together.iterrows():
        mine = again & (table.keys["variable"] == variable).to_numpy()
        shown = mine & ~result.pattern.suppressed
        assert row[["cells", "value", "published", "published_value"]].tolist() == [
            mine.sum(), table.values[mine].sum(), shown.sum(), table.values[shown].sum(),
        ]  # fmt: skip
    assert together.cells.min() > 0
    by_firm = saved[saved.waiver == "full"].set_index(["variable", "contributor"]).cells
    assert by_firm["bonuses", "d"] > 0 and by_firm["wages", "d"] == 0
    report = (internal.parent / "report.html").read_text()
    assert all(f"What waivers save in {variable}" in report for variable in together.index)
