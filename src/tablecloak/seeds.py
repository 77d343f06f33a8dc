"""Seeds of random choices, checked once at the public boundary."""

from __future__ import annotations

from typing import Any

import numpy as np

from tablecloak.errors import InputError

__all__ = ["generator"]


def generator(seed: Any = None) -> np.random.Generator:
    """Return the source of random numbers that a seed stands for.

    Parameters
    ----------
    seed : int, sequence of int, numpy.random.Generator or None
        None draws a seed from the system.

    Raises
    ------
    InputError
        If it is negative or no whole number.
    """
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise InputError(f"`seed` must be a whole number, 0 or more. Got {seed!r}.") from None
