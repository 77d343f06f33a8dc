"""Only the upper end of the interval is asked for."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tablecloak.suppression.requirement import REQUIREMENTS, Requirement
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["Upper"]

Floats = npt.NDArray[np.float64]


@REQUIREMENTS.register
class Upper(Requirement):
    """Far enough above the true value: weaker, nothing is asked of the lower side."""

    name: ClassVar[str] = "upper"

    def distances(
        self, problem: ProtectionProblem, cells: npt.NDArray[np.int64]
    ) -> tuple[Floats, Floats, Floats]:
        """Return the upper protection level alone."""
        nothing = np.zeros(len(cells))
        return problem.upper_protection[cells], nothing, nothing
