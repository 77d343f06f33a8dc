"""An intruder who knows nothing but the method."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.cta.risk.guesser import GUESSERS, Guesser

if TYPE_CHECKING:
    from tablecloak.cta.result.adjustment import Adjustment


@GUESSERS.register
class KnowsMethod(Guesser):
    """Knows only the method, and assumes that levels are a share of the published values."""

    name: ClassVar[str] = "method"

    def distances(self, adjustment: Adjustment, assumed_level: float) -> tuple[Floats, Floats]:
        """Return the same share of each sensitive value, below and above."""
        share = assumed_level * np.abs(adjustment.values)
        levels = np.where(adjustment.problem.sensitive, share, 0.0)
        return levels, levels
