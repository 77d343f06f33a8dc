"""Sparse elimination modulo a prime: dimension of the deviations, and cells that move together.

Coefficients are fractions, so that all arithmetic is exact. The rank modulo a prime is never larger
than the true rank, so the dimension is never too small. It would be too large only if the prime, of
61 binary digits, divided all of the largest minors of the relations that are not 0.
"""

from __future__ import annotations

import heapq
from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Integers
from tablecloak.solve.exact import whole_rows

__all__ = ["Solutions"]

PRIME = 2**61 - 1
"""A Mersenne prime; sums of two products below it still fit into few machine words."""

DRAWN = 3
"""Number of random solutions by which cells are compared. Cells that are not proportional agree in
all of them with a probability of 2^-122."""


class Solutions:
    """All solutions of A d = 0 modulo a prime.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, shape (n_rows, n_cells)

    Attributes
    ----------
    dimension : int
        Dimension of the space of solutions.
    """

    def __init__(self, matrix: csr_array) -> None:
        self.n_cells = matrix.shape[1]
        self._pivots = _eliminated(_rows_of(matrix), self.n_cells)
        self.dimension = self.n_cells - len(self._pivots)

    def free_cells(self) -> Integers:
        """Return cells whose deviations are free; all others follow from them."""
        follows = np.zeros(self.n_cells, dtype=bool)
        follows[[cell for cell, _ in self._pivots]] = True
        return np.flatnonzero(~follows)

    def groups(self) -> Integers:
        """Return a group for each cell: cells of one group follow from each other.

        Returns
        -------
        numpy.ndarray of int, shape (n_cells,)
            -1 for cells that do not move in any solution.
        """
        random = np.random.default_rng(20013)
        drawn = [self._drawn(random) for _ in range(DRAWN)]
        number: dict[tuple[int, ...], int] = {}
        group = np.full(self.n_cells, -1, dtype=np.int64)
        for cell, moves in enumerate(zip(*drawn, strict=True)):
            first = next((move for move in moves if move), 0)
            if first:
                inverse = pow(first, -1, PRIME)
                ratios = tuple(move * inverse % PRIME for move in moves)
                group[cell] = number.setdefault(ratios, len(number))
        return group

    def _drawn(self, random: np.random.Generator) -> list[int]:
        """Return a random solution."""
        solution: list[int] = random.integers(1, PRIME, self.n_cells).tolist()
        for cell, row in reversed(self._pivots):
            total = sum(entry * solution[other] for other, entry in row.items())
            solution[cell] = -total % PRIME
        return solution


def _rows_of(matrix: csr_array) -> list[dict[int, int]]:
    """Return the rows modulo the prime, with decimal coefficients read as fractions."""
    whole, real = whole_rows(matrix)
    rows = []
    for row, (start, stop) in enumerate(zip(whole.indptr[:-1], whole.indptr[1:], strict=True)):
        data = whole.data[start:stop].tolist()
        if real[row]:
            parts = [Fraction(entry) for entry in data]
            data = [part.numerator * pow(part.denominator, -1, PRIME) for part in parts]
        entries = (int(entry) % PRIME for entry in data)
        cells = whole.indices[start:stop].tolist()
        rows.append({cell: entry for cell, entry in zip(cells, entries, strict=True) if entry})
    return rows


def _eliminated(rows: list[dict[int, int]], n_cells: int) -> list[tuple[int, dict[int, int]]]:
    """Return cells that follow from others, each with the negative of its coefficients.

    The shortest row is eliminated first, by its cell with the fewest other rows: this creates the
    fewest new entries (Markowitz). In tables nearly every step is a substitution.
    """
    at: list[set[int]] = [set() for _ in range(n_cells)]
    for number, row in enumerate(rows):
        for cell in row:
            at[cell].add(number)
    waiting = [(len(row), number) for number, row in enumerate(rows) if row]
    heapq.heapify(waiting)
    pivots = []
    while waiting:
        length, number = heapq.heappop(waiting)
        row = rows[number]
        if len(row) != length or not row:
            continue
        cell = min(row, key=lambda each: (len(at[each]), each))
        inverse = pow(row.pop(cell), -1, PRIME)
        own = {other: entry * inverse % PRIME for other, entry in row.items()}
        rows[number] = {}
        for other in own:
            at[other].discard(number)
        at[cell].discard(number)
        for changed in at[cell]:
            _subtract(rows[changed], changed, cell, own, at)
            if rows[changed]:
                heapq.heappush(waiting, (len(rows[changed]), changed))
        at[cell] = set()
        pivots.append((cell, own))
    return pivots


def _subtract(
    row: dict[int, int], number: int, cell: int, own: dict[int, int], at: list[set[int]]
) -> None:
    """Take a cell out of a row, in place."""
    factor = row.pop(cell)
    for other, entry in own.items():
        left = (row.get(other, 0) - factor * entry) % PRIME
        if left:
            row[other] = left
            at[other].add(number)
        else:
            row.pop(other, None)
            at[other].discard(number)
