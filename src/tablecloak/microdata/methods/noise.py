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
.. [6] Ting, Fienberg, Trottini: Random orthogonal matrix masking methodology for microdata release,
   2008.
.. [7] Rousseeuw, Van Driessen: A fast algorithm for the minimum covariance determinant estimator,
   1999 (concentration steps).
.. [8] Templ, Meindl: Robustification of microdata masking methods and the comparison with existing
   methods, 2008.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field
from scipy.optimize import brentq
from scipy.stats import chi2

from tablecloak.arrays import Flags, Floats
from tablecloak.errors import InputError
from tablecloak.microdata.columns import like, numbers_of
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.methods.parameters import option
from tablecloak.microdata.order import warn_of_order

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

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the sensitive columns."""
        return Columns(changed=self.columns, numbers=self.columns)

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
    """Masked records whose covariances can be corrected.

    Parameters
    ----------
    frame, method, noise, achieved
        Those of `MaskedRelease`.
    covariance : numpy.ndarray of float
        Covariance of the original sensitive columns; usually secret.
    """

    covariance: Floats

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the sensitive columns."""
        return tuple(self.achieved.index)

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
        covariance = numeric.cov()
        block = list(self.columns)
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
        release = super().apply(frame, random)
        covariance = _covariance(varying_numbers(frame, self.columns))
        return NoiseRelease(**vars(release), covariance=covariance)

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
    Missing values stay missing; then means and variances of the known values still stay exactly,
    and covariances about. Columns of whole numbers become columns of floating-point numbers.
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
        mean, spread = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
        points = np.nan_to_num((values - mean) / spread, nan=0.0)
        kept = 1 / np.sqrt(1 + self.noise)
        root = root_of(points.T @ points / (n_records - 1))
        errors = normal_draws(points, n_columns, random) @ root.T
        drawn = kept * (points - points.mean(axis=0)) + np.sqrt(1 - kept**2) * errors
        return with_gaps(values, mean + spread * drawn), ~np.isnan(values)


ROUNDS = 8
"""Rounds in which records are mixed: each then holds a part of up to 3^8 = 6,561 others."""


@METHODS.register
@dataclass(frozen=True)
class OrthogonalMasking(NoiseMethod):
    """Mix records by a random orthogonal matrix, which keeps means and covariances (ROMM).

    Released are T X, where T is orthogonal and T 1 = 1, so that sums, sums of squares and of
    products of the columns are those of X.

    Parameters
    ----------
    columns : sequence of str
        Sensitive columns, which are mixed by the same matrix.
    noise : float
        lambda^2: the released values have the correlation 1 / sqrt(1 + lambda^2) with the original
        ones, as with noise of this share of the variance. In small files chance moves it.

    Notes
    -----
    A matrix T without structure [6]_ would take time and memory in the square of the number of
    records. Here T is the product of eight rounds: in each, records are split into random triples,
    and each triple is rotated about the axis (1, 1, 1) by an angle, in a random direction, that is
    uniform between half and three halves of the usual one. One round keeps a share
    (1 + 2 cos(angle)) / 3 of the deviations on average, from which the usual angle follows. A
    million records with two columns take 2 seconds.

    With missing values, gaps count as means while records are mixed; means and variances of the
    known values still stay exactly, and covariances about.
    """

    name: ClassVar[str] = "romm"
    guide: ClassVar[str] = (
        "Example: tablecloak records romm people.csv -o masked.csv --column wage --column bonus "
        "--share 0.15"
    )

    def masked(self, values: Floats, random: np.random.Generator) -> tuple[Floats, Flags]:
        """Return mixed values.

        Raises
        ------
        InputError
            If there are fewer than three records.
        """
        if len(values) < 3:
            raise InputError(
                f"{len(values)} records cannot be mixed while their mean and variance stay: three "
                "are needed. Give more records, or take the method 'noise'."
            )
        mean, spread = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
        points = np.nan_to_num((values - mean) / spread, nan=0.0)
        kept = (1 + self.noise) ** (-0.5 / ROUNDS)
        usual = _usual_angle((3 * kept - 1) / 2)
        for _ in range(ROUNDS):
            _rotate_triples(points, usual, random)
        return with_gaps(values, mean + spread * points), ~np.isnan(values)


def _usual_angle(cosine: float) -> float:
    """Return the angle a whose cosine, averaged over a / 2 to 3 a / 2, is a number above -1/2."""
    if 1 - cosine < 1e-9:
        # By the second moment of the angle, 13 a^2 / 12: the difference of sines would be rounded.
        return float(np.sqrt(24 / 13 * (1 - cosine)))
    angle = brentq(lambda a: (np.sin(1.5 * a) - np.sin(0.5 * a)) / a - cosine, 1e-6, 2.5)
    return float(angle)


def _rotate_triples(points: Floats, usual: float, random: np.random.Generator) -> None:
    """Rotate random triples of records about (1, 1, 1), in place.

    By Rodrigues' formula, a triple (a, b, c) with mean m becomes m + cos (a - m) + sin (c - b) /
    sqrt(3), and so on around.
    """
    triples = random.permutation(len(points))[: len(points) // 3 * 3].reshape(3, -1)
    direction = np.where(random.random(triples.shape[1]) < 0.5, -1.0, 1.0)
    angle = direction * random.uniform(0.5 * usual, 1.5 * usual, triples.shape[1])
    cosine, sine = np.cos(angle)[:, None], np.sin(angle)[:, None] / np.sqrt(3)
    a, b, c = (points[part] for part in triples)
    mean = (1 - cosine) / 3 * (a + b + c)
    points[triples[0]] = mean + cosine * a + sine * (c - b)
    points[triples[1]] = mean + cosine * b + sine * (a - c)
    points[triples[2]] = mean + cosine * c + sine * (b - a)


BULK = 0.75
"""Share of records that the robust covariance describes."""

ORDINARY = 0.975
"""Records beyond this quantile of the distances of normal data count as outliers [7]_."""

MOST_STEPS = 50
"""Concentration steps; they end earlier when nothing changes."""


@METHODS.register
@dataclass(frozen=True)
class OutlierNoise(NoiseMethod):
    """Add noise with the covariance of the bulk of the records, and more of it to outliers.

    Plain noise hides the average record and hardly touches one that is far from all others. Here
    the standard deviation of the noise of an outlier grows with its distance [8]_.

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
    concentration steps [7]_ from the records nearest to the medians; outliers begin at the 97.5 %
    quantile of the distance of normal data. Missing values stay missing and count as average.
    Columns of whole numbers become columns of floating-point numbers. Variances grow by more than
    lambda^2, and by how much depends on the outliers: do not correct estimates by the share alone.
    """

    name: ClassVar[str] = "outlier-noise"
    guide: ClassVar[str] = (
        "Example: tablecloak records outlier-noise people.csv -o masked.csv --column wage "
        "--column bonus --share 0.15"
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
