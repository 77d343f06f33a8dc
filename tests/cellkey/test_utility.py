"""Distances between true and perturbed counts, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak.cellkey import utility_of

TRUE = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0])
PERTURBED = np.array([0, 2, 3, 4, 6, 6, 9, 8, 9, 10, 0, 0])


def test_distances_of_the_example_of_cellkey():
    found = utility_of(TRUE, PERTURBED)
    assert found.false_zeros == 1 and found.false_nonzeros == 0
    assert found.distances.d1[["min", "mean", "max"]].tolist() == pytest.approx([0, 3 / 9, 2])
    assert found.distances.d2["max"] == pytest.approx(2 / 7)
    assert found.distances.d3["max"] == pytest.approx(3 - np.sqrt(7))
    assert dict(zip(found.noise.noise, found.noise.cells, strict=True)) == {
        -2: 1,
        -1: 1,
        0: 9,
        1: 1,
    }


def test_cells_that_became_zero_count_where_asked():
    found = utility_of(TRUE, PERTURBED, with_false_zeros=True)
    assert found.distances.d1["mean"] == pytest.approx(4 / 12)
    assert found.distances.d2["max"] == 1.0


def test_cumulated_shares_count_cells_up_to_each_distance():
    found = utility_of(TRUE, PERTURBED).cumulated
    assert found["d1"].to_numpy().tolist() == [[0, 7, 7 / 9], [1, 8, 8 / 9], [2, 9, 1]]
    assert found["d2"].set_index("up_to").cells.loc[[0.1, 0.2, 0.3]].tolist() == [7, 8, 9]


def test_an_empty_cell_that_is_filled_is_infinitely_far_off():
    found = utility_of([0, 4], [3, 4])
    assert found.false_nonzeros == 1
    assert np.isinf(found.distances.d2["max"])
