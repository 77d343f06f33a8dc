"""Cells that follow from others: rows that rule out patterns in which a hidden cell follows.

Choose free cells until the relations determine all others (module `basis`). Then every other cell
is a sum of free cells, and follows from them. If it is hidden, one of them must be hidden too: a
row of the master problem. One basis gives a row for each cell that is not free, in hundredths of a
second. The free cells are those that a fractional pattern hides least, because their rows are
violated most. No single choice finds all violated rows, so the shares are multiplied by random
factors, as in the search for small cuts of a graph by random contractions. Further relations are
then added to a row where that lowers the sum of the shares on it, which raises its violation.

Rows of sensitive cells are capacity rows: where rooms are far above the levels, each of their
coefficients is cut to 1. Rows of other cells are bridge rows.

References
----------
.. [1] Karger: Global min-cuts in RNC, and other ramifications of a simple min-cut algorithm,
   Proceedings of SODA (1993).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array
from scipy.sparse.linalg import SuperLU, splu

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.suppression.rows.bridges import DENOMINATOR, BridgeRow
from tablecloak.suppression.rows.master import CapacityRow
from tablecloak.suppression.system.basis import determined_cells
from tablecloak.suppression.system.system import System

BASES, MOST_BASES = 4, 32
"""Fewest and most bases tried in one round; the number grows while they give few rows.
docs/decisions, "Cells that follow"."""

FEW_ROWS = 100
"""Number of rows of a round below which the next one tries more bases. Chosen by trial; not
measured."""

FORBIDDEN = 10.0
"""Share given to cells that are hidden in every pattern, since a row with one always holds."""

LENGTH_COST = 0.005
"""Amount added to the share of each cell of a row, so that rows with few cells are preferred."""

NEARLY = 3.0
"""Largest slack of a row to which relations are added to make it lighter. Chosen by trial; not
measured."""

STEPS = 15
"""Most relations added to a row to make it lighter. Chosen by trial; not measured."""

SPREADS = 0.3, 0.8
"""Powers to which the random factors of shares are raised, alternately. docs/decisions, "Cells
that follow"."""

VIOLATION = 0.01
"""Smallest violation, in shares of a cell, at which a row is added. Chosen by trial; not
measured."""

MOST_ROWS = 400
"""Most rows kept of one round, those with the largest violation for their length first."""

ROWS_OF_CELL = 2
"""Most rows of one cell that are kept of one round."""

NOTHING = 1e-9
"""Coefficients below this are rounding errors: coefficients of relations are 1 or of its order."""

BLOCK = 500
"""Number of free cells whose columns are held as a dense array at one time."""

FEW_NEEDS = 10
"""Most sensitive cells for which attacks, programs and branch and bound follow the first pattern at
once: they have few rows to find. docs/decisions, "Few sensitive cells"."""

SPACIOUS_SHARE = 0.9
"""Share of the cells whose room must reach the largest need, for capacity rows to say little more
than that one cell of a set must be hidden. docs/decisions, "Cells that follow"."""


def is_spacious(system: System) -> bool:
    """Whether rooms are so far above many needs that relations alone give nearly the best rows."""
    needs = system.needs
    if len(needs.cells) <= FEW_NEEDS:
        return False
    most = float(np.max(np.concatenate([needs.upper, needs.lower, needs.width / 2]), initial=0.0))
    room = np.minimum(system.high, -system.low)
    return bool(np.mean(room >= most) >= SPACIOUS_SHARE) if len(room) else False


