"""The most random distribution of a perturbation, given its mean and variance.

The program is: maximise -sum p log p over distributions p with F p = t in some rows and F p <= t in
the others, whose first entries do not fall. Giessing (2016), "Computational issues in the design of
transition probabilities", PSD 2016, section 2.

It is solved through its dual, which has one multiplier for each row of F and is convex: with
theta = -F^T y, and theta' the closest sequence to theta whose first entries do not fall, the best p
is proportional to exp(theta'), and the dual value is log sum exp(theta') + t y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from tablecloak.arrays import Flags, Floats
from tablecloak.errors import SolverError

__all__ = ["largest_entropy"]

MOST_STEPS = 200
"""Newton steps; ten to forty are usual, and more if a probability must vanish."""

PRECISION = 1e-12
"""Largest residual of an answer, as a share of the largest entry of its row of F: tables are
published with 8 digits."""

RIDGE = 1e-14
"""Added to the scaled curvature, which is 0 in directions in which p does not change."""

TINY = 1e-40
"""Smallest curvature by which a multiplier is scaled."""

SUFFICIENT = 1e-4
"""Share of the decrease that the gradient promises, with which a step is long enough."""

ROUNDING = 8 * np.finfo(np.float64).eps
"""Bound of the rounding error of the dual value, for each entry of p and each unit of y."""


def largest_entropy(
    features: Floats, targets: Floats, is_equal: Flags, n_rising: int = 0
) -> Floats | None:
    """Maximise the entropy of a distribution.

    Parameters
    ----------
    features : numpy.ndarray of float, shape (m, n)
        F.
    targets : numpy.ndarray of float, shape (m,)
        t.
    is_equal : numpy.ndarray of bool, shape (m,)
        Rows with F p = t; in the others F p <= t.
    n_rising : int, default=0
        Number of the first entries of p none of which is smaller than the one before.

    Returns
    -------
    numpy.ndarray of float, shape (n,), or None
        Probabilities, unique since the objective is strictly concave; None if it is proved that no
        distribution satisfies the rows.

    Raises
    ------
    SolverError
        If `MOST_STEPS` lead to neither.

    Notes
    -----
    The dual value of any multipliers, not negative where a row is an inequality, is at least the
    entropy of every distribution that satisfies the rows, and no entropy is negative. So a dual
    value below 0 proves that there is no such distribution. If there is none, the dual is unbounded
    below; if there is one, its minimum gives the answer. Nothing else can happen.
    """
    scale = np.maximum(np.abs(features).max(axis=1), np.finfo(np.float64).tiny)
    dual = _Dual(features / scale[:, None], targets / scale, n_rising)
    at = dual.point(np.zeros(len(targets)))
    for _ in range(MOST_STEPS):
        if at.value < -ROUNDING * features.shape[1] * (1.0 + np.abs(at.multipliers).sum()):
            return None
        if np.all(np.abs(_unsettled(at, is_equal)) <= PRECISION):
            return at.p
        at = _next(dual, at, is_equal)
    raise SolverError(
        f"{MOST_STEPS} steps neither found the distribution of largest entropy nor proved that "
        f"there is none. Change the variance a little."
    )


@dataclass(frozen=True)
class _Point:
    """Multipliers, and what the dual says of them."""

    multipliers: Floats
    value: float
    p: Floats
    gradient: Floats
    curvature: Floats


@dataclass(frozen=True)
class _Dual:
    """The dual program, with rows of F that are scaled to 1."""

    features: Floats
    targets: Floats
    n_rising: int

    def point(self, multipliers: Floats) -> _Point:
        """Return value, gradient and second derivatives of the dual."""
        score, means = self._pooled(-multipliers @ self.features)
        highest = score.max()
        size = np.exp(score - highest)
        p = size / size.sum()
        value = float(highest + np.log(size.sum()) + self.targets @ multipliers)
        from_mean = means - (means @ p)[:, None]
        return _Point(
            multipliers,
            value,
            p,
            self.targets - self.features @ p,
            (from_mean * p) @ from_mean.T,
        )

    def _pooled(self, score: Floats) -> tuple[Floats, Floats]:
        """Return the closest scores that do not fall, and the means of F over equal ones."""
        if self.n_rising < 2:
            return score, self.features
        fitted = isotonic_regression(score[: self.n_rising])
        start = fitted.blocks[:-1]
        sizes = np.diff(fitted.blocks)
        means = np.add.reduceat(self.features[:, : self.n_rising], start, axis=1) / sizes
        pooled = np.repeat(means, sizes, axis=1)
        return (
            np.concatenate([fitted.x, score[self.n_rising :]]),
            np.concatenate([pooled, self.features[:, self.n_rising :]], axis=1),
        )


def _unsettled(at: _Point, is_equal: Flags) -> Floats:
    """Return how far each row is from its condition: met, or met with a multiplier of 0."""
    slack: Floats = np.where(is_equal, at.gradient, np.minimum(at.gradient, at.multipliers))
    return slack


def _next(dual: _Dual, at: _Point, is_equal: Flags) -> _Point:
    """Take one Newton step, shortened until the dual value falls enough."""
    # Rows with room, whose multiplier is 0 or on its way there, take no part in the Newton step.
    small = min(1e-3, float(np.abs(_unsettled(at, is_equal)).max()))
    free = is_equal | (at.multipliers > small) | (at.gradient <= 0)
    step = -at.gradient
    curved = at.curvature[np.ix_(free, free)]
    unit = np.sqrt(np.maximum(np.diag(curved), TINY))
    curved = curved / np.outer(unit, unit) + RIDGE * np.eye(len(unit))
    step[free] = np.linalg.solve(curved, step[free] / unit) / unit
    length = 1.0
    while True:
        moved = at.multipliers + length * step
        after = dual.point(np.where(is_equal, moved, np.maximum(moved, 0.0)))
        promised = at.gradient @ (after.multipliers - at.multipliers)
        noise = ROUNDING * (1.0 + np.abs(after.multipliers).sum())
        if after.value <= at.value + SUFFICIENT * promised + noise:
            return after
        length /= 2
