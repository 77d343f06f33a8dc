"""Both ends of the interval are asked for: the safe default."""

from __future__ import annotations

from typing import ClassVar

from tablecloak.arrays import Floats, Integers
from tablecloak.suppression.system.requirement import REQUIREMENTS, Requirement
from tablecloak.tables.problem import ProtectionProblem


@REQUIREMENTS.register
class TwoSided(Requirement):
    """Far enough above and below the true value, and wide enough: the default."""

    name: ClassVar[str] = "two-sided"

    def distances(
        self, problem: ProtectionProblem, cells: Integers
    ) -> tuple[Floats, Floats, Floats]:
        """Return upper, lower and sliding protection level."""
        return (
            problem.upper_protection[cells],
            problem.lower_protection[cells],
            problem.sliding_protection[cells],
        )
