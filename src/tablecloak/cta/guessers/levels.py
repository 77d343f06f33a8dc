"""An intruder who knows the true protection levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from tablecloak.cta.guesser import GUESSERS, Guesser

if TYPE_CHECKING:
    from tablecloak.cta.adjustment import Adjustment

__all__ = ["KnowsLevels"]

Floats = npt.NDArray[np.float64]


@GUESSERS.register
class KnowsLevels(Guesser):
    """Knows the true protection levels."""

    name: ClassVar[str] = "levels"

    def distances(self, adjustment: Adjustment, assumed_level: float) -> tuple[Floats, Floats]:
        """Return the levels: a cell moved up is published its upper level above the truth."""
        del assumed_level
        return adjustment.problem.upper_protection, adjustment.problem.lower_protection
