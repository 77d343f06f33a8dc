"""Attacks on patterns of the master problem: successes become rows, failures proved patterns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

from tablecloak.budget import Budget, Stopwatch
from tablecloak.solve.branch import BranchTree, Rows
from tablecloak.solve.linear import LinearSolver
from tablecloak.suppression.audit.attack import Attack, Extreme
from tablecloak.suppression.audit.prove import prove
from tablecloak.suppression.search.bridges import BridgeFinder
from tablecloak.suppression.search.candidate import Candidate
from tablecloak.suppression.search.master import CapacityRow, Master, Row, joined, side
from tablecloak.suppression.witness import WitnessPool

__all__ = ["Separator"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

VIOLATION = 1e-6
"""Share of its right-hand side by which a row must be violated to be worth adding."""

POOL_VIOLATION = 1e-4
"""Share of its right-hand side by which a row of the pool must be violated to be added again."""

MOST_FROM_POOL = 300
"""Rows of the pool that are added at once, the most violated first. Chosen by trial; not
measured."""

ROUND_SHARE = 0.1
"""Share of the time after which a round of attacks ends if it has found rows; the next one goes
on with the cells that were not attacked. Chosen by trial; not measured."""

MULTIPLIER_NOISE = 1e-11
"""Multipliers below this share of the largest are dropped; every gamma gives a valid row."""


class Separator:
    """Attacks the patterns of the search and turns successes into rows.

    Parameters
    ----------
    master : Master
    start : Candidate
        The best proved pattern so far.
    budget : Budget
        No attack goes on beyond it.
    """

    def __init__(self, master: Master, start: Candidate, budget: Budget) -> None:
        self.master = master
        self.best = start
        self.rows: list[Row] = []
        self.pool: list[Row] = []
        self.pooled = csr_array((0, len(master.free)))
        self.pooled_sides = np.empty(0)
        self.fractional = np.zeros(len(master.free))
        self.system = start.pool.system
        self.attack = Attack(self.system)
        self.bridges = BridgeFinder(self.system, master.fixed[self.system.cells])
        self.budget = budget
        self.round_seconds = ROUND_SHARE * budget.left
        self.first = 0
        # The witness that last met a need often meets it again.
        self.known: dict[tuple[int, int], Floats] = {}

    def __call__(self, y: Floats, integral: bool) -> Rows | None:
        """Return rows that `y` violates; None if it is a protected pattern.

        Raises
        ------
        TimeoutError
            If the budget ended before all cells were attacked; nothing is then known of `y`.
        """
        everywhere = self.master.fixed.astype(np.float64)
        everywhere[self.master.free] = np.clip(y, 0.0, 1.0)
        share = everywhere[self.system.cells]
        if integral:
            share = np.rint(share)
        if not integral:
            self.fractional = y.copy()
        pooled = self._from_pool(y)
        if pooled is not None:
            return pooled
        self.attack.hide(share)
        found: list[csr_array] = []
        if not integral:
            self._separate(y, share, None, found, capped=True)
        if not found:
            pool = WitnessPool(self.system) if integral else None
            self._separate(y, share, pool, found, capped=False)
            if integral and found:
                self._separate(y, share, None, found, capped=True)
            elif pool is not None:
                # What was not exact enough to prove its cell is attacked once more.
                prove(self.attack, pool, self.budget)
                self._keep(share > 0.5, pool)
                return None
        for bridge in self.bridges.in_relations(share):
            self._add(bridge, y, found)
        if integral:
            for bridge in self.bridges.in_combinations(share, self.budget):
                self._add(bridge, y, found)
        if not found:
            return None
        added = joined(found, self.rows[-len(found) :])
        self.pool.extend(self.rows[-len(found) :])
        self.pooled = csr_array(vstack([self.pooled, added[0]], format="csr"))
        self.pooled_sides = np.append(self.pooled_sides, added[1])
        return added

    def every_row(self) -> Rows:
        """Return all rows found so far."""
        return self.pooled, self.pooled_sides, np.full(len(self.pool), np.inf)

    def over_every_row(self, time_limit: float) -> tuple[BranchTree, float]:
        """Return what all rows found so far prove together, as a tree that is only its root.

        The bound is -inf if there are none, or if the program did not end.
        """
        if not self.pool:
            return BranchTree.of_root(np.empty(0)), -np.inf
        program = self.master.program.with_rows(*self.every_row())
        solution = LinearSolver(program, interior="first").solve(time_limit)
        return BranchTree.of_root(solution.duals), solution.bound

    def forget_rows(self) -> None:
        """Start a new list of rows; the pool keeps what was found."""
        self.rows = []

    def _from_pool(self, y: Floats) -> Rows | None:
        """Return known rows that `y` violates, and list them as in use."""
        missing = self.pooled_sides - self.pooled @ y
        violated = np.flatnonzero(missing > POOL_VIOLATION)
        if not len(violated):
            return None
        chosen = violated[np.argsort(-missing[violated], kind="stable")[:MOST_FROM_POOL]]
        self.rows.extend(self.pool[number] for number in chosen.tolist())
        return self.pooled[chosen], self.pooled_sides[chosen], np.full(len(chosen), np.inf)

    def keep_rows(self, kept: npt.NDArray[np.int64]) -> None:
        """Forget all rows but some."""
        self.rows = [self.rows[number] for number in kept.tolist()]

    def _separate(
        self,
        y: Floats,
        share: Floats,
        pool: WitnessPool | None,
        found: list[csr_array],
        *,
        capped: bool,
    ) -> None:
        """Attack every cell; collect the rows that y violates, or else the witnesses.

        A round that takes long ends early once it has found rows; the next one goes on from there.
        Capped attacks let no cell move farther than the level that is asked for. What they find
        is only a proposal: rows are rebuilt from their multipliers with the true rooms.
        """
        cells = self.system.needs.cells
        order = np.roll(np.arange(len(cells)), -self.first)
        watch = Stopwatch()
        for index in order.tolist():
            is_long = watch.seconds > self.round_seconds or self.budget.is_over
            if found and is_long:
                self.first = index
                break
            if self.budget.is_over:
                raise TimeoutError
            try:
                outcomes = self._attack_cell(index, int(cells[index]), share, capped)
            except TimeoutError:
                # Rows that are listed as in use must be added, however late it is.
                if not found:
                    raise
                break
            for proof, witnesses in outcomes:
                if pool is not None:
                    for witness in witnesses:
                        pool.add(witness, self.budget)
                if proof is None:
                    continue
                self._add(proof, y, found)
        self.attack.cap(np.inf)

    def _add(self, proof: Row, y: Floats, found: list[csr_array]) -> None:
        """Keep a row if `y` violates it."""
        row = self.master.row(self.master.needs, proof)
        if row.nnz and (row @ y)[0] < side(row, proof) - VIOLATION:
            self.rows.append(proof)
            found.append(row)

    def _keep(self, hidden: Flags, pool: WitnessPool) -> None:
        # A cell that no witness moves is hidden for nothing.
        hidden = hidden & (pool.moved() | self.master.fixed[self.system.cells])
        candidate = Candidate(hidden, pool, self.best.weights)
        if candidate.is_proved and candidate.loss < self.best.loss:
            self.best = candidate

    def _attack_cell(
        self, index: int, cell: int, share: Floats, capped: bool
    ) -> list[tuple[CapacityRow | None, list[Floats]]]:
        """Attack one cell on all sides that count: a proof where it fails, else witnesses."""
        needs = self.system.needs
        outcomes: list[tuple[CapacityRow | None, list[Floats]]] = []
        reached: dict[int, Extreme] = {}
        # A width is made up by both sides, neither of which has a level of its own.
        capped &= bool(needs.width[index] <= 0)
        for sign, need in ((1, needs.upper[index]), (-1, needs.lower[index])):
            if need <= 0 and needs.width[index] <= 0:
                continue
            distance = float(need) if capped else np.inf
            known = self._still_good(index, sign, share, distance)
            if known is not None and needs.width[index] <= 0:
                outcomes.append((None, [known]))
                continue
            self.attack.cap(distance)
            extreme = self.attack.extreme(cell, sign, time_limit=self.budget.left)
            if self.budget.is_over:
                raise TimeoutError
            reached[sign] = extreme
            if extreme.reach >= need * (1 - 1e-9):
                self.known[index, sign] = extreme.deviation
                outcomes.append((None, [extreme.deviation]))
            else:
                found = self._sparse(extreme.duals)
                up, down = (found, None) if sign > 0 else (None, found)
                outcomes.append((CapacityRow(index, up, down), []))
        width = needs.width[index]
        if width > 0 and sum(e.reach for e in reached.values()) < width * (1 - 1e-9):
            up, down = self._sparse(reached[1].duals), self._sparse(reached[-1].duals)
            outcomes.append((CapacityRow(index, up, down), []))
        return outcomes

    def _still_good(self, index: int, sign: int, share: Floats, distance: float) -> Floats | None:
        witness = self.known.get((index, sign))
        if witness is None:
            return None
        needs = self.system.needs
        asked = max(needs.upper[index], needs.lower[index], needs.width[index])
        tolerance = 1e-9 * float(asked)
        low = np.maximum(self.system.low, -distance)
        high = np.minimum(self.system.high, distance)
        inside = (witness <= share * high + tolerance) & (witness >= share * low - tolerance)
        return witness if bool(np.all(inside)) else None

    def _sparse(self, multipliers: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
        """Return relations of the table with their multipliers, without what is only noise."""
        largest = float(np.max(np.abs(multipliers), initial=0.0))
        rows = np.flatnonzero(np.abs(multipliers) > MULTIPLIER_NOISE * largest)
        return self.system.rows[rows], multipliers[rows]
