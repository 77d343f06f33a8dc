"""A basis of all deviations: free cells, and how the others follow from them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import tablecloak as tc
from tablecloak.suppression.system import basis as module
from tablecloak.suppression.system.basis import basis_of


def some_relations(seed: int, n_rows: int = 12, n_cells: int = 30) -> csr_array:
    """Relations of a few cells each, every one with a total."""
    random = np.random.default_rng(seed)
    full = np.zeros((n_rows, n_cells))
    for row in full:
        cells = random.choice(n_cells, random.integers(2, 6), replace=False)
        row[cells] = 1.0
        row[cells[0]] = -1.0
    return csr_array(full)


@pytest.mark.parametrize("seed", range(3))
def test_deviations_of_a_basis_keep_all_relations(seed):
    relations = some_relations(seed)
    basis = basis_of(relations, np.arange(30.0))
    leftover = basis.leftover.toarray()
    # Free cells that keep what is left over keep everything.
    kept = np.eye(basis.n_free) - np.linalg.pinv(leftover) @ leftover if len(leftover) else None
    moves = basis.matrix if kept is None else basis.matrix @ kept
    assert np.abs(relations @ moves).max() < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_basis_has_the_dimension_of_the_null_space(seed):
    relations = some_relations(seed)
    basis = basis_of(relations, np.arange(30.0))
    left = basis.n_free - np.linalg.matrix_rank(basis.leftover.toarray())
    assert left == 30 - np.linalg.matrix_rank(relations.toarray())


@pytest.mark.parametrize("seed", range(3))
def test_dense_and_sparse_elimination_give_the_same_basis(seed, monkeypatch):
    relations, size = some_relations(seed), np.arange(30.0)
    monkeypatch.setattr(module, "DENSE_ENTRIES", 10**9)
    dense = basis_of(relations, size)
    monkeypatch.setattr(module, "DENSE_ENTRIES", -1)
    sparse = basis_of(relations, size)
    assert np.array_equal(dense.free, sparse.free)
    assert np.allclose(dense.matrix.toarray(), sparse.matrix.toarray(), rtol=0, atol=1e-12)
    assert dense.leftover.shape == sparse.leftover.shape


def test_cell_alone_in_a_relation_does_not_move():
    relations = csr_array(np.array([[1.0, 0.0, 0.0], [1.0, 1.0, -1.0]]))
    basis = basis_of(relations, np.ones(3))
    assert basis.n_free == 1
    assert np.all(basis.matrix[[0]].toarray() == 0)


def test_smallest_cells_are_free():
    relations = csr_array(np.array([[1.0, 1.0, -1.0]]))
    basis = basis_of(relations, np.array([5.0, 1.0, 6.0]))
    assert basis.free.tolist() == [1, 0]


def test_no_basis_beyond_the_most_free_cells():
    relations = csr_array(tc.examples.cox_rounded().table.relations)
    free = basis_of(relations, np.ones(relations.shape[1])).n_free
    assert basis_of(relations, np.ones(relations.shape[1]), free) is not None
    assert basis_of(relations, np.ones(relations.shape[1]), free - 1) is None
