"""Rows of a homogeneous system that imply all others.

In a table of several dimensions most totals are sums in more than one way, so that about half of
the relations follow from the rest: 3,313 relations of a table of 2,020 cells have rank 1,525. The
simplex method keeps each redundant row in every basis, which costs time.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array, eye_array
from scipy.sparse.linalg import splu

from tablecloak.arrays import Floats, Integers
from tablecloak.solve.exact import independent_whole_rows, whole_rows

LARGEST = 10_000
"""Most rows for which dependent rows are sought: the factors of larger systems fill up."""

EXACT = 300
"""Most rows among which dependent ones are found by exact elimination where factors leave a doubt,
as where coefficients of 1000 make rows nearly parallel. Chosen by trial; not measured."""

REGULAR = 1e-10
"""Number added to the diagonal of the normal equations, whose rows have length 1, so that they are
not singular."""

DEPENDENT, INDEPENDENT = 1e-6, 1e-4
"""Pivot below which a row depends on the rows before it, and above which it does not."""

CONFIRMED = 1e-10
"""Largest residual of a left-out row, as a share of its terms at random points that satisfy the
kept rows, at which it counts as implied. Where units differ, its terms are small beside the point:
next to cells of 10,000 grams a sum of cells of 1 in tonnes looks like nothing."""


def independent_rows(matrix: csr_array) -> Integers:
    """Return rows that imply A x = 0; in doubt, all rows that are not empty.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array

    Notes
    -----
    A Cholesky factor of A A^T + `REGULAR` I has tiny pivots exactly where a row depends on the
    rows before it. That the kept rows imply the others is checked at random points that satisfy
    the kept rows.
    """
    used = np.flatnonzero(np.diff(matrix.indptr))
    random = np.random.default_rng(0)
    probe = np.abs(matrix[used, :] @ random.random(matrix.shape[1]))
    # Rows with the same product with a random vector repeat each other, as relations of two
    # dimensions often do.
    _, first = np.unique(probe, return_index=True)
    rows = used[np.sort(first)]
    if not 1 < len(rows) <= LARGEST:
        return used
    part = csr_array(matrix[rows, :])
    length = np.sqrt(np.asarray(part.multiply(part).sum(axis=1)).reshape(-1))
    part = csr_array(diags_array(1 / length) @ part)
    pivots, order = _pivots(part)
    is_doubtful = np.any((pivots > DEPENDENT) & (pivots < INDEPENDENT))
    if is_doubtful and len(used) <= EXACT:
        return _exactly(matrix, used)
    kept = np.sort(order[pivots > DEPENDENT])
    points = random.standard_normal((part.shape[1], 2))
    basis = csr_array(part[kept, :])
    try:
        factors = splu(csc_array(basis @ basis.T))
    except RuntimeError:
        return _exactly(matrix, used)
    for _ in range(2):
        points -= basis.T @ factors.solve(basis @ points)
    every = csr_array(matrix[used, :])
    residual, terms = np.abs(every @ points), abs(every) @ np.abs(points)
    return rows[kept] if np.all(residual <= CONFIRMED * terms) else _exactly(matrix, used)


def _exactly(matrix: csr_array, used: Integers) -> Integers:
    """Return rows that imply all used ones by exact elimination; of many rows all."""
    if len(used) > EXACT:
        return used
    whole, real = whole_rows(csr_array(matrix[used, :]))
    return used if np.any(real) else used[independent_whole_rows(whole)]


def _pivots(part: csr_array) -> tuple[Floats, Integers]:
    """Return the pivots of A A^T, and the row of each."""
    normal = csc_array(part @ part.T + REGULAR * eye_array(part.shape[0]))
    factors = splu(
        normal,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return np.abs(factors.U.diagonal()), np.argsort(factors.perm_r)
