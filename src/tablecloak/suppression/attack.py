"""The intruder's program: how far a suppressed cell can move, given all that is published."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tablecloak.solve.highs import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.suppression.witness import WitnessPool
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["Attack", "Extreme", "prove", "reduced_relations", "with_finite_bounds"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

BATCH_ROUNDS = 8
"""Rounds of one program for many cells; later rounds prove little that is new."""


@dataclass(frozen=True, eq=False)
class Extreme:
    """How far one cell can move in one direction.

    Parameters
    ----------
    deviation : numpy.ndarray of float, shape (n_cells,)
        The table that moves it farthest; empty if no point was accepted.
    reach : float
        By how much it moves the cell, >= 0.
    limit : float
        Proved upper bound on this distance; inf if the proof failed.
    duals : numpy.ndarray of float, shape (n_relations,)
        Multipliers of the relations that prove `limit`.
    """

    deviation: Floats
    reach: float
    limit: float
    duals: Floats


class Attack:
    """max or min of d_p over A d = 0, share * (lb - a) <= d <= share * (ub - a).

    The share of a cell is 1 if it is suppressed, 0 if it is published, and lies between in
    the relaxation of the exact method. The program stays in memory, measured in median
    protection levels; only costs and bounds change.

    Parameters
    ----------
    problem : ProtectionProblem
        With finite external bounds.
    candidates : numpy.ndarray of bool, shape (n_cells,)
        Cells that may ever be suppressed.
    """

    def __init__(self, problem: ProtectionProblem, candidates: Flags) -> None:
        self.problem = problem
        self.cells = np.flatnonzero(candidates)
        self.column_of = np.full(problem.table.n_cells, -1, dtype=np.int64)
        self.column_of[self.cells] = np.arange(len(self.cells))
        matrix, self.rows = reduced_relations(problem, self.cells)
        self.low = (problem.lower_bound - problem.table.values)[self.cells] / problem.unit
        self.high = (problem.upper_bound - problem.table.values)[self.cells] / problem.unit
        nothing, n_rows = np.zeros(len(self.cells)), matrix.shape[0]
        zero = np.zeros(n_rows)
        self._solver = LinearSolver(
            Program(nothing, matrix, zero, zero, nothing, nothing), primal=True
        )
        self._priced = np.zeros(0, dtype=np.int64)

    @property
    def programs(self) -> int:
        """Number of programs solved so far."""
        return self._solver.runs

    def hide(self, share: npt.NDArray[np.float64] | Flags) -> None:
        """Say which cells are suppressed, as flags or as shares, one for each cell."""
        part = np.asarray(share, dtype=np.float64)[self.cells]
        self._set(part * self.low, part * self.high)

    def extreme(self, cell: int, sign: int, time_limit: float = np.inf) -> Extreme:
        """Move one cell as far as possible, up (sign = 1) or down (sign = -1)."""
        column = self.column_of[[cell]]
        self._price(column, np.array([-float(sign)]))
        solution = self._solver.solve(time_limit)
        deviation = self._deviation(solution.x)
        unit = self.problem.unit
        duals = np.zeros(self.problem.table.n_relations)
        if len(solution.duals):
            duals[self.rows] = -solution.duals
        reach = sign * float(deviation[cell]) if len(deviation) else 0.0
        return Extreme(deviation, max(reach, 0.0), -solution.bound * unit, duals)

    def push(self, cells: Integers, targets: Floats, time_limit: float = np.inf) -> Floats:
        """Move many cells at once towards their targets, each counted up to its target.

        Returns the deviation found, or an empty array.
        """
        columns = self.column_of[cells]
        wanted = targets / self.problem.unit
        low, high = self._solver.lower[columns].copy(), self._solver.upper[columns].copy()
        self._solver.change_bounds(
            columns,
            np.where(wanted < 0, np.maximum(low, wanted), low),
            np.where(wanted > 0, np.minimum(high, wanted), high),
        )
        self._price(columns, -1.0 / wanted)
        solution = self._solver.solve(time_limit)
        self._solver.change_bounds(columns, low, high)
        return self._deviation(solution.x)

    def _set(self, low: Floats, high: Floats) -> None:
        changed = np.flatnonzero((self._solver.lower != low) | (self._solver.upper != high))
        if len(changed):
            self._solver.change_bounds(changed, low[changed], high[changed])

    def _price(self, columns: Integers, costs: Floats) -> None:
        if len(self._priced):
            self._solver.change_costs(self._priced, np.zeros(len(self._priced)))
        self._solver.change_costs(columns, costs)
        self._priced = columns

    def _deviation(self, x: Floats) -> Floats:
        if not len(x):
            return x
        full = np.zeros(self.problem.table.n_cells)
        full[self.cells] = x * self.problem.unit
        return full


def prove(
    attack: Attack,
    pool: WitnessPool,
    hidden: Flags,
    *,
    seed: int = 0,
    stop_at_failure: bool = False,
    deadline: float = np.inf,
) -> dict[tuple[int, int], Extreme]:
    """Search witnesses for all open needs of a pattern.

    First some programs that move many cells at once, in random directions; then one program
    for each side of each cell that is still open.

    Parameters
    ----------
    attack : Attack
        Already told what is hidden.
    pool : WitnessPool
        Receives the witnesses.
    hidden : numpy.ndarray of bool, shape (n_cells,)
        The pattern; cells that are not hidden are never protected.
    seed : int, default=0
        For the random directions.
    stop_at_failure : bool, default=False
        Return at the first need that cannot be met.
    deadline : float, default=inf
        Moment of `time.monotonic` at which to stop; what is open then stays open.

    Returns
    -------
    dict of (int, int) to Extreme
        For each cell and direction that was tried alone and failed, how far it can move.
    """
    failures: dict[tuple[int, int], Extreme] = {}
    needs = pool.needs
    random = np.random.default_rng(seed)
    for _ in range(BATCH_ROUNDS):
        up, down = pool.open_sides()
        some = np.flatnonzero((up | down) & hidden[needs.cells])
        if len(some) <= 2 or time.monotonic() > deadline:
            break
        sign = np.where(up & down, random.choice([-1.0, 1.0], len(up)), np.where(up, 1.0, -1.0))
        most = np.where(sign > 0, needs.upper, needs.lower)
        most = np.maximum(most, needs.width - np.where(sign > 0, pool.below, pool.above))
        before = int(np.sum(up) + np.sum(down))
        found = attack.push(needs.cells[some], (sign * most)[some])
        if len(found):
            pool.add(found)
        left_up, left_down = pool.open_sides()
        if before - int(np.sum(left_up) + np.sum(left_down)) < 0.1 * before:
            break
    for number in np.flatnonzero(pool.open):
        index, cell = int(number), int(needs.cells[number])
        if not hidden[cell]:
            continue
        if time.monotonic() > deadline:
            break
        for position, side in enumerate((1, -1)):
            if not pool.open_sides()[position][index]:
                continue
            extreme = attack.extreme(cell, side)
            if len(extreme.deviation):
                pool.add(extreme.deviation)
            if pool.open_sides()[position][index]:
                failures[cell, side] = extreme
        if pool.open[index] and stop_at_failure:
            break
    return failures


def reduced_relations(problem: ProtectionProblem, cells: Integers) -> tuple[csr_array, Integers]:
    """Relations over some cells only: rows that touch them, each distinct one once.

    Returns
    -------
    matrix : scipy.sparse.csr_array, shape (n_rows, len(cells))
    rows : numpy.ndarray of int
        Number of the relation behind each row.
    """
    matrix = csr_array(problem.table.relations[:, cells])
    matrix.sort_indices()
    seen: dict[bytes, int] = {}
    for row in np.flatnonzero(np.diff(matrix.indptr)):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        data = matrix.data[part] * np.sign(matrix.data[part.start])
        seen.setdefault(matrix.indices[part].tobytes() + data.tobytes(), int(row))
    rows = np.array(list(seen.values()), dtype=np.int64)
    return csr_array(matrix[rows, :]), rows


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
