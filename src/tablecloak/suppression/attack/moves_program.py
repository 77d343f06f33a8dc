"""The intruder's program over columns: how far one column can move, or many at once.

Solvers decide with absolute tolerances. Where one cell counts a million times as much as another in
a relation, moves of the other one would be lost in the tolerance of the row. Each column is
therefore measured in a unit of its own, such that all coefficients of a row are about equal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import lsmr

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.graph import components_of_columns
from tablecloak.solve.bounds import dual_bound
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.polish import settled_duals
from tablecloak.solve.program import Program

LARGEST_RATIO = 1e3
"""Ratio of two coefficients of a row up to which no units are needed.

Cells that can only move together give coefficients of 2 or 3 in tables of one variable, whose
programs stay as they are. The tolerances of solvers leave room for a thousand.
"""

INTERIOR_ROWS = 400
"""Rows above which the first program of a sequence of attacks is solved by the interior point
method. Chosen by trial; not measured."""

BAND = 1e3
"""Largest ratio of a need to the program's unit of length. Beyond it the unit is adapted to the
need, since solvers decide with absolute tolerances."""

FARTHEST = 1e6
"""Cap on the moves of all cells, as a multiple of the unit of length. Moves of the size of a need
suffice to meet it; rooms of 1e12 would only cost precision."""

REACHED = 1e-3
"""Share of `FARTHEST` beyond which an answer may have been limited by that cap."""

FARTHEST_UNIT = 1e15
"""Unit of length, as a multiple of the usual one, beyond which no program is solved again: where
rooms are infinite, some cells always move as far as they may, and precision ends there."""

ENDLESS = 1e-6
"""Least move, beside moves of up to `FARTHEST`, of a cell that moves on without end."""

BALANCED = 1e-12
"""Largest residual of a row, as a share of its terms, in moves without end: a move that is noise of
the solver has nothing to balance it."""

REFUTED = 1e-3
"""Share of the distance reached within which a proved limit ends the search, although moves may
have been capped. Chosen by trial; not measured."""

RESTART_SHARE = 0.1
"""If more than this share of the cells change their bounds, the next attack does not start from the
last basis. Chosen by trial; not measured."""


@dataclass(frozen=True, eq=False)
class Units:
    """A unit for each column and a factor for each row, all powers of two, so that none rounds.

    Parameters
    ----------
    column : numpy.ndarray of float, shape (n_columns,)
        Unit of each column, as a multiple of the unit of length of a program.
    row : numpy.ndarray of float, shape (n_rows,)
        What each row is multiplied by.
    """

    column: Floats
    row: Floats

    @classmethod
    def of(cls, matrix: csr_array) -> Units:
        """Return units in which the coefficients of each row are about equal.

        All are 1 where no coefficient is small beside another one, as in sums of one variable.
        """
        n_rows, n_columns = matrix.shape
        length = np.diff(matrix.indptr)
        row = np.repeat(np.arange(n_rows), length)
        size = np.abs(matrix.data)
        largest = np.zeros(n_rows)
        np.maximum.at(largest, row, size)
        if np.all(size * LARGEST_RATIO >= largest[row]):
            return cls(np.ones(n_columns), np.ones(n_rows))
        is_plain = np.bincount(row, size != largest[row], minlength=n_rows) == 0
        column = 2.0 ** np.rint(_logarithms(matrix, row, is_plain))
        grown = np.zeros(n_rows)
        np.maximum.at(grown, row, size * column[matrix.indices])
        grown = np.where(is_plain & (grown == largest), 1.0, np.where(grown > 0, grown, 1.0))
        return cls(column, 2.0 ** -np.rint(np.log2(grown)))

    def scaled(self, matrix: csr_array) -> csr_array:
        """Return the matrix over columns in these units."""
        if np.all(self.column == 1) and np.all(self.row == 1):
            return matrix
        return csr_array(diags_array(self.row) @ matrix @ diags_array(self.column))


def _logarithms(matrix: csr_array, row: Integers, is_plain: Flags) -> Floats:
    """Return the logarithm of the unit of each column: one for all columns of one variable."""
    kind = components_of_columns(matrix[np.flatnonzero(is_plain), :])
    first = np.minimum(matrix.indptr[row], len(row) - 1)
    other = np.flatnonzero(~is_plain[row] & (kind[matrix.indices] != kind[matrix.indices[first]]))
    reference = first[other]
    difference = np.log2(np.abs(matrix.data[reference] / matrix.data[other]))
    pairs = np.column_stack(
        [kind[matrix.indices[other]], kind[matrix.indices[reference]], difference]
    )
    pairs = np.unique(pairs, axis=0)
    number = np.tile(np.arange(len(pairs)), 2)
    sign = np.repeat([1.0, -1.0], len(pairs))
    system = csr_array(
        (sign, (number, pairs[:, :2].T.reshape(-1).astype(np.int64))),
        shape=(len(pairs), int(kind.max()) + 1),
    )
    found: Floats = lsmr(system, pairs[:, 2], atol=1e-12, btol=1e-12)[0]
    return found[kind]


@dataclass(frozen=True, eq=False)
class Extreme:
    """How far one cell can move in one direction.

    Parameters
    ----------
    deviation : numpy.ndarray of float, shape (n_unknown,)
        The solution that moves it farthest; empty if no point was accepted.
    reach : float
        Distance by which it moves the cell, >= 0; inf if that was asked for, and nothing ends it.
    limit : float
        Proved upper bound on this distance, at most the distance at which the search was told to
        stop; inf if the proof failed.
    duals : numpy.ndarray of float, shape (n_rows,)
        Multipliers of the rows of the system that prove `limit`.
    """

    deviation: Floats
    reach: float
    limit: float
    duals: Floats


class MovesProgram:
    """max or min of z_p over A z = 0, low <= z <= high.

    The program stays in memory; only costs and bounds change. Its unit of length is the usual one,
    or the distance asked for if that is of another order of magnitude. Each column is measured in a
    multiple of it (`Units`): variables of different units meet in one relation.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, shape (n_rows, n_columns)
    room : tuple of numpy.ndarray of float, shape (n_columns,)
        How far each column may move down (as a number <= 0) and up.
    usual : float
        Usual unit of length, the median protection level.
    only_pushed, checked : bool
        As for `Attack`.
    """

    def __init__(
        self,
        matrix: csr_array,
        room: tuple[Floats, Floats],
        usual: float,
        *,
        only_pushed: bool,
        checked: bool,
    ) -> None:
        n_rows, n_columns = matrix.shape
        self.low, self.high = room
        self.usual = self.unit = usual
        self._checked = checked
        self._units = Units.of(matrix)
        zero = np.zeros(n_rows)
        scaled = self._units.scaled(matrix)
        self._solver = LinearSolver(
            Program(np.zeros(n_columns), scaled, zero, zero, *self._bounds()),
            primal=True,
            interior="first" if only_pushed or n_rows > INTERIOR_ROWS else "never",
            crossover=not only_pushed,
            checked=checked,
        )
        self._priced = np.zeros(0, dtype=np.int64)

    @property
    def programs(self) -> int:
        """Number of programs solved so far."""
        return self._solver.runs

    def leave(self, low: Floats, high: Floats, *, restart: bool = True) -> None:
        """Set how far each column may move.

        Parameters
        ----------
        low, high : numpy.ndarray of float, shape (n_columns,)
        restart : bool, default=True
            Whether to give up the last basis if many bounds change.
        """
        self.low, self.high = low, high
        self._set_bounds(restart=restart)

    def extreme(
        self,
        column: int,
        sign: int,
        asked: float,
        *,
        enough: float = np.inf,
        time_limit: float = np.inf,
        nearby: bool = False,
    ) -> Extreme:
        """Move one column as far as possible, up (sign = 1) or down (sign = -1).

        Parameters
        ----------
        column : int
        sign : {1, -1}
        asked : float
            Distance that the column needs, which determines the unit of length; 0 for none.
        enough, time_limit, nearby
            As for `Attack.extreme`.
        """
        wanted = min(enough, float(self.high[column] if sign > 0 else -self.low[column]))
        if wanted == np.inf and self._is_endless(column, sign, time_limit):
            return Extreme(np.zeros(0), np.inf, np.inf, np.zeros(self._solver.program.n_rows))
        if nearby and 0 < wanted < np.inf:
            own = wanted / self._units.column[column]
            self._measure_in(own / (REACHED * FARTHEST))
        else:
            distance = min(wanted, asked) if asked > 0 else wanted
            self._measure_in(nearest_unit(self.usual, distance / self._units.column[column]))
        best: Extreme | None = None
        while True:
            extreme, is_capped = self._extreme(column, sign, enough, time_limit)
            if best is not None and best.limit < extreme.limit:
                extreme = replace(extreme, limit=best.limit, duals=best.duals)
            if best is not None and best.reach > extreme.reach:
                extreme = replace(extreme, reach=best.reach, deviation=best.deviation)
            # A limit is proved without the cap. Where it refutes the distance asked for, a larger
            # unit would only cost precision.
            is_refuted = enough < np.inf and extreme.limit <= min(
                enough * (1 - 1e-9), extreme.reach * (1 + REFUTED)
            )
            is_last = not is_capped or self.unit > FARTHEST_UNIT * self.usual
            if is_last or is_refuted or extreme.reach >= wanted * (1 - 1e-9):
                return extreme
            best = extreme
            self._measure_in(self.unit * FARTHEST * REACHED)

    def _is_endless(self, column: int, sign: int, time_limit: float) -> bool:
        """Whether moves within infinite rooms alone take a column on, so that nothing ends it."""
        every = np.arange(len(self.low))
        low, high = (np.where(np.isinf(side), FARTHEST, 0.0) for side in (self.low, self.high))
        self._solver.change_bounds(every, -low, high)
        self._price(np.array([column]), np.array([-float(sign)]))
        solution = self._solver.solve(time_limit)
        self._set_bounds()
        if not len(solution.x) or sign * float(solution.x[column]) <= ENDLESS:
            return False
        matrix = self._solver.program.matrix
        terms = abs(matrix) @ np.abs(solution.x)
        return bool(np.all(np.abs(matrix @ solution.x) <= BALANCED * terms))

    def _extreme(
        self, place: int, sign: int, enough: float, time_limit: float
    ) -> tuple[Extreme, bool]:
        """Solve once; return also whether the cap on all moves may have limited the answer."""
        column, length = np.array([place]), self._lengths
        unit = float(length[place])
        low, high = self._solver.lower[column].copy(), self._solver.upper[column].copy()
        stop = enough / unit
        if sign > 0 and high[0] > stop:
            self._solver.change_bounds(column, low, np.array([stop]))
        elif sign < 0 and low[0] < -stop:
            self._solver.change_bounds(column, np.array([-stop]), high)
        self._price(column, np.array([-float(sign)]))
        solution = self._solver.solve(time_limit)
        self._solver.change_bounds(column, low, high)
        reach = sign * float(solution.x[place]) * unit if len(solution.x) else 0.0
        farthest = FARTHEST * length
        is_cut = bool(np.any(self.high > farthest) or np.any(self.low < -farthest))
        bound, priced = solution.bound, solution.duals
        if self._checked and is_cut and reach < enough * (1 - 1e-9):
            # Compute the limit that the multipliers prove without the cap; without rows, or where
            # the solver gave none, they are 0.
            priced = priced if len(priced) else np.zeros(self._solver.program.n_rows)
            lower, upper = self.low / length, self.high / length
            if sign > 0:
                upper[column] = np.minimum(upper[column], stop)
            else:
                lower[column] = np.maximum(lower[column], -stop)
            program = self._solver.current.with_bounds(lower, upper)
            bound = dual_bound(program, priced)
            if not np.isfinite(bound):
                settled = settled_duals(program, priced)
                bound, priced = dual_bound(program, settled), settled.astype(np.float64)
        duals = np.zeros(self._solver.program.n_rows)
        if len(priced):
            duals = -priced * self._units.row * self._units.column[place]
        moved = float(np.max(np.abs(solution.x), initial=0.0))
        is_capped = is_cut and moved >= REACHED * FARTHEST
        moves = solution.x * length if len(solution.x) else solution.x
        return Extreme(moves, max(reach, 0.0), -bound * unit, duals), is_capped

    def push(self, columns: Integers, targets: Floats, time_limit: float = np.inf) -> Floats:
        """Move many columns at once towards their targets; return the moves, or an empty array."""
        own = targets / self._units.column[columns]
        self._measure_in(nearest_unit(self.usual, float(np.median(np.abs(own)))))
        wanted = own / self.unit
        low, high = self._solver.lower[columns].copy(), self._solver.upper[columns].copy()
        self._solver.change_bounds(
            columns,
            np.where(wanted < 0, np.maximum(low, wanted), low),
            np.where(wanted > 0, np.minimum(high, wanted), high),
        )
        self._price(columns, -1.0 / wanted)
        # Nearly all costs change, so that the last basis helps little.
        self._solver.restart()
        solution = self._solver.solve(time_limit)
        self._solver.change_bounds(columns, low, high)
        return solution.x * self._lengths if len(solution.x) else solution.x

    @property
    def _lengths(self) -> Floats:
        """Unit of length of each column."""
        return self.unit * self._units.column

    def _measure_in(self, unit: float) -> None:
        if unit != self.unit:
            self.unit = unit
            self._set_bounds()

    def _bounds(self) -> tuple[Floats, Floats]:
        length = self._lengths
        return np.maximum(self.low / length, -FARTHEST), np.minimum(self.high / length, FARTHEST)

    def _set_bounds(self, *, restart: bool = True) -> None:
        low, high = self._bounds()
        changed = np.flatnonzero((self._solver.lower != low) | (self._solver.upper != high))
        if len(changed):
            self._solver.change_bounds(changed, low[changed], high[changed])
        if restart and len(changed) > RESTART_SHARE * len(low):
            self._solver.restart()

    def _price(self, columns: Integers, costs: Floats) -> None:
        if len(self._priced):
            self._solver.change_costs(self._priced, np.zeros(len(self._priced)))
        self._solver.change_costs(columns, costs)
        self._priced = columns


def nearest_unit(usual: float, distance: float) -> float:
    """Return the unit of length of a program that moves a cell by a distance.

    It is the usual unit, the median level, if the distance is of that order of magnitude; else that
    unit times a power of `BAND`, so that needs of one order of magnitude share a unit.
    """
    if not (0 < distance < np.inf) or usual / BAND <= distance <= usual * BAND:
        return usual
    return float(usual * BAND ** np.round(np.log(distance / usual) / np.log(BAND)))
