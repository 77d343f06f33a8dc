"""Intervals between those that are proved and those of the relaxation, round after round."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from tablecloak.arrays import Flags, Floats, Integers, median_of_positive
from tablecloak.budget import Budget, Stopwatch
from tablecloak.errors import InterruptedSearch
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.impossible import unprotected
from tablecloak.suppression.attack.moves_program import Extreme
from tablecloak.suppression.attack.prove import prove
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.master import CapacityRow
from tablecloak.suppression.system.needs import needs_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.suppression.system.system import System
from tablecloak.tables.changes.merged_cells import MergedCells

FARTHEST = 1e6
"""Farthest move of any cell, in needs, in the program that makes the first intervals."""

HOWEVER_WIDE = "by intervals, however wide"
"""In what way a cell cannot be protected by any intervals."""

ROUNDED = 1e-7
"""Share of its room by which an exact witness may pass the bounds of the program that found it."""

GAP = 1e-4
"""Gap between the best proved intervals and the relaxation at which the search ends."""

STEP = 0.6
"""Where to attack between the best proved intervals (0) and those of the relaxation (1). Chosen by
trial; not measured."""


def widened(system: System, cost: Floats, open_: Flags, budget: Budget) -> Floats:
    """Return first intervals, widened for one need after another by the cheapest program.

    Columns are what the interval already allows, for nothing, and what must be added; upwards
    and downwards. Each program is measured in its own need. What has no solution in a program is
    left to the caller.
    """
    n = system.n_unknown
    room = np.concatenate([system.high, -system.low])
    zero = np.zeros(len(system.rows))
    both = csr_array(hstack([system.matrix, -system.matrix], format="csr"))
    solver = LinearSolver(
        Program(
            np.concatenate([np.zeros(2 * n), cost]),
            csr_array(hstack([both, both], format="csr")),
            zero,
            zero,
            np.zeros(4 * n),
            np.zeros(4 * n),
        ),
        once=True,
    )
    allowed = np.where(open_, room, 0.0)
    every = np.arange(4 * n)
    for cell, sign, need in _distances(system):
        if budget.is_over:
            break
        upper = np.minimum(np.concatenate([allowed, room - allowed]) / need, FARTHEST)
        lower = np.zeros(4 * n)
        at, other = (cell, cell + n) if sign > 0 else (cell + n, cell)
        had = upper[at]
        lower[at] = min(had, 1.0)
        lower[at + 2 * n] = min(1.0 - lower[at], upper[at + 2 * n])
        upper[[other, other + 2 * n]] = 0.0
        solver.change_bounds(every, lower, upper)
        solution = solver.solve(budget.left)
        if len(solution.x):
            added = np.maximum(solution.x[2 * n :], 0.0) * need
            allowed = np.minimum(allowed + added, room)
    return allowed / system.unit


def _distances(system: System) -> list[tuple[int, int, float]]:
    """How far each cell must move and in which direction, the largest needs first."""
    needs = system.needs
    size = np.maximum(np.maximum(needs.upper, needs.lower), needs.width)
    found = []
    for index in np.argsort(-size, kind="stable").tolist():
        cell = int(needs.cells[index])
        above, below = float(needs.upper[index]), float(needs.lower[index])
        lacking = max(float(needs.width[index]) - above - below, 0.0)
        more = min(lacking, max(float(system.high[cell]) - above, 0.0))
        found += [(cell, 1, above + more), (cell, -1, below + lacking - more)]
    return [(cell, sign, need) for cell, sign, need in found if need > 0]


class IntervalMaster:
    """min w.(v+ + v-) over the rows found so far, in median protection levels."""

    def __init__(self, system: System, weights: Floats) -> None:
        self.system = system
        self.scale = median_of_positive(weights)
        n = system.n_unknown
        room = np.concatenate([system.high, -system.low]) / system.unit
        self.program = Program(
            np.tile(weights / self.scale, 2),
            csr_array((0, 2 * n)),
            np.zeros(0),
            np.zeros(0),
            np.zeros(2 * n),
            room,
        )

    def loss_of(self, value: float) -> float:
        """Loss in the problem's own units."""
        return value * self.scale * self.system.unit

    def row(self, proof: CapacityRow) -> csr_array:
        """Coefficients of v+ and v-, scaled to a right-hand side of 1."""
        needs, system = self.system.needs, self.system
        at = int(np.searchsorted(needs.index, proof.index))
        up, down = np.zeros(system.n_unknown), np.zeros(system.n_unknown)
        sides = ((1.0, proof.up), (-1.0, proof.down))
        for sign, side in sides:
            if side is None:
                continue
            gamma = np.zeros(len(system.rows))
            gamma[np.searchsorted(system.rows, side[0])] = side[1]
            reduced = -(system.matrix.T @ gamma)
            reduced[needs.cells[at]] += sign
            up += np.maximum(reduced, 0.0)
            down += np.maximum(-reduced, 0.0)
        return csr_array(np.concatenate([up, down])[None, :] / self.need(proof))

    def need(self, proof: CapacityRow) -> float:
        """Return what a row asks for, in median protection levels."""
        needs = self.system.needs
        at = int(np.searchsorted(needs.index, proof.index))
        both = proof.up is not None and proof.down is not None
        one = needs.upper[at] if proof.up is not None else needs.lower[at]
        return float(needs.width[at] if both else one) / self.system.unit

    def with_rows(self, proofs: list[CapacityRow]) -> Program:
        """Return the program with some rows."""
        if not proofs:
            return self.program
        matrix = vstack([self.row(proof) for proof in proofs], format="csr")
        ones = np.ones(len(proofs))
        return self.program.with_rows(matrix, ones, np.full(len(proofs), np.inf))


