"""Small programs: the cheapest deviation that moves a cell far enough, within part of a table."""

from __future__ import annotations

import copy

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.suppression.attack.covering import CoverProgram
from tablecloak.suppression.search.strategy import Area
from tablecloak.suppression.system.neighbourhood import Neighbourhoods
from tablecloak.suppression.system.paths import Paths
from tablecloak.suppression.system.system import System

__all__ = ["Builder", "scaled"]

HIDDEN_COST = 1e-4
"""Cost of moving a suppressed cell, as a share of the median cost.

It is above 0 because a witness would otherwise move suppressed cells that it does not need, and
the clean-up would have to replace it when one of them is published.
"""


class Builder:
    """Makes the small programs.

    Parameters
    ----------
    system : System
    weights : numpy.ndarray of float, shape (n_unknown,)
    within : numpy.ndarray of bool, shape (n_unknown,), optional
        Cells that may move; by default all.
    budget : Budget
        Programs are given up when it ends.
    """

    def __init__(
        self, system: System, weights: Floats, within: Flags | None, budget: Budget
    ) -> None:
        self.system = system
        self.budget = budget
        positive = weights[weights > 0]
        middle = float(np.median(positive)) if len(positive) else 1.0
        self.weights = weights
        self.cost = weights / middle + HIDDEN_COST
        self.within = within
        self.forbidden = -1
        self.near = Neighbourhoods(system, self.cost)
        self.paths = Paths.of(system)
        self.kept: dict[bool, tuple[Integers, CoverProgram]] = {}

    def seen_by(self, system: System) -> Builder:
        """Return a builder for somebody who knows other bounds of the same cells."""
        other = copy.copy(self)
        other.system, other.kept = system, {}
        other.paths = None if self.paths is None else self.paths.seen_by(system)
        return other

    def path(
        self, cell: int, target: float, hidden: Flags, symmetric: bool
    ) -> tuple[Integers, Floats] | None:
        """Return the cheapest cycle through a cell, if the table is a network and has one."""
        if self.paths is None:
            return None
        cost = np.where(hidden, HIDDEN_COST, self.cost)
        if self.within is not None:
            cost[~self.within] = np.inf
        if self.forbidden >= 0:
            cost[self.forbidden] = np.inf
        return self.paths.cheapest(cell, target, cost, symmetric=symmetric)

    def program(
        self, cell: int, area: Area, hidden: Flags, symmetric: bool
    ) -> tuple[Integers, CoverProgram]:
        """Return the cells of a program, and the program. That of the whole table is built once."""
        if area is None:
            return self.whole(symmetric)
        cells = self.near.around(cell, area[0], hidden, *area[1:])
        if self.within is not None:
            cells = cells[self.within[cells]]
        cells = cells[cells != self.forbidden]
        return cells, CoverProgram(self.system.part(cells), symmetric, self.budget)

    def whole(self, symmetric: bool) -> tuple[Integers, CoverProgram]:
        """Return all cells that may be used, and the program over them."""
        if symmetric not in self.kept:
            cells = np.arange(self.system.n_unknown)
            if self.within is not None:
                cells = cells[self.within]
            self.kept[symmetric] = (
                cells,
                CoverProgram(self.system.part(cells), symmetric, self.budget),
            )
        return self.kept[symmetric]


def scaled(cost: Floats, hidden: Flags) -> Floats:
    """Return costs as multiples of the median, cut to a range that a solver can resolve."""
    free = cost[~hidden & np.isfinite(cost)]
    middle = float(np.median(free)) if len(free) else 1.0
    scaled: Floats = np.where(hidden, HIDDEN_COST, np.clip(cost / middle, HIDDEN_COST, 1e4))
    return scaled
