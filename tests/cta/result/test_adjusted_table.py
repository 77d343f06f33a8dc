"""The check of an adjusted table: each broken promise is refused by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import by_code, cross, one_row, place
from tablecloak.cta.result.adjusted_table import check_adjusted

PROBLEM = one_row([50, 60], {"a": (3, 5)}, bounds=(0, 200))


def adjusted(problem: tc.ProtectionProblem = PROBLEM, **options) -> tc.Adjustment:
    return tc.adjust(problem, weights="unit", **options)


def altered(one: tc.Adjustment, **moved: float) -> tc.Adjustment:
    """The same table with some values moved further, and nothing claimed of its bound."""
    values = one.values.copy()
    for code, by in moved.items():
        values[place(one.problem, code)] += by
    return replace(one, values=values, bound=0.0, bound_certificate=None)


def test_the_cheapest_adjustment_is_the_one_by_hand():
    """a falls by 3, the smaller level; one of the two others has to follow."""
    one = adjusted()
    z = by_code(one.problem, one.changes)
    assert z["a"] == -3
    assert sorted(np.abs([z["b"], z["Total"]])) == [0, 3]
    assert one.loss == one.bound == 6
    measured = one.verify()
    assert (measured.relations, measured.bounds, measured.levels) == (0, 0, 0)
    assert measured.exact


def test_a_relation_that_does_not_add_up_is_named_with_its_error():
    with pytest.raises(tc.VerificationError, match="A relation of the adjusted table is off by 2"):
        altered(adjusted(), b=2).verify()


def test_a_value_beyond_its_bounds_is_named():
    one = adjusted()
    to_bound = 200 - by_code(one.problem, one.values)["Total"]
    with pytest.raises(tc.VerificationError, match="move beyond their bounds: .*Total") as error:
        altered(one, b=to_bound + 5, Total=to_bound + 5).verify()
    assert error.value.cells == (place(one.problem, "Total"),)
    assert "by up to 5" in str(error.value)


def test_a_capacity_that_is_exceeded_is_refused():
    problem = cross([[50, 60], [70, 80]], {"11": (3, 5)}).with_capacity(10)
    one = adjusted(problem)
    with pytest.raises(tc.VerificationError, match="move beyond their bounds"):
        altered(one, **{"12": 20, "1T": 20, "T2": 20, "TT": 20}).verify()


def test_a_limit_on_sensitive_cells_that_is_exceeded_is_refused():
    one = adjusted(sensitive_limit=1.0)
    with pytest.raises(tc.VerificationError, match="move beyond their bounds: .*a"):
        altered(one, a=-1, b=1).verify()


def test_a_frozen_cell_that_changed_is_refused():
    one = adjusted(one_row([50, 60, 70], {"a": (3, 5)}, frozen=["c"]))
    with pytest.raises(tc.VerificationError, match="frozen but changed"):
        altered(one, c=1, b=-1).verify()


@pytest.mark.parametrize(
    ("z", "is_safe"), [(-3, True), (-2, False), (0, False), (4, False), (5, True)]
)
def test_a_sensitive_cell_must_reach_its_level_on_its_side(z, is_safe):
    one = adjusted()
    moved = z - by_code(one.problem, one.changes)["a"]
    other = altered(one, a=moved, b=-moved)
    if is_safe:
        other.verify()
    else:
        with pytest.raises(tc.VerificationError, match="too near to their true values: .*a"):
            other.verify()


def test_a_fraction_in_a_table_of_whole_numbers_is_refused():
    one = adjusted()
    assert one.integer
    with pytest.raises(tc.VerificationError, match="must have multiples of 1"):
        altered(one, a=-0.5, b=0.5).verify()


def test_a_statistic_that_moved_is_refused():
    problem = cross([[50, 60, 70], [70, 80, 90]], {"11": (3, 5), "22": (4, 4)})
    one = tc.adjust(problem, weights="unit", preserve=["mean:sensitive"])
    assert one.changes[problem.sensitive].sum() == 0
    with pytest.raises(tc.VerificationError, match="A preserved statistic is off"):
        far = 10 * np.sign(one.changes[place(problem, "11")])
        altered(one, **{"11": far, "12": -far, "21": -far, "22": far}).verify()


@pytest.mark.parametrize("claimed", [6.0001, 7.0, np.inf])
def test_a_bound_above_what_is_proved_is_refused(claimed):
    with pytest.raises(tc.VerificationError, match="is claimed, but only"):
        replace(adjusted(), bound=claimed).verify()


def test_a_proof_that_contradicts_a_table_is_refused():
    one = replace(adjusted(), bound=0.0)
    check_adjusted(one, 6.0)
    with pytest.raises(tc.VerificationError, match="exceeds the loss 6 of a table that exists"):
        check_adjusted(one, 6.1)
