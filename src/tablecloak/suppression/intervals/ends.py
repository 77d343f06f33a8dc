"""Ends of intervals: blurred, cut at the external bounds, and rounded outwards."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.suppression.system.needs import decimals_of
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["NOISE", "SPARE", "blurred", "outwards"]

NOISE = 3e-7
"""Share of a width that may be the solver's rounding error, or its repair (`ROUNDED`). Ends are
first rounded without this share."""

SPARE = 64
"""Units in the last place by which an end is moved on before it is rounded outwards again."""

DIGITS = 3
"""Digits of a width to which ends are rounded where values are no decimal numbers."""


def outwards(problem: ProtectionProblem, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Cut intervals at the external bounds, then round their ends outwards to the last digit.

    The digits are those of the table; where its values are no decimal numbers, the first digits
    of each width. An end that rounding moves beyond an external bound does no harm.
    """
    open_ = upper > lower
    lower, upper = np.maximum(lower, problem.lower_bound), np.minimum(upper, problem.upper_bound)
    decimals = decimals_of(problem)
    if decimals is None:
        width = np.where(open_, upper - lower, 1.0)
        places = np.clip(DIGITS - 1 - np.floor(np.log10(width)), -300, 300)
    else:
        places = np.full(len(upper), float(decimals))
    lower = np.where(open_, _rounded(lower, places, np.floor), lower)
    upper = np.where(open_, _rounded(upper, places, np.ceil), upper)
    forced = problem.forced
    return (
        np.where(forced, problem.lower_bound, lower),
        np.where(forced, problem.upper_bound, upper),
    )


def _rounded(ends: Floats, places: Floats, towards: np.ufunc) -> Floats:
    """Round to a number of decimals; a power of ten divides exactly what it is a factor of."""
    power = 10.0 ** np.abs(places)
    scaled = np.where(places >= 0, ends * power, ends / power)
    # A decimal number is read as such, though its product with a power of ten is off by a digit.
    near = np.rint(scaled)
    back = np.where(places >= 0, near / power, near * power)
    whole = np.where(back == ends, near, towards(scaled))
    found: Floats = np.where(places >= 0, whole / power, whole * power)
    return found


def blurred(
    up: Floats, down: Floats, blur: float, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """Widen both sides by random shares of the width, so that no end tells the true value."""
    width = up + down
    return (
        up + blur * random.random(len(up)) * width / 2,
        down + blur * random.random(len(up)) * width / 2,
    )
