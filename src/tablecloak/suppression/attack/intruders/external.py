"""The intruder who knows what everybody knows."""

from __future__ import annotations

from typing import ClassVar

from tablecloak.arrays import Flags
from tablecloak.suppression.attack.intruder import INTRUDERS, Intruder
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.tables.problem import ProtectionProblem


@INTRUDERS.register
class External(Intruder):
    """The intruder who contributed to no cell and knows what everybody knows. Always attacks."""

    name: ClassVar[str] = "external"
    knows_by_cell: ClassVar[bool] = True
    is_everybody: ClassVar[bool] = True

    def knowledge(self, problem: ProtectionProblem, suppressed: Flags) -> list[Knowledge]:
        """Return nothing: everybody knows as much."""
        del problem, suppressed
        return []
