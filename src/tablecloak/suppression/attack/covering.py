"""The cheapest way to move one cell far enough, or many cells at once."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.solve.solver import SolveStatus
from tablecloak.suppression.attack.moves_program import FARTHEST, nearest_unit
from tablecloak.suppression.system.system import System

NEGLIGIBLE = 1e-9
"""Moves below this share of a program's unit of length are rounding errors of the solver."""

INTERIOR_ROWS = 4000
"""Rows above which a covering program is solved by the interior point method. Chosen by trial; not
measured."""

REWARD = 1e3
"""Reward for moving a sensitive cell by its unit, in median costs, in a program that moves many
cells and forces none. Chosen by trial; not measured."""


class CoverProgram:
    """min sum c_i (d+_i + d-_i) over A (d+ - d-) = 0, with one cell forced to move.

    Parameters
    ----------
    system : System
    symmetric : bool
        Allow each cell the smaller of its two distances, so that the mirror image is a witness too.
    budget : Budget
    """

    def __init__(self, system: System, symmetric: bool, budget: Budget) -> None:
        self.budget = budget
        high, low = system.high, -system.low
        if symmetric:
            high = low = np.minimum(high, low)
        self.system = system
        self.rooms = np.concatenate([high, low])
        self.unit = system.unit
        self.room = np.minimum(self.rooms / self.unit, FARTHEST)
        n, zero = system.n_unknown, np.zeros(len(system.rows))
        matrix = csr_array(hstack([system.matrix, -system.matrix], format="csr"))
        self.solver = LinearSolver(
            Program(np.zeros(2 * n), matrix, zero, zero, np.zeros(2 * n), self.room.copy()),
            interior="always" if len(zero) > INTERIOR_ROWS else "never",
            once=True,
        )

    def know(self, low: Floats, high: Floats) -> None:
        """Set the bounds of an intruder who knows more.

        Parameters
        ----------
        low, high : numpy.ndarray of float, shape (n_unknown,)
            Smallest and largest deviation of each cell.
        """
        rooms = np.concatenate([high, -low])
        changed = np.flatnonzero(rooms != self.rooms)
        self.rooms = rooms
        self.room[changed] = np.minimum(rooms[changed] / self.unit, FARTHEST)
        self.solver.change_bounds(changed, np.zeros(len(changed)), self.room[changed])

    def carries(self, need: float) -> Floats:
        """Return the largest share of a need that each cell can carry, but at least 2 %.

        Weights count per share carried. So ten cells that can each move by a tenth of the need cost
        the sum of their weights, and one that can move by all of it costs its own weight.
        """
        n = self.system.n_unknown
        room = np.maximum(self.rooms[:n], self.rooms[n:])
        share: Floats = np.clip(room / need, 0.02, 1.0)
        return share

    def solve(self, cost: Floats, cell: int, target: float) -> Floats:
        """Return the cheapest deviation that moves a cell to its target.

        The result is empty if there is none.
        """
        n = self.system.n_unknown
        self._measure_in(abs(target))
        ahead, behind = (cell, cell + n) if target > 0 else (cell + n, cell)
        wanted = abs(target) / self.unit
        if wanted > self.room[ahead] * (1 + 1e-9):
            return np.empty(0)
        columns = np.array([ahead, behind])
        self.solver.change_costs(np.arange(2 * n), np.tile(cost, 2))
        lower = np.array([min(wanted, self.room[ahead]), 0.0])
        self.solver.change_bounds(columns, lower, np.array([self.room[ahead], 0.0]))
        return self._solved(columns)

    def solve_many(self, cost: Floats, cells: Integers, targets: Floats) -> Floats:
        """Return the cheapest deviation that moves as many cells as possible to their targets.

        No cell is forced to move; the reward for each exceeds the likely cost of other moves.
        """
        n = self.system.n_unknown
        self._measure_in(float(np.median(np.abs(targets))))
        up = targets > 0
        ahead, behind = np.where(up, cells, cells + n), np.where(up, cells + n, cells)
        columns = np.concatenate([ahead, behind])
        wanted = np.minimum(np.abs(targets) / self.unit, self.room[ahead])
        costs = np.tile(cost, 2)
        costs[ahead] = -REWARD
        self.solver.change_costs(np.arange(2 * n), costs)
        upper = np.concatenate([wanted, np.zeros(len(behind))])
        self.solver.change_bounds(columns, np.zeros(len(columns)), upper)
        return self._solved(columns)

    def _measure_in(self, distance: float) -> None:
        """Choose the unit of length so that the distance asked for is near 1 in the program."""
        unit = nearest_unit(self.system.unit, distance)
        if unit != self.unit:
            self.unit = unit
            self.room = np.minimum(self.rooms / unit, FARTHEST)
            every = np.arange(len(self.room))
            self.solver.change_bounds(every, np.zeros(len(every)), self.room)

    def _solved(self, columns: Integers) -> Floats:
        """Solve, put the bounds of some columns back, and return the deviation."""
        n = self.system.n_unknown
        solution = self.solver.solve(self.budget.left)
        self.solver.change_bounds(columns, np.zeros(len(columns)), self.room[columns])
        if solution.status not in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE):
            return np.empty(0)
        moved = solution.x[:n] - solution.x[n:]
        deviation: Floats = np.where(np.abs(moved) > NEGLIGIBLE, moved, 0.0) * self.unit
        return deviation
