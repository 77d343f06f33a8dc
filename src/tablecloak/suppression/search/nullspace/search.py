"""Search by deletion: hide a part of the published cells again, and delete in another order.

Deletion takes milliseconds where one linear program for each sensitive cell takes seconds, so that
hundreds of orders can be tried. Each try hides a random share of the published cells again, and
multiplies the weights by noise. Its result becomes the new pattern if it loses no more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as dense
from scipy.linalg import lapack
from scipy.sparse import csr_array, vstack

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.suppression.search.nullspace.deletion import KEPT, Deletion
from tablecloak.suppression.search.nullspace.space import moves, space_of
from tablecloak.suppression.system.basis import Basis, basis_of, determined_cells
from tablecloak.suppression.system.system import System

RANK_SHARE = 1e-10
"""Pivots below this share of the largest are rounding errors: the conditions are sums of whole
numbers, whose pivots shrink far more slowly."""

RESIDUAL = 1e-7
"""Largest move of a published cell by null vectors; beyond it eigenvectors are computed instead."""

SPARSE_COST = 40
"""Cost of a multiplication in a sparse product, as a multiple of one in a dense product."""

CELL_SHARES = (0.05, 0.5)
"""Least and largest share of the published cells that are hidden again in one try.
docs/decisions, "Null space"."""

SPANNING_SHARES = (0.02, 0.6)
"""Least and largest share, on a logarithmic scale, of published cells that determine all others and
are hidden again in one try; each raises the rank by one. docs/decisions, "Null space"."""

NOISE = 0.25
"""Largest spread of the log-normal noise on the weights of one try."""

RESTARTS = 0.1
"""Share of the tries that begin with everything hidden."""

KEPT_IN_TRIES = 12
"""Number of refusals after which a try ends."""

MOST_CELLS = 20_000
"""Most cells for which a basis is built, since its memory is only known afterwards."""

MOST_RANK = 6000
"""Dimension of the unknown up to which dense null spaces are used: 10,000 cells by 6,000 take half
a gigabyte."""

START_RANKS = (150, 600)
"""Dimensions of the unknown at which a first deletion begins: cells are published in order of
weight, without any check, until so much is left. The larger one is tried where needs cannot be met
in the smaller one. docs/decisions, "Null space"."""

NEEDS_MOVED = 0.25
"""Least dimension of the unknown for each need: a smaller one seldom moves all of them far enough.
Chosen by trial."""

START_BEYOND = 2
"""Multiple of these dimensions up to which deletion begins with every cell hidden."""

REOPENINGS = 6
"""Most rounds in which cells near sensitive ones that cannot move are then hidden again."""

BASIS_WORK, WORK, SPEED = 6, 50, 1e10
"""Floating-point operations of a first deletion, by the cube of the free cells and by cells times
the square of the rank, and those a core is expected to do in a second; only to leave out what has
no chance to end."""

STALE = 300
"""Most tries in a row without a better pattern; then the search ends by itself."""

STALE_OF_CELL, LEAST_STALE = 5, 60
"""Tries in a row without a better pattern for each cell of a small table, and the fewest of any,
since a table of few cells has few patterns. docs/decisions, "Null space"."""

LEAST_GAIN = 1e-12
"""Share of the loss below which a pattern is no better."""


def null_vectors(basis: Basis, hidden: Flags) -> Floats:
    """Return an orthonormal basis of the deviations of hidden cells.

    Parameters
    ----------
    basis : Basis
    hidden : numpy.ndarray of bool, shape (n_unknown,)

    Returns
    -------
    numpy.ndarray of float, shape (n_hidden, nullity)
        Orthonormal columns, in Fortran order; one row for each hidden cell.
    """
    conditions = csr_array(vstack([basis.matrix[~hidden], basis.leftover], format="csr"))
    columns, conditions = _peeled(conditions)
    gram = _gram(conditions)
    for solve in (_by_pivots, _by_eigenvectors):
        solution = solve(gram)
        moves = _orthonormal(basis.matrix[hidden][:, columns] @ solution)
        if moves is not None and np.abs(conditions @ _onto(solution)).max(initial=0.0) < RESIDUAL:
            return moves
    return np.zeros((int(hidden.sum()), 0), order="F")


def _peeled(conditions: csr_array) -> tuple[Integers, csr_array]:
    """Drop free cells that a condition of their own holds at 0, again and again."""
    columns = np.arange(conditions.shape[1])
    while True:
        length = np.diff(conditions.indptr)
        alone = np.unique(conditions.indices[conditions.indptr[:-1][length == 1]])
        conditions = conditions[length > 1]
        if not len(alone):
            return columns, conditions
        kept = np.delete(np.arange(conditions.shape[1]), alone)
        columns, conditions = columns[kept], csr_array(conditions[:, kept])


def _gram(conditions: csr_array) -> Floats:
    """Return C'C, by dense products where rows are long."""
    length = np.diff(conditions.indptr).astype(np.float64)
    if SPARSE_COST * float(np.sum(length**2)) < conditions.shape[0] * conditions.shape[1] ** 2:
        return np.asarray((conditions.T @ conditions).toarray(order="F"))
    full = conditions.toarray()
    found: Floats = np.asfortranarray(full.T @ full)
    return found


