"""Noise with the covariance of the data: Y = X + e, where e has covariance lambda^2 Sigma_11.

References
----------
.. [1] Duncan, Keller-McNulty, Stokes: Database security and confidentiality: examining
   disclosure risk vs. data utility through the R-U confidentiality map, 2004.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats
from tablecloak.microdata.columns import like, names_of
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.methods.noise_method import noise_reached, varying_numbers
from tablecloak.microdata.methods.parameters import option
from tablecloak.microdata.order import warn_of_order

__all__ = ["CovarianceNoise", "NoiseRelease"]


@dataclass(frozen=True, eq=False)
class NoiseRelease:
    """Masked records, and the parameters of the noise.

    Parameters
    ----------
    frame : pandas.DataFrame
    noise : float
        lambda^2. Publish it: users need it to correct estimates.
    columns : tuple of str
    covariance : numpy.ndarray of float
        Covariance of the original sensitive columns; usually secret.
    achieved : pandas.DataFrame
        What was drawn, one row for each column; see `MaskedRelease`.
    """

    frame: pd.DataFrame
    noise: float
    columns: tuple[str, ...]
    covariance: Floats
    achieved: pd.DataFrame

    def summary(self) -> str:
        """Return number of records and columns, and the growth of variances, in one line."""
        return (
            f"noise: {len(self.frame)} records, {len(self.columns)} columns, variances grow by "
            f"{100 * self.noise:.4g} %"
        )

    def corrected_covariance(self) -> pd.DataFrame:
        """Estimate the covariance of the original data from the masked ones.

        Covariances between sensitive columns are divided by 1 + lambda^2; the others are kept.
        """
        numeric = self.frame.select_dtypes("number")
        found = numeric.cov()
        block = list(self.columns)
        found.loc[block, block] /= 1 + self.noise
        return found


@METHODS.register
@dataclass(frozen=True)
class CovarianceNoise(Method[NoiseRelease]):
    """Add normal noise with the covariance of the sensitive columns.

    Parameters
    ----------
    columns : sequence of str
        Sensitive columns. Correlations among them stay; those with other columns fall by
        1 / sqrt(1 + lambda^2).
    noise : float
        lambda^2, the variance of the noise as a share of that of the data: the covariance of the
        noise is that of the columns times lambda^2.

    Notes
    -----
    Missing values stay missing; the covariance of two columns is that of the records with both.

    Columns of whole numbers become columns of floating-point numbers: rounded, small noise would
    vanish and publish the true values.
    """

    name: ClassVar[str] = "noise"
    guide: ClassVar[str] = (
        "Publish the share: users need it to correct variances and slopes.\n\n"
        "Example: tablecloak noise people.csv -o masked.csv --column wage --column bonus "
        "--share 0.15"
    )

    columns: Annotated[Sequence[str], option("column", "Sensitive numeric column.", min_length=1)]
    noise: Annotated[
        float, option("share", "Variance of the noise as a share of that of the data.", ge=0)
    ]

    def __post_init__(self) -> None:
        super().__post_init__()
        names_of(self.columns, "columns")

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the sensitive columns."""
        return Columns(changed=self.columns, numbers=self.columns)

    def apply(self, frame: pd.DataFrame, random: np.random.Generator) -> NoiseRelease:
        """Add the noise.

        Raises
        ------
        InputError
            If a column does not exist, is not numeric or constant, or has infinite values; names
            it.
        """
        values = list(varying_numbers(frame, self.columns).T)
        warn_of_order(frame, self.columns)
        covariance = _covariance(values)
        # Singular blocks, such as a column and its double, are allowed; those of incomplete
        # records may even be indefinite.
        size, axes = np.linalg.eigh(covariance)
        root = axes * np.sqrt(np.maximum(size, 0.0) * self.noise)
        normal = random.standard_normal((len(values), len(frame)))
        released, achieved = frame.copy(), {}
        for name, column, row in zip(self.columns, values, root, strict=True):
            masked = row @ normal
            masked += column
            released[name] = like(frame[name], masked)
            achieved[name] = noise_reached(column, masked)
        return NoiseRelease(
            released,
            self.noise,
            tuple(self.columns),
            covariance,
            pd.DataFrame.from_dict(achieved, orient="index"),
        )


def _covariance(columns: Sequence[Floats]) -> Floats:
    """Return the covariance of some columns, of each two over the records that have both."""
    values = np.column_stack(columns)
    if not np.isnan(values).any():
        return np.atleast_2d(np.cov(values, rowvar=False))
    pairwise: Floats = pd.DataFrame(values).cov().fillna(0.0).to_numpy()
    return pairwise
