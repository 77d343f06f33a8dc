"""Hierarchies from tables of correspondence."""

from __future__ import annotations

import pytest

import tablecloak as tc
from rtauargus import TREES, ask, correspondence, hierarchies
from tablecloak.service.answers import columns_of

ASTRAL = {
    "type": ["planet", "planet", "star", "star", "star", "other", "other"],
    "details": [
        "telluric",
        "gasgiant",
        "bluestar",
        "whitedwarf",
        "reddwarf",
        "blackhole",
        "pulsar",
    ],
}
"""The example of rtauargus."""

LINES = ["planet", "@telluric", "@gasgiant", "star", "@bluestar", "@whitedwarf", "@reddwarf",
         "other", "@blackhole", "@pulsar"]  # fmt: skip


def lines(**body):
    return ask("write_hrc2", **body)["lines"]


def test_each_code_stands_once_below_its_parent():
    assert lines(corr_table=ASTRAL) == LINES


def test_codes_that_are_left_out_are_those_of_the_row_above():
    sparse = {**ASTRAL, "type": ["planet", None, "star", None, None, "other", None]}
    assert lines(corr_table=sparse) == LINES


def test_columns_may_come_in_reverse_with_another_lead():
    back = {name: ASTRAL[name] for name in ("details", "type")}
    assert lines(corr_table=back, rev=True, hier_lead_string="!")[:2] == ["planet", "!telluric"]


def test_a_code_repeated_on_the_next_level_is_one_code_and_a_column_of_the_total_is_left_out():
    table = {"all": ["T"] * 3, "a": ["x", "y", "y"], "b": ["x", "y1", "y2"]}
    assert lines(corr_table=table) == ["x", "y", "@y1", "@y2"]


def test_rows_in_any_order_give_each_code_its_own_place():
    table = {"a": ["y", "x", "y"], "b": ["y2", "x1", "y1"]}
    assert lines(corr_table=table) == ["y", "@y2", "@y1", "x", "@x1"]
    assert lines(corr_table=table, sort_table=True) == ["x", "@x1", "y", "@y1", "@y2"]


@pytest.mark.parametrize("variable", TREES)
def test_the_hierarchies_of_insee_are_those_of_their_levels(variable, tmp_path):
    (tmp_path / "h.hrc").write_text(hierarchies(variable)[variable])
    read = tc.Hierarchy.from_hrc(tmp_path / "h.hrc")
    frame = correspondence(variable)
    levels = tc.Hierarchy.from_levels(frame, list(frame.columns), "Total")
    assert set(read.codes) == set(levels.codes)
    assert set(read.leaves) == set(levels.leaves)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"corr_table": {"a": ["x", "y"], "b": ["1", "1"]}}, "'1' lies below x and below y"),
        ({"corr_table": {"a": ["x", "x"], "b": ["1", None]}}, "column 'b' lacks codes"),
        ({"corr_table": {"a": [None, "x"], "b": ["1", "2"]}}, "the first row lacks codes"),
        ({"corr_table": {"a": ["@x", "y"]}}, "begins with the lead"),
        ({"hier_lead_string": "@@"}, "hier_lead_string: must be"),
        ({"lead": "@"}, "unknown key"),
    ],
)
def test_a_faulty_table_is_named_with_the_remedy(change, words):
    with pytest.raises(tc.InputError, match=words):
        lines(**{"corr_table": ASTRAL, **change})


def test_the_example_is_columns_of_text():
    assert columns_of(correspondence("NUTS")).keys() == {"NUTS2", "NUTS3"}
