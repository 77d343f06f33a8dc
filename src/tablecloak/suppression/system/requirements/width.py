"""Only the width of the interval is asked for."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.suppression.system.requirement import REQUIREMENTS, Requirement
from tablecloak.tables.problem import ProtectionProblem


@REQUIREMENTS.register
class Width(Requirement):
    """Wide enough in all: weaker, one side may be close to the true value."""

    name: ClassVar[str] = "width"

    def distances(
        self, problem: ProtectionProblem, cells: Integers
    ) -> tuple[Floats, Floats, Floats]:
        """Return the sum of both levels, or the sliding one, as a width."""
        both = problem.upper_protection[cells] + problem.lower_protection[cells]
        nothing = np.zeros(len(cells))
        return nothing, nothing, np.maximum(both, problem.sliding_protection[cells])
