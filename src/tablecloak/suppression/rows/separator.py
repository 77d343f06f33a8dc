"""Attacks on patterns of the master problem: a success gives a row, failure of all a proof."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, vstack

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.solve.branch import BranchTree, Rows
from tablecloak.solve.linear import LinearSolver
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.prove import prove
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.bridges import BridgeFinder, BridgeRow
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.rows.capacity import CapacityFinder, Move
from tablecloak.suppression.rows.following import FollowingFinder, is_spacious
from tablecloak.suppression.rows.master import Master, Row, joined, side
from tablecloak.suppression.rows.rounding import rounded_rows

VIOLATION = 1e-6
"""Smallest violation at which a row is added, as a share of its right-hand side."""

POOL_VIOLATION = 1e-4
"""Smallest violation at which a row of the pool is added, as a share of its right-hand side."""

MOST_FROM_POOL = 300
"""Most rows of the pool added in one round, the most violated first. Chosen by trial; not
measured."""

MOST_AT_ONCE = 3000
"""Most rows of the pool added in one round where programs are solved by the interior point method,
whose time hardly grows with their number."""

ROUND_SHARE = 0.1
"""Share of the time after which a round of attacks ends if it has found rows; the next round begins
with the cells not attacked in this one. Chosen by trial; not measured."""

LEAST_SECONDS = 0.3
"""Seconds for rows of cells that follow, even after the deadline: the single relations of a large
table are tens of thousands of rows, and the first of them give a last program its bound."""


class Separator:
    """Attacks the patterns of the search and turns successful attacks into rows.

    Parameters
    ----------
    master : Master
    start : Candidate
        The best proved pattern so far.
    budget : Budget
        No attack goes on after it has ended.

    Attributes
    ----------
    last : Candidate or None
        The last pattern that was attacked, with its witnesses; some needs may be open.
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
        self.fixed = master.fixed[self.system.cells]
        self.bridges = BridgeFinder(self.system, self.fixed)
        self.capacity = CapacityFinder(self.system, budget)
        self.is_spacious = is_spacious(self.system)
        self.following = FollowingFinder(self.system, self.fixed, budget.seed, budget)
        # Needs that are met even if every free cell is published.
        self.always = start.pool.within(self.fixed)
        self.last: Candidate | None = None
        self.budget = budget
        self.round_seconds = ROUND_SHARE * budget.left

    def __call__(self, y: Floats, integral: bool, *, is_root: bool = False) -> Rows | None:
        """Return rows that `y` violates; None if it is a protected pattern.

        At the root, where rooms are large, every cell that is partly hidden is attacked as well.

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
        self.last = None
        pooled = self._from_pool(y)
        if pooled is not None:
            return pooled
        found: list[csr_array] = []
        pool = self.always
        if integral:
            pool = pool.copy()
            self.attack.hide(share > 0.5)
            prove(self.attack, pool, self.budget, only_batches=True)
        moves = self.capacity.ask(
            share,
            lambda proof: self._add(proof, y, found),
            ~pool.open,
            integral=integral,
            seconds=self.round_seconds,
        )
        if integral and self._settles(share, pool, moves, found):
            return None
        for bridge in self.bridges.in_relations(share):
            self._add(bridge, y, found)
        if integral and self.is_spacious:
            # Programs over all rows take long; several rows for each open cell save some of them
            # (docs/decisions, "Cells that follow").
            for row in self.following.rows(share):
                self._add(row, y, found)
        if integral or (is_root and self.is_spacious):
            # A cell that a witness moves is no bridge.
            doubtful = (share > 0) & ~(pool.moved() & integral)
            for bridge in self.bridges.in_combinations(share, self.budget, doubtful):
                self._add(bridge, y, found)
        if not found:
            return None
        return self._pooled(found)

    def follow(self, y: Floats, *, is_attacked: bool = False) -> Rows | None:
        """Return rows of cells that follow from others in a fractional pattern, if any.

        The rows come from relations alone, without programs, unless `is_attacked` asks to attack
        every partly hidden cell as well. The first call returns the rows of all single relations.
        """
        everywhere = self.master.fixed.astype(np.float64)
        everywhere[self.master.free] = np.clip(y, 0.0, 1.0)
        share = everywhere[self.system.cells]
        parts: list[Rows] = []
        found: list[csr_array] = []
        is_first = not self.pool
        pooled = self._from_pool(y, MOST_AT_ONCE)
        if pooled is not None:
            parts.append(pooled)
        proofs = self.following.in_relations() if is_first else self.following.rows(share)
        bridges = [proof for proof in proofs if isinstance(proof, BridgeRow)]
        if is_attacked:
            bridges += self.bridges.in_combinations(share, self.budget)
        self._add_bridges(bridges, y, found, is_first)
        latest = self.budget.at_least(LEAST_SECONDS)
        for proof in proofs:
            if latest.is_over:
                break
            if not isinstance(proof, BridgeRow):
                self._add(proof, y, found)
        if sum(part.shape[0] for part in found):
            parts.append(self._pooled(found))
        if not parts:
            return None
        matrices, low, high = zip(*parts, strict=True)
        return (
            csr_array(vstack(matrices, format="csr")),
            np.concatenate(low),
            np.concatenate(high),
        )

    def _add_bridges(
        self, proofs: list[BridgeRow], y: Floats, found: list[csr_array], is_any: bool
    ) -> None:
        """Keep rows that `y` violates, or all rows with entries."""
        rows = self.master.bridge_rows(proofs)
        is_kept = (np.diff(rows.indptr) > 0) & (is_any | (rows @ y < -VIOLATION))
        kept = np.flatnonzero(is_kept)
        self.rows.extend(proofs[place] for place in kept.tolist())
        found.append(csr_array(rows[kept, :]))

    def round_up(self, x: Floats) -> Rows | None:
        """Return rounded sums of all rows that a vertex of their program violates, if any."""
        found = rounded_rows(self.master, self.pool, self.pooled, self.pooled_sides, x)
        if not found:
            return None
        self.rows.extend(found)
        return self._pooled([row.coefficients for row in found])

    def _pooled(self, found: list[csr_array]) -> Rows:
        """Keep the last of the rows in use in the pool, and return them."""
        proofs = self.rows[len(self.rows) - sum(part.shape[0] for part in found) :]
        added = joined(found, proofs)
        self.pool.extend(proofs)
        self.pooled = csr_array(vstack([self.pooled, added[0]], format="csr"))
        self.pooled_sides = np.append(self.pooled_sides, added[1])
        return added

    def every_row(self) -> Rows:
        """Return all rows found so far."""
        return self.pooled, self.pooled_sides, np.full(len(self.pool), np.inf)

    def over_every_row(self, time_limit: float) -> tuple[BranchTree, float]:
        """Return the bound that all rows found so far prove together, by a tree of only a root.

        The bound is -inf if there are no rows, or if the program did not end.
        """
        if not self.pool:
            return BranchTree.of_root(np.empty(0)), -np.inf
        program = self.master.program.with_rows(*self.every_row())
        solution = LinearSolver(program, interior="first").solve(time_limit)
        return BranchTree.of_root(solution.duals), solution.bound

    def forget_rows(self) -> None:
        """Start a new list of rows in use; the pool keeps all rows found so far."""
        self.rows = []

    def use_every_row(self) -> Rows:
        """Start a new list of rows in use with all rows of the pool, and return them."""
        self.rows = list(self.pool)
        return self.every_row()

    def _settles(
        self, share: Floats, pool: WitnessPool, moves: list[Move], found: list[csr_array]
    ) -> bool:
        """Whether a pattern of zeros and ones is protected; keep it if it is the best."""
        hidden = share > 0.5
        for cells, data in moves:
            if self.budget.is_over:
                raise TimeoutError
            pool.add_sparse(cells, data, self.budget)
        if not np.any(hidden & ~self.fixed):
            self.always = pool.copy()
        self.last = Candidate(hidden, pool, self.best.weights)
        if found:
            return False
        if np.any(pool.open):
            # Attack once more cells whose solution was not exact enough to be a witness.
            self.attack.hide(hidden)
            prove(self.attack, pool, self.budget)
        self._keep(hidden, pool)
        return True

    def _from_pool(self, y: Floats, most: int = MOST_FROM_POOL) -> Rows | None:
        """Return known rows that `y` violates, and list them as in use."""
        missing = self.pooled_sides - self.pooled @ y
        violated = np.flatnonzero(missing > POOL_VIOLATION)
        if not len(violated):
            return None
        chosen = violated[np.argsort(-missing[violated], kind="stable")[:most]]
        self.rows.extend(self.pool[number] for number in chosen.tolist())
        return self.pooled[chosen], self.pooled_sides[chosen], np.full(len(chosen), np.inf)

    def keep_rows(self, kept: Integers) -> None:
        """Forget all rows but some."""
        self.rows = [self.rows[number] for number in kept.tolist()]

    def _add(self, proof: Row, y: Floats, found: list[csr_array]) -> bool:
        """Keep a row if `y` violates it; return whether it does."""
        row = self.master.row(self.master.needs, proof)
        if not row.nnz or (row @ y)[0] >= side(row.nnz, proof) - VIOLATION:
            return False
        self.rows.append(proof)
        found.append(row)
        return True

    def _keep(self, hidden: Flags, pool: WitnessPool) -> None:
        # A cell that no witness moves protects nothing, so publish it.
        hidden = hidden & (pool.moved() | self.fixed)
        self.offer(Candidate(hidden, pool, self.best.weights))

    def offer(self, candidate: Candidate | None) -> None:
        """Keep a pattern if it is proved and the best so far."""
        if candidate is not None and candidate.is_proved and candidate.loss < self.best.loss:
            self.best = candidate
