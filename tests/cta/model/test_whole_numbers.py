"""Adjustments in whole numbers, next to fractional ones."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import cross, one_row
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.cta.model.steps import is_near_whole, whole_changes
from tight_forms import ENOUGH, form_of


def model_of(problem, **options):
    return form_of(problem, **options).model


def test_changes_that_are_whole_but_for_noise_are_rounded():
    model = model_of(one_row([50, 60], {"a": (3, 5)}))
    z = np.array([5 + 1e-8, -5 - 1e-8, 0.0])
    assert is_near_whole(model, z)
    assert whole_changes(model, z, Budget.of(ENOUGH)).tolist() == [5, -5, 0]


@pytest.mark.parametrize(
    "z",
    [
        [5.5, -5.5, 0.0],  # rounds to 6, -6: additive
        [5.0, -2.5, 2.5],  # rounds to -2 and 2: not additive
        [-3.0, 1.5, -1.5],
    ],
)
def test_fractional_changes_have_whole_ones_next_to_them(z):
    problem = one_row([50, 60], {"a": (3, 5)})
    whole = whole_changes(model_of(problem), z, Budget.of(ENOUGH))
    assert whole.dtype == np.int64
    assert whole[0] + whole[1] == whole[2]
    assert np.sign(whole[0]) == np.sign(z[0])
    assert whole[0] >= 5 or whole[0] <= -3
    assert np.abs(whole - z).max() <= 1


def test_a_fractional_level_is_reached_by_the_next_whole_number():
    problem = one_row([50, 60], {"a": (2.5, 4.5)})
    whole = whole_changes(model_of(problem), [4.5, -4.5, 0], Budget.of(ENOUGH))
    assert whole[0] == 5
    assert np.abs(whole).sum() == 10


@pytest.mark.parametrize("seed", range(4))
def test_three_dimensions_get_whole_numbers_with_the_same_directions(seed):
    problem = random_problem(seed, (2, 3, 2), 4)
    fractional = tc.adjust(problem, distance="L2").changes
    model = model_of(problem)
    whole = whole_changes(model, fractional, Budget.of(ENOUGH))
    assert whole is not None
    assert not (problem.table.relations.astype(int) @ whole).any()
    assert np.array_equal(model.directions_of(whole), model.directions_of(fractional))
    moved, sensitive = np.abs(whole), problem.sensitive
    level = np.where(whole > 0, problem.upper_protection, problem.lower_protection)
    assert np.all(moved[sensitive] >= level[sensitive])


def test_where_no_whole_number_lies_between_level_and_bound_there_is_none():
    problem = one_row([50, 60], {"a": (4.2, 4.2)})
    lower, upper = problem.lower_bound.copy(), problem.upper_bound.copy()
    lower[0], upper[0] = 45.5, 54.5
    model = model_of(problem.with_changes(lower_bound=lower, upper_bound=upper))
    assert whole_changes(model, [4.2, -4.2, 0], Budget.of(ENOUGH)) is None


def test_changes_beyond_what_integers_hold_exactly_are_not_called_whole():
    problem = one_row([2.0**60, 2.0**60], {"a": (3, 5)}, bounds=(0, 2.0**62))
    z = 2.0**54
    assert not is_near_whole(model_of(problem), [z, -z, 0])


def test_a_statistic_that_rounding_breaks_is_no_whole_adjustment():
    problem = cross([[50, 60], [70, 80]], {"11": (2, 2), "22": (3, 3)})
    slope = tc.Slope("all")
    model = model_of(problem, preserve=[slope])
    z = tc.adjust(problem, preserve=[slope], integer=False).changes
    row = model.preserved[0]
    found = whole_changes(model, z, Budget.of(ENOUGH))
    assert found is None or row.error(found) == 0
