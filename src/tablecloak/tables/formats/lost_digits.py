"""Numbers of a file with more digits than a double holds.

A number of up to 15 digits is read back from its double as it was written. Of a longer one the last
digits are lost, which matters where they are not far below the protection levels: what would then
be proved is proved of other numbers than the file holds.
"""

from __future__ import annotations

from decimal import Context, Decimal, InvalidOperation

import numpy as np
import numpy.typing as npt

from tablecloak.arrays import Floats, Integers

HELD = 15
"""Digits that every double holds."""

NOTICED = 0.01
"""Share of the least level from which on a lost part of a number counts: a protection that is short
by it is no longer the one that was asked for. docs/decisions, "Digits that a double loses"."""

_LONG = Context(prec=800)


def least_level(*levels: Floats) -> float:
    """Return the least level above 0; infinity if there is none."""
    every = np.concatenate(levels)
    return float(np.min(every[every > 0], initial=np.inf))


def may_lose(numbers: Floats, level: float) -> Integers:
    """Return the positions of numbers whose rounding counts beside a level."""
    size = np.where(np.isfinite(numbers), np.abs(numbers), 0.0)
    return np.flatnonzero(np.spacing(size) / 2 > NOTICED * level)


def lost_digits(texts: npt.ArrayLike, numbers: Floats, level: float) -> Integers:
    """Return the positions of numbers that are too far from what was written.

    Parameters
    ----------
    texts : array of str, shape (n,)
        As they stand in the file.
    numbers : numpy.ndarray of float, shape (n,)
        As they were read.
    level : float
        The least protection level above 0.
    """
    written = np.asarray(texts, dtype=np.str_)
    near = may_lose(numbers, level)
    near = near[np.char.str_len(written[near]) > HELD]
    pairs = zip(written[near].tolist(), numbers[near].tolist(), strict=True)
    is_lost = [_is_lost(text, number, NOTICED * level) for text, number in pairs]
    lost: Integers = near[np.array(is_lost, dtype=bool)]
    return lost


def _is_lost(text: str, number: float, allowed: float) -> bool:
    """Whether a double is farther from a number than allowed, and does not print as it."""
    if repr(number) == text:
        return False
    try:
        meant, held = Decimal(text), Decimal(number)
        is_far = abs(_LONG.subtract(meant, held)) > Decimal(allowed)
        return is_far and held.quantize(meant, context=_LONG) != meant
    except InvalidOperation:
        return False


def remedy(text: str, number: float, level: float, count: int) -> str:
    """Return what is wrong with the first of some numbers, and what to do."""
    return (
        f"is {text}, of which a double holds {number!r}: the difference counts beside the "
        f"protection level {level:g} ({count} such numbers). Round the numbers of the file to "
        f"{HELD} digits so that they still add up, or raise the levels that are so small."
    )
