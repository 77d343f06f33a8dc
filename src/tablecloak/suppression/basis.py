"""A sparse basis of all deviations: few cells chosen freely, from which the others follow.

Every deviation d with A d = 0 is d = N z, where z are the deviations of the free cells. The
free cells are chosen one after the other, the smallest value first; a relation with one
undetermined cell determines it, which may determine others, and so on. Relations that are left
over become conditions on z. Small cells as free ones make N sparse: a total is the sum of what
stands below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

__all__ = ["Basis", "basis_of", "determined_cells"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

NOTHING = 1e-9
"""Coefficients below it are rounding errors: those of relations between cells are 1, or of its
order."""


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
        E, what relations that determined no cell still ask of the free ones.
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
        Cells with the smallest one become free first.
    most_free : float, default=inf
        Number of free cells beyond which None is returned.
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
    """Return the free cells, and each other cell with the relation that determines it, in order.

    Parameters
    ----------
    relations : scipy.sparse.csr_array, shape (n_relations, n_unknown)
    order : numpy.ndarray of int, shape (n_unknown,)
        In which cells become free, unless they are determined by then.
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
    """Return N: rows of free cells are unit vectors, the others follow wave by wave."""
    own_place = np.arange(len(free))
    matrix = csr_array((np.ones(len(free)), (own_place, own_place)), shape=(len(free), len(free)))
    place = np.full(relations.shape[1], -1, dtype=np.int64)
    place[free] = np.arange(len(free))
    for cells, rows in _waves(relations, determined):
        touched = csr_array(relations[rows])
        row = np.repeat(np.arange(len(rows)), np.diff(touched.indptr))
        own = touched.indices == cells[row]
        pivot = np.zeros(len(rows))
        pivot[row[own]] = touched.data[own]
        entries = (-touched.data / pivot[row])[~own]
        others = csr_array(
            (entries, (row[~own], place[touched.indices[~own]])),
            shape=(len(rows), matrix.shape[0]),
        )
        new = csr_array(others @ matrix)
        new.data[np.abs(new.data) < NOTHING] = 0.0
        new.eliminate_zeros()
        place[cells] = matrix.shape[0] + np.arange(len(cells))
        matrix = csr_array(vstack([matrix, new], format="csr"))
    return csr_array(matrix[place])


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
