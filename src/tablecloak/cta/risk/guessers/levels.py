"""An intruder who knows the true protection levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tablecloak.arrays import Floats
from tablecloak.cta.risk.guesser import GUESSERS, Guesser

if TYPE_CHECKING:
    from tablecloak.cta.result.adjustment import Adjustment


@GUESSERS.register
class KnowsLevels(Guesser):
    """Knows the true protection levels, and how far chance may move a cell beyond them."""

    name: ClassVar[str] = "levels"

    def distances(self, adjustment: Adjustment, assumed_level: float) -> tuple[Floats, Floats]:
        """Return the levels: a cell moved up is published its upper level above the truth."""
        del assumed_level
        return adjustment.problem.upper_protection, adjustment.problem.lower_protection

    def attempts(self, adjustment: Adjustment, assumed_level: float) -> list[tuple[Floats, Floats]]:
        """Return the levels and, where distances were left to chance, their means as well."""
        found = [self.distances(adjustment, assumed_level)]
        chance = adjustment.chance
        if chance is not None:
            below, above = found[0]
            found.append((below + chance.up / 2, above + chance.down / 2))
        return found
