"""Only the upper end of the interval is asked for."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.suppression.system.requirement import REQUIREMENTS, Requirement
from tablecloak.tables.problem import ProtectionProblem


@REQUIREMENTS.register
class Upper(Requirement):
    """Far enough above the true value: weaker, nothing is asked of the lower side."""

    name: ClassVar[str] = "upper"

    def distances(
        self, problem: ProtectionProblem, cells: Integers
    ) -> tuple[Floats, Floats, Floats]:
        """Return the upper protection level alone."""
        nothing = np.zeros(len(cells))
        return problem.upper_protection[cells], nothing, nothing
