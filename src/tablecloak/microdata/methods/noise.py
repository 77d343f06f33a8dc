"""Noise of numbers: methods that add noise of a given share of the variance.

Y = X + e, where e has covariance lambda^2 Sigma_11. The unit of noise is lambda^2, its variance as
a share of that of the data. A column whose released values have the correlation r with the original
ones has reached lambda^2 = 1 / r^2 - 1, whether or not the method then changes location and scale.

References
----------
.. [1] Duncan, Keller-McNulty, Stokes: Database security and confidentiality: examining
   disclosure risk vs. data utility through the R-U confidentiality map, 2004.
.. [2] Brand: Microdata protection through noise addition, 2002.
.. [3] Kim: A method for limiting disclosure in microdata based on random noise and transformation,
   1986.
.. [4] Tendick, Matloff: A modified random perturbation method for database security, 1994.
.. [5] Muralidhar, Sarathy: Generating sufficiency-based non-synthetic perturbed data, 2008.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError
from tablecloak.microdata.columns import like, numbers_of
from tablecloak.microdata.methods.method import METHODS, Method
from tablecloak.microdata.methods.parameters import option
from tablecloak.microdata.order import warn_of_order

FEWEST_EXACT = 20
"""Fewest records of a pattern of missing values whose moments stay exactly: with fewer, noise that
is uncorrelated with the values has little freedom."""

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
    return np.asarray(draws @ ((axes / np.sqrt(size)) @ axes.T))


def is_exact(n_records: int, n_given: int, number: int) -> bool:
    """Whether there are enough records for exact covariances."""
    return n_records > n_given + number + 1


def root_of(covariance: Floats) -> Floats:
    """Return R with R R' equal to a covariance; negative eigenvalues count as 0."""
    size, axes = np.linalg.eigh((covariance + covariance.T) / 2)
    return np.asarray(axes * np.sqrt(np.maximum(size, 0.0)))


@dataclass(frozen=True, eq=False)
class MaskedRelease:
    """Masked records, and how much noise they got.

    Parameters
    ----------
    frame : pandas.DataFrame
    method : str
        Name of the method.
    noise : float
        lambda^2 that was asked for. Publish it: users need it to judge estimates.
    achieved : pandas.DataFrame
        One row for each column: `share`, the lambda^2 that was drawn, 1 / r^2 - 1 with the
        correlation r of released and original values; `correlation`, r; `variance` of the released
        values as a share of that of the original ones; and `measured`, the number of values by
        which these are measured.
    """

    frame: pd.DataFrame
    method: str
    noise: float
    achieved: pd.DataFrame

    def summary(self) -> str:
        """Return number of records, and noise asked for and drawn, in one line."""
        share = 100 * self.achieved["share"]
        return (
            f"{self.method}: {len(self.frame)} records, {len(self.achieved)} columns, noise of "
            f"{100 * self.noise:.4g} % of the variance asked for, {share.min():.4g} to "
            f"{share.max():.4g} % drawn"
        )


@dataclass(frozen=True)
class NoiseMethod(Method[MaskedRelease]):
    """Base class of methods that mask numbers by noise of a given share of their variance."""

    columns: Annotated[Sequence[str], option("column", "Sensitive numeric column.", min_length=1)]
    noise: Annotated[
        float, option("share", "Variance of the noise as a share of that of the data.", ge=0)
    ]

    def apply(self, frame: pd.DataFrame, random: np.random.Generator) -> MaskedRelease:
        """Add the noise.

        Raises
        ------
        InputError
            If a column does not exist, is not numeric or constant, or has infinite values; names
            it.
        """
        values = varying_numbers(frame, self.columns)
        warn_of_order(frame, self.columns)
        masked, measured = self.masked(values, random)
        released, achieved = frame.copy(), {}
        for at, name in enumerate(self.columns):
            released[name] = like(frame[name], masked[:, at])
            chosen = measured[:, at]
            achieved[name] = noise_reached(values[chosen, at], masked[chosen, at])
        table = pd.DataFrame.from_dict(achieved, orient="index")
        return MaskedRelease(released, self.name, self.noise, table)

    @abstractmethod
    def masked(self, values: Floats, random: np.random.Generator) -> tuple[Floats, Flags]:
        """Return masked values, and those by which the noise is measured.

        Parameters
        ----------
        values : numpy.ndarray of float, shape (n_records, n_columns)
            NaN where they are missing; it must stay as it is.
        random : numpy.random.Generator
        """


def varying_numbers(frame: pd.DataFrame, columns: Sequence[str]) -> Floats:
    """Return columns of numbers, NaN where they are missing, shape (n_records, n_columns).

    Raises
    ------
    InputError
        If a column does not exist, is not numeric or constant, or has infinite values; names it.
    """
    values = np.column_stack([numbers_of(frame, name, refuse_missing=False) for name in columns])
    for name, column in zip(columns, values.T, strict=True):
        known = column[~np.isnan(column)]
        if len(known) < 2 or known.min() == known.max():
            raise InputError(
                f"Column {name!r} is constant: its variance is 0, and so is noise as a share of "
                "it. Leave the column out."
            )
    return values


