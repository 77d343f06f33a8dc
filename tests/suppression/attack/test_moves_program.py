"""Columns of a program are measured so that the coefficients of each relation are about equal."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tablecloak.suppression.attack.moves_program import Units


def test_sums_of_one_variable_stay_as_they_are_also_of_cells_that_move_together():
    matrix = csr_array(np.array([[-1.0, 1, 2, 0], [0, 0, -3, 3]]))
    units = Units.of(matrix)
    assert set(units.column) == {1}
    assert set(units.row) == {1}
    assert units.scaled(matrix) is matrix


def test_each_variable_has_one_unit_and_no_coefficient_is_small_beside_another():
    # Cells 0 to 2 are a sum in EUR, 3 to 5 one in GWh; each GWh counts as 2,000,000 EUR.
    matrix = csr_array(
        np.array(
            [
                [-1.0, 1, 1, 0, 0, 0],
                [0, 0, 0, -1, 1, 1],
                [-1, 0, 0, 2e6, 0, 0],
                [0, -1, 0, 0, 2e6, 0],
            ]
        )
    )
    units = Units.of(matrix)
    assert len(set(units.column[:3])) == len(set(units.column[3:])) == 1
    size = np.abs(units.scaled(matrix).data)
    assert size.max() / size.min() <= 2
    # Powers of two change no digit of a move or a multiplier.
    assert np.array_equal(np.log2(units.column) % 1, np.zeros(6))
    assert np.array_equal(np.log2(units.row) % 1, np.zeros(4))


def test_empty_relations_and_programs_have_units():
    assert len(Units.of(csr_array((0, 3))).column) == 3
    assert len(Units.of(csr_array((2, 0))).row) == 2
    matrix = csr_array((np.array([1.0, 1e6]), ([1, 1], [0, 1])), shape=(3, 2))
    assert np.abs(Units.of(matrix).scaled(matrix).data).max() <= 2
