"""One table of a batch: what is asked of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablecloak.argus.arguments import Arguments
from tablecloak.argus.batch import read_rules
from tablecloak.argus.lines import Command, Specification
from tablecloak.argus.metadata import read_metadata
from tablecloak.argus.rules import (
    describe,
    is_active,
    is_for_holdings,
    n_largest,
    sensitivity_rules,
)
from tablecloak.argus.table_job import TableJob, _all_codes
from tablecloak.tables.hierarchy import Hierarchy

RDA = """\
size 1 2 99
<RECODEABLE>
region 3 2
<RECODEABLE>
sales 5 9
<NUMERIC> <DECIMALS> 1
"""


def rules(text: str):
    return read_rules(Arguments("job.arb, line 1", text))


def job(tmp_path, text: str = "", response: str = "sales") -> TableJob:
    path = tmp_path / "m.rda"
    path.write_text(RDA)
    wanted = Specification(["size", "region"], response)
    command = Command(Path("job.arb"), 1, "SPECIFYTABLE", "")
    return TableJob(1, command, wanted, read_metadata(path), path, True, rules(text))


@pytest.mark.parametrize(
    ("text", "says_what"), [("", False), ("P(0)", False), ("MIS(1)", False), ("P(10)", True)]
)
def test_a_rule_that_is_switched_off_says_nothing_of_cells(tmp_path, text, says_what):
    assert job(tmp_path, text).says_what == says_what


@pytest.mark.parametrize(("text", "margin"), [("", 20), ("MAN(35)", 35), ("MAN(0)|P(10)", 0)])
def test_cells_with_a_given_status_get_20_per_cent_or_what_man_says(tmp_path, text, margin):
    assert job(tmp_path, text).margin == margin


def test_codes_for_missing_are_safe_only_where_mis_says_so(tmp_path):
    assert job(tmp_path, "P(10)").safe_codes() == {}
    assert job(tmp_path, "P(10)|MIS(0)").safe_codes() == {}
    assert job(tmp_path, "P(10)|MIS(1)").safe_codes() == {"size": ("99",), "region": ()}


def test_decimals_are_those_of_the_response(tmp_path):
    assert job(tmp_path).decimals == 1
    assert job(tmp_path, response="<freq>").decimals == 0
    assert job(tmp_path, response="<freq>").is_count
    assert not job(tmp_path).is_count


def test_codes_come_in_the_order_of_the_tree_with_missing_ones_last():
    tree = Hierarchy("Total", (("Total", ("N", "99", "S")), ("N", ("b", "a"))))
    assert _all_codes(tree, ("99",), True) == ["Total", "N", "b", "a", "S", "99"]
    assert _all_codes(tree, ("99",), False) == ["Total", "N", "b", "a", "99", "S"]
    assert _all_codes(tree, ("98",), True) == ["Total", "N", "b", "a", "99", "S", "98"]


@pytest.mark.parametrize(
    ("text", "is_on"),
    [("P(0)", False), ("P(10)", True), ("FREQ(0,20)", False), ("NK(0,70)", False),
     ("ZERO(0)", True), ("MAN(20)", False), ("WGT(1)", False)],
)  # fmt: skip
def test_a_first_number_of_0_switches_a_rule_off(text, is_on):
    assert is_active(rules(text)[0]) == is_on


def test_the_log_says_which_rules_are_in_force():
    assert describe([]) == "no rule: the statuses of the table count"
    found = describe(rules("P(10,1)|FREQ(0,20)|WGT(1)"))
    assert found == "in force: P(10,1), WGT(1); switched off by 0: FREQ(0,20)"


def test_the_third_p_and_the_second_freq_look_at_holdings():
    found = rules("P(10)|P(20)|P(30)|FREQ(3,10)|FREQ(4,10)|NK(1,50)|NK(2,60)|NK(3,70)")
    holdings = [str(rule) for rule in found if is_for_holdings(found, rule)]
    assert holdings == ["P(30)", "FREQ(4,10)", "NK(3,70)"]
    assert [rule.level for rule in sensitivity_rules(found)].count("holding") == 3


@pytest.mark.parametrize(
    ("text", "number"), [("FREQ(3,10)", 0), ("P(10,1)", 2), ("P(10,2)", 3), ("NK(5,70)|P(1)", 5)]
)
def test_rules_look_at_so_many_of_the_largest(text, number):
    assert n_largest(rules(text)) == number