def noise_reached(values: Floats, masked: Floats) -> dict[str, float]:
    """Return what noise a column got, by its correlation with the original; see `MaskedRelease`."""
    known = ~np.isnan(values)
    before, after = (column[known] - column[known].mean() for column in (values, masked))
    own, new, both = float(before @ before), float(after @ after), float(before @ after)
    # Rounding can make a correlation of 1 larger.
    square = min(both**2 / (own * new), 1.0) if own and new else np.nan
    return {
        "share": 1 / square - 1 if square else np.inf,
        "correlation": float(np.sign(both)) * square**0.5,
        "variance": new / own if own else np.nan,
        "measured": int(known.sum()),
    }


def with_gaps(values: Floats, masked: Floats) -> Floats:
    """Return masked values with the gaps of the original, and its means and variances.

    Columns without gaps stay as they are.

    Parameters
    ----------
    values : numpy.ndarray of float, shape (n_records, n_columns)
        Original values, NaN where they are missing.
    masked : numpy.ndarray of float, shape (n_records, n_columns)
        Without gaps.
    """
    gapped = np.where(np.isnan(values), np.nan, masked)
    for at in np.flatnonzero(np.isnan(values).any(axis=0)):
        spread = np.nanstd(gapped[:, at])
        if spread:
            gapped[:, at] -= np.nanmean(gapped[:, at])
            gapped[:, at] *= np.nanstd(values[:, at]) / spread
            gapped[:, at] += np.nanmean(values[:, at])
    return gapped


@dataclass(frozen=True, eq=False)
class NoiseRelease(MaskedRelease):
    """Masked records whose covariances can be corrected; see `MaskedRelease`."""

    def summary(self) -> str:
        """Return number of records and columns, and the growth of variances, in one line."""
        return (
            f"noise: {len(self.frame)} records, {len(self.achieved)} columns, variances grow by "
            f"{100 * self.noise:.4g} %"
        )

    def corrected_covariance(self) -> pd.DataFrame:
        """Estimate the covariance of the original data from the masked ones.

        Covariances between sensitive columns are divided by 1 + lambda^2; the others are kept.
        """
        numeric = self.frame.select_dtypes("number")
        covariance = numeric.cov()
        block = list(self.achieved.index)
        covariance.loc[block, block] /= 1 + self.noise
        return covariance


@METHODS.register
@dataclass(frozen=True)
class CovarianceNoise(NoiseMethod):
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
        "Example: tablecloak records noise people.csv -o masked.csv --column wage --column bonus "
        "--share 0.15"
    )

    def apply(self, frame: pd.DataFrame, random: np.random.Generator) -> NoiseRelease:
        """Add the noise; see `NoiseMethod.apply`."""
        return NoiseRelease(**vars(super().apply(frame, random)))

    def masked(self, values: Floats, random: np.random.Generator) -> tuple[Floats, Flags]:
        """Return values with noise."""
        # Singular blocks, such as a column and its double, are allowed; those of incomplete
        # records may even be indefinite.
        size, axes = np.linalg.eigh(_covariance(values))
        root = axes * np.sqrt(np.maximum(size, 0.0) * self.noise)
        normal = random.standard_normal(values.T.shape)
        masked = np.empty_like(values)
        for at, row in enumerate(root):
            masked[:, at] = row @ normal
        masked += values
        return masked, ~np.isnan(values)


def _covariance(values: Floats) -> Floats:
    """Return the covariance of some columns, of each two over the records that have both."""
    if not np.isnan(values).any():
        return np.atleast_2d(np.cov(values, rowvar=False))
    return np.asarray(pd.DataFrame(values).cov().fillna(0.0).to_numpy())


@METHODS.register
@dataclass(frozen=True)
class IndependentNoise(NoiseMethod):
    """Add normal noise to each column by itself, in proportion to its variance.

    Variances grow by 1 + lambda^2 while covariances stay, so that correlations of two masked
    columns fall by 1 / (1 + lambda^2) [2]_. Noise that keeps correlations is `CovarianceNoise`.

    Parameters
    ----------
    columns : sequence of str
        Sensitive columns.
    noise : float
        lambda^2, the variance of the noise of each column as a share of that of its values.
    keep_zeros : bool, default=False
        Whether zeros stay zeros, as where they tell that somebody has no such income at all. Share
        and noise then refer to the other values. Zeros are published as they are.

    Notes
    -----
    Missing values stay missing. Columns of whole numbers become columns of floating-point numbers.
    """

    name: ClassVar[str] = "independent-noise"
    guide: ClassVar[str] = (
        "Publish the share: users need it to correct variances and slopes.\n\n"
        "Example: tablecloak records independent-noise people.csv -o masked.csv --column wage "
        "--share 0.15"
    )

    keep_zeros: Annotated[bool, Field(description="Whether zeros stay zeros.")] = False

    def masked(self, values: Floats, random: np.random.Generator) -> tuple[Floats, Flags]:
        """Return values with noise.

        Raises
        ------
        InputError
            If zeros stay and all other values of a column are equal; names it.
        """
        chosen = ~np.isnan(values)
        if self.keep_zeros:
            chosen &= values != 0
        masked = values.copy()
        for at, name in enumerate(self.columns):
            touched = chosen[:, at]
            known = values[touched, at]
            if len(known) < 2 or known.min() == known.max():
                raise InputError(
                    f"All values of column {name!r} that are not 0 are equal: their variance is 0, "
                    "and so is noise as a share of it. Leave the column out."
                )
            spread = np.sqrt(self.noise * known.var(ddof=1))
            masked[touched, at] += spread * random.standard_normal(len(known))
        return masked, chosen


