"""Exact products, snapped solutions and restored vertices, against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tablecloak.solve.exact import products_vanish, whole_factors, whole_rows
from tablecloak.solve.polish import polished
from tablecloak.solve.program import Program

ENTRIES = st.integers(-3, 3)


@given(
    rows=st.lists(st.lists(ENTRIES, min_size=4, max_size=4), min_size=1, max_size=3),
    vector=st.lists(st.integers(-(2**40), 2**40), min_size=4, max_size=4),
    shift=st.integers(-30, 30),
)
def test_a_product_vanishes_exactly_where_it_does_in_fractions(rows, vector, shift):
    matrix = csr_array(np.array(rows, dtype=float))
    values = np.ldexp(np.array(vector, dtype=float), shift)
    exact = [
        sum(Fraction(a) * Fraction(float(d)) for a, d in zip(row, values, strict=True)) == 0
        for row in rows
    ]
    found = products_vanish(matrix, csr_array(values[None, :]))
    assert found.tolist() == [all(exact)]


def test_terms_of_very_different_sizes_do_not_hide_each_other():
    """2^60 + 1 - 2^60 is 1 and not 0."""
    matrix = csr_array([[1.0, 1.0, -1.0]])
    vectors = csr_array([[2.0**60, 1.0, 2.0**60], [2.0**60, 0.0, 2.0**60]])
    assert products_vanish(matrix, vectors).tolist() == [False, True]


def test_nothing_times_anything_vanishes():
    assert products_vanish(csr_array((0, 3)), csr_array([[1.0, 2, 3]])).tolist() == [True]
    assert products_vanish(csr_array([[1.0, 1, 1]]), csr_array((2, 3))).tolist() == [True, True]


@pytest.mark.parametrize(
    ("row", "factor"),
    [
        ([1, -1], 1),
        ([0.5, 1], 10),
        ([0.25, 0.1], 100),
        ([1 / 3, 1], 0),
        ([1e-9, 1], 1e9),
        ([1e-12, 1], 0),
    ],
)
def test_coefficients_become_whole_by_the_least_power_of_ten(row, factor):
    assert whole_factors(csr_array(np.array([row], dtype=float))).tolist() == [factor]


def test_rows_with_thirds_stay_as_they_are_and_are_told():
    matrix, real = whole_rows(csr_array([[0.5, 0.25], [1 / 3, 1.0]]))
    assert matrix.toarray()[0].tolist() == [50, 25]
    assert matrix.toarray()[1].tolist() == [1 / 3, 1]
    assert real.tolist() == [False, True]


@given(seed=st.integers(0, 500), digits=st.integers(7, 10))
def test_a_vertex_that_was_written_with_few_digits_comes_back(seed, digits):
    """Two rows of two sides and bounds: the vertex solves a system of whole numbers."""
    random = np.random.default_rng(seed)
    matrix = random.integers(1, 5, (2, 3)).astype(float)
    # One more in a corner changes the determinant by the corner across, which is not 0.
    if abs(np.linalg.det(matrix[:, :2])) < 0.5:
        matrix[0, 0] += 1
    assert abs(np.linalg.det(matrix[:, :2])) > 0.5
    x = np.array([*np.linalg.solve(matrix[:, :2], [7.0, 9.0]), 0.0])
    program = Program(
        np.ones(3), csr_array(matrix), np.array([7.0, 9.0]), np.array([7.0, 9.0]),
        np.array([-50.0, -50, 0]), np.full(3, 50.0),
    )  # fmt: skip
    found, _ = polished(program, np.round(x, digits), np.empty(0))
    assert found == pytest.approx(x, abs=1e-13)
    assert np.abs(matrix @ found - [7, 9]).max() <= 1e-12
