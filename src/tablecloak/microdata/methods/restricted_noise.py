"""Restricted noise: noise and a linear transformation that keep means and covariances exactly.

References
----------
.. [1] Kim: A method for limiting disclosure in microdata based on random noise and transformation,
   1986.
.. [2] Tendick, Matloff: A modified random perturbation method for database security, 1994.
.. [3] Muralidhar, Sarathy: Generating sufficiency-based non-synthetic perturbed data, 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tablecloak.arrays import Flags, Floats
from tablecloak.errors import InputError
from tablecloak.microdata.methods.method import METHODS
from tablecloak.microdata.methods.noise import NoiseMethod, with_gaps
from tablecloak.microdata.methods.normal_draws import is_exact, normal_draws, root_of


@METHODS.register
@dataclass(frozen=True)
class RestrictedNoise(NoiseMethod):
    """Add correlated noise and shrink, so that means and covariances stay exactly as they are.

    With x the deviations from the means, the released deviations are (x + e) / sqrt(1 + lambda^2),
    where e has covariance lambda^2 Sigma [1]_ [2]_. e is drawn uncorrelated with x in the sample
    and with exactly this covariance [3]_, so that means, variances, covariances and all regressions
    among the columns equal the original ones, not only on average.

    Parameters
    ----------
    columns : sequence of str
        Sensitive columns. Correlations with other columns fall by about 1 / sqrt(1 + lambda^2).
    noise : float
        lambda^2, the variance of the noise as a share of that of the data, before shrinking.

    Notes
    -----
    Missing values stay missing; then means and variances of the known values still stay exactly,
    and covariances about. Columns of whole numbers become columns of floating-point numbers.
    """

    name: ClassVar[str] = "restricted-noise"
    guide: ClassVar[str] = (
        "Example: tablecloak restricted-noise people.csv -o masked.csv --column wage "
        "--column bonus --share 0.15"
    )

    def masked(self, values: Floats, random: np.random.Generator) -> tuple[Floats, Flags]:
        """Return values with noise and the moments of the original.

        Raises
        ------
        InputError
            If there are too few records for exact moments.
        """
        n_records, n_columns = values.shape
        if not is_exact(n_records, n_columns, n_columns):
            raise InputError(
                f"{n_records} records are too few to keep means and covariances of {n_columns} "
                f"columns exactly: {2 * n_columns + 2} are needed. Name fewer columns, or take the "
                "method 'noise'."
            )
        mean, spread = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
        points = np.nan_to_num((values - mean) / spread, nan=0.0)
        kept = 1 / np.sqrt(1 + self.noise)
        root = root_of(points.T @ points / (n_records - 1))
        errors = normal_draws(points, n_columns, random) @ root.T
        drawn = kept * (points - points.mean(axis=0)) + np.sqrt(1 - kept**2) * errors
        return with_gaps(values, mean + spread * drawn), ~np.isnan(values)
