"""The sum of weighted absolute changes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tablecloak.cta.distances.distance import DISTANCES, Distance

__all__ = ["L1"]

Floats = npt.NDArray[np.float64]


@DISTANCES.register
class L1(Distance):
    """sum w_i |z_i|; of equally good tables one in which sensitive cells move least."""

    name: ClassVar[str] = "L1"
    has_whole_numbers: ClassVar[bool] = True
    keeps_conditions: ClassVar[bool] = True

    def loss(self, weights: Floats, changes: Floats) -> float:
        """Return sum w_i |z_i|."""
        return float(np.dot(weights, np.abs(changes)))
