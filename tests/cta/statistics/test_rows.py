"""Rows that preserve a statistic, by hand and by their identity."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import one_row
from tablecloak.cta.search.statistics.variance import Variance
from tablecloak.cta.statistics.regression import Covariance
from tablecloak.cta.statistics.statistic import PreservedRow, Statistic

PROBLEM = one_row([1, 2, 6], {"a": (1, 1), "b": (1, 1)})
"""Values 1, 2, 6 and the total 9; a and b are sensitive."""


def test_the_mean_row_sums_the_changes_of_its_subset():
    (row,) = tc.Mean("sensitive").rows(PROBLEM)
    assert row.coefficients.tolist() == [1, 1, 0, 0]
    assert (row.slack, row.target) == (0, 0)


def test_the_tolerance_of_a_mean_is_a_share_of_the_sum():
    (row,) = tc.Mean("all", tolerance=0.1).rows(PROBLEM)
    assert row.slack == pytest.approx(1.8)


def test_the_slope_row_holds_distances_from_the_mean_scaled_to_1():
    # Mean of 1, 2, 6 is 3: distances -2, -1, 3.
    (row,) = tc.Slope(np.array([0, 1, 2])).rows(PROBLEM)
    assert row.coefficients == pytest.approx([-2 / 3, -1 / 3, 1, 0])


def test_the_tolerance_of_a_slope_is_that_of_the_slope_itself():
    subset = np.array([0, 1, 2])
    (row,) = tc.Slope(subset, tolerance=0.25).rows(PROBLEM)
    z = np.array([0.3, -1.1, 0.7, 0.0])
    slope = 1 + np.cov([1, 2, 6], z[:3], bias=True)[0, 1] / np.var([1, 2, 6])
    # coefficients . z = (slope - 1) sum (a - mean)^2 / max |a - mean|
    assert row.coefficients @ z == pytest.approx((slope - 1) * 14 / 3)
    assert row.slack == pytest.approx(0.25 * 14 / 3)


def test_whole_numbers_may_miss_a_slope_by_half_a_unit():
    assert tc.Slope(np.array([0, 1, 2])).rows(PROBLEM, integer=True)[0].slack == 0.5
    assert tc.Mean("all").rows(PROBLEM, integer=True)[0].slack == 0


def test_equal_values_have_no_slope():
    equal = one_row([4, 4], {"a": (1, 1)})
    with pytest.raises(tc.ModelError, match="no slope is defined"):
        tc.Slope(np.array([0, 1])).rows(equal)


def test_a_regression_is_the_mean_and_the_slope():
    both = tc.Regression("all", 0.01).rows(PROBLEM)
    alone = [*tc.Mean("all", 0.01).rows(PROBLEM), *tc.Slope("all", 0.01).rows(PROBLEM)]
    assert [row.name for row in both] == ["mean", "slope"]
    for one, other in zip(both, alone, strict=True):
        assert np.array_equal(one.coefficients, other.coefficients)
        assert one.slack == other.slack


def test_the_covariance_row_keeps_the_covariance_with_the_published_variable():
    other = np.array([5.0, 1, 2, 8])
    published = np.array([4.0, 2, 3, 9])
    (row,) = Covariance("all", other=other, published=published).rows(PROBLEM)
    random = np.random.default_rng(1)
    z = random.normal(size=4)
    # Move z onto the row: then the covariance of x and v is that of a and b.
    z += (
        (row.target - row.coefficients @ z)
        / (row.coefficients @ row.coefficients)
        * (row.coefficients)
    )
    values = PROBLEM.table.values
    kept = np.cov(values + z, published, bias=True)[0, 1]
    assert kept == pytest.approx(np.cov(values, other, bias=True)[0, 1])


def test_a_covariance_with_the_true_variable_has_no_target():
    (row,) = Covariance("all", other=np.array([5.0, 1, 2, 8])).rows(PROBLEM)
    assert row.target == pytest.approx(0)


@pytest.mark.parametrize("bad", [None, [1.0, 2.0], [1.0, 2, 3, np.nan]])
def test_the_other_variable_needs_one_number_for_each_cell(bad):
    with pytest.raises(tc.InputError, match="`other` must hold one finite number for each cell"):
        Covariance("all", other=bad).rows(PROBLEM)


def test_a_constant_variable_has_no_covariance_to_keep():
    with pytest.raises(tc.ModelError, match="all published values of the other variable are equal"):
        Covariance("all", other=np.full(4, 2.0)).rows(PROBLEM)


@pytest.mark.parametrize("tolerance", [-0.1, float("nan")])
def test_a_tolerance_must_be_a_number_from_0(tolerance):
    with pytest.raises(tc.InputError, match="`tolerance` must be a number >= 0"):
        tc.Mean("all", tolerance)


@pytest.mark.parametrize(
    ("changes", "error"), [([0, 0], 0), ([1, 0.5], 0), ([3, 0], 2 / 3), ([-2, 0], 1 / 2)]
)
def test_the_error_of_a_row_is_a_share_of_its_terms(changes, error):
    row = PreservedRow("mean", np.array([1.0, -1.0]), slack=1.0)
    assert row.error(changes) == pytest.approx(error)


def test_the_rounding_of_values_is_excused():
    row = PreservedRow("mean", np.array([1.0, 1.0]), slack=0.0)
    values = np.array([1e16, 1e16])
    assert row.error([2.0, 0.0]) == 1
    assert row.error([2.0, 0.0], values) == 0


def test_a_statistic_has_no_conditions_beyond_its_rows_but_the_variance_has_one():
    assert tc.Mean("all").conditions(PROBLEM) == []
    (kept,) = Variance("all").conditions(PROBLEM)
    assert Variance("all").rows(PROBLEM) == []
    assert kept.error(PROBLEM, np.zeros(4)) == 0


def test_the_excess_of_a_variance_is_what_doubling_makes_of_it():
    kept = Variance("all", 0.5).kept(PROBLEM)
    assert kept.excess(PROBLEM, PROBLEM.table.values) == pytest.approx(3)
    assert kept.error(PROBLEM, PROBLEM.table.values) == pytest.approx(2.5)


@pytest.mark.parametrize("shift", [-0.5, 0.0, 0.2])
def test_a_slope_row_fixes_the_slope_that_it_names(shift):
    row = Variance("all").kept(PROBLEM).slope_row(PROBLEM, shift)
    # z = shift * a has exactly the slope 1 + shift.
    assert row.coefficients @ (shift * PROBLEM.table.values) == pytest.approx(row.target)


def test_a_statistic_without_rows_of_its_own_is_not_one():
    with pytest.raises(NotImplementedError):
        Statistic("all").rows(PROBLEM)