class FollowingFinder:
    """Finds cells that follow from others within a fractional pattern.

    Parameters
    ----------
    system : System
        The system of all cells that may be suppressed.
    fixed : numpy.ndarray of bool, shape (n_unknown,)
        Cells that are suppressed in every pattern; they are made free last.
    seed : int
        Seed of the random factors.
    budget : Budget, optional
        No further basis is tried once it is over.
    """

    def __init__(
        self, system: System, fixed: Flags, seed: int, budget: Budget | None = None
    ) -> None:
        self.budget = budget or Budget.of()
        self.system = system
        self.fixed = fixed
        self.mobile = system.high > system.low
        self._is_asked = ~fixed | (system.need_of >= 0)
        self._n_bases = BASES
        self._random = np.random.default_rng(seed)

    def rows(self, share: Floats) -> list[CapacityRow | BridgeRow]:
        """Return rows of several bases that a fractional pattern violates.

        Parameters
        ----------
        share : numpy.ndarray of float, shape (n_unknown,)
            How much of each cell is suppressed.
        """
        found: list[CapacityRow | BridgeRow] = []
        depths: list[Floats] = []
        if not self.system.matrix.nnz:
            return []
        for number in range(self._n_bases):
            if number and self.budget.is_over:
                break
            sums, depth = self._of_one_basis(share, SPREADS[number % len(SPREADS)])
            found.extend(self._proofs(sums))
            depths.append(depth)
        order = np.argsort(-np.concatenate(depths), kind="stable")
        kept = _few_of_each([found[place] for place in order.tolist()])
        factor = 0.5 if len(kept) == MOST_ROWS else 2 if len(kept) < FEW_ROWS else 1
        self._n_bases = int(np.clip(self._n_bases * factor, BASES, MOST_BASES))
        return kept

    def _of_one_basis(self, share: Floats, spread: float) -> tuple[_Sums, Floats]:
        """Return violated rows of one basis, and the violation of each for its length."""
        basis = _Followed.of(self.system.matrix, self._order(share, spread))
        cost = np.where(self.fixed, FORBIDDEN, share) * self.mobile
        near = share - basis.sums(np.minimum(cost, 1.0))
        near[~(self.mobile & self._is_asked)] = -np.inf
        near[basis.free] = -np.inf
        cells = np.argsort(-near, kind="stable")[:MOST_ROWS]
        sums = _Sums.of(basis, cells[near[cells] > -NEARLY], self.system.matrix)
        sums = sums.lightened(self.system.matrix, cost + LENGTH_COST * self.mobile)
        broken = share[sums.cells] - sums.others @ cost
        length = sums.others @ self.mobile.astype(np.float64) + 1
        kept = np.flatnonzero(broken > VIOLATION)
        return sums.only(kept), broken[kept] / np.sqrt(length[kept])

    def in_relations(self) -> list[CapacityRow | BridgeRow]:
        """Return the rows of all single relations."""
        matrix = self.system.matrix
        row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        entries = np.flatnonzero(self.mobile[matrix.indices] & (matrix.data != 0))
        row, cell = row[entries], matrix.indices[entries].astype(np.int64)
        fixed = self.fixed[cell]
        n_fixed = np.bincount(row, fixed, minlength=matrix.shape[0])[row]
        is_row = (n_fixed == 0) | ((n_fixed == 1) & fixed & (self.system.need_of[cell] >= 0))
        return [
            self._proof(cell[at], self.system.rows[row[at]][None], DENOMINATOR / data[None])
            for at, data in zip(np.flatnonzero(is_row), matrix.data[entries][is_row], strict=True)
        ]

    def _order(self, share: Floats, spread: float) -> Integers:
        """Return the order in which cells become free: least hidden first, by randomised shares."""
        size = share * self._random.exponential(1.0, len(share)) ** spread
        size += 1e-9 * self._random.random(len(share))
        size[self.fixed] += 1 + size.max(initial=0.0)
        return np.argsort(size, kind="stable")

    def _proofs(self, sums: _Sums) -> list[CapacityRow | BridgeRow]:
        """Return rows, each given by multipliers of the relations."""
        # Multipliers are whole numbers, so that sums are exact; any multipliers give a valid row.
        gamma = sums.multipliers
        multipliers = np.rint(gamma.data * DENOMINATOR)
        proofs = []
        for place, cell in enumerate(sums.cells.tolist()):
            own = slice(*gamma.indptr[place : place + 2])
            used = np.flatnonzero(multipliers[own]) + own.start
            relations = self.system.rows[gamma.indices[used]]
            proofs.append(self._proof(cell, relations, multipliers[used]))
        return proofs

    def _proof(
        self, cell: int, relations: Integers, multipliers: Floats
    ) -> CapacityRow | BridgeRow:
        index = int(self.system.need_of[cell])
        if index < 0:
            return BridgeRow(int(self.system.cells[cell]), relations, multipliers)
        needs, gamma = self.system.needs, multipliers / DENOMINATOR
        up, down = (relations, gamma), (relations, -gamma)
        if needs.upper[index] > 0:
            return CapacityRow(index, up, None)
        if needs.lower[index] > 0:
            return CapacityRow(index, None, down)
        return CapacityRow(index, up, down)


