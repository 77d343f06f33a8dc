"""All members of all kinds of insiders, and the cells of which each knows more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tablecloak.suppression.knowledge import Knowledge
from tablecloak.suppression.system import System
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["Members"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Members:
    """Members of all further intruders, found by the cells they know more of."""

    def __init__(self, members: list[tuple[str, Knowledge]], problem: ProtectionProblem) -> None:
        self.named = [
            replace(knowledge, name=f"{kind}: {knowledge.name}") for kind, knowledge in members
        ]
        count = [len(knowledge.cells) for knowledge in self.named]
        self.owner = np.repeat(np.arange(len(self.named)), count)
        cells = [knowledge.cells for knowledge in self.named]
        self.cell = np.concatenate([np.zeros(0, dtype=np.int64), *cells])
        values = problem.table.values[self.cell]
        lower = [knowledge.lower for knowledge in self.named]
        upper = [knowledge.upper for knowledge in self.named]
        self.low = np.concatenate([np.zeros(0), *lower]) - values
        self.high = np.concatenate([np.zeros(0), *upper]) - values

    def within(self, system: System) -> list[tuple[int, Integers, Floats, Floats]]:
        """Return number, positions, and room of each member that knows cells of a system."""
        at = np.searchsorted(system.cells, self.cell)
        at = np.minimum(at, system.n_unknown - 1)
        inside = np.flatnonzero(system.cells[at] == self.cell)
        ends = np.flatnonzero(np.diff(self.owner[inside])) + 1
        return [
            (int(self.owner[chosen[0]]), at[chosen], self.low[chosen], self.high[chosen])
            for chosen in np.split(inside, ends)
            if len(chosen)
        ]
