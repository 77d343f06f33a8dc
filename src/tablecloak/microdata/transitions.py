"""Transition matrices between categories: checks, invariant matrices, and their inversion.

References
----------
.. [1] Gouweleeuw, Kooiman, Willenborg, de Wolf: Post randomisation for statistical disclosure
   control, Journal of Official Statistics 14 (1998).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tablecloak.arrays import Floats
from tablecloak.errors import InputError, ModelError

__all__ = ["invariant_matrix", "transition_matrix", "unbiased_frequencies"]


def transition_matrix(matrix: npt.ArrayLike) -> Floats:
    """Return a matrix of transition probabilities as an array.

    Raises
    ------
    InputError
        If it is not square, or a row is not a probability distribution.
    """
    try:
        found = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"A transition matrix must hold numbers: {error}.") from None
    square = found.ndim == 2 and found.shape[0] == found.shape[1] > 0
    if not square or not np.all(found >= 0) or np.any(np.abs(found.sum(axis=1) - 1) > 1e-9):
        raise InputError(
            "A transition matrix must be square, without negative entries, and each *row* must "
            "sum to 1: row i is the distribution of the released value of category i."
        )
    return found


def invariant_matrix(matrix: npt.ArrayLike, frequencies: npt.ArrayLike, *, alpha: float) -> Floats:
    """Return a matrix R' with p R' = p, computed from any transition matrix.

    R = P Q, where Q_kj = P_jk p_j / (p P)_k is the reverse transition by Bayes' theorem, and
    R' = alpha R + (1 - alpha) I. At alpha = 1 its diagonal, the probabilities of no change, is
    smaller than that of P.

    Parameters
    ----------
    matrix : array_like of float, shape (L, L)
        P, row-stochastic.
    frequencies : array_like of float, shape (L,)
        Frequencies of the categories; they need not sum to 1.
    alpha : float
        Between 0 and 1.

    Raises
    ------
    InputError
        If the matrix is not row-stochastic or alpha out of range.
    """
    if not 0 <= alpha <= 1:
        raise InputError(f"`alpha` must lie between 0 and 1. Got {alpha!r}.")
    given = transition_matrix(matrix)
    p = _fitting(frequencies, given, "frequencies")
    if np.any(p < 0) or not p.sum() > 0:
        raise InputError(
            f"`frequencies` must not be negative, and not all 0. Got {p.tolist()[:10]}."
        )
    p = p / p.sum()
    reached = p @ given
    back = np.divide(
        given.T * p[None, :],
        reached[:, None],
        out=np.eye(len(p)),
        where=reached[:, None] > 0,
    )
    found: Floats = alpha * (given @ back) + (1 - alpha) * np.eye(len(p))
    return found


def unbiased_frequencies(released: npt.ArrayLike, matrix: npt.ArrayLike) -> Floats:
    """Estimate the original frequencies from released ones: t P^-1.

    Parameters
    ----------
    released : array_like of float, shape (L,)
        Frequencies after the change.
    matrix : array_like of float, shape (L, L)
        The matrix that was applied.

    Raises
    ------
    ModelError
        If the matrix cannot be inverted.
    """
    applied = transition_matrix(matrix)
    if np.linalg.cond(applied) > 1e12:
        raise ModelError(
            f"The matrix cannot be inverted (condition number {np.linalg.cond(applied):.3g}): "
            "released frequencies do not determine the original ones. Use one with larger "
            "probabilities of no change."
        )
    found = np.linalg.solve(applied.T, _fitting(released, applied, "released"))
    return np.asarray(found, dtype=np.float64)


def _fitting(values: npt.ArrayLike, matrix: Floats, name: str) -> Floats:
    """Return one finite number for each category."""
    found = np.asarray(values, dtype=np.float64)
    if found.shape != (len(matrix),) or not np.all(np.isfinite(found)):
        raise InputError(
            f"`{name}` must hold {len(matrix)} finite numbers, one for each category. Got an array "
            f"of shape {found.shape}."
        )
    return found
