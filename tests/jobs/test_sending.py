"""`[transmission]` of a job: written inside, checked before the search, never released."""

from __future__ import annotations

import pandas as pd
import pytest

import tablecloak as tc
from private import is_private
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.run import run_job
from tablecloak.publish.leaks import find_leaks

JOB = """
[data]
file = "firms.csv"
value = "turnover"
decimals = 0
[dimensions.region]
[dimensions.branch]
[[rules]]
rule = "dominance"
n = 1
k = 80
[suppression]
time_limit = 1000
[output]
report = false
[transmission]
template = "asked.csv"
redistribution = "ESTAT"
constants = { TIME_PERIOD = "2026" }
codes = { region = { Total = "_T" }, branch = { Total = "_T" } }
cells = [{ codes = { region = "S" }, flag = "N" }]
"""


@pytest.fixture
def folder(tmp_path):
    rows = [
        (region, branch, 8 + 3 * number)
        for region in ("N", "S", "W")
        for branch in ("a", "b", "c")
        for number in range(3)
    ]
    frame = pd.DataFrame(rows, columns=["region", "branch", "turnover"])
    frame.loc[0, "turnover"] = 900
    frame.to_csv(tmp_path / "firms.csv", index=False)
    asked = [("2026", branch, region) for branch in ("c", "a", "_T") for region in ("S", "N", "_T")]
    template = pd.DataFrame(asked, columns=["TIME_PERIOD", "BRANCH", "REGION"])
    template.to_csv(tmp_path / "asked.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


def test_a_job_writes_what_another_authority_is_sent_inside_and_only_there(folder):
    result = run_job(folder / "job.toml", folder / "out")
    path = folder / "out" / "internal" / "transmission.csv"
    assert path in result.files
    assert is_private(path)
    sent = pd.read_csv(path, dtype=str, keep_default_na=False)
    asked = pd.read_csv(folder / "asked.csv", dtype=str)
    assert sent[list(asked.columns)].equals(asked)
    flags = sent.set_index(["REGION", "BRANCH"]).CONF_STATUS
    assert flags["N", "a"] == "O"
    assert set(flags["S"]) == {"N"}
    assert set(sent.CONF_REDIST[sent.CONF_STATUS != "F"]) == {"ESTAT"}
    assert find_leaks([path], hidden=[])
    assert not find_leaks([folder / "out" / "release"], hidden=[])


def test_a_template_that_asks_for_more_ends_the_job_before_the_search(folder, monkeypatch):
    def searched(*_: object, **__: object) -> None:
        raise AssertionError("the search was begun")

    monkeypatch.setattr(tc, "suppress", searched)
    with (folder / "asked.csv").open("a") as file:
        file.write("2026,a,X\n")
    with pytest.raises(tc.InputError, match="asked.csv, line 11: the table has no cell"):
        run_job(folder / "job.toml", folder / "out")
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('flag = "N"', 'flag = "Q"', "flag"),
        ("[suppression]", "[adjustment]", "it needs .suppression."),
        ("redistribution", "redistributed", "redistributed"),
        ("codes = { region = { Total", "codes = { area = { Total", "no dimension 'area'"),
    ],
)
def test_what_cannot_be_sent_is_refused_when_the_job_is_read_or_its_data(folder, old, new, message):
    (folder / "job.toml").write_text(JOB.replace(old, new))
    with pytest.raises(tc.InputError, match=message):
        run_job(folder / "job.toml")


def test_another_template_is_another_job(folder):
    before = read_job(folder / "job.toml").fingerprint()
    with (folder / "asked.csv").open("a") as file:
        file.write("2026,b,S\n")
    assert read_job(folder / "job.toml").fingerprint() != before


VARIABLES = """
[data]
file = "pay.csv"
contributor = "firm"
decimals = 0
[dimensions.region]
[variables.wages]
value = "wages"
[variables.bonuses]
value = "bonuses"
rules = [{rule = "dominance", n = 2, k = 90}]
[variables.salaries]
value = "salaries"
[[equations]]
equation = "salaries = wages + bonuses"
[[rules]]
rule = "minimum-frequency"
minimum = 3
[suppression]
time_limit = 1000
[output]
report = false
layout = "wide"
columns = "variable"
[transmission]
names = { variable = "INDICATOR" }
codes = { variable = { wages = "WAG", bonuses = "BON", salaries = "SAL" } }
"""


def test_several_variables_are_indicators_there_and_columns_here(tmp_path):
    rows = [(f"f{n}", "abcd"[n % 4], 40 + 7 * n, 900 if n == 1 else 5 + n) for n in range(22)]
    rows = [row for row in rows if row[1] != "c" or row[0] < "f15"]
    frame = pd.DataFrame(rows, columns=["firm", "region", "wages", "bonuses"])
    frame.assign(salaries=frame.wages + frame.bonuses).to_csv(tmp_path / "pay.csv", index=False)
    (tmp_path / "job.toml").write_text(VARIABLES)
    run_job(tmp_path / "job.toml", tmp_path / "out")
    sent = pd.read_csv(tmp_path / "out" / "internal" / "transmission.csv", dtype=str)
    flags = sent.set_index(["INDICATOR", "REGION"]).CONF_STATUS
    assert flags["BON", "b"] == "O"
    assert {flags[name, "c"] for name in ("WAG", "SAL")} == {"A"}
    assert set(flags.index.get_level_values(0)) == {"WAG", "BON", "SAL"}
    table = pd.read_csv(tmp_path / "out" / "release" / "suppression" / "table.csv", dtype=str)
    assert list(table.columns) == ["region", "wages", "bonuses", "salaries"]
    hidden = flags[flags != "F"]
    assert (table == "c").to_numpy().sum() - (table.region == "c").sum() == len(hidden)
