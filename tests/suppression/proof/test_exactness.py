"""Deviations of many cells made exact by one elimination."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from tablecloak.budget import Budget
from tablecloak.solve.exact import products_vanish
from tablecloak.suppression.proof.exactness import FEWEST_SPANNED, Exactness
from tablecloak.suppression.system.needs import Needs
from tablecloak.suppression.system.system import System


def grid_system(n: int, room: float) -> System:
    """All inner cells and margins of an n x n table hidden, but for the grand total."""
    inner = np.arange(n * n).reshape(n, n)
    rows, columns = n * n + np.arange(n), n * n + n + np.arange(n)
    matrix = np.zeros((2 * n + 2, n * n + 2 * n))
    for k in range(n):
        matrix[k, inner[k]], matrix[k, rows[k]] = 1.0, -1.0
        matrix[n + k, inner[:, k]], matrix[n + k, columns[k]] = 1.0, -1.0
    matrix[2 * n, rows] = matrix[2 * n + 1, columns] = 1.0
    n_cells = matrix.shape[1]
    nothing, none = np.zeros(0), np.zeros(0, dtype=np.int64)
    return System(
        cells=np.arange(n_cells),
        matrix=csr_array(matrix),
        rows=np.arange(len(matrix)),
        low=np.full(n_cells, -room),
        high=np.full(n_cells, room),
        needs=Needs(none, nothing, nothing, nothing, none),
        unit=1.0,
        integer=False,
        factor=np.ones(len(matrix)),
        slack=np.zeros(n_cells),
    )


def solved(system: System, noise: float, seed: int) -> np.ndarray:
    """A deviation as a solver returns it: relations hold up to a noise."""
    dense = system.matrix.toarray()
    random = np.random.default_rng(seed)
    d = random.standard_normal(system.n_unknown)
    d -= np.linalg.pinv(dense) @ (dense @ d)
    return d + noise * random.standard_normal(len(d))


@pytest.mark.parametrize("seed", range(3))
def test_a_deviation_of_many_cells_is_made_exact_without_an_elimination_of_its_own(seed):
    system = grid_system(16, 10.0)
    d = solved(system, 1e-9, seed)
    cells = np.arange(len(d))
    assert len(cells) >= FEWEST_SPANNED
    exactness = Exactness(system, system.needs, False, is_thorough=False)
    found = next(exactness.near(cells, d, Budget.of()))
    assert np.all(products_vanish(system.matrix, csr_array(found[None, :])))
    np.testing.assert_allclose(found, d, atol=1e-7)
    assert not system.null_spaces


def test_cells_that_rounding_moves_beyond_their_bounds_are_pulled_back_into_them():
    system = grid_system(16, 10.0)
    d = solved(system, 1e-9, 0)
    system = system.with_room(np.minimum(d, 0.0), np.maximum(d, 0.0))
    cells = np.arange(len(d))
    exactness = Exactness(system, system.needs, False, is_thorough=False)
    found = list(exactness.near(cells, d, Budget.of()))
    assert exactness.beyond(cells, found[0]) > 0
    assert exactness.beyond(cells, found[-1]) == 0
    assert np.all(products_vanish(system.matrix, csr_array(found[-1][None, :])))


def test_one_elimination_serves_all_deviations_of_the_same_cells():
    system = grid_system(16, 10.0)
    exactness = Exactness(system, system.needs, False, is_thorough=False)
    for seed in range(3):
        d = solved(system, 1e-9, seed)
        assert list(exactness.near(np.arange(len(d)), d, Budget.of()))
    assert len(system.spans) == 1
