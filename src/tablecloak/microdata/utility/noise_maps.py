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
from itertools import cycle
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tablecloak.arrays import Floats
from tablecloak.errors import InputError
from tablecloak.render.plotting import new_figure, save_secret

Masked = Literal["both", "predictor", "response"]

COLOURS = ("#1d3557", "#d62828", "#2a9d8f", "#e9c46a", "#6d597a")
"""Of the curves, in turn; the curves of one regression share a colour."""

THIN, THICK = 0.9, 2.2
"""Widths of curves."""


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
    noise: npt.ArrayLike, r2: float, n: int, *, masked: Masked = "predictor"
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

    Returns
    -------
    numpy.ndarray of float
        1 / MSE of the slope, in units in which it is 1 and the predictor has variance 1; equations
        (4.5) and (4.7).
    """
    noise = _checked(noise, r2, n)
    rest = (1 - r2) / r2
    if masked == "both":
        return np.broadcast_to((n - 3) / rest, noise.shape).copy()
    if masked == "response":
        return corrected_slope_utility(noise, r2, n)
    if masked != "predictor":
        raise InputError(f"`masked` must be 'both', 'predictor' or 'response'. Got {masked!r}.")
    error = noise / (1 + noise) * (1 / (n - 3) + noise) + rest / (n - 3)
    return np.asarray(1 / (1 / (1 + noise) * error))


def corrected_slope_utility(noise: npt.ArrayLike, r2: float, n: int) -> Floats:
    """Return the utility of the slope times 1 + lambda^2, which is unbiased: equation (5.1)."""
    noise = _checked(noise, r2, n)
    return np.asarray((n - 3) * r2 / (noise + 1 - r2))


def _checked(noise: npt.ArrayLike, r2: float, n: int) -> Floats:
    array = np.asarray(noise, dtype=np.float64)
    if np.any(array < 0) or not 0 < r2 < 1 or n < 4:
        raise InputError(
            "`noise` must be >= 0, `r2` between 0 and 1, and `n` at least 4. Got "
            f"{np.min(array, initial=np.inf):g} as the least noise, r2 = {r2!r} and n = {n!r}."
        )
    return array


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
    figure, axes = _empty_map()
    for colour, (name, variance) in zip(cycle(COLOURS), variances.items(), strict=False):
        axes.plot(mean_utility(grid, variance, n), height, color=colour, linewidth=THIN, label=name)
        axes.axvline(n / variance, color=colour, linestyle="--", linewidth=0.8)
    if tolerated_error is not None:
        least = tolerated_noise(tolerated_error, masked_variance)
        axes.axhline(tolerated_error**-2, color="grey", linestyle="--", linewidth=0.8)
        axes.set_title(f"an error of {tolerated_error:g} needs noise of at least {least:.4g}")
    axes.legend()
    return save_secret(figure, path)


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
    figure, axes = _empty_map()
    for colour, value in zip(cycle(COLOURS), r2, strict=False):
        plain, corrected = slope_utility(grid, value, n), corrected_slope_utility(grid, value, n)
        for utility, how, width in ((plain, "as it is", THIN), (corrected, "corrected", THICK)):
            label = f"R² = {value:g}, {how}"
            axes.plot(utility, height, color=colour, linewidth=width, label=label)
    if marked is not None:
        axes.axhline(float(risk(marked, variance)), color="grey", linestyle=":", linewidth=1)
    axes.legend()
    return save_secret(figure, path)


def _empty_map() -> tuple[Any, Any]:
    """Return a figure and its axes, without curves as yet."""
    figure, axes = new_figure(7, 5)
    axes.set_yscale("log")
    axes.set_xlabel("utility: 1 / mean squared error of the estimate")
    axes.set_ylabel("risk: 1 / mean squared error of the intruder")
    return figure, axes
