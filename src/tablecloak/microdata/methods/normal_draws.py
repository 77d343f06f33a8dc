"""Normal numbers whose covariances in the sample are exact."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats

TINY = 1e-12
"""Singular values and eigenvalues below this share of the largest count as 0."""


def normal_draws(given: Floats, number: int, random: np.random.Generator) -> Floats:
    """Draw standard normal columns that are uncorrelated with given ones and with each other.

    Where there are enough records, means, variances and covariances hold exactly in the sample, not
    only on average.

    Parameters
    ----------
    given : numpy.ndarray of float, shape (n_records, n_given)
    number : int
        Number of columns to draw.
    random : numpy.random.Generator

    Returns
    -------
    numpy.ndarray of float, shape (n_records, number)
    """
    draws = random.standard_normal((len(given), number))
    if not is_exact(len(given), given.shape[1], number):
        return draws
    centred = given - given.mean(axis=0)
    basis, size, _ = np.linalg.svd(centred, full_matrices=False)
    basis = basis[:, size > TINY * size.max(initial=0.0)]
    # Once more, since the first time leaves rounding errors.
    for _ in range(2):
        draws -= draws.mean(axis=0)
        draws -= basis @ (basis.T @ draws)
    size, axes = np.linalg.eigh(draws.T @ draws / (len(given) - 1))
    exact: Floats = draws @ ((axes / np.sqrt(size)) @ axes.T)
    return exact


def is_exact(n_records: int, n_given: int, number: int) -> bool:
    """Whether there are enough records for exact covariances."""
    return n_records > n_given + number + 1


def root_of(covariance: Floats) -> Floats:
    """Return R with R R' equal to a covariance; negative eigenvalues count as 0."""
    size, axes = np.linalg.eigh((covariance + covariance.T) / 2)
    root: Floats = axes * np.sqrt(np.maximum(size, 0.0))
    return root
