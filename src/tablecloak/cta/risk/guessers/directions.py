"""An intruder who knows the levels and the direction of each change."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.cta.risk.guesser import GUESSERS
from tablecloak.cta.risk.guessers.levels import KnowsLevels

if TYPE_CHECKING:
    from tablecloak.cta.result.adjustment import Adjustment


@GUESSERS.register
class KnowsDirections(KnowsLevels):
    """Knows the levels, and which way each sensitive cell moved, as after directions="up"."""

    name: ClassVar[str] = "directions"

    def directions(self, adjustment: Adjustment) -> Floats | None:
        """Return for each sensitive cell the direction opposite to its change."""
        changes = adjustment.changes[adjustment.problem.sensitive]
        return np.where(changes > 0, -1.0, 1.0)
