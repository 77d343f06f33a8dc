"""The intruder who knows what everybody knows."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tablecloak.suppression.audit.intruder import INTRUDERS, Intruder
from tablecloak.suppression.knowledge import Knowledge
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["External"]


@INTRUDERS.register
class External(Intruder):
    """The intruder who contributed to no cell and knows what everybody knows. Always attacks."""

    name: ClassVar[str] = "external"
    knows_by_cell: ClassVar[bool] = True
    is_everybody: ClassVar[bool] = True

    def knowledge(
        self, problem: ProtectionProblem, suppressed: npt.NDArray[np.bool_]
    ) -> list[Knowledge]:
        """Return nothing: everybody knows as much."""
        del problem, suppressed
        return []
