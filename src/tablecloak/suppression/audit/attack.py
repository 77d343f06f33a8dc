"""The intruder's program: how far a suppressed cell can move, given all that is published."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tablecloak.errors import InputError
from tablecloak.solve.bounds import dual_bound
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.suppression.needs import Needs
from tablecloak.suppression.system import System
from tablecloak.suppression.witness import WitnessPool
from tablecloak.tables.problem import ProtectionProblem

__all__ = [
    "Attack",
    "Extreme",
    "disclosures",
    "nearest_unit",
    "prove",
    "with_finite_bounds",
    "with_intervals",
]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

BATCH_ROUNDS = 8
"""Rounds of one program for many cells; later rounds prove little that is new."""

INTERIOR_ROWS = 400
"""Rows from which on the first program of a sequence is solved by the interior point method."""

BAND = 1e3
"""Ratio of a need to the length that is 1 in the program, up to which that length stays as it is.
Beyond, the program is measured in the need: a solver decides with absolute tolerances."""

FARTHEST = 1e6
"""How far any cell may move, as a multiple of that length. What one cell needs is carried by moves
of its own size; rooms of 1e12 would only cost precision."""

REACHED = 1e-3
"""Share of `FARTHEST` from which on an answer may owe its end to that cap."""

SPARE = 1e-6
"""Share of a need that is asked for beyond it, where there is room."""

NEARBY_SPARE = 0.05
"""Share asked for beyond a need in a second try, since a witness beside cells of another order of
magnitude must be shrunk to keep their bounds."""

RESTART_SHARE = 0.1
"""Share of the cells whose bounds change, from which on the last basis is forgotten."""


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
    """

    def __init__(self, system: System, *, only_pushed: bool = False) -> None:
        self.system = system
        self.low, self.high = system.low, system.high
        self.unit = system.unit
        self._share = np.ones(system.n_unknown)
        self._cap = np.inf
        nothing, zero = np.zeros(system.n_unknown), np.zeros(len(system.rows))
        self._solver = LinearSolver(
            Program(nothing, system.matrix, zero, zero, *self._bounds()),
            primal=True,
            interior="first" if only_pushed or len(system.rows) > INTERIOR_ROWS else "never",
            crossover=not only_pushed,
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
            self._set_bounds()

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
        if is_cut and len(solution.duals) and reach < enough * (1 - 1e-9):
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

    def _set_bounds(self) -> None:
        low, high = self._bounds()
        changed = np.flatnonzero((self._solver.lower != low) | (self._solver.upper != high))
        if len(changed):
            self._solver.change_bounds(changed, low[changed], high[changed])
        if len(changed) > RESTART_SHARE * len(low):
            self._solver.restart()

    def _price(self, columns: Integers, costs: Floats) -> None:
        if len(self._priced):
            self._solver.change_costs(self._priced, np.zeros(len(self._priced)))
        self._solver.change_costs(columns, costs)
        self._priced = columns


def disclosures(system: System) -> dict[tuple[int, int], Extreme]:
    """Return a proof for each need whose cell follows from single relations.

    No program is asked: such a cell cannot move, whatever the scale of its figures.

    Returns
    -------
    dict of (int, int) to Extreme
        For each such need, by its position, and each direction: that the cell cannot move.
    """
    order = system.determined()
    cells = {cell for cell, _ in order}
    disclosed: dict[tuple[int, int], Extreme] = {}
    for index, cell in enumerate(system.needs.cells.tolist()):
        if cell in cells:
            duals = _substituted(system, order, cell)
            for sign in (1, -1):
                disclosed[index, sign] = Extreme(np.zeros(0), 0.0, 0.0, sign * duals)
    return disclosed


def _substituted(system: System, order: list[tuple[int, int]], cell: int) -> Floats:
    """Multipliers of rows that add up to one determined cell alone."""
    matrix, duals = system.matrix, np.zeros(len(system.rows))
    reduced = {cell: 1.0}
    for known, row in reversed(order):
        left = reduced.get(known, 0.0)
        if not left:
            continue
        taken = slice(matrix.indptr[row], matrix.indptr[row + 1])
        entries = dict(
            zip(matrix.indices[taken].tolist(), matrix.data[taken].tolist(), strict=True)
        )
        duals[row] = left / entries[known]
        for other, entry in entries.items():
            reduced[other] = reduced.get(other, 0.0) - duals[row] * entry
    return duals


def nearest_unit(usual: float, distance: float) -> float:
    """Return the length that is to be 1 in a program that moves a cell by a distance.

    The usual one, the median level, if the distance is of its order; else a power of `BAND` times
    it, so that programs for needs of one order are measured alike.
    """
    if not (0 < distance < np.inf) or usual / BAND <= distance <= usual * BAND:
        return usual
    return float(usual * BAND ** np.round(np.log(distance / usual) / np.log(BAND)))


def prove(
    attack: Attack,
    pool: WitnessPool,
    *,
    seed: int = 0,
    stop_at_failure: bool = False,
    only_batches: bool = False,
    deadline: float = np.inf,
    stop: Callable[[], bool] = lambda: False,
    disclosed: Mapping[tuple[int, int], Extreme] | None = None,
) -> dict[tuple[int, int], Extreme]:
    """Search witnesses for all open needs of a system.

    First some programs that move many cells at once, in random directions; then one program
    for each side of each cell that is still open.

    Parameters
    ----------
    attack : Attack
        Already told what is hidden.
    pool : WitnessPool
        Of the same system; receives the witnesses.
    seed : int, default=0
        For the random directions.
    stop_at_failure : bool, default=False
        Return at the first need that cannot be met.
    only_batches : bool, default=False
        Leave out what must be attacked alone.
    deadline : float, default=inf
        Moment of `time.monotonic` at which to stop; what is open then stays open.
    stop : callable, optional
        Asked between programs whether to stop.
    disclosed : mapping of (int, int) to Extreme, optional
        Needs that are known to fail, from `disclosures`; they are not attacked.

    Returns
    -------
    dict of (int, int) to Extreme
        For each need, by its position, and each direction that was tried alone and failed,
        how far the cell can move. After the first failure of a cell the other side is not
        tried.
    """
    needs = pool.needs
    failures = {key: extreme for key, extreme in (disclosed or {}).items() if pool.is_open(key[0])}
    hopeful = np.ones(len(needs.cells), dtype=bool)
    hopeful[[index for index, _ in failures]] = False

    def ended() -> bool:
        return time.monotonic() > deadline or stop()

    def left() -> float:
        return max(deadline - time.monotonic(), 0.0)

    random = np.random.default_rng(seed)
    for band in _bands(needs, attack.system.unit):
        _prove_batch(attack, pool, band & hopeful, random, deadline, stop)
    for index in [] if only_batches else np.flatnonzero(pool.open & hopeful).tolist():
        if ended():
            break
        if not pool.is_open(index):
            continue
        _prove_alone(attack, pool, index, failures, left)
        if stop_at_failure and pool.is_open(index):
            break
    return failures


def _bands(needs: Needs, unit: float) -> list[Flags]:
    """Split needs by their order of magnitude: one program has one length that counts as 1."""
    size = np.maximum(np.maximum(needs.upper, needs.lower), needs.width)
    order = np.zeros(len(size))
    positive = size > 0
    order[positive] = np.round(np.log(size[positive] / unit) / np.log(BAND**2))
    return [order == number for number in np.unique(order)]


def _prove_batch(
    attack: Attack,
    pool: WitnessPool,
    band: Flags,
    random: np.random.Generator,
    deadline: float,
    stop: Callable[[], bool],
) -> None:
    """Programs that move many cells at once, in random directions, while they prove enough."""
    needs = pool.needs
    for _ in range(BATCH_ROUNDS):
        up, down = (side & band for side in pool.open_sides())
        some = np.flatnonzero(up | down)
        left = deadline - time.monotonic()
        if len(some) <= 2 or left < 0 or stop():
            break
        sign = np.where(up & down, random.choice([-1.0, 1.0], len(up)), np.where(up, 1.0, -1.0))
        most = np.where(sign > 0, needs.upper, needs.lower)
        most = np.maximum(most, needs.width - np.where(sign > 0, pool.below, pool.above))
        before = int(np.sum(up) + np.sum(down))
        found = attack.push(needs.cells[some], sign[some] * _a_little_more(pool, most[some]), left)
        if len(found):
            pool.add(found)
        left_up, left_down = (side & band for side in pool.open_sides())
        if before - int(np.sum(left_up) + np.sum(left_down)) < 0.1 * before:
            break


def _a_little_more(pool: WitnessPool, needed: Floats) -> Floats:
    """Distance to ask for, so that a witness may lose a last digit when it is made exact.

    In a table of whole numbers the next whole number: its witnesses then are mostly whole.
    """
    if pool.system.integer:
        return np.ceil(needed * (1 - 1e-9))
    more: Floats = needed * (1 + SPARE)
    return more


def _prove_alone(
    attack: Attack,
    pool: WitnessPool,
    index: int,
    failures: dict[tuple[int, int], Extreme],
    left: Callable[[], float],
) -> None:
    """One program for each open side of one need."""
    needs, cell = pool.needs, int(pool.needs.cells[index])
    width = float(needs.width[index])
    for side in (1, -1):
        if not pool.lacks(index, side):
            continue
        side_need = float((needs.upper if side > 0 else needs.lower)[index])
        other = float((pool.below if side > 0 else pool.above)[index])
        # The width may be made up by either side: the first is taken as far as it goes.
        wanted = np.inf if width > side_need + other else max(side_need, width - other)
        wanted = float(_a_little_more(pool, np.array(wanted)))
        extreme = attack.extreme(cell, side, enough=wanted, time_limit=left())
        if len(extreme.deviation):
            pool.add(extreme.deviation)
        if pool.lacks(index, side) and extreme.reach >= min(wanted, side_need) * (1 - 1e-9):
            farther = wanted * (1 + NEARBY_SPARE)
            closer = attack.extreme(cell, side, enough=farther, time_limit=left(), nearby=True)
            pool.add(closer.deviation)
        if pool.lacks(index, side):
            failures[index, side] = extreme
        if extreme.limit < side_need * (1 - 1e-9):
            return


def with_finite_bounds(problem: ProtectionProblem) -> ProtectionProblem:
    """Return the problem with infinite external bounds replaced by distant finite ones.

    The replacement lies so far off that it hardly ever matters; where it does, it can only
    make the intruder stronger, so that whatever is proved holds for the given bounds.
    """
    if np.all(np.isfinite(problem.lower_bound)) and np.all(np.isfinite(problem.upper_bound)):
        return problem
    levels = np.concatenate([problem.lower_protection, problem.upper_protection])
    levels = np.append(levels, problem.sliding_protection)
    far = 10 * float(np.abs(problem.table.values).max(initial=0)) + 100 * float(
        levels.max(initial=1)
    )
    values = problem.table.values
    return problem.with_changes(
        lower_bound=np.where(np.isinf(problem.lower_bound), values - far, problem.lower_bound),
        upper_bound=np.where(np.isinf(problem.upper_bound), values + far, problem.upper_bound),
    )


def with_intervals(problem: ProtectionProblem, lower: Floats, upper: Floats) -> ProtectionProblem:
    """Return the problem of an intruder who knows published intervals.

    Parameters
    ----------
    problem : ProtectionProblem
    lower, upper : numpy.ndarray of float, shape (n_cells,)

    Raises
    ------
    InputError
        If an interval does not hold the true value; names the first cell.
    """
    values = problem.table.values
    wrong = np.flatnonzero((lower > values) | (upper < values))
    if len(wrong):
        raise InputError(
            f"{len(wrong)} intervals do not hold the true value, the first is that of "
            f"{problem.table.label(int(wrong[0]))}."
        )
    return problem.with_changes(
        lower_bound=np.maximum(problem.lower_bound, lower),
        upper_bound=np.minimum(problem.upper_bound, upper),
    )
