"""Noise that grows with the distance of a record from the bulk of the data.

References
----------
.. [1] Rousseeuw, Van Driessen: A fast algorithm for the minimum covariance determinant estimator,
   1999 (concentration steps).
.. [2] Templ, Meindl: Robustification of microdata masking methods and the comparison with existing
   methods, 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.stats import chi2

from tablecloak.arrays import Flags, Floats
from tablecloak.errors import InputError
from tablecloak.microdata.methods.method import METHODS
from tablecloak.microdata.methods.noise import TINY, NoiseMethod, root_of

BULK = 0.75
"""Share of records that the robust covariance describes."""

ORDINARY = 0.975
"""Records beyond this quantile of the distances of normal data count as outliers [1]_."""

MOST_STEPS = 50
"""Concentration steps; they end earlier when nothing changes."""


@METHODS.register
@dataclass(frozen=True)
class OutlierNoise(NoiseMethod):
    """Add noise with the covariance of the bulk of the records, and more of it to outliers.

    Plain noise hides the average record and hardly touches one that is far from all others. Here
    the standard deviation of the noise of an outlier grows with its distance [2]_.

    Parameters
    ----------
    columns : sequence of str
        Sensitive columns.
    noise : float
        lambda^2, the variance of the noise as a share of that of the bulk of the records. An
        outlier at t times the distance at which outliers begin gets noise of t^2 lambda^2. The
        report measures the ordinary records only.

    Notes
    -----
    Distances are Mahalanobis distances by the covariance of three quarters of the records, found by
    concentration steps [1]_ from the records nearest to the medians; outliers begin at the 97.5 %
    quantile of the distance of normal data. Missing values stay missing and count as average.
    Columns of whole numbers become columns of floating-point numbers. Variances grow by more than
    lambda^2, and by how much depends on the outliers: do not correct estimates by the share alone.
    """

    name: ClassVar[str] = "outlier-noise"
    guide: ClassVar[str] = (
        "Example: tablecloak outlier-noise people.csv -o masked.csv --column wage --column bonus "
        "--share 0.15"
    )

    def masked(self, values: Floats, random: np.random.Generator) -> tuple[Floats, Flags]:
        """Return values with noise.

        Raises
        ------
        InputError
            If three quarters of the values of a column are equal.
        """
        middle = np.nanmedian(values, axis=0)
        spread = np.nanstd(values, axis=0)
        points = np.nan_to_num((values - middle) / spread, nan=0.0)
        covariance, square = robust_scatter(points)
        for at in np.flatnonzero(np.diag(covariance) < TINY):
            raise InputError(
                f"Column {list(self.columns)[int(at)]!r} has the same value in most records, so "
                "that outliers cannot be told from others. Leave it out, or take the method "
                "'independent-noise'."
            )
        limit = chi2.ppf(ORDINARY, values.shape[1])
        factor = np.sqrt(np.maximum(square / limit, 1.0))
        normal = random.standard_normal(values.shape) @ root_of(self.noise * covariance).T
        masked = values + spread * factor[:, None] * normal
        return masked, ~np.isnan(values) & (square <= limit)[:, None]


def robust_scatter(points: Floats) -> tuple[Floats, Floats]:
    """Return the covariance of the bulk of the points, and squared distances of all by it.

    Both are scaled so that the median squared distance is that of normal data.

    Parameters
    ----------
    points : numpy.ndarray of float, shape (n_points, n_columns)
    """
    count, width = points.shape
    held = max(int(np.ceil(BULK * count)), min(width + 1, count))
    middle = np.median(points, axis=0)
    spread = np.median(np.abs(points - middle), axis=0)
    spread = np.where(spread > 0, spread, points.std(axis=0))
    square = np.sum(((points - middle) / np.where(spread > 0, spread, 1.0)) ** 2, axis=1)
    covariance, last = np.eye(width), -1.0
    for _ in range(MOST_STEPS):
        bulk = points[np.argpartition(square, held - 1)[:held]]
        centred = bulk - bulk.mean(axis=0)
        covariance = centred.T @ centred / max(held - 1, 1)
        away = points - bulk.mean(axis=0)
        inverse = np.linalg.pinv(covariance, hermitian=True, rcond=TINY)
        square = np.sum((away @ inverse) * away, axis=1)
        now = float(np.linalg.slogdet(covariance)[1])
        if now == last:
            break
        last = now
    scale = float(np.median(square)) / chi2.ppf(0.5, width)
    return covariance * scale, square / scale if scale else square