def _by_pivots(gram: Floats) -> Floats:
    """Null vectors of a positive semidefinite matrix, by its pivoted Cholesky factor."""
    n = len(gram)
    if not n:
        return np.zeros((0, 0))
    tolerance = RANK_SHARE * max(float(gram.diagonal().max()), 1.0)
    factor, pivots, rank, _ = lapack.dpstrf(gram, tol=tolerance, lower=1)
    found = np.zeros((n, n - rank), order="F")
    order = pivots - 1
    top = (
        dense.solve_triangular(
            factor[:rank, :rank], factor[rank:, :rank].T, lower=True, trans="T", check_finite=False
        )
        if rank
        else np.zeros((0, n))
    )
    found[order[:rank]] = -top
    found[order[rank:], np.arange(n - rank)] = 1.0
    return found


def _by_eigenvectors(gram: Floats) -> Floats:
    """Null vectors of a positive semidefinite matrix: slower than by pivots, but more accurate."""
    values, vectors = dense.eigh(gram, check_finite=False)
    found: Floats = vectors[:, values < RANK_SHARE * max(float(values[-1]), 1.0)]
    return found


def _onto(vectors: Floats) -> Floats:
    """Scale vectors to unit length."""
    size = np.sqrt(np.einsum("ij,ij->j", vectors, vectors))
    scaled: Floats = vectors / np.maximum(size, np.finfo(float).tiny)
    return scaled


def _orthonormal(moves: Floats) -> Floats | None:
    """Orthonormal columns with the same span, by two Cholesky factors of the Gram matrix."""
    moves = np.asfortranarray(moves)
    for _ in range(2):
        gram = moves.T @ moves
        factor, failed = lapack.dpotrf(gram, lower=0)
        if failed:
            return None
        moves = np.asfortranarray(
            dense.solve_triangular(factor, moves.T, trans="T", check_finite=False).T
        )
    return moves


@dataclass(frozen=True, eq=False)
class Found:
    """A pattern after deletion.

    Parameters
    ----------
    hidden : numpy.ndarray of bool, shape (n_unknown,)
    loss : float
    deviations : numpy.ndarray of float, shape (n_unknown, n_witnesses)
        Witnesses of all needs but those left open, in units of the system.
    rank_before, rank : int
        Dimension of the null space before and after deletion.
    n_open : int
        Sensitive cells that the null space does not prove, from the start.
    spanning : numpy.ndarray of int
        Published cells from which all other published ones follow.
    is_cut_short : bool
        Whether time ended the deletion.
    """

    hidden: Flags
    loss: float
    deviations: Floats
    rank_before: int
    rank: int
    n_open: int
    spanning: Integers
    is_cut_short: bool