@dataclass(frozen=True, eq=False)
class _Followed:
    """Free cells, and the order in which all other cells follow from them.

    Parameters
    ----------
    free : numpy.ndarray of int, shape (n_free,)
    followed : numpy.ndarray of int, shape (n_followed,)
    relations : numpy.ndarray of int, shape (n_followed,)
        The relation that determines each of these cells once those before it are known.
    outer : scipy.sparse.csc_array, shape (n_followed, n_free)
        Coefficients of the free cells in these relations.
    factors : scipy.sparse.linalg.SuperLU
        Factors of the coefficients of the cells that follow, a triangular matrix.
    place : numpy.ndarray of int, shape (n_unknown,)
        Position of each cell in `followed`; -1 for free cells.
    """

    free: Integers
    followed: Integers
    relations: Integers
    outer: csc_array
    factors: SuperLU
    place: Integers

    @classmethod
    def of(cls, matrix: csr_array, order: Integers) -> _Followed:
        """Choose free cells in the given order, but none that follows from those before it."""
        free, pairs = determined_cells(matrix, order)
        followed, relations = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        used = csc_array(matrix[relations, :])
        factors = splu(csc_array(used[:, followed]), permc_spec="NATURAL", diag_pivot_thresh=0.0)
        place = np.full(matrix.shape[1], -1, dtype=np.int64)
        place[followed] = np.arange(len(followed))
        return cls(free, followed, relations, csc_array(used[:, free]), factors, place)

    def sums(self, numbers: Floats) -> Floats:
        """Return the sums of numbers over the free cells that each cell follows from."""
        total = np.zeros(len(self.followed))
        for start in range(0, len(self.free), BLOCK):
            part = slice(start, start + BLOCK)
            follows = self.factors.solve(self.outer[:, part].toarray())
            total += (np.abs(follows) > NOTHING) @ numbers[self.free[part]]
        return np.where(self.place >= 0, total[self.place], 0.0)

    def multipliers(self, cells: Integers, n_relations: int) -> csr_array:
        """Return multipliers whose sum of relations leaves only a given cell and free cells."""
        wanted = np.zeros((len(self.followed), len(cells)))
        wanted[self.place[cells], np.arange(len(cells))] = 1.0
        solved = self.factors.solve(wanted, trans="T").T
        row, used = np.nonzero(np.abs(solved) > NOTHING)
        columns = self.relations[used]
        return csr_array((solved[row, used], (row, columns)), shape=(len(cells), n_relations))


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of relations, each of which gives the cells from which one cell follows.

    Parameters
    ----------
    cells : numpy.ndarray of int, shape (n_sums,)
    multipliers : scipy.sparse.csr_array, shape (n_sums, n_relations)
        Multipliers of the relations, scaled so that the cell itself has the coefficient 1.
    coefficients : scipy.sparse.csr_array, shape (n_sums, n_unknown)
        Coefficients of all other cells in the sum.
    """

    cells: Integers
    multipliers: csr_array
    coefficients: csr_array

    @classmethod
    def of(cls, basis: _Followed, cells: Integers, matrix: csr_array) -> _Sums:
        """Return the sums of relations by which cells follow from the free ones."""
        return cls._added(cells, basis.multipliers(cells, matrix.shape[0]), matrix)

    @classmethod
    def _added(cls, cells: Integers, multipliers: csr_array, matrix: csr_array) -> _Sums:
        total = csr_array(multipliers @ matrix)
        row = np.repeat(np.arange(len(cells)), np.diff(total.indptr))
        total.data[(np.abs(total.data) < NOTHING) | (total.indices == cells[row])] = 0.0
        total.eliminate_zeros()
        return cls(cells, multipliers, total)

    @property
    def others(self) -> csr_array:
        """Matrix with a 1 for each cell from which the cell of a sum follows."""
        return csr_array(self.coefficients.astype(bool), dtype=np.float64)

    def only(self, kept: Integers) -> _Sums:
        """Return some of the sums."""
        return _Sums(self.cells[kept], self.multipliers[kept, :], self.coefficients[kept, :])

    def lightened(self, matrix: csr_array, cost: Floats) -> _Sums:
        """Add or subtract single relations as long as the cells that are left cost less.

        Where all coefficients are 0, 1 or -1, adding t times a relation, t = 1 or -1, brings in
        those of its cells that the sum lacks, and removes those with the opposite coefficient; two
        sparse products compute the costs of both.
        """
        weighed = csr_array(matrix.multiply(cost[None, :]).T)
        sizes, whole = abs(weighed), abs(matrix) @ cost
        is_own = csr_array(matrix.T)[self.cells, :].toarray() != 0
        sums, active = self, np.arange(len(self.cells))
        for _ in range(STEPS):
            part = sums.only(active)
            signed = (part.coefficients @ weighed).toarray()
            gain = 1.5 * (part.others @ sizes).toarray() - whole + 0.5 * np.abs(signed)
            gain[is_own[active]] = -np.inf
            best = np.argmax(gain, axis=1) if len(active) else active
            step = np.where(signed[np.arange(len(active)), best] > 0, -1.0, 1.0)
            changed = csr_array((step, (active, best)), shape=sums.multipliers.shape)
            tried = self._added(sums.cells, csr_array(sums.multipliers + changed), matrix)
            is_lighter = tried.others @ cost < sums.others @ cost - NOTHING
            active = np.flatnonzero(is_lighter)
            if not len(active):
                return sums
            taken = diags_array(is_lighter.astype(np.float64)) @ changed
            sums = self._added(sums.cells, csr_array(sums.multipliers + taken), matrix)
        return sums


def _few_of_each(rows: list[CapacityRow | BridgeRow]) -> list[CapacityRow | BridgeRow]:
    """Return the first rows, at most `ROWS_OF_CELL` for each cell, and none twice."""
    kept: list[CapacityRow | BridgeRow] = []
    known: set[tuple[int, bytes]] = set()
    count: dict[int, int] = {}
    for row in rows:
        cell, sums = _told(row)
        if (cell, sums) in known or count.get(cell, 0) >= ROWS_OF_CELL:
            continue
        known.add((cell, sums))
        count[cell] = count.get(cell, 0) + 1
        kept.append(row)
        if len(kept) == MOST_ROWS:
            break
    return kept


def _told(row: CapacityRow | BridgeRow) -> tuple[int, bytes]:
    """Return the key by which equal rows are recognised: the cell and its relations."""
    if isinstance(row, BridgeRow):
        return row.cell, row.relations.tobytes()
    side = row.up or row.down
    assert side is not None
    return -1 - row.index, side[0].tobytes()
