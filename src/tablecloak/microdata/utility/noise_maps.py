"""Risk-utility maps of multivariate noise in closed form: one curve for each analysis.

References
----------
.. [1] Duncan, Keller-McNulty, Stokes: Disclosure risk vs. data utility: the R-U confidentiality
   map, 2004, figures 1 and 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tablecloak import showing
from tablecloak.arrays import Floats
from tablecloak.microdata.utility.noise_curves import (
    corrected_slope_utility,
    mean_utility,
    risk,
    slope_utility,
    tolerated_noise,
)

__all__ = ["Curve", "NoiseMap", "plot_mean_map", "plot_slope_map"]


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
