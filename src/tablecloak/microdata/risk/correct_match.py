"""The probability of a correct match after records moved between cells of their keys.

References
----------
.. [1] Nayak: A new method of post-randomisation with a guaranteed disclosure risk, 2015, equations
   (9), (10) and result 2. Two misprints are corrected: binom(T*_i, a_i) in (6), and the weight
   P(T = t | S_j = a) in (3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError

__all__ = ["LEAST_XI", "correct_match_probability", "retention"]

LEAST_XI = 3 / 7
"""Smallest probability of a correct match that can be guaranteed (Result 2)."""


def retention(xi: float) -> float:
    """Return theta, the expected number of records that leave each cell.

    theta = (sqrt((1 - xi)(1 + 3 xi)) - (1 - xi)) / (2 xi), the solution of g(theta) = xi.

    Parameters
    ----------
    xi : float
        Largest tolerable probability of a correct match, 3/7 <= xi < 1.

    Raises
    ------
    InputError
        If `xi` is out of this range.
    """
    if not LEAST_XI - 1e-15 <= xi < 1:
        raise InputError(f"`xi` must lie between 3/7 and 1. Got {xi!r}.")
    return float((np.sqrt((1 - xi) * (1 + 3 * xi)) - (1 - xi)) / (2 * xi))


def correct_match_probability(counts: Sequence[int], cell: int, theta: float, most: int) -> Floats:
    """Return the exact probability of a correct match, for each number of released records.

    Parameters
    ----------
    counts : sequence of int
        T_1..T_k of the non-empty cells, k >= 2.
    cell : int
        Position j of the cell of the target.
    theta : float
    most : int
        Largest number a of released records in that cell.

    Returns
    -------
    numpy.ndarray of float, shape (most,)
        IR(j, a) for a = 1..most; NaN where a cannot occur.

    Notes
    -----
    IR(j, a) = (1/a) / (1 + e_a / (e_{a-1} beta_j)), with e_m the elementary symmetric functions
    of the odds beta_i of all other records: equation (6), as a product of polynomials.
    """
    odds, others = _odds(counts, cell, theta)
    e = _symmetric(odds, others, most)
    a = np.arange(1, most + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (1 / a) / (1 + e[1:] / (e[:-1] * odds[cell]))
    return np.where(e[:-1] > 0, found, np.nan)


def _odds(counts: Sequence[int], cell: int, theta: float) -> tuple[Floats, Integers]:
    """Return the odds that a record of each cell moves to `cell`, and the number of such records.

    The target itself is not counted in its cell.
    """
    t = np.asarray(counts, dtype=np.float64)
    k = len(t)
    odds = theta / ((k - 1) * t - theta)
    odds[cell] = (t[cell] - theta) / theta
    others = np.asarray(counts, dtype=np.int64).copy()
    others[cell] -= 1
    return odds, others


def _symmetric(odds: Floats, multiplicity: Integers, most: int) -> Floats:
    """Return the elementary symmetric functions e_0..e_most of odds with multiplicities.

    They are coefficients of a product of polynomials, cut at degree `most`. All terms are positive,
    so that no digits cancel. Equal odds are one power, by the binomial theorem.
    """
    values, inverse = np.unique(odds, return_inverse=True)
    number = np.bincount(inverse.ravel(), weights=multiplicity).astype(np.int64)
    e = np.zeros(most + 1)
    e[0] = 1.0
    for value, power in zip(values, number.tolist(), strict=True):
        factor = np.zeros(most + 1)
        factor[0] = 1.0
        for m in range(1, min(most, power) + 1):
            factor[m] = factor[m - 1] * (power - m + 1) / m * value
        e = np.convolve(e, factor)[: most + 1]
    return e
