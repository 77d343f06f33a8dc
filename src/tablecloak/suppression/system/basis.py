"""A sparse basis of all deviations: few cells chosen freely, from which the others follow.

Every deviation d with A d = 0 is d = N z, where z are the deviations of the free cells. The
free cells are chosen one after the other, the smallest value first. A relation with one
undetermined cell determines it, which may determine others, and so on. Relations that determine no
cell become conditions on z. Small cells are chosen because they make N sparse: a total is the sum
of the cells below it.

The hidden cells follow from few free ones by whole coefficients, d = N z. Relations that determine
no cell leave conditions on z, and only these are eliminated in whole numbers: some 30 columns for a
pattern of 2,000 cells. z is then rounded once, and N z adds up without rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array, vstack

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.solve.exact import NullSpace
from tablecloak.tables.relations import distinct_rows

NOTHING = 1e-9
"""Coefficients below this are rounding errors: those of relations between cells are about 1."""

DENSE_ENTRIES = 200_000
"""Largest product of the numbers of all and of free cells for which N is built as a dense matrix:
for some 500 cells, 50 of them free, that takes a tenth of the time. Chosen by trial."""

Wave = tuple[Integers, Integers, Integers, Floats]
"""Cells that are determined at the same time; then, for each term of their sums: the position of
the determined cell among these, the cell of the term, and its coefficient."""

MOST_MULTIPLE = 1000
"""Largest denominator with which coefficients are read as fractions. The check of the relations
detects a wrong fraction."""


@dataclass(frozen=True, eq=False)
class Basis:
    """All deviations with A d = 0 as d = N z with E z = 0.

    Parameters
    ----------
    free : numpy.ndarray of int, shape (n_free,)
        The free cells.
    matrix : scipy.sparse.csr_array, shape (n_unknown, n_free)
        N, one row for each cell.
    leftover : scipy.sparse.csr_array, shape (n_leftover, n_free)
        E, the conditions on free cells from relations that determined no cell.
    """

    free: Integers
    matrix: csr_array
    leftover: csr_array

    @property
    def n_free(self) -> int:
        """Number of free cells."""
        return int(self.matrix.shape[1])


def basis_of(relations: csr_array, size: Floats, most_free: float = np.inf) -> Basis | None:
    """Return a sparse basis of all deviations that relations leave.

    Parameters
    ----------
    relations : scipy.sparse.csr_array, shape (n_relations, n_unknown)
    size : numpy.ndarray of float, shape (n_unknown,)
        Size of each cell; the smallest become free first.
    most_free : float, default=inf
        Most free cells; beyond, None is returned.
    """
    free, determined = determined_cells(relations, np.argsort(size, kind="stable"))
    if len(free) > most_free:
        return None
    matrix = _followed(relations, free, determined)
    residual = csr_array(relations @ matrix)
    residual.data[np.abs(residual.data) < NOTHING] = 0.0
    residual.eliminate_zeros()
    return Basis(free, matrix, csr_array(residual[np.diff(residual.indptr) > 0]))


def determined_cells(
    relations: csr_array, order: Integers
) -> tuple[Integers, list[tuple[int, int]]]:
    """Return the free cells, and the other cells in order, each with its determining relation.

    Parameters
    ----------
    relations : scipy.sparse.csr_array, shape (n_relations, n_unknown)
    order : numpy.ndarray of int, shape (n_unknown,)
        Order in which cells become free, unless they are determined before.
    """
    by_cell = csr_array(relations.T)
    start, inside = relations.indptr.tolist(), relations.indices.tolist()
    first, rows = by_cell.indptr.tolist(), by_cell.indices.tolist()
    left = np.diff(relations.indptr).tolist()
    known = [False] * relations.shape[1]
    waiting = [row for row, count in enumerate(left) if count == 1]
    free: list[int] = []
    determined: list[tuple[int, int]] = []

    def settle(cell: int) -> None:
        known[cell] = True
        for row in rows[first[cell] : first[cell + 1]]:
            left[row] -= 1
            if left[row] == 1:
                waiting.append(row)

    def follow() -> None:
        while waiting:
            row = waiting.pop()
            if left[row] == 1:
                cell = next(c for c in inside[start[row] : start[row + 1]] if not known[c])
                determined.append((cell, row))
                settle(cell)

    follow()
    for cell in order.tolist():
        if not known[cell]:
            free.append(cell)
            settle(cell)
            follow()
    return np.array(free, dtype=np.int64), determined


def _followed(relations: csr_array, free: Integers, determined: list[tuple[int, int]]) -> csr_array:
    """Return N: rows of free cells are unit vectors, all others are computed wave by wave."""
    waves = (
        (cells, *_others(relations, cells, rows)) for cells, rows in _waves(relations, determined)
    )
    if relations.shape[1] * len(free) <= DENSE_ENTRIES:
        return _followed_densely(relations.shape[1], free, waves)
    own_place = np.arange(len(free))
    matrix = csr_array((np.ones(len(free)), (own_place, own_place)), shape=(len(free), len(free)))
    place = np.full(relations.shape[1], -1, dtype=np.int64)
    place[free] = np.arange(len(free))
    for cells, row, inside, entries in waves:
        others = csr_array((entries, (row, place[inside])), shape=(len(cells), matrix.shape[0]))
        new = csr_array(others @ matrix)
        new.data[np.abs(new.data) < NOTHING] = 0.0
        new.eliminate_zeros()
        place[cells] = matrix.shape[0] + np.arange(len(cells))
        matrix = csr_array(vstack([matrix, new], format="csr"))
    return csr_array(matrix[place])


def _followed_densely(n: int, free: Integers, waves: Iterable[Wave]) -> csr_array:
    """Return N for few cells: a sparse product for each wave takes ten times as long."""
    matrix = np.zeros((n, len(free)))
    matrix[free, np.arange(len(free))] = 1.0
    for cells, row, inside, entries in waves:
        starts = np.searchsorted(row, np.arange(len(cells)))
        # A cell that is alone in its relation does not move, and its row of N is 0.
        some = np.diff(np.append(starts, len(row))) > 0
        if np.any(some):
            moves = entries[:, None] * matrix[inside]
            matrix[cells[some]] = np.add.reduceat(moves, starts[some], axis=0)
    matrix[np.abs(matrix) < NOTHING] = 0.0
    return csr_array(matrix)


def _others(
    relations: csr_array, cells: Integers, rows: Integers
) -> tuple[Integers, Integers, Floats]:
    """Return the other cells of determining relations: number of the cell, other cell, share."""
    length = relations.indptr[rows + 1] - relations.indptr[rows]
    row = np.repeat(np.arange(len(rows)), length)
    taken = np.arange(len(row)) + np.repeat(
        relations.indptr[rows] - np.cumsum(length) + length, length
    )
    inside, data = relations.indices[taken], relations.data[taken]
    own = inside == cells[row]
    pivot = np.zeros(len(rows))
    pivot[row[own]] = data[own]
    return row[~own], inside[~own], (-data / pivot[row])[~own]


def _waves(
    relations: csr_array, determined: list[tuple[int, int]]
) -> Iterator[tuple[Integers, Integers]]:
    """Split determined cells into waves, each of which follows from those before it."""
    wave = np.zeros(relations.shape[1], dtype=np.int64)
    start, inside = relations.indptr, relations.indices
    for cell, row in determined:
        cells = inside[start[row] : start[row + 1]]
        wave[cell] = 0
        wave[cell] = wave[cells].max() + 1
    pairs = np.array(determined, dtype=np.int64).reshape(-1, 2)
    depth = wave[pairs[:, 0]]
    for number in np.unique(depth):
        chosen = pairs[depth == number]
        yield chosen[:, 0], chosen[:, 1]


@dataclass(frozen=True, eq=False)
class ExactSpan:
    """Rounds deviations of the hidden cells of one pattern.

    Parameters
    ----------
    basis : Basis
        Basis of all deviations.
    multiple : int
        Least number by which N is multiplied to make it whole; deviations of free cells are divided
        by it.
    matrix : scipy.sparse.csr_array, shape (n_cells, n_free)
        N, multiplied by `multiple`.
    space : NullSpace
        Null space of the conditions on the free cells.
    """

    basis: Basis
    multiple: int
    matrix: csr_array
    space: NullSpace

    @classmethod
    def of(
        cls, relations: csr_array, budget: Budget, most_free: float = np.inf
    ) -> ExactSpan | None:
        """Eliminate once for all deviations; None if there are too many free cells or no time.

        Parameters
        ----------
        relations : scipy.sparse.csr_array, shape (n_relations, n_cells)
            Relations between the cells that move.
        budget : Budget
            The elimination is given up when it ends.
        most_free : float, default=inf
            Most free cells for which a span is returned.
        """
        # Cells in many relations should not be free: determined, they leave fewer conditions.
        many = np.diff(csc_array(relations).indptr).astype(np.float64)
        basis = basis_of(relations, -many, most_free)
        if basis is None:
            return None
        whole = basis.matrix.copy()
        multiple = _common_multiple(whole.data)
        whole.data = np.rint(whole.data * multiple)
        entries = distinct_rows(basis.leftover)[0].tocoo()
        # One more cell without relations, whose divisor tells how fine the grid may be.
        held = np.zeros(basis.n_free + 1, dtype=bool)
        space = NullSpace(
            entries.row,
            entries.col,
            np.rint(entries.data * multiple),
            held,
            lambda: budget.is_over,
        )
        return None if space.is_given_up else cls(basis, multiple, whole, space)

    @property
    def n_cells(self) -> int:
        """Number of cells that move."""
        return int(self.matrix.shape[0])

    def near(self, deviation: Floats) -> Floats | None:
        """Return a deviation close to a given one; None if free cells share too large a divisor.

        Parameters
        ----------
        deviation : numpy.ndarray of float, shape (n_cells,)
            Moves of the cells of this span.
        """
        wanted = deviation[self.basis.free] / self.multiple
        largest = float(np.max(abs(self.matrix) @ np.abs(wanted)))
        free = self.space.near(np.append(wanted, largest))
        if free is None:
            return None
        moves: Floats = self.matrix @ free[:-1]
        return moves


def _common_multiple(fractions: Floats) -> int:
    """Return the least factor that makes fractions whole; 1 if none up to `MOST_MULTIPLE` does."""
    left = np.unique(np.round(np.abs(fractions), 9))
    for multiple in range(1, MOST_MULTIPLE + 1):
        if np.all(np.abs(left * multiple - np.rint(left * multiple)) < 1e-7 * multiple):
            return multiple
    return 1
