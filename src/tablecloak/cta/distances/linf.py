"""The largest weighted absolute change."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tablecloak.cta.distances.distance import DISTANCES, Distance

__all__ = ["Linf"]

Floats = npt.NDArray[np.float64]


@DISTANCES.register
class Linf(Distance):
    """max w_i |z_i|, and of all such tables one with a small sum; gives fractional values."""

    name: ClassVar[str] = "Linf"
    is_maximum: ClassVar[bool] = True
    adds_up: ClassVar[bool] = False

    def loss(self, weights: Floats, changes: Floats) -> float:
        """Return max w_i |z_i|."""
        return float(np.max(weights * np.abs(changes), initial=0.0))
