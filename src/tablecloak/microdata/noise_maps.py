"""Risk-utility maps of multivariate noise in closed form: one curve for each analysis.

References
----------
.. [1] Duncan, Keller-McNulty, Stokes: Disclosure risk vs. data utility: the R-U confidentiality
   map, 2004, figures 1 and 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tablecloak.microdata.noise import (
    corrected_slope_utility,
    mean_utility,
    risk,
    slope_utility,
    tolerated_noise,
)
from tablecloak.render.plotting import new_figure, save_secret

__all__ = ["plot_mean_map", "plot_slope_map"]

Floats = npt.NDArray[np.float64]

COLOURS = ("#1d3557", "#d62828", "#2a9d8f", "#e9c46a", "#6d597a")


def plot_mean_map(
    variances: Mapping[str, float],
    n: int,
    *,
    masked_variance: float,
    tolerated_error: float | None = None,
    noise: tuple[float, float] = (0.02, 2.0),
    path: str | Path | None = None,
) -> Any:
    """Draw figure 1 of the paper: risk over utility of means while the noise grows.

    Parameters
    ----------
    variances : mapping of str to float
        Variance of each variable, or difference of variables, whose mean is estimated.
    n : int
        Records.
    masked_variance : float
        Variance of the masked variable whose values an intruder wants.
    tolerated_error : float, optional
        Root mean squared error that an intruder must have at least: drawn as a horizontal line
        at the largest risk, and named in the title with the least noise that reaches it.
    noise : (float, float), default=(0.02, 2.0)
        Range of lambda^2.
    path : path, optional
        File to write, by its suffix: png, svg or pdf. Readable by its owner alone.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, axes = new_figure(7, 5)
    grid = np.geomspace(*noise, 200)
    height = risk(grid, masked_variance)
    for (name, variance), colour in zip(variances.items(), _colours(len(variances)), strict=True):
        axes.plot(mean_utility(grid, variance, n), height, color=colour, label=name)
        axes.axvline(n / variance, color=colour, linestyle="--", linewidth=0.8)
    if tolerated_error is not None:
        axes.axhline(tolerated_error**-2, color="grey", linestyle="--", linewidth=0.8)
        least = tolerated_noise(tolerated_error, masked_variance)
        axes.set_title(f"an error of {tolerated_error:g} needs noise of at least {least:.4g}")
    return _finished(figure, axes, path)


def plot_slope_map(
    r2: Sequence[float],
    n: int,
    *,
    variance: float = 1.0,
    marked: float | None = 0.15,
    noise: tuple[float, float] = (0.02, 2.0),
    path: str | Path | None = None,
) -> Any:
    """Draw figure 2 of the paper: what a user of slopes gains by knowing the noise.

    Parameters
    ----------
    r2 : sequence of float
        R^2 of the regressions; for each a thin curve for the ordinary slope from masked
        predictors and a thick one for the slope corrected for attenuation.
    n : int
        Records.
    variance : float, default=1
        Of the masked predictor.
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
    figure, axes = new_figure(7, 5)
    grid = np.geomspace(*noise, 200)
    height = risk(grid, variance)
    for value, colour in zip(r2, _colours(len(r2)), strict=True):
        label = f"R² = {value:g}"
        plain, corrected = slope_utility(grid, value, n), corrected_slope_utility(grid, value, n)
        axes.plot(plain, height, color=colour, linewidth=0.9, label=f"{label}, as it is")
        axes.plot(corrected, height, color=colour, linewidth=2.2, label=f"{label}, corrected")
    if marked is not None:
        axes.axhline(float(risk(marked, variance)), color="grey", linestyle=":", linewidth=1)
    return _finished(figure, axes, path)


def _colours(count: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(count)]


def _finished(figure: Any, axes: Any, path: str | Path | None) -> Any:
    axes.set_yscale("log")
    axes.set_xlabel("utility: 1 / mean squared error of the estimate")
    axes.set_ylabel("risk: 1 / mean squared error of the intruder")
    axes.legend()
    save_secret(figure, path)
    return figure
