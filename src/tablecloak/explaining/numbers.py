"""Numbers as they are printed: read as exact fractions, and written again."""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["exact", "shown", "times"]


def exact(number: float) -> Fraction:
    """Return a number as it is printed, such as 0.1, as an exact fraction."""
    return Fraction(repr(float(number)))


def shown(number: Fraction | float) -> str:
    """Write a number with up to 12 digits; a fraction that is no decimal number stays one."""
    if isinstance(number, float) and not math.isfinite(number):
        return "unbounded"
    if isinstance(number, Fraction) and 1 < number.denominator <= 12:
        is_decimal = 10**12 % number.denominator == 0
        if not is_decimal:
            return f"{number.numerator}/{number.denominator}"
    return f"{float(number):.12g}"


def times(multiplier: Fraction) -> str:
    """Write a multiplier before what it multiplies: + or - for 1 and -1."""
    sign = "-" if multiplier < 0 else "+"
    return f"{sign} " if abs(multiplier) == 1 else f"{sign} {shown(abs(multiplier))} x "