def system_of(merged: MergedCells) -> System:
    """Return the system of the groups of a problem, whose levels are what is needed."""
    problem = merged.problem
    return System.of(problem, needs_of(problem, Requirement.TWO_SIDED), ~problem.frozen)


def wide_open(merged: MergedCells, attack: Attack, budget: Budget) -> WitnessPool:
    """Return witnesses for all needs of a merged problem; an error names cells that have none."""
    system = attack.system
    pool = WitnessPool(system)
    failures = prove(attack, pool, budget)
    if budget.is_over and np.any(pool.open):
        raise InterruptedSearch("Interrupted before any intervals were proved.")
    if np.any(pool.open):
        table = merged.given.table
        raise unprotected(table, pool, failures, HOWEVER_WIDE, merged.members)
    return pool


def envelope(pool: WitnessPool) -> tuple[Floats, Floats]:
    """How far the witnesses in use move each cell up and down."""
    return _reach(pool.system.n_unknown, pool.whole_proof().witnesses)


def _reach(n_unknown: int, witnesses: list[tuple[Integers, Floats]]) -> tuple[Floats, Floats]:
    """How far some witnesses move each cell up and down."""
    up, down = np.zeros(n_unknown), np.zeros(n_unknown)
    for cells, moves in witnesses:
        up[cells] = np.maximum(up[cells], moves)
        down[cells] = np.maximum(down[cells], -moves)
    return up, down


