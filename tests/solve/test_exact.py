"""Exact arithmetic: what is said to vanish does, in fractions, whatever the scale."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array

from tablecloak.solve.exact import (
    NullSpace,
    WholeRows,
    columns_at_zero,
    independent_whole_rows,
    products_vanish,
    snapped,
    whole_factors,
    whole_rows,
)


def entries(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    row, column = np.nonzero(matrix)
    return row, column, matrix[row, column].astype(float)


def products(matrix: np.ndarray, x: np.ndarray) -> list[Fraction]:
    return [
        sum(
            (Fraction(float(a)) * Fraction(float(b)) for a, b in zip(r, x, strict=True)), Fraction()
        )
        for r in matrix
    ]


def test_coefficients_are_read_as_the_decimals_they_were_written_as():
    matrix = csr_array(np.array([[0.1, 0.25, 1.0], [3.0, 0.0, -1.0], [1 / 3, 1.0, 0.0]]))
    assert whole_factors(matrix).tolist() == [100.0, 1.0, 0.0]
    whole, real = whole_rows(matrix)
    assert whole.toarray()[:2].tolist() == [[10.0, 25.0, 100.0], [3.0, 0.0, -1.0]]
    assert real.tolist() == [False, False, True]


@given(st.integers(0, 2**32 - 1))
def test_products_vanish_exactly_where_fractions_say_so(seed):
    random = np.random.default_rng(seed)
    matrix = random.integers(-2, 3, (3, 6))
    scale = 10.0 ** random.integers(-6, 13, 6)
    vectors = np.where(random.random((5, 6)) < 0.6, random.integers(-9, 10, (5, 6)) * scale, 0.0)
    # Cycles of unequal scale, some off by a last digit, beside vectors that are simply wrong.
    vectors[0] = 0.0
    vectors[1, :2] = [1e15 + 2, 0.125]
    matrix[:, 0], matrix[:, 1] = matrix[:, 2], -matrix[:, 3]
    vectors[1, 2:4] = [-(1e15 + 2), 0.125 + (random.random() < 0.5) * 2.0**-50]
    vanishing = products_vanish(csr_array(matrix.astype(float)), csr_array(vectors))
    expected = [not any(products(matrix, vector)) for vector in vectors]
    assert vanishing.tolist() == expected
    assert expected[0]


def test_a_sum_that_floats_round_away_does_not_vanish():
    matrix = csr_array(np.array([[1.0, 1.0, 1.0]]))
    vectors = csr_array(np.array([[1e16, 1.0, -1e16], [1e16, 1.0, -1e16 - 2]]))
    assert float((matrix @ vectors.T).toarray()[0, 0]) in (0.0, 1.0)
    assert products_vanish(matrix, vectors).tolist() == [False, False]


def noisy_vertex(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A table of three dimensions, and a vertex of its deviations with the noise of a solver."""
    random = np.random.default_rng(seed)
    shape = (3, 3, 3)
    relations = []
    for axis in range(3):
        for index in np.ndindex(*(size for k, size in enumerate(shape) if k != axis)):
            flags = np.zeros(shape)
            flags[tuple(np.insert(np.array(index, dtype=object), axis, slice(None)))] = 1
            relations.append(flags.reshape(-1))
    matrix = np.array(relations)
    room = random.random(27) * 10.0 ** random.integers(0, 4)
    answer = linprog(
        random.normal(size=27),
        A_eq=matrix,
        b_eq=np.zeros(len(matrix)),
        bounds=list(zip(-room, room, strict=True)),
    )
    return matrix, answer.x * (1 + 1e-12 * random.normal(size=27))


@pytest.mark.parametrize("seed", range(3))
def test_solutions_of_a_solver_become_exact_and_stay_close(seed):
    matrix, x = noisy_vertex(seed)
    moved = np.flatnonzero(np.abs(x) > 1e-9 * np.abs(x).max())
    part = matrix[:, moved]
    exact = NullSpace(*entries(part), np.zeros(len(moved), dtype=bool)).near(x[moved])
    assert exact is not None
    assert not any(products(part, exact))
    assert np.abs(exact - x[moved]).max() <= 1e-9 * np.abs(x).max()


def test_pivots_other_than_one_leave_a_common_divisor():
    matrix = np.array([[3, -2, 0, 0], [0, 3, -7, 0], [0, 0, 5, -11]])
    x = np.array([1 / 3 * 2, 1.0, 3 / 7, 15 / 77])
    exact = NullSpace(*entries(matrix), np.zeros(4, dtype=bool)).near(x)
    assert exact is not None
    assert not any(products(matrix, exact))
    assert np.abs(exact - x).max() < 1e-9


def test_a_cell_alone_in_a_row_does_not_move():
    matrix = np.array([[1, 1, -1, 0], [0, 1, 0, 0]])
    exact = NullSpace(*entries(matrix), np.zeros(4, dtype=bool)).near(
        np.array([5.0, 1e-6, 5.0, 2.0])
    )
    assert exact is not None
    assert exact.tolist() == [5.0, 0.0, 5.0, 2.0]


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_stored_zeros_change_no_solution(zero):
    matrix = np.array([[3, -2, 0, 0], [0, 3, -7, 0], [0, 0, 5, -11]])
    row, column = np.indices(matrix.shape).reshape(2, -1)
    stored = np.where(matrix == 0, zero, matrix).ravel()
    x, held = np.array([1 / 3 * 2, 1.0, 3 / 7, 15 / 77]), np.zeros(4, dtype=bool)
    with_zeros = NullSpace(row, column, stored, held).near(x)
    assert with_zeros is not None
    assert np.array_equal(with_zeros, NullSpace(*entries(matrix), held).near(x))


def test_cycles_are_only_rounded():
    matrix = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]])
    x = np.array([1, -1, -1, 1]) * 7.3 + 1e-12
    assert not any(products(matrix, next(snapped(*entries(matrix), x))))
    whole = next(snapped(*entries(matrix), np.array([3.0, -3.0, -3.0, 3.0]) + 1e-9))
    assert whole.tolist() == [3.0, -3.0, -3.0, 3.0]


def test_multipliers_are_settled_so_that_a_decimal_sum_of_rows_is_exactly_zero():
    """0.6 times 5/3 is 1; no binary fraction is 5/3, and none of 0.6 and 0.1 is itself."""
    matrix = csr_array([[1.0, 1.0, 0.0], [0.0, 0.6, 0.1]])
    rows, every = WholeRows.of(matrix, whole_factors(matrix)), np.array([0, 1])
    found = rows.settled(every, np.array([1.0, -5 / 3]), np.array([1]))
    assert found == pytest.approx([1, -5 / 3])
    first, second = (Fraction(float(number)) for number in found)
    assert first + second * Fraction("0.6") == 0
    assert rows.combined(every, found)[1] == 0
    assert rows.combinations(np.zeros(2, dtype=np.int64), every, found, 1).toarray()[0, 1] == 0


def test_columns_that_every_solution_leaves_at_zero_are_those_of_elimination():
    """a = -12 b = -2 b, so that both are 0; d = 1000 c is free."""
    matrix = csr_array([[1.0, 12, 0, 0], [1, 2, 0, 0], [2, 14, 0, 0], [0, 1, 1000, -1]])
    assert columns_at_zero(matrix).tolist() == [True, True, False, False]
    assert independent_whole_rows(matrix).tolist() == [0, 1, 3]
