"""Transition matrices: invariance, the way back, and what is none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.microdata.methods.pram_by_matrix import (
    invariant_matrix,
    transition_matrix,
    unbiased_frequencies,
)

P = np.array([[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.15, 0.15, 0.7]])
SHARES = np.array([0.5, 0.3, 0.2])


def matrix(seed: int, size: int) -> np.ndarray:
    found = np.random.default_rng(seed).dirichlet(np.ones(size), size)
    return 0.7 * np.eye(size) + 0.3 * found


def test_the_invariant_matrix_of_the_worked_example():
    """Half of what the way there and back does; its diagonal is far below the one asked for."""
    expected = [
        [0.9023826, 0.05065573, 0.04696168],
        [0.08442621, 0.83605721, 0.07951658],
        [0.1174042, 0.11927487, 0.76332093],
    ]
    assert invariant_matrix(P, SHARES, alpha=0.5) == pytest.approx(np.array(expected), abs=1e-7)
    full = invariant_matrix(P, SHARES, alpha=1.0)
    assert np.diag(full) == pytest.approx([0.80476519, 0.67211443, 0.52664187], abs=1e-7)


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), size=st.integers(2, 6), alpha=st.floats(0, 1))
def test_expected_frequencies_stay_under_an_invariant_matrix(seed, size, alpha):
    p = np.random.default_rng(seed + 1).integers(0, 50, size).astype(float)
    p[0] += 1
    found = invariant_matrix(matrix(seed, size), p, alpha=alpha)
    assert p @ found == pytest.approx(p)
    assert found.sum(axis=1) == pytest.approx(np.ones(size))
    assert np.all(found >= 0)


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), size=st.integers(2, 6))
def test_what_was_applied_can_be_undone_in_expectation(seed, size):
    p = np.random.default_rng(seed).integers(1, 50, size).astype(float)
    applied = matrix(seed, size)
    assert unbiased_frequencies(p @ applied, applied) == pytest.approx(p)


def test_no_change_is_the_identity():
    assert np.array_equal(invariant_matrix(P, SHARES, alpha=0.0), np.eye(3))


def test_categories_that_do_not_occur_stay_where_they_are():
    found = invariant_matrix(np.eye(3), [1, 0, 2], alpha=1.0)
    assert np.array_equal(found, np.eye(3))


@pytest.mark.parametrize(
    "given",
    [[[1, 0]], [[0.5, 0.4], [0, 1]], [[1.5, -0.5], [0, 1]], [], [1.0], [["a", "b"], ["c", "d"]]],
)
def test_what_is_no_transition_matrix_is_refused(given):
    with pytest.raises(tc.InputError, match="A transition matrix must"):
        transition_matrix(given)


@pytest.mark.parametrize(
    ("frequencies", "alpha", "message"),
    [
        ([1, 2], 0.5, "must hold 3 finite numbers"),
        ([1, 2, np.nan], 0.5, "must hold 3 finite numbers"),
        ([1, 2, -3], 0.5, "must not be negative"),
        ([0, 0, 0], 0.5, "not all 0"),
        ([1, 2, 3], 1.5, "`alpha` must lie between 0 and 1"),
    ],
)
def test_frequencies_and_shares_out_of_range_are_refused(frequencies, alpha, message):
    with pytest.raises(tc.InputError, match=message):
        invariant_matrix(P, frequencies, alpha=alpha)


def test_a_matrix_that_forgets_everything_cannot_be_undone():
    with pytest.raises(tc.ModelError, match="cannot be inverted"):
        unbiased_frequencies([1, 1], np.full((2, 2), 0.5))
