"""Adjusted values with the digits of the true table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import by_code, cross, one_row
from random_tables import random_problem
from tablecloak.cta.result.decimals import decimals_of, in_decimals, marks_changes


def squares(problem: tc.ProtectionProblem, **options) -> tc.Adjustment:
    return tc.adjust(problem, weights="unit", distance="L2", **options)


@pytest.mark.parametrize(
    ("values", "decimals"), [([5, 6], 0), ([5.5, 6], 1), ([5.25, 6.5], 2), ([1 / 3, 6], None)]
)
def test_decimals_are_those_of_the_true_values(values, decimals):
    problem = one_row(values, {"a": (1, 1)})
    assert decimals_of(squares(problem)) == decimals


def test_fractions_beside_whole_numbers_mark_the_cells_that_were_changed():
    # Levels 5: b and the total share 5, so that both have a half.
    problem = one_row([50, 60], {"a": (5, 5)})
    one = squares(problem)
    assert sorted(np.abs(one.changes).tolist()) == pytest.approx([2.5, 2.5, 5], abs=1e-6)
    assert marks_changes(one)


def test_rounding_takes_each_value_to_a_neighbour_and_keeps_the_table():
    problem = one_row([50, 60], {"a": (5, 5)})
    one = squares(problem)
    whole = in_decimals(one)
    whole.verify()
    assert np.array_equal(whole.values, np.rint(whole.values))
    z = np.abs(by_code(problem, whole.changes)["a"])
    assert z == 5
    assert sorted(np.abs(whole.changes).tolist()) == [2, 3, 5]
    assert whole.notes[0].startswith("rounded to 0 decimals")
    assert whole.bound == pytest.approx(min(one.bound, whole.loss))


def test_a_table_with_the_right_digits_is_returned_as_it_is():
    one = tc.adjust(one_row([50, 60], {"a": (5, 5)}), weights="unit")
    assert not marks_changes(one)
    assert in_decimals(one) is one


def test_a_level_between_two_multiples_is_rounded_up():
    problem = one_row([50, 60], {"a": (4.5, 4.5)})
    whole = in_decimals(squares(problem))
    assert abs(by_code(problem, whole.changes)["a"]) == 5


@pytest.mark.parametrize("seed", range(2))
def test_cents_stay_cents_in_two_dimensions(seed):
    random = np.random.default_rng(seed)
    problem = cross(
        np.round(random.uniform(10, 90, (3, 3)), 2).tolist(), {"11": (1.23, 2.34), "22": (3, 3)}
    )
    whole = in_decimals(squares(problem))
    assert np.array_equal(whole.values, np.round(whole.values, 2))
    cents = np.rint(100 * whole.values).astype(int)
    assert not (problem.table.relations.astype(int) @ cents).any()
    moved = np.abs(whole.changes[problem.sensitive])
    assert np.all(moved >= problem.lower_protection[problem.sensitive] - 1e-9)


def test_a_preserved_mean_holds_within_half_of_the_last_digit():
    problem = cross([[50, 60], [70, 80]], {"11": (7, 7)})
    one = squares(problem, preserve=["mean:all"])
    assert marks_changes(one)
    whole = in_decimals(one)
    assert abs(whole.changes.sum()) <= 0.5
    assert whole.preserved[0].slack >= 0.5


@pytest.mark.parametrize("seed", range(2))
def test_the_bound_of_a_rounded_table_is_what_its_looser_statistics_prove(seed):
    """Half a digit of slack in a slope proves less than none: the old bound is not claimed."""
    one = tc.adjust(random_problem(seed), preserve=["slope:all"], integer=False, time_limit=1000)
    whole = in_decimals(one)
    assert np.array_equal(whole.values, np.rint(whole.values))
    assert 0 < whole.bound <= one.bound
    whole.verify()


def test_where_no_table_in_these_digits_exists_nothing_is_published():
    """Between frozen cells and bounds that leave a room of less than one digit."""
    problem = one_row([50, 60], {"a": (4.5, 4.5)}, bounds=(0, 200))
    lower, upper = problem.lower_bound.copy(), problem.upper_bound.copy()
    lower[0], upper[0] = 45.4, 54.6
    narrow = problem.with_changes(lower_bound=lower, upper_bound=upper)
    one = squares(narrow)
    assert abs(one.changes[0]) == pytest.approx(4.5, abs=1e-3)
    with pytest.raises(tc.SolverError, match="would mark the changed cells"):
        in_decimals(one)


def test_measurements_without_a_last_digit_lose_binary_dust_alone():
    problem = one_row([1 / 3, 2 / 7], {"a": (0.1, 0.1)}, bounds=(0, 10))
    one = squares(problem)
    clean = in_decimals(one)
    assert np.abs(clean.values - one.values).max() < 1e-10
    clean.verify()


def test_declared_decimals_count_more_than_those_of_the_values():
    problem = one_row([5, 6], {"a": (1, 1)})
    declared = replace(problem.table, decimals=2)
    one = squares(replace(problem, table=declared))
    assert decimals_of(one) == 2
