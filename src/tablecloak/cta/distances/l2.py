"""The sum of weighted squares of changes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tablecloak.cta.distances.distance import DISTANCES, Distance

__all__ = ["L2"]

Floats = npt.NDArray[np.float64]


@DISTANCES.register
class L2(Distance):
    """sum w_i z_i^2, which spreads changes over more cells; gives fractional values."""

    name: ClassVar[str] = "L2"
    power: ClassVar[int] = 2

    def loss(self, weights: Floats, changes: Floats) -> float:
        """Return sum w_i z_i^2."""
        return float(np.dot(weights, np.abs(changes) ** 2))
