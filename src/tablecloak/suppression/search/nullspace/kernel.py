"""The null space of a pattern: all deviations that leave every published cell where it is."""

from __future__ import annotations

import numpy as np
import scipy.linalg as dense
from scipy.linalg import lapack
from scipy.sparse import csr_array, vstack

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.suppression.system.basis import Basis

__all__ = ["null_vectors"]

RANK_SHARE = 1e-10
"""Pivots below this share of the largest are rounding errors: the conditions are sums of whole
numbers, whose pivots shrink far more slowly."""

RESIDUAL = 1e-7
"""Largest move of a published cell by null vectors; beyond it eigenvectors are computed instead."""

SPARSE_COST = 40
"""Cost of a multiplication in a sparse product, as a multiple of one in a dense product."""


def null_vectors(basis: Basis, hidden: Flags) -> Floats:
    """Return an orthonormal basis of the deviations of hidden cells.

    Parameters
    ----------
    basis : Basis
    hidden : numpy.ndarray of bool, shape (n_unknown,)

    Returns
    -------
    numpy.ndarray of float, shape (n_hidden, nullity)
        Orthonormal columns, in Fortran order; one row for each hidden cell.
    """
    conditions = csr_array(vstack([basis.matrix[~hidden], basis.leftover], format="csr"))
    columns, conditions = _peeled(conditions)
    gram = _gram(conditions)
    for solve in (_by_pivots, _by_eigenvectors):
        solution = solve(gram)
        moves = _orthonormal(basis.matrix[hidden][:, columns] @ solution)
        if moves is not None and np.abs(conditions @ _onto(solution)).max(initial=0.0) < RESIDUAL:
            return moves
    return np.zeros((int(hidden.sum()), 0), order="F")


def _peeled(conditions: csr_array) -> tuple[Integers, csr_array]:
    """Drop free cells that a condition of their own holds at 0, again and again."""
    columns = np.arange(conditions.shape[1])
    while True:
        length = np.diff(conditions.indptr)
        alone = np.unique(conditions.indices[conditions.indptr[:-1][length == 1]])
        conditions = conditions[length > 1]
        if not len(alone):
            return columns, conditions
        kept = np.delete(np.arange(conditions.shape[1]), alone)
        columns, conditions = columns[kept], csr_array(conditions[:, kept])


def _gram(conditions: csr_array) -> Floats:
    """Return C'C, by dense products where rows are long."""
    length = np.diff(conditions.indptr).astype(np.float64)
    if SPARSE_COST * float(np.sum(length**2)) < conditions.shape[0] * conditions.shape[1] ** 2:
        return np.asarray((conditions.T @ conditions).toarray(order="F"))
    full = conditions.toarray()
    found: Floats = np.asfortranarray(full.T @ full)
    return found


def _by_pivots(gram: Floats) -> Floats:
    """Null vectors of a positive semidefinite matrix, by its pivoted Cholesky factor."""
    n = len(gram)
    if not n:
        return np.zeros((0, 0))
    tolerance = RANK_SHARE * max(float(gram.diagonal().max()), 1.0)
    factor, pivots, rank, _ = lapack.dpstrf(gram, tol=tolerance, lower=1)
    found = np.zeros((n, n - rank), order="F")
    order = pivots - 1
    top = (
        dense.solve_triangular(
            factor[:rank, :rank], factor[rank:, :rank].T, lower=True, trans="T", check_finite=False
        )
        if rank
        else np.zeros((0, n))
    )
    found[order[:rank]] = -top
    found[order[rank:], np.arange(n - rank)] = 1.0
    return found


def _by_eigenvectors(gram: Floats) -> Floats:
    """Null vectors of a positive semidefinite matrix: slower than by pivots, but more accurate."""
    values, vectors = dense.eigh(gram, check_finite=False)
    found: Floats = vectors[:, values < RANK_SHARE * max(float(values[-1]), 1.0)]
    return found


def _onto(vectors: Floats) -> Floats:
    """Scale vectors to unit length."""
    size = np.sqrt(np.einsum("ij,ij->j", vectors, vectors))
    scaled: Floats = vectors / np.maximum(size, np.finfo(float).tiny)
    return scaled


def _orthonormal(moves: Floats) -> Floats | None:
    """Orthonormal columns with the same span, by two Cholesky factors of the Gram matrix."""
    moves = np.asfortranarray(moves)
    for _ in range(2):
        gram = moves.T @ moves
        factor, failed = lapack.dpotrf(gram, lower=0)
        if failed:
            return None
        moves = np.asfortranarray(
            dense.solve_triangular(factor, moves.T, trans="T", check_finite=False).T
        )
    return moves
