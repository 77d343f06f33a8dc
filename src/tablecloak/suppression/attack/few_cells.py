"""Witnesses that move as few cells as possible, so that few insiders can rule them out."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.suppression.attack.covering import CoverProgram
from tablecloak.suppression.attack.prove import SPARE
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.system.system import System

__all__ = ["FewCells", "Member"]

Member = tuple[int, Integers, Floats, Floats]
"""Number of an insider, positions of the cells it knows more of, and the room it leaves them."""

EXACT_COST = 10.0
"""Added cost of moving a cell for each insider who knows it exactly; other cells cost 1. Chosen by
trial; not measured. docs/decisions, "Holding against insiders"."""


class FewCells:
    """Searches for witnesses of few cells, for a system and for insiders who leave it less room.

    Parameters
    ----------
    system : System
    members : iterable of Member
        Insiders; one who knows a cell exactly rules out every witness that moves it.
    """

    def __init__(self, system: System, members: Iterable[Member]) -> None:
        self.system = system
        self.hidden = np.ones(system.n_unknown, dtype=bool)
        self.cost = np.ones(system.n_unknown)
        self._program: CoverProgram | None = None
        for _, positions, low, high in members:
            np.add.at(self.cost, positions[(low == 0) & (high == 0)], EXACT_COST)

    def hide(self, hidden: Flags) -> None:
        """Set which cells are suppressed (by default all are); the others do not move."""
        self.hidden = hidden

    def prove(self, pool: WitnessPool, where: Flags, budget: Budget) -> None:
        """Search for witnesses of open needs, against everybody or against one insider.

        Parameters
        ----------
        pool : WitnessPool
            A pool over the same cells, perhaps with less room. Receives the witnesses.
        where : numpy.ndarray of bool, shape (n_needs,)
            Which needs to look at.
        budget : Budget
        """
        if self._program is None:
            self._program = CoverProgram(self.system, False, budget)
        program, needs = self._program, pool.needs
        program.budget = budget
        program.know(*np.where(self.hidden, [pool.system.low, pool.system.high], 0.0))
        for index in np.flatnonzero(pool.open & where).tolist():
            for sign, need, other in (
                (1, needs.upper[index], pool.below[index]),
                (-1, needs.lower[index], pool.above[index]),
            ):
                if budget.is_over:
                    return
                wanted = max(float(need), float(needs.width[index] - other))
                if pool.lacks(index, sign):
                    cell = int(needs.cells[index])
                    more = sign * wanted * (1 + SPARE)
                    pool.add(program.solve(self.cost, cell, more), budget)
