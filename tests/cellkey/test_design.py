"""Perturbation tables: the published ones, and what each must satisfy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablecloak.cellkey import design_count_table, design_magnitude_table
from tablecloak.errors import InputError


@pytest.mark.parametrize(
    ("row", "changes", "probabilities"),
    [
        (1, [-1, 1, 2], [0.50833333, 0.475, 0.01666667]),
        (2, [-2, 0, 1, 2], [0.16155827, 0.55565037, 0.24246618, 0.04032518]),
        (3, [-1, 0, 1, 2], [0.41231301, 0.28806097, 0.18693903, 0.11268699]),
        (4, [-2, -1, 0, 1, 2], [0.07012498, 0.24450007, 0.3707499, 0.24450007, 0.07012498]),
    ],
)
def test_the_example_table_of_ptable_is_met_to_its_last_digit(row, changes, probabilities):
    table = design_count_table(2, 1.05, blocked=1, monotone=[True, True, False, True])
    lines = table.to_frame().query("i == @row")
    assert lines.v.tolist() == changes
    np.testing.assert_allclose(lines.p, probabilities, atol=1.0001e-8)


def test_the_table_of_the_tests_of_cellkey_has_their_size_and_means():
    frame = design_count_table(5, 3, blocked=2, stay=0.5).to_frame()
    means = frame[["p", "p_int_lb", "p_int_ub", "v"]].mean().round(3).tolist()
    assert (len(frame), frame.i.max()) == (66, 8)
    assert means == [0.136, 0.562, 0.698, 1.045]


def test_no_change_is_as_likely_as_asked_for_wherever_the_variance_allows():
    moments = design_count_table(5, 3, blocked=2, stay=0.5).moments().set_index("i")
    assert (moments.unchanged[moments.index >= 3] >= 0.5 - 1e-7).all()
    lowered = design_count_table(5, 5, blocked=2, stay=0.9).moments().set_index("i")
    np.testing.assert_allclose(lowered.variance[lowered.index >= 3], 5, atol=1e-3)
    assert (lowered.unchanged < 0.9)[lowered.index >= 3].all()


@settings(max_examples=20)
@given(st.integers(2, 8), st.integers(0, 3), st.floats(0.0, 1.0))
def test_every_row_has_mean_zero_and_avoids_blocked_counts(deviation, blocked, share):
    blocked = min(blocked, deviation - 1)
    variance = (blocked + 1) * 1.05 + share * deviation
    table = design_count_table(deviation, variance, blocked=blocked).to_frame()
    assert not table.j.between(1, blocked).any() and (table.j >= 0).all()
    assert table.v.abs().max() <= deviation
    table["first"], table["second"] = table.p * table.v, table.p * table.v**2
    sums = table.groupby("i")[["p", "first", "second"]].sum()
    np.testing.assert_allclose(sums.p, 1, atol=1e-9)
    np.testing.assert_allclose(sums["first"], 0, atol=1e-6)
    assert (sums["second"] <= variance + 1e-5).all()


def test_changes_far_beyond_the_variance_are_all_but_impossible_and_no_reason_to_refuse():
    table = design_count_table(8, 1.05, blocked=0)
    np.testing.assert_allclose(table.moments().set_index("i").variance[1:], 1.05, atol=1e-6)
    chances = table.to_frame().query("i == 8").set_index("v").p
    np.testing.assert_allclose(chances, chances[::-1], atol=2e-8)
    assert chances[-8.0] == 0 < chances[-5.0] < 1e-5


def test_a_monotone_row_never_prefers_a_larger_change_below_zero():
    free, bound = (
        design_count_table(2, 1.05, blocked=1, monotone=is_so).to_frame().query("i == 3 and v <= 0")
        for is_so in (False, True)
    )
    free, bound = free.p, bound.p
    assert (np.diff(free) < 0).any()
    assert (np.diff(bound) >= -2e-8).all()


def test_an_exact_variance_is_met_although_less_would_have_more_entropy():
    loose, exact = (
        design_count_table(2, 3.2, monotone=False, exact_variance=[False, is_so]).moments()
        for is_so in (False, True)
    )
    assert abs(loose.variance.iloc[-1] - 2.0) < 1e-6
    assert abs(exact.variance.iloc[-1] - 3.2) < 1e-6


def test_magnitudes_have_the_rows_and_steps_that_are_asked_for():
    table = design_magnitude_table(5, 1, [1, 3, 5], step=0.2, exact_variance=[True, False, False])
    frame = table.to_frame()
    assert table.values.tolist() == [0, 1, 3, 5]
    assert frame.query("i == 5").v.tolist() == pytest.approx(list(np.arange(-25, 26) / 5))
    assert frame.query("i == 1").j.min() == 0
    np.testing.assert_allclose(table.moments().variance.iloc[1:], 1, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deviation": 0, "variance": 1}, "`deviation` must be a whole number of 1 or more"),
        ({"deviation": 2, "variance": 1, "blocked": 2}, "below `deviation`, which is 2"),
        ({"deviation": 2, "variance": 0.5, "blocked": 1}, "Row i = 1: no distribution has mean 0"),
        ({"deviation": 2, "variance": 1.2, "stay": 1.0}, "`stay` must lie between 0 and 1"),
        ({"deviation": 2, "variance": 1.2, "monotone": [True]}, "has 1 entries, but the table has"),
    ],
)
def test_a_table_that_cannot_be_says_why(options, message):
    with pytest.raises(InputError, match=message):
        design_count_table(**options)


def test_rows_of_magnitudes_must_reach_from_one_to_the_largest_change():
    with pytest.raises(InputError, match="must hold 1 and `deviation`, here 5"):
        design_magnitude_table(5, 1, [1, 3])
    with pytest.raises(InputError, match="`step` must be 1 divided by a whole number"):
        design_magnitude_table(5, 1, [1, 5], step=0.3)
