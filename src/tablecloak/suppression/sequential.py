"""Heuristic patterns: protect one group of cells after another by linear programs.

For a group of open needs, the program finds the cheapest deviation that moves all of them
far enough; the cells it moves are suppressed, and the deviation becomes their witness. Cells
that are already suppressed cost next to nothing. A clean-up then tries to publish
secondaries again, the costliest first.

References
----------
.. [1] Kelly, Golden, Assad: Cell suppression: disclosure protection for sensitive tabular
   data, Networks 22 (1992).
.. [2] Fischetti, Salazar: Solving the cell suppression problem on tabular data with linear
   constraints, Management Science 47 (2001), section 5 (heuristic and clean-up).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack

from tablecloak.errors import ModelError, SolverError, listed
from tablecloak.solve.highs import LinearSolver, SolveStatus
from tablecloak.solve.program import Program
from tablecloak.suppression.attack import Attack, prove
from tablecloak.suppression.requirement import Requirement, needs_of
from tablecloak.suppression.system import System
from tablecloak.suppression.witness import WitnessPool
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["Candidate", "Strategy", "clean_up", "protect_in_groups"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

HIDDEN_COST = 1e-4
"""Cost of moving a suppressed cell, as a share of the median cost.

Not 0: otherwise a witness wanders through suppressed cells that it does not need, and the
clean-up must then doubt it for no reason.
"""

Tick = Callable[[float, int], None]
"""Called with the loss so far and the number of sensitive cells that are still open."""


@dataclass(frozen=True)
class Strategy:
    """Choices that change the pattern more than anything else; tried as a portfolio.

    Parameters
    ----------
    symmetric : bool, default=True
        Allow each cell the smaller of its two distances, so that the mirror image of a
        deviation is a witness too and one program protects both sides.
    per_capacity : bool, default=False
        Divide the cost of a cell by the distance it can move, up to the need.
    group : int, default=1
        Number of cells protected by one program: larger is faster and hides more.
    """

    symmetric: bool = True
    per_capacity: bool = False
    group: int = 1


@dataclass(frozen=True, eq=False)
class Candidate:
    """A pattern with its proof, complete or on the way to it.

    Parameters
    ----------
    hidden : numpy.ndarray of bool, shape (n_unknown,)
        Over the cells that may be suppressed, those of the pool's system.
    pool : WitnessPool
    weights : numpy.ndarray of float, shape (n_unknown,)
        Their weights.
    """

    hidden: Flags
    pool: WitnessPool
    weights: Floats

    @property
    def is_proved(self) -> bool:
        """Whether all sensitive cells are proved to be protected."""
        return not np.any(self.pool.open)

    @property
    def loss(self) -> float:
        """Weight of all suppressed cells."""
        return float(self.weights[self.hidden].sum())


def protect_in_groups(
    problem: ProtectionProblem,
    requirement: Requirement,
    strategy: Strategy,
    *,
    deadline: float = np.inf,
    seed: int = 0,
    tick: Tick | None = None,
) -> Candidate:
    """Build a pattern by protecting groups of sensitive cells, the largest needs first.

    Parameters
    ----------
    problem : ProtectionProblem
        With finite external bounds.
    requirement : Requirement
    strategy : Strategy
    deadline : float, default=inf
        Moment of `time.monotonic` after which all that is left is protected at once, by
        witnesses that do not care what they cost.
    seed : int, default=0
        For the directions of groups.
    tick : callable, optional

    Returns
    -------
    Candidate
        Proved, unless a solver gave up.

    Raises
    ------
    ModelError
        If some cell cannot be protected even with everything suppressed; names all of them.
    """
    system = System.of(problem, needs_of(problem, requirement), ~problem.frozen)
    pool = WitnessPool(system)
    hidden = (problem.sensitive | problem.forced)[system.cells]
    attack = Attack(system)
    attack.hide(hidden)
    prove(attack, pool, seed=seed)
    program = _CoverProgram(system, problem.weights[system.cells], strategy)
    random = np.random.default_rng(seed)
    size = strategy.group
    while np.any(pool.open):
        if time.monotonic() > deadline:
            hidden = _in_a_hurry(problem, attack, hidden, pool)
            break
        group, targets = _next_group(pool, size, random, strategy.symmetric)
        found = program.solve(hidden, group, targets)
        sides = _open_count(pool)
        if len(found):
            hidden = hidden | (found != 0)
            pool.add(found)
        if _open_count(pool) < sides:
            size = max(size // 2, strategy.group) if size > strategy.group else size
        elif len(group) > 1:
            # Signs chosen at random can contradict each other; smaller groups do so less.
            size = max(len(group) // 4, 1)
            continue
        else:
            found = _alone(problem, program, attack, hidden, int(group[0]), pool)
            hidden = hidden | (found != 0)
            pool.add(found)
            if _open_count(pool) == sides:
                label = problem.table.label(int(system.cells[group[0]]))
                raise SolverError(
                    f"Cell {label} could not be protected: the solver's answers do not reach its "
                    f"levels. Check whether they are of the same order as those of other cells."
                )
        if tick:
            tick(float(program.weights[hidden].sum()), int(pool.open.sum()))
    return Candidate(hidden, pool, problem.weights[system.cells])


def clean_up(
    candidate: Candidate, must: Flags, *, deadline: float = np.inf, tick: Tick | None = None
) -> Candidate:
    """Publish secondaries again where the pattern stays proved, the costliest first.

    Only witnesses that move the cell in question are doubted; the sensitive cells they prove
    are attacked again without it.

    Parameters
    ----------
    candidate : Candidate
        A proved pattern.
    must : numpy.ndarray of bool, shape (n_unknown,)
        Cells that must stay suppressed.
    deadline : float, default=inf
        Moment of `time.monotonic` at which to stop.
    tick : callable, optional
    """
    system, weights = candidate.pool.system, candidate.weights
    hidden, pool = candidate.hidden.copy(), candidate.pool
    optional = np.flatnonzero(hidden & ~must)
    order = optional[np.argsort(-weights[optional], kind="stable")]
    attack = Attack(system)
    attack.hide(hidden)
    for cell in order:
        if time.monotonic() > deadline:
            break
        hidden[cell] = False
        trial = pool.without(int(cell))
        if np.any(trial.open):
            attack.hide(hidden)
            prove(attack, trial, stop_at_failure=True, deadline=deadline)
        if np.any(trial.open):
            hidden[cell] = True
            continue
        pool = trial
        if tick:
            tick(float(weights[hidden].sum()), 0)
    return Candidate(hidden, pool, weights)


class _CoverProgram:
    """min sum c_i (d+_i + d-_i) over A (d+ - d-) = 0, with some cells forced to move."""

    def __init__(self, system: System, weights: Floats, strategy: Strategy) -> None:
        self.system = system
        self.weights = weights
        self.strategy = strategy
        high, low = system.high / system.unit, -system.low / system.unit
        if strategy.symmetric:
            high = low = np.minimum(high, low)
        matrix = system.matrix
        self.room = np.concatenate([high, low])
        n, zero = system.n_unknown, np.zeros(matrix.shape[0])
        self.solver = LinearSolver(
            Program(
                np.zeros(2 * n),
                csr_array(hstack([matrix, -matrix], format="csr")),
                zero,
                zero,
                np.zeros(2 * n),
                self.room,
            )
        )

    def solve(self, hidden: Flags, group: Integers, targets: Floats) -> Floats:
        """Return the cheapest deviation that moves each cell of the group to its target.

        Empty if there is none within the rooms of this strategy.
        """
        n, unit = self.system.n_unknown, self.system.unit
        self._price(hidden, float(np.max(np.abs(targets))) / unit)
        ahead = np.where(targets > 0, group, group + n)
        behind = np.where(targets > 0, group + n, group)
        wanted = np.abs(targets) / unit
        if np.any(wanted > self.room[ahead]):
            return np.empty(0)
        nothing = np.zeros(len(group))
        self.solver.change_bounds(ahead, wanted, self.room[ahead])
        self.solver.change_bounds(behind, nothing, nothing)
        solution = self.solver.solve()
        self.solver.change_bounds(ahead, nothing, self.room[ahead])
        self.solver.change_bounds(behind, nothing, self.room[behind])
        if solution.status not in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE):
            return np.empty(0)
        moved = solution.x[:n] - solution.x[n:]
        deviation: Floats = np.where(np.abs(moved) > 1e-10, moved, 0.0) * unit
        return deviation

    def _price(self, hidden: Flags, need: float) -> None:
        weights = self.weights
        positive = weights[weights > 0]
        middle = float(np.median(positive)) if len(positive) else 1.0
        costs = np.concatenate([weights, weights]) / middle + HIDDEN_COST
        if self.strategy.per_capacity:
            costs = costs / np.clip(self.room, 0.01 * need, need)
        costs[np.tile(hidden, 2)] = HIDDEN_COST
        changed = np.flatnonzero(costs != self.solver.cost)
        if len(changed):
            self.solver.change_costs(changed, costs[changed])


def _open_count(pool: WitnessPool) -> int:
    up, down = pool.open_sides()
    return int(up.sum() + down.sum())


def _next_group(
    pool: WitnessPool, size: int, random: np.random.Generator, symmetric: bool
) -> tuple[Integers, Floats]:
    """The open cells with the largest needs, and signed distances to move them by."""
    needs = pool.needs
    up, down = pool.open_sides()
    above, below = np.where(up, needs.upper, 0.0), np.where(down, needs.lower, 0.0)
    if symmetric:
        # The mirror image of a symmetric deviation reaches the other side as well.
        above = below = np.maximum(np.maximum(above, below), np.where(up, needs.width / 2, 0.0))
    else:
        above = np.maximum(above, np.where(up, needs.width - pool.below, 0.0))
        below = np.maximum(below, np.where(down, needs.width - pool.above, 0.0))
    largest = np.where(pool.open, np.maximum(above, below), -1.0)
    some = np.argsort(-largest, kind="stable")[: min(size, int(pool.open.sum()))]
    both = up[some] & down[some]
    choice = random.choice([-1.0, 1.0], len(some)) if len(some) > 1 else np.ones(len(some))
    sign = np.where(both, choice, np.where(up[some], 1.0, -1.0))
    return needs.cells[some], sign * np.where(sign > 0, above[some], below[some])


def _in_a_hurry(
    problem: ProtectionProblem, attack: Attack, hidden: Flags, pool: WitnessPool
) -> Flags:
    """Protect all that is open by attacking the table with everything suppressed.

    The cells that these witnesses move are suppressed; dear, but quick and certain.
    """
    attack.hide(np.ones_like(hidden))
    prove(attack, pool)
    impossible = pool.needs.cells[pool.open]
    if len(impossible):
        raise _impossible(problem, pool.system.cells[impossible])
    return hidden | pool.moved()


def _impossible(problem: ProtectionProblem, cells: Integers) -> ModelError:
    return ModelError(
        f"{len(cells)} sensitive cells cannot be protected even if every cell that may be "
        f"suppressed is: {listed(problem.table.labels(cells))}. Lower their levels, widen the "
        f"external bounds, or unfreeze cells in their relations.",
        cells=cells,
    )


def _alone(
    problem: ProtectionProblem,
    program: _CoverProgram,
    attack: Attack,
    hidden: Flags,
    cell: int,
    pool: WitnessPool,
) -> Floats:
    """Protect one cell with its full, unsymmetric room; failing that, say what is impossible."""
    index = int(np.flatnonzero(pool.needs.cells == cell)[0])
    needs, system = pool.needs, pool.system
    sign = 1 if pool.open_sides()[0][index] else -1
    target = (
        max(needs.upper[index], needs.width[index] - pool.below[index])
        if sign > 0
        else max(needs.lower[index], needs.width[index] - pool.above[index])
    )
    full = _CoverProgram(system, program.weights, Strategy(symmetric=False))
    found = full.solve(hidden, np.array([cell]), np.array([sign * target]))
    if len(found) and abs(found[cell]) >= target:
        return found
    attack.hide(np.ones_like(hidden))
    complete = WitnessPool(system)
    prove(attack, complete)
    impossible = complete.needs.cells[complete.open]
    if len(impossible):
        raise _impossible(problem, system.cells[impossible])
    return attack.extreme(cell, sign).deviation
