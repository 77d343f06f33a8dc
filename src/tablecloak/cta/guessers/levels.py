"""The true protection levels are known."""

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
        """Return the levels: what was moved up by its upper one lies that far above the truth."""
        del assumed_level
        return adjustment.problem.upper_protection, adjustment.problem.lower_protection
