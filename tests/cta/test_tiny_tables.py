"""Tiny tables are adjusted whenever an adjusted table exists, and called impossible otherwise.

The truth comes from a program in fractions for each choice of directions.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tablecloak as tc
from attack_optima import best_changes
from hand_tables import problem_of
from tiny_tables import FREE, tiny_cases

LEVELS = ((1.0, 1.0), (0.5, 0.5), (0.03, 0.03), (20.0, 20.0), (0.0, 1.0), (2.5, 0.0))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(tiny_cases(LEVELS, "uussssssz"), st.sampled_from([None, False]))
def test_a_tiny_table_is_adjusted_if_and_only_if_it_can_be(case, integer):
    problem, weights = case.problem(), [Fraction(weight) for weight in case.weights]
    changes, least = best_changes(case, weights, None)
    options = {"weights": np.array(case.weights), "integer": integer, "threads": 1}
    if changes is None:
        with pytest.raises(tc.ModelError):
            tc.adjust(problem, **options)
    else:
        adjusted = tc.adjust(problem, **options)
        adjusted.verify()
        assert adjusted.loss >= float(least) * (1 - 1e-6)
        assert adjusted.integer or adjusted.bound <= float(least) * (1 + 1e-6)


def test_a_relation_that_is_the_sum_of_others_does_no_harm_although_no_double_holds_it():
    """0.7 is not 0.5 + 0.2 as doubles are, and coefficients of 1000 make two rows look alike."""
    rows = [[12, 0.5, 1000], [1, 0.2, 1.5], [13, 0.7, 1001.5]]
    problem = problem_of("abc", [284, 58, 3], rows, {"b": (1, 1)}, sides=[6437, 300.1, 6737.1])
    low, high = np.array([284.0, 0, 0]), np.full(3, 852.0)
    adjusted = tc.adjust(problem.with_changes(lower_bound=low, upper_bound=high), integer=False)
    adjusted.verify()
    assert adjusted.values[1] == pytest.approx(57)


def test_directions_are_refuted_one_by_one_where_rooms_are_infinite():
    """Cell d moves by a seventh of what c does, and c by 1 at most; a and d have no upper bound."""
    rows = [[-0.2, 0, -1, 7], [0.5, 0, 0.1, 0], [-1, 0.5, 0, 12]]
    problem = problem_of(
        "abcd", [0, 12.6, -14, 9], rows, {"d": (1, 1)}, bounds=FREE, sides=[77, -1.4, 114.3]
    )
    low, high = np.array([0, -37.4, -15, 0]), np.array([np.inf, 13.6, -14, np.inf])
    with pytest.raises(tc.ModelError, match="proved by a complete search"):
        tc.adjust(problem.with_changes(lower_bound=low, upper_bound=high))


def test_a_cell_that_relations_determine_is_named_whatever_the_units():
    """Both relations join a and b, so that neither moves; c is 1e15 times as large."""
    rows = [[1, 12, 0, 0], [1, 0.5, 0, 0], [0, 1, 1000, -1]]
    values = [0, 0, 1e12, 1e15]
    problem = problem_of("abcd", values, rows, {"a": (1e-5, 1e-5)}, bounds=FREE)
    with pytest.raises(tc.ModelError, match="No additive table satisfies all levels") as error:
        tc.adjust(problem)
    assert error.value.cells == (0,)
