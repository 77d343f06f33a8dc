"""Relations that are equal to another one, up to sign and scale.

In a table of several dimensions the same relation often follows from two of them, and more become
the same once equal cells are merged or published cells left out. Leaving the copies out makes every
basis of a search smaller.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Integers

LARGEST_SCALED = 2.0**25
"""Coefficients up to this size are divided by each other: two different quotients of such whole
numbers never round to the same number."""


def distinct_rows(matrix: csr_array) -> tuple[csr_array, Integers]:
    """Rows that are not empty, each distinct one once, whatever its sign and scale.

    Rows are the same if their products with two random vectors agree to the last digit, where
    those of whole coefficients are divided by the first one before. Should two different rows
    ever do so, witnesses still fail their check on all relations.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, shape (n_rows, n_columns)

    Returns
    -------
    matrix : scipy.sparse.csr_array, shape (n_distinct, n_columns)
    rows : numpy.ndarray of int, shape (n_distinct,)
        Number of each kept row in the given matrix: the first of those that are the same.
    """
    matrix = csr_array(matrix)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    length = np.diff(matrix.indptr)
    used = np.flatnonzero(length)
    if not len(used):
        return csr_array((0, matrix.shape[1])), used
    first = matrix.data[matrix.indptr[used]]
    is_odd = (matrix.data != np.rint(matrix.data)) | (np.abs(matrix.data) > LARGEST_SCALED)
    n_odd = np.add.reduceat(is_odd, matrix.indptr[used])
    divisor = np.ones(len(length))
    divisor[used] = np.where(n_odd > 0, np.sign(first), first)
    data = matrix.data / np.repeat(divisor, length)
    scaled = csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    random = np.random.default_rng(20011)
    keys = [(scaled @ random.random(matrix.shape[1]))[used] for _ in range(2)]
    _, kept = np.unique(np.column_stack([length[used], *keys]), axis=0, return_index=True)
    rows = used[np.sort(kept)]
    return csr_array(matrix[rows, :]), rows


def without_repeated_rows(matrix: csr_array) -> csr_array:
    """Return the matrix with all rows under their numbers, those left out by `distinct_rows` empty.

    Multipliers of its rows are multipliers of the given one.
    """
    distinct, rows = distinct_rows(matrix)
    length = np.zeros(matrix.shape[0], dtype=np.int64)
    length[rows] = np.diff(distinct.indptr)
    starts = np.concatenate([[0], np.cumsum(length)])
    return csr_array((distinct.data, distinct.indices, starts), shape=matrix.shape)
