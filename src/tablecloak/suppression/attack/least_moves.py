"""The program for a single need: move one cell far enough, and all others as little as possible.

A vertex of the program that moves a cell farthest (`MovesProgram`) has nearly all cells at an end
of their room, whatever the need: thousands of moves, each with digits of its own, which hardly ever
become exact. Here moves up and down are columns of their own that cost what they move, so that a
vertex leaves at 0 all cells that the need can do without.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Floats
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.suppression.attack.moves_program import FARTHEST, Units, nearest_unit

BEYOND = 2e-3
"""Share of its room by which a cell may be asked to move beyond it; it then moves to its end. More
than what searches ask for beside a need, `ROOMY_SPARE` where derived figures have rooms."""


class LeastMoves:
    """min of the sum of |z| over A z = 0, low <= z <= high, where one z is at least a distance.

    The program stays in memory; only the bounds of the column that is asked for change.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, shape (n_rows, n_columns)
    room : tuple of numpy.ndarray of float, shape (n_columns,)
        How far each column may move down (as a number <= 0) and up.
    usual : float
        Usual unit of length, the median protection level.
    """

    def __init__(self, matrix: csr_array, room: tuple[Floats, Floats], usual: float) -> None:
        self._room, self._usual, self._units = room, usual, Units.of(matrix)
        n_rows, n_columns = matrix.shape
        scaled = self._units.scaled(matrix)
        zero, none = np.zeros(n_rows), np.zeros(2 * n_columns)
        both = csr_array(hstack([scaled, -scaled], format="csr"))
        program = Program(none + 1.0, both, zero, zero, none, none)
        # Whether a move is one is checked when it is made exact.
        self._solver = LinearSolver(program, once=True)
        self._unit = 0.0
        self._still: Any = None
        """The basis in which nothing moves, from which a need is met in the fewest steps."""

    @property
    def programs(self) -> int:
        """Number of programs solved so far."""
        return self._solver.runs

    def leave(self, room: tuple[Floats, Floats]) -> None:
        """Set how far each column may move."""
        self._room, self._unit = room, 0.0

    def move(self, column: int, sign: int, distance: float, time_limit: float = np.inf) -> Floats:
        """Return moves in which a column goes a distance up or down; empty if none was found."""
        n_columns = len(self._units.column)
        unit = nearest_unit(self._usual, distance / self._units.column[column])
        if unit != self._unit:
            self._unit = unit
            self._solver.change_bounds(
                np.arange(2 * n_columns), np.zeros(2 * n_columns), self._most()
            )
            self._solver.solve()
            self._still = self._solver.basis
        length = self._unit * self._units.column
        ways = np.array([column, column + n_columns])[::sign]
        before = self._solver.upper[ways].copy()
        wanted = distance / length[column]
        # A little more than the need is asked for, for which its cell may have no room.
        if wanted > before[0] * (1 + BEYOND):
            return np.zeros(0)
        wanted = min(wanted, before[0])
        self._solver.change_bounds(ways, np.array([wanted, 0.0]), np.array([before[0], 0.0]))
        self._solver.basis = self._still
        solution = self._solver.solve(time_limit, confirm=False)
        self._solver.change_bounds(ways, np.zeros(2), before)
        if not len(solution.x):
            return np.zeros(0)
        up, down = solution.x[:n_columns], solution.x[n_columns:]
        moves: Floats = (up - down) * length
        return moves

    def _most(self) -> Floats:
        """Return how far the columns may move up, then down, in units of length."""
        length = self._unit * self._units.column
        low, high = self._room
        most: Floats = np.minimum(np.concatenate([high / length, -low / length]), FARTHEST)
        return most
