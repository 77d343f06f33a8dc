"""What somebody knows of a table, and the farthest that a cell can lie given all of it.

The unknowns are deviations d from a table that agrees with all that is known: A d = 0 and
lower <= point + d <= upper. Multipliers of the relations that bound a cell come from one linear
program; a second one looks for the fewest relations that bound it as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array, hstack, vstack

from tablecloak.arrays import Floats, Integers
from tablecloak.graph import components_of_columns
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program, Scaling
from tablecloak.solve.solver import SolveStatus
from tablecloak.tables.table import Table

SIMPLIFIED_CELLS = 5_000
"""Most unknown cells among which the fewest relations are looked for; what that gains is in
docs/decisions, "Few relations". The number was chosen by trial; not measured."""

COST_OF_TERM = 0.01
"""Cost of one more term of a sum, where one more relation costs 1: few relations come first."""

COST_OF_END = 0.2
"""Cost of using an end of an unknown cell that is not 0: a reader must look it up as well."""

SPARE = 1e-9
"""Share of the room of a bound by which a simpler combination may first miss it. The numbers are
then read as fractions, which misses nothing."""


@dataclass(frozen=True, eq=False)
class Limit:
    """How far a cell can lie at most, and the multipliers of the relations that prove it.

    Parameters
    ----------
    end : float
        Largest value upwards, smallest value downwards; infinite if nothing bounds the cell.
    choices : tuple of (numpy.ndarray of int, numpy.ndarray of float)
        Relations and their multipliers, the simplest combination first.
    is_exact : bool
        Whether the program was solved: if not, the end is a bound, and perhaps not attained.
    """

    end: float
    choices: tuple[tuple[Integers, Floats], ...]
    is_exact: bool


@dataclass(frozen=True, eq=False)
class Known:
    """All that somebody knows: relations that hold, and two ends for each cell.

    Parameters
    ----------
    table : Table
        Its relations hold.
    lower, upper : numpy.ndarray of float, shape (n_cells,)
        Ends between which each cell lies; equal where it is known.
    point : numpy.ndarray of float, shape (n_cells,)
        Values that agree with all that is known, such as the true ones.
    unit : float
        Length by which programs are scaled.
    are_changes : bool, default=False
        Whether the unknowns are changes of the cells, whose relations have a right-hand side of 0.
    """

    table: Table
    lower: Floats
    upper: Floats
    point: Floats
    unit: float
    are_changes: bool = False

    def with_ends(self, cells: Integers, lower: Floats, upper: Floats) -> Known:
        """Return what somebody knows who has other ends for some cells."""
        low, high = self.lower.copy(), self.upper.copy()
        low[cells], high[cells] = lower, upper
        return Known(self.table, low, high, self.point, self.unit, self.are_changes)

    @cached_property
    def unknown(self) -> Integers:
        """Cells whose ends differ, increasing."""
        return np.flatnonzero(self.lower < self.upper)

    @cached_property
    def _matrix(self) -> csc_array:
        return csc_array(self.table.relations)[:, self.unknown]

    @cached_property
    def _labels(self) -> Integers:
        """Number of the component of each unknown cell."""
        return components_of_columns(csr_array(self._matrix))

    def component(self, cell: int) -> Integers:
        """Return the unknown cells that relations connect with a cell, itself included."""
        place = np.searchsorted(self.unknown, cell)
        if place >= len(self.unknown) or self.unknown[place] != cell:
            return np.zeros(0, dtype=np.int64)
        found: Integers = self.unknown[self._labels == self._labels[place]]
        return found

    def limit(self, cell: int, sign: int, seconds: float = np.inf, *, simple: bool = True) -> Limit:
        """Return how far a cell can lie up (sign = 1) or down (sign = -1).

        Parameters
        ----------
        cell : int
        sign : {1, -1}
        seconds : float, default=inf
            Time limit of the program.
        simple : bool, default=True
            Whether to look for the fewest relations that prove the same.
        """
        own = float((self.upper if sign > 0 else self.lower)[cell])
        nothing = (np.zeros(0, dtype=np.int64), np.zeros(0))
        cells = self.component(cell)
        if not len(cells) or own == self.point[cell]:
            return Limit(own, (nothing,), True)
        program = _Extreme(self, cells, cell, sign)
        distance, multipliers, is_exact = program.solved(seconds)
        end = float(self.point[cell]) + sign * distance
        if not np.isfinite(distance):
            return Limit(sign * np.inf, (nothing,), is_exact)
        room = sign * (own - float(self.point[cell]))
        if distance >= room * (1 - SPARE):
            return Limit(own, (nothing,), is_exact)
        choices = [program.named(multipliers)]
        if simple and len(cells) <= SIMPLIFIED_CELLS:
            choices = [*map(program.named, program.simpler(distance, seconds)), *choices]
        return Limit(end, tuple(choices), is_exact)


class _Extreme:
    """max s d_p over A d = 0 and the room of each unknown cell of a component."""

    def __init__(self, known: Known, cells: Integers, cell: int, sign: int) -> None:
        columns = csr_array(csc_array(known.table.relations)[:, cells])
        self.rows = np.flatnonzero(np.diff(columns.indptr)).astype(np.int64)
        self.matrix = csr_array(columns[self.rows, :])
        self.length = np.diff(csr_array(known.table.relations[self.rows, :]).indptr)
        self.low = np.minimum(known.lower[cells] - known.point[cells], 0.0)
        self.high = np.maximum(known.upper[cells] - known.point[cells], 0.0)
        self.ends = known.lower[cells], known.upper[cells]
        self.unit, self.sign = known.unit, sign
        self.goal = np.zeros(len(cells))
        self.goal[np.searchsorted(cells, cell)] = sign

    def named(self, multipliers: Floats) -> tuple[Integers, Floats]:
        """Return multipliers by relations of the table."""
        used = np.flatnonzero(multipliers)
        return self.rows[used], multipliers[used]

    def solved(self, seconds: float) -> tuple[float, Floats, bool]:
        """Return the farthest distance, multipliers that prove it, and whether it is attained."""
        nothing = np.zeros(len(self.rows))
        program = Program(-self.goal, self.matrix, nothing, nothing, self.low, self.high)
        scaling = Scaling.by_units(program, np.full(len(self.goal), self.unit))
        solution = LinearSolver(scaling.apply(program)).solve(seconds)
        if not len(solution.duals):
            return np.inf, nothing, solution.status is SolveStatus.UNBOUNDED
        bound = -solution.bound * scaling.objective
        duals = -scaling.duals(solution.duals)
        return max(bound, 0.0), duals, solution.status is SolveStatus.OPTIMAL

    def simpler(self, distance: float, seconds: float) -> list[Floats]:
        """Return multipliers of few relations that prove the same distance; none if none is found.

        min sum_i c_i |y_i| + sum_j (cost of the end used) over y, alpha, beta >= 0 with
        alpha - beta = goal - A^T y and sum_j (alpha_j high_j - beta_j low_j) <= distance.
        """
        n_rows, n = self.matrix.shape
        matrix = csr_array(self.matrix.T)
        one = eye_array(n, format="csr")
        high, low = self.high / self.unit, -self.low / self.unit
        price = [np.where(np.isfinite(each), each, 0.0) for each in (high, low)]
        spent = csr_array(np.concatenate([np.zeros(2 * n_rows), *price])[None, :])
        rows = vstack([hstack([matrix, -matrix, one, -one]), spent], format="csr")
        most = distance / self.unit
        top = most + SPARE * max(most, 1.0)
        of_row = 1.0 + COST_OF_TERM * self.length
        of_end = [np.where(end == 0, COST_OF_TERM, COST_OF_END) for end in self.ends[::-1]]
        free = np.full(2 * n_rows, np.inf)
        usable = [np.where(np.isfinite(each), np.inf, 0.0) for each in (high, low)]
        program = Program(
            cost=np.concatenate([of_row, of_row, *of_end]),
            matrix=csr_array(rows),
            row_lower=np.append(self.goal, -np.inf),
            row_upper=np.append(self.goal, top),
            lower=np.zeros(2 * n_rows + 2 * n),
            upper=np.concatenate([free, *usable]),
        )
        found = LinearSolver(program).solve(seconds)
        if not len(found.x):
            return []
        return [found.x[:n_rows] - found.x[n_rows : 2 * n_rows]]
