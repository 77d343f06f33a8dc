"""Rows that imply all others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from tablecloak.solve.independent import independent_rows


@pytest.mark.parametrize("seed", range(3))
def test_kept_rows_have_the_rank_of_all_rows(seed):
    random = np.random.default_rng(seed)
    basis = random.integers(-1, 2, (6, 20)).astype(float)
    mixed = random.integers(-2, 3, (5, 6)).astype(float) @ basis
    matrix = csr_array(np.vstack([basis, mixed]))
    kept = independent_rows(matrix)
    rank = np.linalg.matrix_rank(matrix.toarray())
    assert len(kept) == rank == np.linalg.matrix_rank(matrix.toarray()[kept])


def test_repeated_and_empty_rows_are_left_out():
    matrix = csr_array([[1.0, 1.0, -1.0], [0.0, 0.0, 0.0], [1.0, 1.0, -1.0], [0.0, 1.0, 1.0]])
    assert independent_rows(matrix).tolist() == [0, 3]


def test_the_relations_of_a_table_of_two_dimensions_have_one_row_too_many():
    r, c = 4, 5
    cells = np.arange((r + 1) * (c + 1)).reshape(r + 1, c + 1)
    matrix = np.zeros((r + c + 2, cells.size))
    for row in range(r + 1):
        matrix[row, cells[row, :-1]], matrix[row, cells[row, -1]] = 1, -1
    for column in range(c + 1):
        matrix[r + 1 + column, cells[:-1, column]] = 1
        matrix[r + 1 + column, cells[-1, column]] = -1
    assert len(independent_rows(csr_array(matrix))) == r + c + 1


def test_a_sum_of_cells_that_stand_beside_others_in_small_units_is_no_repetition():
    # Three cells in tonnes, the same in hundreds of grams, and the sum of those in tonnes.
    matrix = np.zeros((4, 6))
    matrix[0, :3] = 1, 1, -1
    for cell in range(3):
        matrix[1 + cell, [cell, 3 + cell]] = 1e4, -1
    assert independent_rows(csr_array(matrix)).tolist() == [0, 1, 2, 3]


def test_a_cell_with_a_coefficient_far_below_the_others_of_its_row_counts():
    matrix = csr_array([[1e4, -1e4, 1e-4], [1.0, -1.0, 0.0]])
    assert independent_rows(matrix).tolist() == [0, 1]


def test_a_sum_of_rows_is_found_where_coefficients_of_1000_make_them_look_alike():
    """Nor do doubles hold 0.7 as the sum of 0.5 and 0.2: coefficients are decimal numbers."""
    matrix = csr_array([[12, 0.5, 1000], [1, 0.2, 1.5], [13, 0.7, 1001.5]])
    assert independent_rows(matrix).tolist() == [0, 1]
