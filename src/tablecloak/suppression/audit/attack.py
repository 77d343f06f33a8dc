"""The intruder's program: how far a suppressed cell can move, given all that is published."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tablecloak.solve.bounds import dual_bound
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.suppression.system import System

__all__ = ["BAND", "FARTHEST", "Attack", "Extreme", "nearest_unit"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

INTERIOR_ROWS = 400
"""Rows above which the first program of a sequence of attacks is solved by the interior point
method. Chosen by trial; not measured."""

BAND = 1e3
"""Ratio of a need to the length that is 1 in the program, up to which that length stays as it is.
Beyond, the program is measured in the need: a solver decides with absolute tolerances."""

FARTHEST = 1e6
"""How far any cell may move, as a multiple of that length. What one cell needs is carried by moves
of its own size; rooms of 1e12 would only cost precision."""

REACHED = 1e-3
"""Share of `FARTHEST` from which on an answer may owe its end to that cap."""

RESTART_SHARE = 0.1
"""Share of the cells whose bounds change above which an attack starts without the last basis.
Chosen by trial; not measured."""


@dataclass(frozen=True, eq=False)
class Extreme:
    """How far one cell can move in one direction.

    Parameters
    ----------
    deviation : numpy.ndarray of float, shape (n_unknown,)
        The solution that moves it farthest; empty if no point was accepted.
    reach : float
        By how much it moves the cell, >= 0.
    limit : float
        Proved upper bound on this distance; inf if the proof failed. Not beyond the distance
        at which the search was told to stop.
    duals : numpy.ndarray of float, shape (n_rows,)
        Multipliers of the rows of the system that prove `limit`.
    """

    deviation: Floats
    reach: float
    limit: float
    duals: Floats


class Attack:
    """max or min of d_p over A d = 0, share * low <= d <= share * high.

    The share of a cell is 1 if it is suppressed, 0 if it is published, and lies between in
    the relaxation of the exact method. The program stays in memory; only costs and bounds
    change. It is measured in median protection levels, or in the need of the cell in question
    where that is of another order.

    Parameters
    ----------
    system : System
    only_pushed : bool, default=False
        Cells will be moved many at once and never alone, so that answers need not be vertices;
        on tables of hundreds of thousands of cells that takes seconds instead of minutes.
    checked : bool, default=True
        As for `LinearSolver`. Without, the limit of an extreme is inf.
    """

    def __init__(self, system: System, *, only_pushed: bool = False, checked: bool = True) -> None:
        self.system = system
        self.low, self.high = system.low, system.high
        self.unit = system.unit
        self._share = np.ones(system.n_unknown)
        self._cap = np.inf
        self._checked = checked
        nothing, zero = np.zeros(system.n_unknown), np.zeros(len(system.rows))
        self._solver = LinearSolver(
            Program(nothing, system.matrix, zero, zero, *self._bounds()),
            primal=True,
            interior="first" if only_pushed or len(system.rows) > INTERIOR_ROWS else "never",
            crossover=not only_pushed,
            checked=checked,
        )
        self._priced = np.zeros(0, dtype=np.int64)

    @property
    def programs(self) -> int:
        """Number of programs solved so far."""
        return self._solver.runs

    def hide(self, share: npt.NDArray[np.float64] | Flags) -> None:
        """Say which cells are suppressed, as flags or as shares, one for each cell."""
        self._share = np.asarray(share, dtype=np.float64)
        self._set_bounds()

    def cap(self, distance: float) -> None:
        """Let no cell that is suppressed move farther than this, whatever its room; inf for none.

        Multipliers found so give rows whose coefficients are cut at the level anyway.
        """
        if distance != self._cap:
            self._cap = distance
            self._set_bounds(restart=False)

    def know(self, system: System) -> None:
        """Attack as somebody who knows the bounds of another system over the same cells."""
        self.low, self.high = system.low, system.high
        self._set_bounds()

    def extreme(
        self,
        cell: int,
        sign: int,
        *,
        enough: float = np.inf,
        time_limit: float = np.inf,
        nearby: bool = False,
    ) -> Extreme:
        """Move one cell as far as possible, up (sign = 1) or down (sign = -1).

        Parameters
        ----------
        cell : int
            Position in the system.
        sign : {1, -1}
        enough : float, default=inf
            Distance at which the search may stop.
        time_limit : float, default=inf
            Seconds.
        nearby : bool, default=False
            Let no cell move by more than a thousand times `enough` if that will do. A vertex may
            move cells far that have nothing to do with this one, and then its digits do not
            suffice for this one.
        """
        room = float((self.high if sign > 0 else -self.low)[cell] * self._share[cell])
        distance = min(enough, room)
        if nearby and 0 < distance < np.inf:
            self._measure_in(distance / (REACHED * FARTHEST))
        else:
            self._measure_in(self._size_of(cell, distance))
        while True:
            extreme, is_capped = self._extreme(cell, sign, enough, time_limit)
            wanted = min(enough, room, self._cap)
            if not is_capped or extreme.reach >= wanted * (1 - 1e-9):
                return extreme
            self._measure_in(self.unit * FARTHEST * REACHED)

    def _extreme(
        self, cell: int, sign: int, enough: float, time_limit: float
    ) -> tuple[Extreme, bool]:
        """Solve once; say also whether the answer may owe its end to the cap on all moves."""
        column, unit = np.array([cell]), self.unit
        low, high = self._solver.lower[column].copy(), self._solver.upper[column].copy()
        stop = enough / unit
        if sign > 0 and high[0] > stop:
            self._solver.change_bounds(column, low, np.array([stop]))
        elif sign < 0 and low[0] < -stop:
            self._solver.change_bounds(column, np.array([-stop]), high)
        self._price(column, np.array([-float(sign)]))
        solution = self._solver.solve(time_limit)
        asked = self._solver.lower[column].copy(), self._solver.upper[column].copy()
        self._solver.change_bounds(column, low, high)
        reach = sign * float(solution.x[cell]) * unit if len(solution.x) else 0.0
        duals = -solution.duals if len(solution.duals) else np.zeros(len(self.system.rows))
        true_low, true_high = self._rooms()
        is_cut = bool(np.any(true_high > FARTHEST * unit) or np.any(true_low < -FARTHEST * unit))
        bound = solution.bound
        if self._checked and is_cut and len(solution.duals) and reach < enough * (1 - 1e-9):
            # What the multipliers prove without the cap.
            lower, upper = true_low / unit, true_high / unit
            lower[column] = np.maximum(lower[column], asked[0])
            upper[column] = np.minimum(upper[column], asked[1])
            bound = dual_bound(self._solver.current, solution.duals, lower=lower, upper=upper)
        moved = float(np.max(np.abs(solution.x), initial=0.0))
        is_capped = is_cut and moved >= REACHED * FARTHEST
        return Extreme(solution.x * unit, max(reach, 0.0), -bound * unit, duals), is_capped

    def push(self, cells: Integers, targets: Floats, time_limit: float = np.inf) -> Floats:
        """Move many cells at once towards their targets, each counted up to its target.

        Targets should be of one order of magnitude. Returns the deviation found, or an empty array.
        """
        self._measure_in(nearest_unit(self.system.unit, float(np.median(np.abs(targets)))))
        wanted = targets / self.unit
        low, high = self._solver.lower[cells].copy(), self._solver.upper[cells].copy()
        self._solver.change_bounds(
            cells,
            np.where(wanted < 0, np.maximum(low, wanted), low),
            np.where(wanted > 0, np.minimum(high, wanted), high),
        )
        self._price(cells, -1.0 / wanted)
        # Nearly all costs change, so that the last basis helps little.
        self._solver.restart()
        solution = self._solver.solve(time_limit)
        self._solver.change_bounds(cells, low, high)
        return solution.x * self.unit

    def _size_of(self, cell: int, distance: float) -> float:
        """Length to measure the program in when one cell is moved by a distance."""
        index = int(self.system.need_of[cell])
        needs = self.system.needs
        if index >= 0:
            asked = max(needs.upper[index], needs.lower[index], needs.width[index])
            distance = min(distance, float(asked)) if asked > 0 else distance
        return nearest_unit(self.system.unit, distance)

    def _measure_in(self, unit: float) -> None:
        if unit != self.unit:
            self.unit = unit
            self._set_bounds()

    def _rooms(self) -> tuple[Floats, Floats]:
        """How far each cell may move down and up, as hidden and capped from outside."""
        return (
            self._share * np.maximum(self.low, -self._cap),
            self._share * np.minimum(self.high, self._cap),
        )

    def _bounds(self) -> tuple[Floats, Floats]:
        low, high = self._rooms()
        return np.maximum(low / self.unit, -FARTHEST), np.minimum(high / self.unit, FARTHEST)

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
    """Return the length that is to be 1 in a program that moves a cell by a distance.

    The usual one, the median level, if the distance is of its order; else a power of `BAND` times
    it, so that programs for needs of one order are measured alike.
    """
    if not (0 < distance < np.inf) or usual / BAND <= distance <= usual * BAND:
        return usual
    return float(usual * BAND ** np.round(np.log(distance / usual) / np.log(BAND)))
