"""Bad input: each kind gets a message that says what, where, and what to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.job import read_job


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


def test_hierarchy_with_a_cycle():
    pairs = pd.DataFrame({"parent": ["Total", "A", "B"], "child": ["A", "B", "A"]})
    with pytest.raises(tc.InputError, match="A > B > A form a cycle"):
        tc.Hierarchy.from_frame(pairs)


def test_hierarchy_with_an_orphan():
    pairs = pd.DataFrame({"parent": ["Total", "Z"], "child": ["A", "B"]})
    with pytest.raises(tc.InputError, match="Z has no parent .*orphan"):
        tc.Hierarchy.from_frame(pairs)


def test_hrc_file_with_an_orphan(tmp_path):
    (tmp_path / "r.hrc").write_text("N\n@@N1\n")
    with pytest.raises(tc.InputError, match=r"r.hrc, line 2: code 'N1' is on level 3"):
        tc.Hierarchy.from_hrc(tmp_path / "r.hrc")


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


def test_value_outside_its_bounds():
    with pytest.raises(tc.InputError, match=r"region=N has the value 12, outside its external"):
        problem(lower_bound=[0, 13, 0])


def test_level_beyond_the_bounds_names_the_cell():
    with pytest.raises(tc.ModelError, match=r"\(region=N\)") as caught:
        tc.suppress(problem(upper_bound=[60, 14, 60]))
    assert caught.value.cells == (1,)


def test_cell_that_nothing_can_protect_is_named():
    with pytest.raises(tc.ModelError, match=r"cannot be protected even if .*\(region=N\)"):
        tc.suppress(problem(status=["z", "u", "z"]))


def test_truncated_file(tmp_path):
    tc.write_jj(problem(), tmp_path / "t.jj")
    text = (tmp_path / "t.jj").read_text()
    (tmp_path / "cut.jj").write_text(text[:45])
    with pytest.raises(tc.InputError, match=r"cut.jj, line \d+: the file ends in the middle of"):
        tc.read_jj(tmp_path / "cut.jj")
    (tmp_path / "cut.jj").write_text(text[:-8])
    with pytest.raises(tc.InputError, match="the file ends in the middle of relation 0"):
        tc.read_jj(tmp_path / "cut.jj")


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
        ("value =", "valeu =", "line 4: unknown key 'valeu' in data.valeu. Did you mean 'value'?"),
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
