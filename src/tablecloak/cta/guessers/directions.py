"""Besides the levels the directions are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from tablecloak.cta.guesser import GUESSERS
from tablecloak.cta.guessers.levels import KnowsLevels

if TYPE_CHECKING:
    from tablecloak.cta.adjustment import Adjustment

__all__ = ["KnowsDirections"]

Floats = npt.NDArray[np.float64]


@GUESSERS.register
class KnowsDirections(KnowsLevels):
    """Knows levels, and which way each sensitive cell was moved, as after directions="up"."""

    name: ClassVar[str] = "directions"

    def directions(self, adjustment: Adjustment) -> Floats | None:
        """Return the opposite of each change."""
        changes = adjustment.changes[adjustment.problem.sensitive]
        return np.where(changes > 0, -1.0, 1.0)
