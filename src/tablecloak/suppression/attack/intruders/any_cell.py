"""The intruders who know one hidden cell each, whichever it is."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tablecloak.arrays import Flags
from tablecloak.suppression.attack.intruder import INTRUDERS, Intruder
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.suppression.system.robustness import Robustness
from tablecloak.tables.problem import ProtectionProblem


@INTRUDERS.register
class AnyCell(Intruder):
    """Intruders who know one hidden cell: one intruder for each hidden cell."""

    name: ClassVar[str] = "any-cell"

    def knowledge(self, problem: ProtectionProblem, suppressed: Flags) -> list[Knowledge]:
        """Return one intruder for each group of hidden cells that follow from each other.

        One cell of a group is enough, since all others follow from it. Copies of a value, such as a
        total with a single child, are known together.
        """
        found = Robustness.of(problem, suppressed)
        # The intruder should know a cell that is not sensitive, so that all sensitive ones of the
        # group are attacked.
        order = np.lexsort([found.sensitive, found.group])
        groups, first = np.unique(found.group[order], return_index=True)
        members = []
        for fact in found.fact[order[first[groups >= 0]]].tolist():
            cells = found.cells[found.fact == fact]
            values = problem.table.values[cells]
            name = f"{self.name}: {problem.table.label(int(cells[0]))}"
            members.append(Knowledge(name, cells, values, values))
        return members