class IntervalSearch:
    """The best proved intervals, the relaxation, and what lies between them.

    Parameters
    ----------
    merged : MergedCells
        Its levels are what is needed.
    weights : numpy.ndarray of float, shape (n_groups,)
        Loss of one unit of width.
    budget : Budget
    """

    def __init__(self, merged: MergedCells, weights: Floats, budget: Budget) -> None:
        system = system_of(merged)
        self.merged = merged
        self.system, self.budget = system, budget
        self.closing_seconds = 0.0
        self.open = np.tile(merged.problem.forced[system.cells], 2)
        self.master = IntervalMaster(system, weights[system.cells])
        self.solver = LinearSolver(self.master.program)
        self.attack = Attack(system)
        self.rows: list[CapacityRow] = []
        self.duals = np.zeros(0)
        self.bound = 0.0
        self.pool = WitnessPool(system)

    def run(self) -> None:
        """Search until the gap is closed or the budget ends.

        Raises
        ------
        ModelError
            Names the cells that cannot be protected even if every interval is wide open.
        InterruptedSearch
            If the search was stopped before any intervals were proved.
        """
        self.pool = wide_open(self.merged, self.attack, self.budget.at_least(np.inf))
        self._close_in(self._first())

    @property
    def _left(self) -> Budget:
        """The budget of the search, without the time kept back for the last proof."""
        return self.budget.within(max(self.budget.left - self.closing_seconds, 0.0))

    def proved(self, up: Floats, down: Floats) -> WitnessPool:
        """Prove as many needs as possible between given ends, as distances for all groups."""
        cells = self.system.cells
        room = replace(self.system, low=-down[cells], high=up[cells])
        return self._proved(room, self.budget.at_least(self.closing_seconds))[0]

    def _first(self) -> Floats:
        """Return the first intervals; those of the witnesses at hand if none are narrower."""
        if not self.budget.is_over:
            found = widened(self.system, self.master.program.cost, self.open, self.budget)
            spare = self.pool
            watch = Stopwatch()
            passed, _, pool = self._attacked(found)
            self.closing_seconds = watch.seconds
            if not passed:
                # A need that is still open gets the room that its witness takes.
                used = spare.proof(pool.open).witnesses
                both = np.concatenate(_reach(self.system.n_unknown, used)) / self.system.unit
                self._attacked(np.maximum(found, both))
        return self._inner()

    def _inner(self) -> Floats:
        """Return the intervals that the proof at hand takes, in median levels."""
        return np.concatenate(envelope(self.pool)) / self.system.unit

    def _close_in(self, inner: Floats) -> None:
        """Improve the intervals, or cut off the relaxation, round after round."""
        outer, step = np.zeros(len(inner)), STEP
        while True:
            value = float(self.master.program.cost @ inner)
            self._report(value)
            if value - self.bound <= GAP * value or self._left.is_over:
                return
            passed, found, _ = self._attacked(inner + step * (outer - inner))
            step = 1.0 if passed else STEP
            if passed:
                inner = self._inner()
                continue
            if not found:
                return
            self.rows.extend(found)
            matrix = csr_array(vstack([self.master.row(proof) for proof in found], format="csr"))
            self.solver.add_rows(matrix, np.ones(len(found)), np.full(len(found), np.inf))
            solution = self.solver.solve(self._left.left)
            if not len(solution.x):
                return
            outer = solution.x
            if solution.bound > self.bound:
                self.bound, self.duals = solution.bound, solution.duals

    def _attacked(self, intervals: Floats) -> tuple[bool, list[CapacityRow], WitnessPool]:
        """Whether some intervals protect, and if not, rows that they violate.

        If they do, the proof is kept.
        """
        system = self.system
        up, down = np.split(intervals * system.unit, 2)
        forced = self.open[: system.n_unknown]
        within = replace(
            system,
            low=np.where(forced, system.low, np.maximum(-down, system.low)),
            high=np.where(forced, system.high, np.minimum(up, system.high)),
        )
        # Intervals are drawn around the witnesses, not around the room of the programs.
        pool, failures = self._proved(within, self._left, ROUNDED)
        if not np.any(pool.open):
            self.pool = pool
            return True, [], pool
        rows = [
            proof
            for index in np.flatnonzero(pool.open).tolist()
            if (proof := self._row(pool, index, failures)) is not None
        ]
        return False, rows, pool

    def _proved(
        self, within: System, budget: Budget, spill: float = 0.0
    ) -> tuple[WitnessPool, dict[tuple[int, int], Extreme]]:
        """Attack all needs within some room, starting from the witnesses at hand.

        Witnesses may leave that room by a share, for the repair of rounding errors.
        """
        pool = WitnessPool(
            replace(
                within,
                low=np.maximum(within.low * (1 + spill), self.system.low),
                high=np.minimum(within.high * (1 + spill), self.system.high),
            )
        )
        for cells, moves in self.pool.rows.values():
            pool.add_sparse(cells, moves, budget)
        self.attack.know(within)
        return pool, prove(self.attack, pool, budget)

    def _row(
        self, pool: WitnessPool, index: int, failures: dict[tuple[int, int], Extreme]
    ) -> CapacityRow | None:
        needs = self.system.needs
        number, cell = int(needs.index[index]), int(needs.cells[index])
        for sign, need in ((1, needs.upper[index]), (-1, needs.lower[index])):
            extreme = failures.get((index, sign))
            if extreme is not None and extreme.reach < need * (1 - 1e-9):
                side = self._sparse(extreme.duals)
                return CapacityRow(number, *((side, None) if sign > 0 else (None, side)))
        if needs.width[index] > 0:
            both = [self.attack.extreme(cell, sign) for sign in (1, -1)]
            if sum(extreme.reach for extreme in both) < needs.width[index] * (1 - 1e-9):
                return CapacityRow(number, *(self._sparse(extreme.duals) for extreme in both))
        return None

    def _sparse(self, duals: Floats) -> tuple[Integers, Floats]:
        used = np.flatnonzero(np.abs(duals) > 1e-11 * np.max(np.abs(duals), initial=0.0))
        return self.system.rows[used], duals[used]

    def _report(self, value: float) -> None:
        loss = self.master.loss_of
        self.budget.report("intervals", loss(value), loss(self.bound), len(self.rows))
