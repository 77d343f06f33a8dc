"""Distributions of largest entropy."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tablecloak.cellkey.design import largest_entropy


def _of_moments(changes, variance):
    features = np.vstack([changes, changes**2])
    return largest_entropy(features, np.array([0.0, variance]), np.array([True, False]))


def test_without_a_binding_variance_the_uniform_distribution_has_the_largest_entropy():
    found = _of_moments(np.arange(-3.0, 4.0), 100.0)
    np.testing.assert_allclose(found, np.full(7, 1 / 7), atol=1e-12)


def test_two_changes_leave_one_distribution_of_mean_zero():
    np.testing.assert_allclose(_of_moments(np.array([-1.0, 3.0]), 9.0), [0.75, 0.25], atol=1e-12)


def test_a_variance_that_no_distribution_has_gives_nothing():
    assert _of_moments(np.array([-1.0, 1.0, 2.0]), 0.9) is None


@settings(max_examples=25)
@given(st.integers(1, 6), st.integers(1, 6), st.floats(0.2, 0.9))
def test_a_bound_variance_makes_the_distribution_exponential_in_v_and_its_square(low, high, share):
    changes = np.arange(-low, high + 1.0)
    free = _of_moments(changes, 1e6)
    variance = share * float(free @ changes**2)
    found = _of_moments(changes, variance)
    assert abs(found.sum() - 1) < 1e-10 and abs(found @ changes) < 1e-10
    assert abs(found @ changes**2 - variance) < 1e-9
    # log p = a + b v + c v^2: what is left after fitting three terms is nothing.
    terms = np.vander(changes, 3)
    rest = np.log(found) - terms @ np.linalg.lstsq(terms, np.log(found), rcond=None)[0]
    assert np.abs(rest).max() < 1e-6


@settings(max_examples=25)
@given(st.integers(3, 9), st.integers(2, 9), st.integers(0, 10**6))
def test_no_step_towards_another_permitted_distribution_adds_entropy(n, n_rising, seed):
    random, n_rising = np.random.default_rng(seed), min(n_rising, n)

    def rising():
        chances = random.dirichlet(np.ones(n))
        chances[:n_rising] = np.sort(chances[:n_rising])
        return chances

    features, is_equal = random.normal(size=(2, n)), np.array([True, False])
    permitted = rising()
    targets = features @ permitted
    found = largest_entropy(features, targets, is_equal, n_rising)
    assert (found > 0).all() and abs(found.sum() - 1) < 1e-12
    assert (np.diff(found[:n_rising]) >= -1e-12).all()
    assert abs(features[0] @ found - targets[0]) < 1e-9 > features[1] @ found - targets[1]
    # The objective is concave: its derivative towards anything that is permitted is at most 0.
    assert -(permitted - found) @ np.log(found) <= 1e-9


def test_contradicting_rows_are_proved_to_have_no_distribution():
    features = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 0.0]])
    both = np.array([False, False])
    assert largest_entropy(features, np.array([0.5, 0.2]), both) is None
    # A rising sequence of three has a mean of 1 or more.
    assert largest_entropy(features[:1], np.array([0.99]), both[:1], 3) is None
    found = largest_entropy(features[:1], np.array([1.0]), both[:1], 3)
    np.testing.assert_allclose(found, np.full(3, 1 / 3), atol=1e-9)
