"""Plans from transmission templates: tables follow from what is broken down together."""

from __future__ import annotations

import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.planning.jobs import JobWriter
from tablecloak.tables.hierarchy import Hierarchy

BRANCHES = {"ACTIVITY": "BTSXO_S94"}


@pytest.fixture(scope="module")
def enterprises() -> pd.DataFrame:
    from instances import Instances

    return pd.read_csv(Instances() / "rtauargus/enterprise_template.csv.gz", dtype=str)


def test_3168_rows_are_six_tables_in_three_clusters(enterprises):
    plan = tc.plan(template=enterprises, totals=BRANCHES)
    assert len(enterprises) == 3168
    assert [cluster.name for cluster in plan.clusters] == [
        "2021.SAL_DTH",
        "2022.SAL",
        "2022.SAL_DTH",
    ]
    for cluster in plan.clusters:
        assert [table.dimensions for table in cluster.tables] == [
            ("ACTIVITY", "LEGAL_FORM"), ("ACTIVITY", "NUMBER_EMPL"),
        ]  # fmt: skip
    assert len(plan.lines) == len(plan.tables) == 6


def test_the_order_of_rows_and_columns_of_a_template_plays_no_part(enterprises):
    turned = enterprises.sample(frac=1, random_state=3)[enterprises.columns[::-1]]
    expected = tc.plan(template=enterprises, totals=BRANCHES).to_frame()
    found = tc.plan(template=turned, totals=BRANCHES).to_frame()
    pd.testing.assert_frame_equal(found, expected)


def test_a_table_of_margins_only_is_told(enterprises):
    total = (enterprises.ACTIVITY == "BTSXO_S94") & (enterprises.LEGAL_FORM == "_T")
    alone = enterprises[total & (enterprises.NUMBER_EMPL == "_T")].assign(INDICATOR="NR")
    with pytest.warns(
        tc.TablecloakWarning, match=r"'2022.NR' has no dimension: it is margins only"
    ):
        plan = tc.plan(
            template=pd.concat([enterprises, alone[alone.TIME_PERIOD == "2022"][:1]]),
            totals=BRANCHES,
        )
    assert len(plan.clusters) == 4


def test_a_total_that_is_not_known_is_asked_for(enterprises):
    with pytest.raises(tc.InputError, match="not known which code of 'ACTIVITY' is the total"):
        tc.plan(template=enterprises)
    with pytest.raises(tc.InputError, match="'ACTIVITY' never has the code 'X'"):
        tc.plan(template=enterprises, totals={"ACTIVITY": "X"})
    with pytest.raises(tc.InputError, match="line 1: column 'BRANCH' is missing"):
        tc.plan(template=enterprises, totals={"BRANCH": "X"})


def test_a_missing_code_is_told_with_its_line(enterprises):
    holed = enterprises.copy()
    holed.loc[7, "LEGAL_FORM"] = None
    with pytest.raises(tc.InputError, match="line 9: the code in column 'LEGAL_FORM' is missing"):
        tc.plan(template=holed, totals=BRANCHES)


def test_columns_are_chosen_and_constant_ones_left_out():
    rows = pd.DataFrame(
        [("NO", "2020", "n", "a", "Total"), ("NO", "2020", "n", "Total", "x"),
         ("NO", "2020", "n", "a", "All"), ("NO", "2020", "n", "all", "all")],
        columns=["REF_AREA", "jahr", "was", "sex", "age"],
    ).assign(OBS_VALUE=[1, 2, 3, 4])  # fmt: skip
    plan = tc.plan(template=rows, field=["jahr", "REF_AREA"], variable="was")
    assert [line.name for line in plan.lines] == ["2020.NO.n.age", "2020.NO.n.sex"]
    assert len(plan.clusters) == 1


def test_a_hierarchy_that_codes_show_is_that_of_the_job_unless_another_is_given():
    codes = ["_T", "B", "B05", "B05.1", "B05.2", "B06", "B06.1", "C", "C10", "C10.1"]
    rows = pd.DataFrame([(code, size) for code in codes for size in ("_T", "1", "2", "11")])
    plan = tc.plan(template=rows.set_axis(["NACE", "SIZE"], axis=1))
    (job,) = JobWriter(plan).jobs().values()
    assert job["dimensions"]["SIZE"] == {"total": "_T", "column": "SIZE"}
    tree = Hierarchy.from_dict(job["dimensions"]["NACE"]["hierarchy"], "_T")
    assert tree.leaves == ("B05.1", "B05.2", "B06.1", "C10.1")
    assert ("B05", ("B05.1", "B05.2")) in tree.groups
    given = JobWriter(plan, {"dimensions": {"NACE": {"hierarchy": "nace.hrc"}}}).jobs()
    assert given.popitem()[1]["dimensions"]["NACE"]["hierarchy"] == "nace.hrc"
    # A table where every division has groups but one is not known to be complete.
    assert tc.plan(template=pd.concat([rows, pd.DataFrame([("D", "_T")])]).set_axis(
        ["NACE", "SIZE"], axis=1)).trees == {}  # fmt: skip
