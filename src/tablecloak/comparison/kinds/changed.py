"""Tables whose values were changed, which are read as they stand."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tablecloak.arrays import Flags, Floats
from tablecloak.comparison.kind import UNCHANGED

__all__ = ["as_they_stand", "changes"]


def as_they_stand(values: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the values as both ends."""
    found = np.asarray(values, dtype=np.float64)
    return found, found


def changes(shown: Floats, truth: Floats, unit: float) -> tuple[Flags, Floats]:
    """Return which values are published exactly, and by how much each is off."""
    change = np.abs(shown - truth)
    return change <= UNCHANGED * unit, change