@dataclass(frozen=True, eq=False)
class RestrictedRelease(MaskedRelease):
    """Masked records with the moments of the original; see `MaskedRelease`.

    Parameters
    ----------
    n_about : int
        Number of records in small patterns of missing values, which keep moments only about.
    """

    n_about: int = 0

    def summary(self) -> str:
        """Return noise asked for and drawn, and what stays, in one line."""
        rest = (
            f", but covariances only about, for {self.n_about:,} records whose pattern of missing "
            f"values is rare"
            if self.n_about
            else ""
        )
        return f"{super().summary()}; means, variances and covariances stay exactly{rest}"


@METHODS.register
@dataclass(frozen=True)
class RestrictedNoise(NoiseMethod):
    """Add correlated noise and shrink, so that means and covariances stay exactly as they are.

    With x the deviations from the means, the released deviations are (x + e) / sqrt(1 + lambda^2),
    where e has covariance lambda^2 Sigma [3]_ [4]_. e is drawn uncorrelated with x in the sample
    and with exactly this covariance [5]_, so that means, variances, covariances and all regressions
    among the columns equal the original ones, not only on average.

    Parameters
    ----------
    columns : sequence of str
        Sensitive columns. Correlations with other columns fall by about 1 / sqrt(1 + lambda^2).
    noise : float
        lambda^2, the variance of the noise as a share of that of the data, before shrinking.

    Notes
    -----
    Missing values stay missing. Each pattern of missing values keeps its own means and covariances,
    so that those of complete records and of all records, each two columns over the records that
    have both, stay exactly. With patterns of fewer than 20 records, which the summary counts, means
    and variances still stay exactly, and covariances about. Columns of whole numbers become columns
    of floating-point numbers.
    """

    name: ClassVar[str] = "restricted-noise"
    guide: ClassVar[str] = (
        "Example: tablecloak records restricted-noise people.csv -o masked.csv --column wage "
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
        masked, there = values.copy(), ~np.isnan(values)
        rest = np.zeros(n_records, dtype=bool)
        for rows in patterns_of(there):
            cells = np.ix_(rows, there[rows[0]])
            if not there[rows[0]].any():
                continue
            if _can_be_exact(values[cells]) or len(rows) == n_records:
                masked[cells] = self._exact(values[cells], random)
            else:
                rest[rows] = True
        if rest.any():
            masked[rest] = self._about(values, random)[rest]
            masked = with_gaps(values, masked)
        return masked, there

    def apply(self, frame: pd.DataFrame, random: np.random.Generator) -> RestrictedRelease:
        """Add the noise; see `NoiseMethod.apply`."""
        release = super().apply(frame, random)
        values = varying_numbers(frame, self.columns)
        there = ~np.isnan(values)
        n_about = sum(
            len(rows)
            for rows in patterns_of(there)
            if there[rows[0]].any()
            and len(rows) < len(values)
            and not _can_be_exact(values[np.ix_(rows, there[rows[0]])])
        )
        return RestrictedRelease(**vars(release), n_about=n_about)

    def _exact(self, values: Floats, random: np.random.Generator) -> Floats:
        """Return complete records with noise, and with their means and covariances."""
        mean, spread = values.mean(axis=0), values.std(axis=0)
        points = (values - mean) / spread
        root = root_of(points.T @ points / (len(points) - 1))
        errors = normal_draws(points, points.shape[1], random) @ root.T
        kept = 1 / np.sqrt(1 + self.noise)
        return np.asarray(
            mean + spread * (kept * (points - points.mean(axis=0)) + np.sqrt(1 - kept**2) * errors)
        )

    def _about(self, values: Floats, random: np.random.Generator) -> Floats:
        """Return records with noise whose moments are about those of the file."""
        mean = np.nanmean(values, axis=0)
        errors = random.standard_normal(values.shape) @ root_of(_covariance(values)).T
        kept = 1 / np.sqrt(1 + self.noise)
        return np.asarray(mean + kept * (values - mean) + np.sqrt(1 - kept**2) * errors)


def patterns_of(there: Flags) -> list[Integers]:
    """Return the records of each pattern of known and missing values."""
    kind = np.unique(there, axis=0, return_inverse=True)[1].ravel()
    return np.split(np.argsort(kind, kind="stable"), np.cumsum(np.bincount(kind))[:-1])


def _can_be_exact(values: Floats) -> bool:
    """Whether there are enough different records to keep their moments exactly."""
    n_records, n_columns = values.shape
    return bool(
        n_records >= FEWEST_EXACT
        and is_exact(n_records, n_columns, n_columns)
        and np.all(np.ptp(values, axis=0) > 0)
    )
