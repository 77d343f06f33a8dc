"""Distributions of largest entropy."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tablecloak.cellkey.entropy import largest_entropy


def _of_moments(changes, variance):
    equal = np.vstack([np.ones(len(changes)), changes])
    return largest_entropy(
        equal, np.array([1.0, 0.0]), np.atleast_2d(changes**2), np.array([variance])
    )


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
