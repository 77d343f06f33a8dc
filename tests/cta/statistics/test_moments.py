"""Moments before and after, against hand calculation and the identities of Cox, Kelly and Patil."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from tablecloak.cta.statistics.moments import moments

NUMBERS = st.lists(st.integers(-50, 50), min_size=4, max_size=12)


def test_moments_of_three_values_by_hand():
    found = moments(np.array([1.0, 2, 3]), np.array([1.0, 2, 6]))
    assert found.mean_shift == pytest.approx(1)
    assert found.slope == pytest.approx(5 / 2)
    assert found.variance_ratio == pytest.approx(7)
    assert found.correlation == pytest.approx(5 / np.sqrt(28))
    assert found.distribution_distance == pytest.approx(1 / 3)


def test_unchanged_values_have_the_moments_of_the_identity():
    found = moments(np.array([4.0, 9, 1]), np.array([4.0, 9, 1]))
    assert (found.mean_shift, found.slope, found.variance_ratio) == (0, 1, 1)
    assert found.correlation == pytest.approx(1)
    assert found.distribution_distance == 0


def test_without_values_only_the_shift_is_defined():
    found = moments(np.empty(0), np.empty(0))
    assert found.mean_shift == 0
    assert np.isnan([found.slope, found.variance_ratio, found.distribution_distance]).all()


def test_equal_true_values_have_no_slope():
    found = moments(np.array([2.0, 2]), np.array([1.0, 5]))
    assert found.mean_shift == 1
    assert np.isnan([found.slope, found.correlation, found.variance_ratio]).all()
    # 1 < 2 < 5: the distribution functions lie 1/2 apart.
    assert found.distribution_distance == pytest.approx(1 / 2)


def test_equal_adjusted_values_have_no_correlation():
    found = moments(np.array([1.0, 3]), np.array([2.0, 2]))
    assert np.isnan(found.correlation)
    assert (found.slope, found.variance_ratio) == (0, 0)


@given(a=NUMBERS, seed=st.integers(0, 1000))
def test_slope_variance_and_correlation_obey_their_identities(a, seed):
    a = np.array(a, dtype=float)
    if np.ptp(a) == 0:
        a[0] += 1
    z = np.random.default_rng(seed).normal(0, 3, len(a))
    found = moments(a, a + z)
    ratio = np.var(z) / np.var(a)
    moved = np.mean((a - a.mean()) * (z - z.mean())) / np.var(a)
    assert found.slope == pytest.approx(1 + moved)
    assert found.variance_ratio == pytest.approx(1 + 2 * moved + ratio)
    assert found.correlation == pytest.approx((1 + moved) / np.sqrt(1 + 2 * moved + ratio))


@given(a=NUMBERS, b=NUMBERS)
def test_distance_of_distributions_is_the_two_sample_statistic(a, b):
    size = min(len(a), len(b))
    a, b = np.array(a[:size], dtype=float), np.array(b[:size], dtype=float)
    assert moments(a, b).distribution_distance == pytest.approx(
        ks_2samp(a, b, method="asymp").statistic
    )


@given(a=NUMBERS, factor=st.floats(0.1, 10), shift=st.floats(-5, 5))
def test_a_linear_change_has_its_own_slope_and_a_perfect_correlation(a, factor, shift):
    a = np.array(a, dtype=float)
    if np.ptp(a) == 0:
        a[0] += 1
    found = moments(a, factor * a + shift)
    assert found.slope == pytest.approx(factor)
    assert found.variance_ratio == pytest.approx(factor**2)
    assert found.correlation == pytest.approx(1)


def test_changes_that_cancel_shift_no_mean():
    original = np.array([1000.1, 2000.2, 3000.3])
    changes = np.array([0.1, 0.2, -0.3])
    assert np.mean((original + changes) - original) != 0
    assert moments(original, original + changes).mean_shift == 0
