"""Optimal patterns with a proof: capacity rows, found where they are needed.

A pattern y protects cell p upwards exactly if for all multipliers gamma of the relations,
with alpha - beta = e_p - A^T gamma and alpha, beta >= 0::

    sum_i (alpha_i (ub_i - a_i) + beta_i (a_i - lb_i)) y_i >= UPL_p

(and likewise downwards with -e_p; for a width, with the sum of both). Such a row holds for
*any* gamma, so gamma alone is its proof. Branch and bound over the rows found so far gives
a bound on the loss of every protected pattern; the search adds rows until its best pattern
survives the attack.

References
----------
.. [1] Fischetti, Salazar: Solving the cell suppression problem on tabular data with linear
   constraints, Management Science 47 (2001), equations (10) to (15).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

from tablecloak.errors import VerificationError
from tablecloak.solve.branch import BranchTree, branch_and_bound
from tablecloak.solve.program import Program
from tablecloak.suppression.attack import Attack, Extreme
from tablecloak.suppression.requirement import Needs, Requirement, needs_of
from tablecloak.suppression.sequential import Candidate
from tablecloak.suppression.witness import WitnessPool
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["BoundCertificate", "CapacityRow", "minimise_loss"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

VIOLATION = 1e-6
"""Share of its right-hand side by which a row must be violated to be worth adding."""

MULTIPLIER_NOISE = 1e-11
"""Multipliers below this share of the largest are dropped; every gamma gives a valid row."""


@dataclass(frozen=True, eq=False)
class CapacityRow:
    """One capacity row, by its proof.

    Parameters
    ----------
    index : int
        Position of the sensitive cell among all sensitive cells.
    up, down : tuple of (relations, multipliers), or None
        Multipliers gamma of the relations for the upward and for the downward side. Both
        are given for a width.
    """

    index: int
    up: tuple[npt.NDArray[np.int64], Floats] | None
    down: tuple[npt.NDArray[np.int64], Floats] | None


@dataclass(frozen=True, eq=False)
class BoundCertificate:
    """Proof that no protected pattern loses less than a bound.

    Parameters
    ----------
    problem : ProtectionProblem
    requirement : Requirement
    rows : list of CapacityRow
    tree : BranchTree
    step : float
        Loss of every pattern is a multiple of it (1 for whole-number weights), or 0.
    """

    problem: ProtectionProblem
    requirement: Requirement
    rows: list[CapacityRow]
    tree: BranchTree
    step: float

    def verify(self) -> float:
        """Return the bound that the proof supports, by sparse products alone.

        Guarantee: for every pattern that suppresses all sensitive and forced cells, no frozen
        cell, and protects every sensitive cell as required, the sum of weights of its cells is
        at least the returned number. Proof: docs/guarantees.md, section 2.

        Raises
        ------
        VerificationError
            If the search tree does not cover all patterns.
        """
        master = _Master(self.problem, self.requirement)
        needs = master.needs
        built = [master.row(needs, row) for row in self.rows]
        program = master.program
        if built:
            ones = np.ones(len(built))
            matrix = csr_array(vstack(built, format="csr"))
            program = program.with_rows(matrix, ones, np.full(len(built), np.inf))
        bound = self.tree.verify(program)
        if np.isnan(bound):
            raise VerificationError("The bound is not a number.")
        return master.total_loss(bound, self.step)


def minimise_loss(
    problem: ProtectionProblem,
    requirement: Requirement,
    start: Candidate,
    *,
    time_limit: float = np.inf,
    progress: Callable[[float, float, int], None] | None = None,
) -> tuple[Candidate, BoundCertificate]:
    """Search the pattern with the least loss, and prove how good the best one is.

    Parameters
    ----------
    problem : ProtectionProblem
        With finite external bounds.
    requirement : Requirement
    start : Candidate
        A proved pattern.
    time_limit : float, default=inf
        Seconds.
    progress : callable, optional
        Called with loss, bound and number of open nodes.

    Returns
    -------
    candidate : Candidate
        The best proved pattern; it is optimal if its loss equals the bound.
    certificate : BoundCertificate
    """
    master = _Master(problem, requirement)
    separator = _Separator(master, start, time.monotonic() + time_limit)
    step = 1.0 if np.all(problem.weights == np.rint(problem.weights)) else 0.0

    def report(value: float, bound: float, open_nodes: int) -> None:
        if progress:
            total = master.total_loss
            progress(separator.best.loss, min(total(bound, step), separator.best.loss), open_nodes)

    result = branch_and_bound(
        master.program,
        value=(start.loss - master.fixed_loss) / master.scale,
        separate=separator,
        purge=separator.keep_rows,
        step=step / master.scale,
        time_limit=time_limit,
        progress=report,
    )
    certificate = BoundCertificate(problem, requirement, separator.rows, result.tree, step)
    return separator.best, certificate


class _Master:
    """min w.y over the cells that are free to be suppressed or published."""

    def __init__(self, problem: ProtectionProblem, requirement: Requirement) -> None:
        self.problem = problem
        self.needs = needs_of(problem, requirement)
        self.fixed = problem.sensitive | problem.forced
        self.free = np.flatnonzero(~self.fixed & ~problem.frozen)
        self.fixed_loss = float(problem.weights[self.fixed].sum())
        weights = problem.weights[self.free]
        self.scale = float(np.median(weights[weights > 0])) if np.any(weights > 0) else 1.0
        self.high = problem.upper_bound - problem.table.values
        self.low = problem.table.values - problem.lower_bound
        n = len(self.free)
        self.program = Program(
            cost=weights / self.scale,
            matrix=csr_array((0, n)),
            row_lower=np.zeros(0),
            row_upper=np.zeros(0),
            lower=np.zeros(n),
            upper=np.ones(n),
            integral=np.ones(n, dtype=bool),
        )

    def row(self, needs: Needs, proof: CapacityRow) -> csr_array:
        """Coefficients over the free cells, strengthened and scaled to a right-hand side of 1.

        Cells that are suppressed anyway are counted; a coefficient larger than what is then
        still needed is cut to it, which no 0/1 point notices.
        """
        p = int(needs.cells[proof.index])
        capacity = np.zeros(self.problem.table.n_cells)
        if proof.up is not None:
            capacity += self._capacity(p, 1.0, *proof.up)
        if proof.down is not None:
            capacity += self._capacity(p, -1.0, *proof.down)
        need = {
            (True, False): needs.upper[proof.index],
            (False, True): needs.lower[proof.index],
            (True, True): needs.width[proof.index],
            (False, False): 0.0,
        }[proof.up is not None, proof.down is not None]
        left = float(need - capacity[self.fixed].sum())
        # Rounding must not turn a row that always holds into one that cuts something off.
        left -= 1e-9 * float(need)
        if left <= 0:
            return csr_array((0, len(self.free)))
        return csr_array(np.minimum(capacity[self.free] / left, 1.0)[None, :])

    def total_loss(self, bound: float, step: float) -> float:
        """Loss of the whole pattern from a bound on its scaled free part."""
        total = bound * self.scale
        if step and np.isfinite(total):
            total = float(np.ceil(total / step - 1e-6) * step)
        return self.fixed_loss + total

    def _capacity(
        self, p: int, sign: float, rows: npt.NDArray[np.int64], multipliers: Floats
    ) -> Floats:
        gamma = np.zeros(self.problem.table.n_relations)
        gamma[rows] = multipliers
        reduced = -(self.problem.table.relations.T @ gamma)
        reduced[p] += sign
        capacity: Floats = np.where(reduced > 0, reduced * self.high, -reduced * self.low)
        # A frozen cell cannot be suppressed: whatever room it has does not count.
        capacity[self.problem.frozen] = 0.0
        return capacity


class _Separator:
    """Attacks the patterns of the search and turns successes into rows."""

    def __init__(
        self,
        master: _Master,
        start: Candidate,
        deadline: float,
    ) -> None:
        self.master = master
        self.best = start
        self.rows: list[CapacityRow] = []
        self.system = start.pool.system
        self.attack = Attack(self.system)
        self.deadline = deadline
        # The witness that last met a need often meets it again.
        self.known: dict[tuple[int, int], Floats] = {}

    def __call__(self, y: Floats, integral: bool) -> tuple[csr_array, Floats, Floats] | None:
        """Return rows that `y` violates; None if it is a protected pattern.

        Raises
        ------
        TimeoutError
            If time was up before all cells were attacked; nothing is then known of `y`.
        """
        everywhere = self.master.fixed.astype(np.float64)
        everywhere[self.master.free] = np.clip(y, 0.0, 1.0)
        share = everywhere[self.system.cells]
        if integral:
            share = np.rint(share)
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
                self._keep(share > 0.5, pool)
        if not found:
            return None
        ones = np.ones(len(found))
        return csr_array(vstack(found, format="csr")), ones, np.full(len(found), np.inf)

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

        Capped attacks let no cell move farther than the level that is asked for. What they find
        is only a proposal: rows are rebuilt from their multipliers with the true rooms.
        """
        for index, cell in enumerate(self.system.needs.cells):
            if time.monotonic() > self.deadline:
                raise TimeoutError
            for proof, witnesses in self._attack_cell(index, int(cell), share, capped):
                if pool is not None:
                    for witness in witnesses:
                        pool.add(witness)
                if proof is None:
                    continue
                row = self.master.row(self.master.needs, proof)
                if row.shape[0] and (row @ y)[0] < 1 - VIOLATION:
                    self.rows.append(proof)
                    found.append(row)
        self.attack.cap(np.inf)

    def _keep(self, hidden: Flags, pool: WitnessPool) -> None:
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
            extreme = self.attack.extreme(cell, sign)
            reached[sign] = extreme
            if extreme.reach >= need * (1 - 1e-9):
                self.known[index, sign] = extreme.deviation
                outcomes.append((None, [extreme.deviation]))
            else:
                side = self._sparse(extreme.duals)
                up, down = (side, None) if sign > 0 else (None, side)
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
        tolerance = 1e-9 * self.system.unit
        low = np.maximum(self.system.low, -distance)
        high = np.minimum(self.system.high, distance)
        inside = (witness <= share * high + tolerance) & (witness >= share * low - tolerance)
        return witness if bool(np.all(inside)) else None

    def _sparse(self, multipliers: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
        """Return relations of the table with their multipliers, without what is only noise."""
        largest = float(np.max(np.abs(multipliers), initial=0.0))
        rows = np.flatnonzero(np.abs(multipliers) > MULTIPLIER_NOISE * largest)
        return self.system.rows[rows], multipliers[rows]
