"""Bad input: each kind gets a message that says what, where, and what to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.jobs.job_file import read_job


def frame(**changes: float) -> pd.DataFrame:
    values = {"Total": 30.0, "N": 12.0, "S": 18.0} | changes
    return pd.DataFrame({"region": list(values), "value": list(values.values())})


def problem(**changes: object) -> tc.ProtectionProblem:
    table = tc.Table.from_frame(frame(), ["region"])
    arrays: dict[str, object] = {
        "status": ["s", "u", "s"],
        "lower_protection": [0, 3, 0],
        "upper_protection": [0, 3, 0],
        "sliding_protection": [0, 0, 0],
        "lower_bound": [0, 0, 0],
        "upper_bound": [60, 60, 60],
        "weights": [30, 12, 18],
    }
    return tc.ProtectionProblem(table=table, **(arrays | changes))


def test_table_that_does_not_add_up():
    with pytest.raises(
        tc.InputError, match=r"relation 0, \(region=Total\) = \(region=N\).* is off by 1 "
    ):
        tc.Table.from_frame(frame(S=19.0), ["region"])


def test_rounded_table_is_accepted_with_a_tolerance():
    assert tc.Table.from_frame(frame(S=18.4), ["region"], tolerance=0.5).n_relations == 1


def test_unknown_code_in_microdata():
    data = pd.DataFrame({"region": ["N1", "X9"], "v": [1, 2]})
    with pytest.raises(tc.InputError, match=r"Row 2: code 'X9' of dimension 'region'"):
        tc.tabulate(data, {"region": {"N": ["N1", "N2"]}}, "v")


def test_code_above_the_most_detailed_level_in_microdata():
    data = pd.DataFrame({"region": ["N1", "N"], "v": [1, 2]})
    with pytest.raises(tc.InputError, match=r"Row 2: code 'N' .* has codes below it"):
        tc.tabulate(data, {"region": {"N": ["N1", "N2"]}}, "v")


def test_same_cell_with_two_values():
    twice = pd.concat([frame(), frame().iloc[[1]].assign(value=13.0)])
    with pytest.raises(tc.InputError, match=r"region=N is given twice with different values"):
        tc.Table.from_frame(twice, ["region"])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_or_infinite_value(bad):
    with pytest.raises(tc.InputError, match="Values must be finite numbers"):
        tc.Table.from_frame(frame(N=bad), ["region"])
    data = pd.DataFrame({"region": ["N", "S"], "v": [1.0, bad]})
    with pytest.raises(tc.InputError, match="Row 2: column 'v'"):
        tc.tabulate(data, ["region"], "v")


def test_level_beyond_the_bounds_names_the_cell():
    with pytest.raises(tc.ModelError, match=r"\(region=N\)") as caught:
        tc.suppress(problem(upper_bound=[60, 14, 60]))
    assert caught.value.cells == (1,)


def test_cell_that_nothing_can_protect_is_named():
    with pytest.raises(tc.ModelError, match=r"cannot be protected even if .*\(region=N\)"):
        tc.suppress(problem(status=["z", "u", "z"]))


JOB = """
[data]
file = "firms.csv"
value = "turnover"
[dimensions.region]
[[rules]]
rule = "p-percent"
p = 10
[suppression]
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"p-percent"', '"p-percnt"', "line 7: unknown rule 'p-percnt'. Did you mean 'p-percent'?"),
        ("value =", "valeu =", "line 4: unknown key 'valeu' in data. Did you mean 'value'?"),
        ("[suppression]", "[supression]", "Did you mean 'suppression'?"),
        ("p = 10", "", "rules.p is missing"),
    ],
)
def test_misspelt_key_or_rule_in_a_job_file(tmp_path, old, new, message):
    path = Path(tmp_path) / "job.toml"
    path.write_text(JOB.replace(old, new))
    with pytest.raises(tc.InputError) as caught:
        read_job(path)
    assert message in str(caught.value)


TABLE = pd.DataFrame(
    [("Total", 150, 5, 80, 40), ("N", 100, 3, 80, 15), ("S", 50, 2, 40, 10)],
    columns=["region", "v", "firms", "first", "second"],
    dtype=object,
)
"""A ready table whose cells N and S are sensitive by the p% rule with p = 10."""

IMPLAUSIBLE = [
    (1, "firms", None, "'firms' is missing, but must be a whole number"),
    (1, "first", None, "'first' is missing, but the cell has 3 contributors"),
    (1, "first", 10, "'second' is 15, more than the one before it, 10"),
    (2, "firms", 1, "'second' is 10, but the cell has only 1"),
    (2, "first", 20, "'second' is too small: 2 contributors .* make up 30, but .* is 50"),
]


@pytest.mark.parametrize(("row", "column", "entry", "message"), IMPLAUSIBLE)
def test_counts_and_contributions_that_cannot_be_true_publish_nothing(
    tmp_path, row, column, entry, message
):
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "job.toml").write_text(TABLE_JOB)
    sound = tc.run_job(tmp_path / "job.toml", tmp_path / "sound")
    assert sound.problem.sensitive.tolist() == [False, True, True]
    changed = TABLE.copy()
    changed.loc[row, column] = entry
    changed.to_csv(tmp_path / "table.csv", index=False)
    code = TABLE.region[row]
    with pytest.raises(
        tc.InputError, match=rf"table.csv, line {row + 2}: cell region={code}: column {message}"
    ):
        tc.run_job(tmp_path / "job.toml", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_cell_given_twice_with_different_contributors():
    twice = pd.concat([TABLE, TABLE.iloc[[1]].assign(firms=30)])
    with pytest.raises(tc.InputError, match="Row 4: cell region=N is given twice"):
        tc.Table.from_frame(twice, ["region"], "v", frequency="firms", largest=["first", "second"])


def test_contributions_beside_a_file_of_cells(tmp_path):
    table = tc.Table.from_frame(
        TABLE, ["region"], "v", frequency="firms", largest=["first", "second"]
    )
    tc.write_problem(table.protect(tc.PPercent(10)), tmp_path / "p.csv")
    path = tmp_path / "p.contributions.csv"
    frame = pd.read_csv(path, dtype=object)
    frame.loc[1, "count"] = ""
    frame.to_csv(path, index=False)
    with pytest.raises(tc.InputError, match="line 3: column 'count' of contributions is"):
        tc.read_problem(tmp_path / "p.csv")


def test_contributions_that_were_rounded_one_by_one_are_plausible():
    """10.4 + 5.4 = 15.8 is published as 10, 5 and 16."""
    frame = pd.DataFrame(
        {"region": ["Total", "N", "S"], "v": [21, 16, 5], "n": [3, 2, 1], "x": [10, 10, 5]}
    ).assign(y=[5, 5, 0])
    table = tc.Table.from_frame(frame, ["region"], "v", frequency="n", largest=["x", "y"])
    assert table.contributions.count.tolist() == [3, 2, 1]


def test_a_missing_code_of_a_ready_table():
    frame = TABLE.assign(region=["Total", None, "S"])
    with pytest.raises(tc.InputError, match="Row 2: the code of dimension 'region' is missing"):
        tc.Table.from_frame(frame, ["region"], "v")


TABLE_JOB = """
[data]
file = "table.csv"
kind = "table"
value = "v"
frequency = "firms"
largest = ["first", "second"]
[dimensions.region]
[[rules]]
rule = "p-percent"
p = 10
[adjustment]
"""
