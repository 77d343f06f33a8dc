"""The intruder who knows which cells are zero."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tablecloak.arrays import Flags
from tablecloak.suppression.attack.intruder import INTRUDERS, Intruder
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.tables.problem import ProtectionProblem


@INTRUDERS.register
class KnownZeros(Intruder):
    """The intruder who knows which suppressed cells are zero."""

    name: ClassVar[str] = "zeros"
    knows_by_cell: ClassVar[bool] = True

    def knowledge(self, problem: ProtectionProblem, suppressed: Flags) -> list[Knowledge]:
        """Return one intruder who knows all zeros."""
        cells = np.flatnonzero(suppressed & (problem.table.values == 0))
        zero = np.zeros(len(cells))
        return [Knowledge("knows zeros", cells, zero, zero)] if len(cells) else []
