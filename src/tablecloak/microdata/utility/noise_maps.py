"""Risk and utility of noise with the covariance of the data, in closed form.

A map has one curve for each analysis. Utility is 1 / MSE of the user's estimate, risk is 1 / MSE of
the snooper's.

References
----------
.. [1] Duncan, Keller-McNulty, Stokes: Disclosure risk vs. data utility: the R-U confidentiality
   map, 2004, figures 1 and 2.
.. [2] Duncan, Keller-McNulty, Stokes: Database security and confidentiality: examining
   disclosure risk vs. data utility through the R-U confidentiality map, 2004, sections 3 to 5.
   R_max is read as 1 / (tolerated error)^2; the variance of case 1 is that of the masked
   predictor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tablecloak import showing
from tablecloak.arrays import Floats
from tablecloak.errors import InputError

Masked = Literal["both", "predictor", "response"]


def risk(noise: npt.ArrayLike, variance: float) -> Floats:
    """Return the risk of a record that the snooper finds: 1 / (lambda^2 sigma^2).

    Parameters
    ----------
    noise : array_like of float
        lambda^2.
    variance : float
        sigma^2 of the sensitive variable.
    """
    with np.errstate(divide="ignore"):
        return 1.0 / (np.asarray(noise, dtype=np.float64) * variance)


def tolerated_noise(error: float, variance: float) -> float:
    """Return the lambda^2 at which the snooper has a given root mean square error.

    Parameters
    ----------
    error : float
        Least tolerable error of the snooper, in the unit of the variable: R_max = error^-2.
    variance : float
        sigma^2 of the sensitive variable.

    Raises
    ------
    InputError
        If either is not positive.
    """
    if not (error > 0 and variance > 0):
        raise InputError(
            f"`error` and `variance` must be positive. Got {error!r} and {variance!r}."
        )
    return error**2 / variance


def mean_utility(noise: npt.ArrayLike, variance: float, n: int) -> Floats:
    """Return the utility of a mean of masked values: n / ((1 + lambda^2) sigma^2).

    For a difference of two masked means `variance` is that of the difference.
    """
    return n / ((1 + np.asarray(noise, dtype=np.float64)) * variance)


def slope_utility(
    noise: npt.ArrayLike, r2: float, n: int, *, masked: Masked = "predictor", slope: float = 1.0
) -> Floats:
    """Return the utility of the ordinary least-squares slope from masked data.

    Parameters
    ----------
    noise : array_like of float
        lambda^2.
    r2 : float
        R^2 of the regression of the original data, between 0 and 1.
    n : int
        Number of records, at least 4.
    masked : {"both", "predictor", "response"}, default="predictor"
        Masked variables: case 1, 2 or 3 of the paper. Only in case 2 is the slope biased: it
        shrinks by the factor 1 / (1 + lambda^2).
    slope : float, default=1
        beta, in units in which the predictor has variance 1.

    Returns
    -------
    numpy.ndarray of float
        1 / MSE; equations (4.5) and (4.7).
    """
    noise = _checked(noise, r2, n)
    rest = (1 - r2) / r2
    if masked == "both":
        return np.broadcast_to((n - 3) / (slope**2 * rest), noise.shape).copy()
    if masked == "response":
        return corrected_slope_utility(noise, r2, n, slope=slope)
    if masked != "predictor":
        raise InputError(f"`masked` must be 'both', 'predictor' or 'response'. Got {masked!r}.")
    error = noise / (1 + noise) * (1 / (n - 3) + noise) + rest / (n - 3)
    return np.asarray(1 / (slope**2 / (1 + noise) * error))


def corrected_slope_utility(
    noise: npt.ArrayLike, r2: float, n: int, *, slope: float = 1.0
) -> Floats:
    """Return the utility of the slope times 1 + lambda^2, which is unbiased: equation (5.1)."""
    noise = _checked(noise, r2, n)
    return np.asarray((n - 3) * r2 / (slope**2 * (noise + 1 - r2)))


def _checked(noise: npt.ArrayLike, r2: float, n: int) -> Floats:
    array = np.asarray(noise, dtype=np.float64)
    if np.any(array < 0) or not 0 < r2 < 1 or n < 4:
        raise InputError(
            "`noise` must be >= 0, `r2` between 0 and 1, and `n` at least 4. Got "
            f"{np.min(array, initial=np.inf):g} as the least noise, r2 = {r2!r} and n = {n!r}."
        )
    return array


@dataclass(frozen=True, eq=False)
class Curve:
    """Risk over utility of one analysis for increasing noise.

    Parameters
    ----------
    label : str
    utility, risk : ndarray of float64
    family : int
        Curves of one family share a colour.
    emphasised : bool, default=False
        Whether the curve is drawn as a thick line.
    limit : float, optional
        Utility without noise.
    """

    label: str
    utility: Floats
    risk: Floats
    family: int
    emphasised: bool = False
    limit: float | None = None


@dataclass(frozen=True, eq=False)
class NoiseMap:
    """Curves of several analyses, with the risks to compare them at.

    Parameters
    ----------
    curves : tuple of Curve
    largest_risk : float, optional
        Largest tolerable risk, drawn as a line.
    marked_risk : float, optional
        Further risk that is marked, to read utilities there.
    title : str, default=""
    """

    curves: tuple[Curve, ...]
    largest_risk: float | None = None
    marked_risk: float | None = None
    title: str = ""


def plot_mean_map(
    variances: Mapping[str, float],
    n: int,
    *,
    masked_variance: float,
    tolerated_error: float | None = None,
    noise: tuple[float, float] = (0.02, 2.0),
    path: str | Path | None = None,
) -> Any:
    """Draw figure 1 of the paper: risk over utility of means for increasing noise.

    Parameters
    ----------
    variances : mapping of str to float
        Variance of each variable, or difference of variables, whose mean is estimated.
    n : int
        Number of records.
    masked_variance : float
        Variance of the masked variable whose values an intruder wants.
    tolerated_error : float, optional
        Least root mean squared error that an intruder must have. A horizontal line marks the
        corresponding largest risk, and the title names the least noise that reaches it.
    noise : (float, float), default=(0.02, 2.0)
        Range of lambda^2.
    path : path, optional
        File to write: png, svg or pdf by its suffix. Only its owner can read it.

    Returns
    -------
    matplotlib.figure.Figure
    """
    grid = np.geomspace(*noise, 200)
    height = risk(grid, masked_variance)
    curves = tuple(
        Curve(name, mean_utility(grid, variance, n), height, family, limit=n / variance)
        for family, (name, variance) in enumerate(variances.items())
    )
    if tolerated_error is None:
        return showing.plot(NoiseMap(curves), path)
    least = tolerated_noise(tolerated_error, masked_variance)
    title = f"an error of {tolerated_error:g} needs noise of at least {least:.4g}"
    return showing.plot(NoiseMap(curves, tolerated_error**-2, title=title), path)


def plot_slope_map(
    r2: Sequence[float],
    n: int,
    *,
    variance: float = 1.0,
    marked: float | None = 0.15,
    noise: tuple[float, float] = (0.02, 2.0),
    path: str | Path | None = None,
) -> Any:
    """Draw figure 2 of the paper: the gain in utility of slopes if users know the noise.

    Parameters
    ----------
    r2 : sequence of float
        R^2 of the regressions. Each gets a thin curve for the ordinary slope from masked
        predictors and a thick one for the slope corrected for attenuation.
    n : int
        Number of records.
    variance : float, default=1
        Variance of the masked predictor.
    marked : float, optional
        lambda^2 whose risk is drawn as a dotted line.
    noise : (float, float), default=(0.02, 2.0)
        Range of lambda^2.
    path : path, optional
        File to write, by its suffix.

    Returns
    -------
    matplotlib.figure.Figure
    """
    grid = np.geomspace(*noise, 200)
    height = risk(grid, variance)
    curves: list[Curve] = []
    for family, value in enumerate(r2):
        plain, corrected = slope_utility(grid, value, n), corrected_slope_utility(grid, value, n)
        label = f"R² = {value:g}"
        curves.append(Curve(f"{label}, as it is", plain, height, family))
        curves.append(Curve(f"{label}, corrected", corrected, height, family, emphasised=True))
    level = None if marked is None else float(risk(marked, variance))
    return showing.plot(NoiseMap(tuple(curves), marked_risk=level), path)
