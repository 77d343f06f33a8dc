"""The master problem of cell suppression: which cells to hide, subject to rows with proofs.

A pattern y protects cell p upwards exactly if for all multipliers gamma of the relations,
with alpha - beta = e_p - A^T gamma and alpha, beta >= 0::

    sum_i (alpha_i (ub_i - a_i) + beta_i (a_i - lb_i)) y_i >= UPL_p

(and likewise downwards with -e_p; for a width, with the sum of both). Such a capacity row
holds for *any* gamma, so gamma alone is its proof.

A suppressed cell that no other suppressed cell can compensate protects nothing, and could be
published. For every cell k that may be published, and every gamma with (A^T gamma)_k != 0::

    sum of y_i over all other cells i with (A^T gamma)_i != 0  >=  y_k

holds for a protected pattern of least loss (a bridge row).

References
----------
.. [1] Fischetti, Salazar: Solving the cell suppression problem on tabular data with linear
   constraints, Management Science 47 (2001), equations (10) to (15), and section 4 for
   bridges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Never

import numpy as np
from scipy.sparse import csr_array, vstack

from tablecloak.arrays import Floats, Integers, median_of_positive
from tablecloak.solve.branch import BranchTree, Rows
from tablecloak.solve.exact import WholeRows, whole_factors
from tablecloak.solve.program import Program
from tablecloak.suppression.rows.bridges import BridgeRow
from tablecloak.suppression.system.needs import Needs, needs_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.problem import ProtectionProblem


@dataclass(frozen=True, eq=False)
class CapacityRow:
    """One capacity row, given by the multipliers that prove it.

    Parameters
    ----------
    index : int
        Position of the sensitive cell among all sensitive cells.
    up, down : tuple of (relations, multipliers), or None
        Multipliers gamma of the relations for the upward and for the downward side. Both
        are given for a width.
    """

    index: int
    up: tuple[Integers, Floats] | None
    down: tuple[Integers, Floats] | None


@dataclass(frozen=True, eq=False)
class RoundedRow:
    """A sum of rows, rounded because cells are hidden or not: see module `rounding`.

    Parameters
    ----------
    parents : tuple of Row
        Rows that are added up.
    multipliers : numpy.ndarray of float, shape (n_parents,)
        Multipliers of these rows, of any sign.
    turned : numpy.ndarray of int
        Cells of the table that are counted as published (1) or not (0).
    coefficients : scipy.sparse.csr_array, shape (1, n_free)
    side : float
        The right-hand side.
    """

    parents: tuple[Row, ...]
    multipliers: Floats
    turned: Integers
    coefficients: csr_array
    side: float


Row = CapacityRow | BridgeRow | RoundedRow


class UnknownRowError(NotImplementedError):
    """A kind of row was added to the proof of a bound, and one of its places does not know it.

    Parameters
    ----------
    row : Never
        The row; type checkers refuse the call while a kind of `Row` can reach it.
    """

    def __init__(self, row: Never) -> None:
        super().__init__(
            f"{type(row).__name__} is no kind of row that is known here. docs/architecture.md "
            f"lists all places that know the kinds: add it there."
        )


@dataclass(frozen=True, eq=False)
class BoundCertificate:
    """The proof of a search that no protected pattern loses less than a bound.

    Parameters
    ----------
    problem : ProtectionProblem
    requirement : Requirement
    rows : list of Row
    tree : BranchTree
    """

    problem: ProtectionProblem
    requirement: Requirement
    rows: list[Row]
    tree: BranchTree

    @property
    def trees(self) -> Sequence[BoundCertificate]:
        """The bound itself: its one tree counts the weights of all cells."""
        return (self,)

    @property
    def part(self) -> Integers | None:
        """None, since there is one tree."""
        return None

    def free_cells(self) -> tuple[Integers, float]:
        """Return the cell of each column of the master, and the unit of its objective."""
        master = Master(self.problem, self.requirement)
        return master.free, master.scale


@dataclass(frozen=True, eq=False)
class PartedBound:
    """Bounds of parts of a table: no protected pattern loses less than their sum ([1]_).

    Parameters
    ----------
    problem : ProtectionProblem
        The whole problem.
    requirement : Requirement
    trees : tuple of BoundCertificate
        The bound of each part. Their rows name sensitive cells by positions in the whole problem.
    part : numpy.ndarray of int, shape (n_cells,)
        The tree that counts the weight of each cell, or -1. Later cells of a larger problem than
        the bound was found for count nowhere.

    References
    ----------
    .. [1] docs/theorems.md, theorem 11.
    """

    problem: ProtectionProblem
    requirement: Requirement
    trees: tuple[BoundCertificate, ...]
    part: Integers


PatternBound = BoundCertificate | PartedBound
"""A proof that no protected pattern loses less than a bound."""


class Master:
    """min w.y over the cells that are free to be suppressed or published."""

    def __init__(self, problem: ProtectionProblem, requirement: Requirement) -> None:
        self.problem = problem
        self.needs = needs_of(problem, requirement)
        self.fixed = problem.sensitive | problem.forced
        self.free = np.flatnonzero(problem.free)
        self.fixed_loss = float(problem.weights[self.fixed].sum())
        weights = problem.weights[self.free]
        self.scale = median_of_positive(weights)
        self.high = problem.upper_bound - problem.table.values
        self.low = problem.table.values - problem.lower_bound
        self.mobile = ~problem.frozen & (self.high + self.low > 0)
        relations = problem.table.relations
        self.relations = WholeRows.of(relations, whole_factors(relations))
        n = len(self.free)
        self.position = np.full(problem.table.n_cells, -1)
        self.position[self.free] = np.arange(n)
        self.program = Program(
            cost=weights / self.scale,
            matrix=csr_array((0, n)),
            row_lower=np.zeros(0),
            row_upper=np.zeros(0),
            lower=np.zeros(n),
            upper=np.ones(n),
            integral=np.ones(n, dtype=bool),
        )

    def row(self, needs: Needs, proof: Row) -> csr_array:
        """Return coefficients over the free cells; `side` gives the right-hand side.

        A row without entries always holds.
        """
        if isinstance(proof, RoundedRow):
            return proof.coefficients
        if isinstance(proof, BridgeRow):
            return self.bridge_rows([proof])
        if isinstance(proof, CapacityRow):
            return self._capacity_row(needs, proof)
        raise UnknownRowError(proof)

    def bridge_rows(self, proofs: Sequence[BridgeRow]) -> csr_array:
        """Return coefficients of many bridge rows at once; a row without entries always holds."""
        n = len(proofs)
        cells = np.array([proof.cell for proof in proofs], dtype=np.int64)
        length = [len(proof.relations) for proof in proofs]
        used = np.concatenate([np.zeros(0, dtype=np.int64), *(one.relations for one in proofs)])
        gamma = np.concatenate([np.zeros(0), *(one.multipliers for one in proofs)])
        places = np.repeat(np.arange(n), length)
        reduced = self.relations.combinations(places, used, gamma, n)
        row, cell = np.repeat(np.arange(n), np.diff(reduced.indptr)), reduced.indices
        # Every entry that is not exactly zero counts, even if it is only a rounding error.
        is_counted = reduced.data != 0
        is_own = cell == cells[row]
        is_other = is_counted & self.mobile[cell] & ~is_own
        says = np.bincount(row[is_other & self.fixed[cell]], minlength=n) == 0
        says &= np.bincount(row[is_own & is_counted], minlength=n) > 0
        says &= self.position[cells] >= 0
        kept = (is_other | (is_own & is_counted)) & says[row]
        values = np.where(is_own, -1.0, 1.0)[kept]
        return csr_array(
            (values, (row[kept], self.position[cell[kept]])), shape=(n, len(self.free))
        )

    def _capacity_row(self, needs: Needs, proof: CapacityRow) -> csr_array:
        """Return a capacity row, strengthened and scaled to a right-hand side of 1.

        The capacity of cells that every pattern suppresses is subtracted from the right-hand side.
        A coefficient above the rest is cut to it, which excludes no 0/1 point.
        """
        p = int(needs.cells[proof.index])
        sides = [
            self._reduced(p, sign, *side)
            for sign, side in ((1.0, proof.up), (-1.0, proof.down))
            if side is not None
        ]
        need = {
            (True, False): needs.upper[proof.index],
            (False, True): needs.lower[proof.index],
            (True, True): needs.width[proof.index],
            (False, False): 0.0,
        }[proof.up is not None, proof.down is not None]
        # Theorem 4: what is left of r_p counts with p itself, whose room may be infinite.
        left_over = sum(abs(float(reduced[p])) for reduced in sides)
        if left_over < 1:
            need *= 1 - left_over
            for reduced in sides:
                reduced[p] = 0.0
        capacity = sum(map(self._capacity, sides), np.zeros(self.problem.table.n_cells))
        left = float(need - capacity[self.fixed].sum())
        # A rounding error must not turn a row that always holds into one that excludes a pattern.
        left -= 1e-9 * float(need)
        if left <= 0:
            return csr_array((1, len(self.free)))
        return csr_array(np.minimum(capacity[self.free] / left, 1.0)[None, :])

    def objective(self, loss: float) -> float:
        """Scaled objective of a pattern, from its loss."""
        return (loss - self.fixed_loss) / self.scale

    def total_loss(self, bound: float, step: float) -> float:
        """Loss of the whole pattern from a bound on its scaled free part."""
        total = bound * self.scale
        if step and np.isfinite(total):
            total = float(np.ceil(total / step - 1e-6) * step)
        return self.fixed_loss + total

    def _capacity(self, reduced: Floats) -> Floats:
        capacity, room = np.zeros(len(reduced)), np.where(reduced > 0, self.high, self.low)
        # A frozen cell cannot be suppressed: whatever room it has does not count.
        np.multiply(
            np.abs(reduced), room, out=capacity, where=(reduced != 0) & ~self.problem.frozen
        )
        return capacity

    def _reduced(self, p: int, sign: float, rows: Integers, multipliers: Floats) -> Floats:
        """Return sign e_p - A^T gamma."""
        reduced = -self.relations.combined(rows, multipliers)
        reduced[p] += sign
        return reduced


def side(count: int, proof: Row) -> float:
    """Return the right-hand side of a row: 1 for a capacity, 0 for a bridge or without entries."""
    if isinstance(proof, RoundedRow):
        return proof.side
    if isinstance(proof, BridgeRow):
        return 0.0
    if isinstance(proof, CapacityRow):
        return float(count > 0)
    raise UnknownRowError(proof)


def joined(built: Sequence[csr_array], proofs: Sequence[Row]) -> Rows:
    """Return matrix and sides of rows built from their proofs."""
    matrix = csr_array(vstack(built, format="csr"))
    counts = np.diff(matrix.indptr).tolist()
    sides = np.array([side(count, proof) for count, proof in zip(counts, proofs, strict=True)])
    return matrix, sides, np.full(len(sides), np.inf)
