"""Moments of a set of values before and after an adjustment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.tables.published import DUST


@dataclass(frozen=True)
class ValueMoments:
    """How an adjusted set of values compares with the original.

    Parameters
    ----------
    mean_shift : float
        Mean of the changes.
    slope : float
        Slope of adjusted on original values, 1 + L(z).
    correlation : float
        Between original and adjusted values.
    variance_ratio : float
        Variance of the adjusted values over that of the original ones.
    distribution_distance : float
        Kolmogorov-Smirnov distance between the two empirical distributions.
    """

    mean_shift: float
    slope: float
    correlation: float
    variance_ratio: float
    distribution_distance: float


def centred(values: Floats) -> Floats:
    """Return distances from the mean, which of large numbers close to one another is rounded.

    Differences from the first number are taken before, so that none of their digits is lost.
    """
    far: Floats = values - values[0]
    distances: Floats = far - far.mean()
    return distances


def moments(original: Floats, adjusted: Floats) -> ValueMoments:
    """Compare two sets of values; NaN where the original values are all equal."""
    if len(original) == 0:
        return ValueMoments(0.0, np.nan, np.nan, np.nan, np.nan)
    a, x = centred(original), centred(adjusted)
    var_a, var_x, cov = float(np.mean(a * a)), float(np.mean(x * x)), float(np.mean(a * x))
    shift = float(np.mean(adjusted - original))
    # Changes that cancel leave what their last binary digits are off.
    shift = shift if abs(shift) > DUST * float(np.max(np.abs(original))) else 0.0
    both = np.sort(np.concatenate([original, adjusted]))
    below = [np.searchsorted(np.sort(part), both, side="right") for part in (original, adjusted)]
    distance = float(np.max(np.abs(below[0] - below[1]))) / len(original)
    if var_a == 0:
        return ValueMoments(shift, np.nan, np.nan, np.nan, distance)
    correlation = cov / np.sqrt(var_a * var_x) if var_x > 0 else np.nan
    return ValueMoments(shift, cov / var_a, float(correlation), var_x / var_a, distance)
