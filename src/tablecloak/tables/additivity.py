"""Accepted errors of relations: the rounding errors of sums of decimal numbers in binary.

The error of a sum is a share of the terms that were added up, not of their sum: 0.1 + 0.2 -
0.3 is 5.55e-17. Where contributions cancel, the terms of a relation may all be such dust.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats

ADDITIVITY_TOLERANCE = 1e-9
"""Largest accepted error of a relation, as a share of the sum of its absolute values.

Sums of 10^6 binary numbers are off by some 1e-11 of that sum at most, while a figure that
is really wrong in a published table is wrong by 1e-8 of it or more.
"""

CANCELLATION = 1e-13
"""Largest accepted error of a relation, as a share of all that was added up for its terms.

The roundings of 10^6 additions come to about a thousand units in the last place. A wrong last digit
is more than that, where the terms that cancel have no more than 12 digits.
"""

MOST_LEVELS = 50
"""Most levels of totals that are followed."""


def is_off(
    relations: csr_array,
    values: Floats,
    right_hand_side: Floats,
    tolerance: float = 0.0,
    reference: Floats | None = None,
) -> Flags:
    """Find the relations that do not hold.

    Parameters
    ----------
    relations : scipy.sparse.csr_array of shape (n_relations, n_cells)
        A, with -1 for totals and +1 for their parts.
    values : numpy.ndarray of float, shape (n_cells,)
        a
    right_hand_side : numpy.ndarray of float, shape (n_relations,)
        b
    tolerance : float, default=0
        Absolute error that is accepted in any case.
    reference : numpy.ndarray of float, shape (n_cells,), optional
        Values of the table whose sums left the dust in the right-hand side; by default `values`.

    Returns
    -------
    numpy.ndarray of bool, shape (n_relations,)
        Whether |A a - b| is more than the dust of what was added up.
    """
    size = abs(relations)
    off = np.abs(relations @ values - right_hand_side)
    scale = size @ np.abs(values) + np.abs(right_hand_side)
    bad: Flags = off > np.maximum(ADDITIVITY_TOLERANCE * scale, tolerance)
    if np.any(bad):
        added = added_up(relations, values if reference is None else reference)
        bad &= off > CANCELLATION * (size @ added)
    return bad


def left_over(relations: csr_array, values: Floats, right_hand_side: Floats) -> Floats:
    """Return A a - b of each relation, shape (n_relations,); 0 where that is binary dust.

    Every number is stored with half a unit in its last place at most, and so is every product and
    partial sum. What these explain says nothing of the decimal numbers that are meant: 0.49317 +
    2e11 - 2e11 leaves 0.4931640625.
    """
    residual: Floats = relations @ values - right_hand_side
    size = abs(relations) @ np.abs(values) + np.abs(right_hand_side)
    dust = (np.diff(relations.indptr) + 2) * np.finfo(np.float64).eps * size
    return np.where(np.abs(residual) <= dust, 0.0, residual)


def added_up(relations: csr_array, values: Floats) -> Floats:
    """Sum of the absolute values of all that was added up for each cell, shape (n_cells,).

    That of the parts of a total, of their parts, and so on; never more than all cells together, so
    that relations in a circle cannot make it grow.
    """
    size = np.abs(values)
    most = float(size.sum())
    totals = relations.indices[relations.data < 0]
    row = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))[relations.data < 0]
    per_total = -relations.data[relations.data < 0]
    parts = relations.maximum(csr_array(relations.shape))
    for _ in range(MOST_LEVELS):
        grown = size.copy()
        np.maximum.at(grown, totals, (parts @ size)[row] / per_total)
        grown = np.minimum(grown, most)
        if np.array_equal(grown, size):
            break
        size = grown
    return size


def own_precision(values: Floats, bound: Floats | None = None) -> Floats:
    """Return the rounding error of the distance between each value and a bound on it.

    It is four units in the last place of the larger of the two, and 0 if both are whole numbers,
    which are stored exactly. It depends on no other cell, and is the most by which a witness may
    pass the bound.
    """
    largest, is_whole = np.abs(values), _are_whole(values)
    if bound is not None:
        finite = np.where(np.isfinite(bound), bound, 0.0)
        largest, is_whole = np.maximum(largest, np.abs(finite)), is_whole & _are_whole(finite)
    return np.where(is_whole, 0.0, 4 * np.spacing(largest))


def _are_whole(numbers: Floats) -> Flags:
    whole: Flags = (numbers == np.rint(numbers)) & (np.abs(numbers) < 2.0**52)
    return whole
