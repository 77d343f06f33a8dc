"""What a caller of `adjust` may ask for, and what does not go together."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import one_row
from tablecloak.cta.search.task import AdjustmentTask, cost_of

PROBLEM = one_row([50, 60], {"a": (3, 5)})


def task(problem=PROBLEM, **given) -> AdjustmentTask:
    options = {
        "weights": "unit",
        "distance": "L1",
        "preserve": (),
        "sensitive_limit": None,
        "directions": "search",
        "integer": None,
    }
    return AdjustmentTask.of(problem, **{**options, **given})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"distance": "L3"}, "distance.*L3"),
        ({"distance": "L2", "integer": True}, "Whole numbers are offered for the distance L1 only"),
        ({"sensitive_limit": 0.5}, "`sensitive_limit` must be at least 1. Got 0.5"),
        ({"sensitive_limit": float("nan")}, "`sensitive_limit` must be at least 1"),
        ({"preserve": ["variance", "variance:all"]}, "Only one variance can be preserved"),
        ({"preserve": ["variance"], "integer": True}, "cannot be preserved in whole numbers"),
        ({"preserve": ["variance"], "distance": "L2"}, "preserved with the distance L1 only"),
        ({"weights": [1.0, 2.0]}, "one finite number >= 0 for each cell"),
        ({"weights": [1.0, -2.0, 1.0]}, "one finite number >= 0 for each cell"),
        ({"weights": [1.0, np.inf, 1.0]}, "one finite number >= 0 for each cell"),
    ],
)
def test_what_does_not_go_together_is_refused_with_its_reason(given, message):
    with pytest.raises(tc.InputError, match=message):
        task(**given)


def test_whole_numbers_of_fractional_values_are_refused():
    with pytest.raises(tc.InputError, match="the true values are not whole"):
        task(one_row([50.5, 60], {"a": (3, 5)}), integer=True)


@pytest.mark.parametrize(
    ("values", "given", "decimals"),
    [
        ([50, 60], {}, 0),
        ([50.5, 60], {}, 1),
        ([1 / 3, 60], {}, None),
        ([50, 60], {"integer": False}, None),
        ([50, 60], {"distance": "L2"}, None),
        ([50, 60], {"preserve": ["variance"]}, None),
        ([50, 60], {"integer": True}, 0),
    ],
)
def test_the_last_digit_is_sought_unless_something_forbids_it(values, given, decimals):
    assert task(one_row(values, {"a": (3, 5)}), **given).decimals == decimals


def test_the_space_is_in_units_of_the_last_digit():
    one = task(one_row([5.5, 6], {"a": (0.31, 0.5)}))
    space = one.space()
    assert space.problem.table.values.tolist() == [55, 60, 115]
    assert space.room.down_level[0] == 4
    assert one.in_real_numbers().space().room.down_level[0] == 0.31


@pytest.mark.parametrize(("level", "is_multiple"), [(0.3, True), (0.31, False)])
def test_levels_between_two_multiples_are_noticed(level, is_multiple):
    one = task(one_row([5.5, 6], {"a": (level, level)}))
    assert one.is_in_last_digits == is_multiple


@pytest.mark.parametrize(
    ("rule", "cost"), [("unit", [1, 1, 1]), ("relative", [1 / 50, 1 / 60, 1 / 110])]
)
def test_the_cost_of_a_rule_is_that_of_one_unit(rule, cost):
    assert cost_of(PROBLEM, rule) == pytest.approx(cost)


def test_an_unknown_direction_is_an_error():
    with pytest.raises(tc.InputError, match="`directions` must be 'search', 'up', 'down'"):
        tc.adjust(PROBLEM, directions="left")


@pytest.mark.parametrize("given", [[1, 1], [0.5], [2]])
def test_directions_are_one_sign_for_each_sensitive_cell(given):
    with pytest.raises(tc.InputError, match="for each of the 1 sensitive cells"):
        tc.adjust(PROBLEM, directions=given)


def test_a_direction_without_room_is_an_error_that_names_the_cell():
    upper = PROBLEM.upper_bound.copy()
    upper[0] = 52
    with pytest.raises(tc.ModelError, match="cannot move in the given direction.*code=a"):
        tc.adjust(PROBLEM.with_changes(upper_bound=upper), directions=[1])
