"""The intruders who know one hidden cell each, whichever it is."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tablecloak.suppression.audit.intruder import INTRUDERS, Intruder
from tablecloak.suppression.knowledge import Knowledge
from tablecloak.suppression.robustness import Robustness
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["AnyCell"]


@INTRUDERS.register
class AnyCell(Intruder):
    """Whoever knows any one hidden cell: one intruder for each of them."""

    name: ClassVar[str] = "any-cell"

    def knowledge(
        self, problem: ProtectionProblem, suppressed: npt.NDArray[np.bool_]
    ) -> list[Knowledge]:
        """Return one intruder for each figure that no other one follows from.

        Of figures that follow from each other one is enough. Copies of a figure, such as a total
        with a single child, are known together.
        """
        found = Robustness.of(problem, suppressed)
        # A cell that is not sensitive stands for its group: it is asked about all sensitive ones.
        order = np.lexsort([found.sensitive, found.group])
        groups, first = np.unique(found.group[order], return_index=True)
        members = []
        for fact in found.fact[order[first[groups >= 0]]].tolist():
            cells = found.cells[found.fact == fact]
            values = problem.table.values[cells]
            name = f"{self.name}: {problem.table.label(int(cells[0]))}"
            members.append(Knowledge(name, cells, values, values))
        return members