class NullSpaceSearch:
    """Deletes and searches in the null spaces of one system.

    Parameters
    ----------
    system : System
    weights : numpy.ndarray of float, shape (n_unknown,)
    must : numpy.ndarray of bool, shape (n_unknown,)
        Cells that stay hidden.
    basis : Basis
    seed : int
    """

    def __init__(
        self, system: System, weights: Floats, must: Flags, basis: Basis, seed: int
    ) -> None:
        self.system, self.weights, self.must, self.basis = system, weights, must, basis
        self.random = np.random.default_rng(seed)
        # No witness moves a cell without any room, so it counts as published.
        self.movable = (system.high > 0) | (system.low < 0)

    @classmethod
    def of(
        cls, system: System, weights: Floats, must: Flags, size: Floats, seed: int
    ) -> NullSpaceSearch | None:
        """Return the search of a system; None where a basis is too large.

        Parameters
        ----------
        system : System
        weights : numpy.ndarray of float, shape (n_unknown,)
        must : numpy.ndarray of bool, shape (n_unknown,)
            Cells that stay hidden.
        size : numpy.ndarray of float, shape (n_unknown,)
            Cells with the smallest one are the free ones of the basis.
        seed : int
        """
        if system.n_unknown > MOST_CELLS or system.n_unknown - system.matrix.shape[0] > MOST_RANK:
            return None
        basis = basis_of(system.matrix, size, MOST_RANK)
        return cls(system, weights, must, basis, seed) if basis else None

    @property
    def patience(self) -> int:
        """Tries in a row without a better pattern after which the search ends by itself."""
        return min(STALE, max(LEAST_STALE, STALE_OF_CELL * self.system.n_unknown))

    @property
    def expected_seconds(self) -> float:
        """Seconds that a first deletion is expected to take."""
        n_free = self.basis.n_free
        rank = min(n_free, START_RANKS[0])
        return (BASIS_WORK * n_free**3 + WORK * self.system.n_unknown * rank**2) / SPEED

    def opened(self, budget: Budget) -> Found | None:
        """Publish the heaviest cells at once, then others one after the other by deletion."""
        found = None
        for rank in START_RANKS:
            if rank < NEEDS_MOVED * len(self.system.needs.cells) and rank < START_RANKS[-1]:
                continue
            found = self._deleted_among(*self._begun(rank, budget), budget)
            if found is None or not found.n_open or rank >= self.basis.n_free:
                break
        if found is None:
            return None
        # Cells that were published without any check have brought the rank down as well.
        return replace(
            found, rank_before=max(found.rank_before, min(self.basis.n_free, START_RANKS[-1]))
        )

    def _begun(self, rank: int, budget: Budget) -> tuple[Flags, Floats]:
        """Return the lightest cells, with what lets every sensitive one move, and null vectors."""
        hidden = self.movable.copy()
        if self.basis.n_free > START_BEYOND * rank:
            order = np.argsort(-np.where(self.must, -1.0, self.weights), kind="stable")
            hidden[order[: self.basis.n_free - rank]] = False
            hidden |= self.must & self.movable
        for _ in range(REOPENINGS):
            alone = self._alone(hidden)
            if not len(alone):
                break
            hidden = self._reopened(hidden, alone)
        vectors = null_vectors(self.basis, hidden)
        for _ in range(REOPENINGS):
            cells = np.flatnonzero(hidden)
            stuck = cells[(self.system.need_of[cells] >= 0) & ~moves(vectors)]
            if not len(stuck) or budget.is_over:
                break
            hidden = self._reopened(hidden, stuck)
            vectors = null_vectors(self.basis, hidden)
        return hidden, vectors

    def _alone(self, hidden: Flags) -> Integers:
        """Return sensitive cells that follow from relations with one hidden cell; a quick look."""
        cells = np.flatnonzero(hidden)
        relations = csr_array(self.system.matrix[:, cells])
        _, followed = determined_cells(relations, np.empty(0, dtype=np.int64))
        alone = cells[[cell for cell, _ in followed]]
        return alone[self.system.need_of[alone] >= 0]

    def _reopened(self, hidden: Flags, cells: Integers) -> Flags:
        """Hide what stands in a relation with cells that cannot move, as far around as it takes."""
        system, before = self.system, int(hidden.sum())
        found = hidden.copy()
        while int(found.sum()) == before:
            rows = np.unique(system.by_cell[cells].indices)
            around = np.unique(system.matrix[rows].indices)
            if len(around) == len(cells):
                break
            found[around] = self.movable[around]
            cells = around
        return found

    def deleted(
        self,
        hidden: Flags,
        budget: Budget,
        *,
        noise: float = 0.0,
        most_kept: int = KEPT,
        is_proved: bool = False,
    ) -> Found | None:
        """Publish cells of a pattern by deletion; None if none of its cells can move.

        Parameters
        ----------
        hidden : numpy.ndarray of bool, shape (n_unknown,)
        budget : Budget
        noise : float, default=0
            Spread of the log-normal noise on the weights.
        most_kept : int, default=25
            Classes that could not be published after which the deletion ends.
        is_proved : bool, default=False
            Whether all needs are known to hold while these cells are hidden.
        """
        hidden = hidden & self.movable
        vectors = null_vectors(self.basis, hidden)
        return self._deleted_among(
            hidden, vectors, budget, noise=noise, most_kept=most_kept, is_proved=is_proved
        )

    def _deleted_among(
        self,
        hidden: Flags,
        vectors: Floats,
        budget: Budget,
        *,
        noise: float = 0.0,
        most_kept: int = KEPT,
        is_proved: bool = False,
    ) -> Found | None:
        """The same, for cells that can move, with their null vectors."""
        system, random = self.system, self.random
        if not vectors.shape[1]:
            return None
        space = space_of(system, self.weights, self.must, hidden, vectors, random)
        jitter = np.exp(noise * random.standard_normal(system.n_unknown))
        if np.any(space.class_of[system.needs.cells] < 0):
            return None
        deletion = Deletion(space, random, budget, is_proved=is_proved)
        shrunk = deletion.run(jitter, most_kept)
        left = shrunk.space.alive | self.must
        return Found(
            hidden=left,
            loss=float(self.weights[left].sum()),
            deviations=shrunk.space.deviations(shrunk.verdicts.points),
            rank_before=space.rank,
            rank=shrunk.space.rank,
            n_open=int(np.sum(deletion.excused[system.needs.cells])),
            spanning=shrunk.space.spanning,
            is_cut_short=shrunk.is_cut_short,
        )

    def tried(self, best: Found, budget: Budget) -> Found | None:
        """Hide a part again, or everything, and delete in another order."""
        random = self.random
        kind = random.random()
        if kind < RESTARTS:
            hidden = np.ones(len(best.hidden), dtype=bool)
        elif kind < (1 + RESTARTS) / 2:
            # Of the cells that determine all other published ones, so that the rank rises surely.
            share = np.exp(random.uniform(*np.log(SPANNING_SHARES)))
            hidden = np.ones(len(best.hidden), dtype=bool)
            hidden[best.spanning[random.random(len(best.spanning)) >= share]] = False
        else:
            published = np.flatnonzero(~best.hidden)
            hidden = best.hidden.copy()
            share = random.uniform(*CELL_SHARES)
            hidden[published[random.random(len(published)) < share]] = True
        noise = NOISE * float(random.random())
        found = self.deleted(
            hidden, budget, noise=noise, most_kept=KEPT_IN_TRIES, is_proved=not best.n_open
        )
        return found if found is not None and found.n_open <= best.n_open else None
