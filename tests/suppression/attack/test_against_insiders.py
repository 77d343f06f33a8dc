"""What is told of protection against insiders: its price, and all that is not claimed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hand_tables import one_row
from tablecloak.suppression.attack.against_insiders import AgainstInsiders, OpenPairs, WhyOpen
from tablecloak.suppression.attack.groups import SensitiveGroup

HOPELESS, ATTACKABLE, UNDECIDED = WhyOpen.HOPELESS, WhyOpen.ATTACKABLE, WhyOpen.UNDECIDED


@pytest.fixture
def told() -> AgainstInsiders:
    """a and b hide each other from outsiders; c is hidden from the owners of b as well."""
    problem = one_row([5.0, 7.0, 9.0], {"a": (2.0, 2.0), "b": (2.0, 2.0)})
    problem = problem.with_changes(weights=np.array([1.0, 2.0, 4.0, 8.0]))
    return AgainstInsiders(
        problem=problem,
        intruders={"singletons": 3},
        suppressed=np.array([True, True, True, False]),
        outsiders=np.array([True, True, False, False]),
        successful_before=2,
        unsettled_before=0,
    )


def test_the_price_is_the_weight_of_the_cells_hidden_in_addition(told):
    assert (told.loss_before, told.loss) == (3.0, 7.0)
    assert told.costs().loc["cells hidden"].tolist() == [2.0, 3.0]
    assert told.summary() == ("against 3 singletons, successful 2 -> 0, loss 3 -> 7, cells 2 -> 3")
    assert told.statements() == []


def test_what_did_not_change_is_told_once(told):
    same = replace(told, suppressed=told.outsiders, successful_before=0)
    assert same.summary() == "against 3 singletons, successful 0, loss 3, cells 2"


def test_without_insiders_that_is_said(told):
    assert "against insiders, of whom there are none" in replace(told, intruders={}).summary()


def test_each_reason_for_which_nothing_is_claimed_is_a_sentence_with_its_numbers(told):
    reasons = {("x", 0): HOPELESS, ("x", 1): HOPELESS, ("y", 0): ATTACKABLE, ("w", 0): HOPELESS}
    open_ = OpenPairs.of([*"xyz"], [2, 1, 1, 0, 0], [1, 1, 0, 1, 0], reasons)
    assert [pair.why for pair in open_] == [HOPELESS, HOPELESS, ATTACKABLE, UNDECIDED, UNDECIDED]
    told = replace(told, open=open_, unjudged=1)
    hopeless, attackable, undecided, unjudged = told.statements()
    assert hopeless.startswith("From 1 insider no pattern hides 2 sensitive cells:")
    assert "no pattern was found that hides 1 sensitive cell:" in attackable
    assert undecided.startswith("From 2 insiders in the time given it was not settled")
    assert unjudged.startswith("1 insider did not attack in the time given")
    assert all("nothing is claimed" in statement for statement in told.statements())


def test_an_insider_who_succeeds_somewhere_is_settled_whatever_else_is_open(told):
    """y succeeds against one cell, so that only z and the insider who was not tried are open."""
    open_ = OpenPairs.of([*"yz"], [0, 0, 1], [0, 1, 1], {("y", 0): ATTACKABLE})
    told = replace(told, open=open_, unjudged=1)
    assert (told.successful, told.unsettled) == (1, 2)
    assert "not settled 0 -> 2" in told.summary()
    assert told.costs().loc["insiders not settled"].tolist() == [0, 2]


def test_the_summary_names_nobody_and_the_frame_is_for_the_office_alone(told):
    told = replace(told, open=OpenPairs.of(["Miller Ltd"], [0], [1], {("Miller Ltd", 1): HOPELESS}))
    assert "Miller" not in told.summary() + " ".join(told.statements())
    frame = told.to_frame()
    assert frame.to_dict("records") == [
        {"code": "b", "insider": "Miller Ltd", "open": "no pattern hides it"}
    ]


def test_sums_of_hidden_cells_are_counted_where_a_rule_judges_them(told):
    group = SensitiveGroup(0, np.array([0, 1]), "p-percent")
    counted = replace(told, groups=([group, group], []))
    assert counted.summary().endswith("sensitive groups 2 -> 0")
    assert counted.costs().loc["sensitive groups"].tolist() == [2, 0]
    assert "sensitive groups" not in told.costs().index
