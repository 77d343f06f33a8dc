"""Exact arithmetic: relations in whole numbers, exact zero products, and exact solutions.

A solver satisfies A d = 0 up to an absolute tolerance, which may be large for a small cell. Here a
solution d is replaced by a close one of binary fractions for which A d = 0 holds exactly, so that
a proof with it needs no tolerance. The null space of a matrix of whole numbers has a basis of
whole numbers; therefore a finer grid has a closer d.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csc_array, csr_array

from tablecloak.arrays import Flags, Floats, Integers

DECIMALS = 12
"""Most decimals with which a coefficient is read as a decimal number."""

SAFE_SUM = 2.0**62
"""Sums of whole numbers below this do not overflow."""

SNAP_BITS = 34
"""Binary digits, below the largest entry, of the grid to which a solution is first rounded: coarse
enough to remove the solver's rounding errors, fine enough to keep a need within 1e-9."""

WHOLE_NOISE = 1e-6
"""Distance from a whole number that counts as a rounding error of the solver."""

FINE_BITS = 52
"""Binary digits of the grid on which a solution is repaired; sums on it are exact as floats."""

FILL = 200
"""Work of an elimination, as a multiple of the entries at its start, at which a repair is given
up."""

MOST_STEPS = 30_000_000
"""Entries touched by an elimination, some 20 seconds, at which a repair is given up."""

ASKED_EVERY = 10
"""Number of pivots between two checks whether an elimination should be given up."""

LARGEST_MULTIPLE = 2**24
"""Common divisor of the free cells beyond which a repair is given up: rounding to its multiples
would move the solution too far."""


def rounded_down(number: float, bits: int) -> float:
    """Return the largest number of some binary digits that is not above a number."""
    fraction, exponent = math.frexp(number)
    return math.ldexp(math.floor(math.ldexp(fraction, bits)), exponent - bits)


def whole_factors(matrix: csr_array) -> Floats:
    """Return the power of ten that makes the coefficients of each row whole numbers.

    Coefficients are read as decimal numbers: 0.1 is one tenth, not the nearest binary fraction.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, shape (n_rows, n_columns)

    Returns
    -------
    numpy.ndarray of float, shape (n_rows,)
        0 for a row with a coefficient of more than `DECIMALS` decimals.
    """
    n_rows = matrix.shape[0]
    row = np.repeat(np.arange(n_rows), np.diff(matrix.indptr))
    factor = np.zeros(n_rows)
    for decimals in range(DECIMALS + 1):
        scale = 10.0**decimals
        whole = np.rint(matrix.data * scale)
        fits = (whole / scale == matrix.data) & (np.abs(whole) < 2.0**31)
        good = np.bincount(row[~fits], minlength=n_rows) == 0
        factor[good & (factor == 0)] = scale
        if np.all(factor > 0):
            break
    return factor


def whole_rows(matrix: csr_array) -> tuple[csr_array, Flags]:
    """Return a matrix with whole coefficients, stored as floats, and the rows left as they were."""
    factor = whole_factors(matrix)
    return WholeRows.of(matrix, factor).matrix, factor == 0


@dataclass(frozen=True, eq=False)
class WholeRows:
    """Rows in whole numbers, whose combinations are 0 where those of decimal numbers are.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, shape (n_rows, n_columns)
        Whole coefficients; rows that have none as they are.
    factor : numpy.ndarray of float, shape (n_rows,)
        Power of ten by which each row was multiplied.
    """

    matrix: csr_array
    factor: Floats

    @classmethod
    def of(cls, matrix: csr_array, factor: Floats) -> WholeRows:
        """Return the rows of a matrix times their `whole_factors`."""
        row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        scaled = np.where(factor[row] == 0, matrix.data, np.rint(matrix.data * factor[row]))
        whole = csr_array((scaled, matrix.indices, matrix.indptr), shape=matrix.shape)
        return cls(whole, np.maximum(factor, 1.0))

    def combined(self, rows: Integers, multipliers: Floats) -> Floats:
        """Return the sum of rows of the given matrix times multipliers."""
        gamma, power = np.zeros(self.matrix.shape[0]), self._power(rows)
        gamma[rows] = multipliers * (power / self.factor[rows])
        total: Floats = (self.matrix.T @ gamma) / power
        return total

    def combinations(
        self, place: Integers, rows: Integers, multipliers: Floats, count: int
    ) -> csr_array:
        """Return several such sums, each scaled by some power of ten.

        Parameters
        ----------
        place : numpy.ndarray of int, shape (n_terms,)
            Sum to which each term belongs.
        rows : numpy.ndarray of int, shape (n_terms,)
        multipliers : numpy.ndarray of float, shape (n_terms,)
        count : int
            Number of sums.
        """
        gamma = multipliers * (self._power(rows) / self.factor[rows])
        shape = (count, self.matrix.shape[0])
        return csr_array(csr_array((gamma, (place, rows)), shape=shape) @ self.matrix)

    def settled(self, rows: Integers, multipliers: Floats, zero: Integers) -> Floats | None:
        """Return multipliers near the given ones whose sum of rows is exactly 0 in some columns.

        None if there are none.
        """
        power = self._power(rows)
        part = coo_array(csr_array(self.matrix[rows, :])[:, zero])
        coefficient = part.data * (power / self.factor[rows])[part.row]
        if np.any(coefficient != np.rint(coefficient)) or np.any(
            abs(coefficient) >= 2.0**FINE_BITS
        ):
            return None
        entries = part.col, part.row, coefficient
        rounded = next(snapped(*entries, multipliers), None)
        if rounded is not None:
            return rounded
        return NullSpace(*entries, np.zeros(len(rows), dtype=bool)).near(multipliers)

    def _power(self, rows: Integers) -> float:
        return float(np.max(self.factor[rows], initial=1.0))


def independent_whole_rows(matrix: csr_array) -> Integers:
    """Return rows of whole numbers that imply all others, none of which follows from those before.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, shape (n_rows, n_columns)
        Whole numbers, stored as floats.
    """
    return np.array([number for number, _, _ in _echelon(matrix)], dtype=np.int64)


def columns_at_zero(matrix: csr_array) -> Flags:
    """Flag the columns that are 0 in every solution of A x = 0, for a matrix of whole numbers."""
    is_zero = np.zeros(matrix.shape[1], dtype=bool)
    later: list[tuple[int, dict[int, int]]] = []
    for _, cell, row in reversed(_echelon(matrix)):
        reduced = row
        for other, pivot in later:
            if other in reduced:
                reduced = _without_pivot(reduced, pivot, other)
        later.append((cell, reduced))
        is_zero[cell] = len(reduced) == 1
    return is_zero


def _echelon(matrix: csr_array) -> list[tuple[int, int, dict[int, int]]]:
    """Return independent rows without the pivots of those before, each with number and pivot."""
    echelon: list[tuple[int, int, dict[int, int]]] = []
    for number in range(matrix.shape[0]):
        part = slice(matrix.indptr[number], matrix.indptr[number + 1])
        entries = zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True)
        row = {cell: int(entry) for cell, entry in entries if entry}
        for _, cell, pivot in echelon:
            if cell in row:
                row = _without_pivot(row, pivot, cell)
        if row:
            echelon.append((number, min(row, key=lambda cell: abs(row[cell])), row))
    return echelon


def exact_products(relations: csr_array, whole: Integers) -> Floats:
    """Return relations @ whole, which is 0 exactly for relations that hold.

    Coefficients are read as the decimal numbers as which they were written: 0.1 is one tenth.
    """
    factor = whole_factors(relations)
    decimal, real = np.flatnonzero(factor), np.flatnonzero(factor == 0)
    products = np.zeros(relations.shape[0])
    in_whole_numbers = whole_products(whole_rows(relations[decimal, :])[0], whole)
    products[decimal] = (in_whole_numbers / factor[decimal]).astype(np.float64)
    for row in real.tolist():
        part = slice(relations.indptr[row], relations.indptr[row + 1])
        terms = zip(relations.data[part].tolist(), relations.indices[part].tolist(), strict=True)
        products[row] = float(sum(Fraction(repr(c)) * int(whole[cell]) for c, cell in terms))
    return products


def whole_products(rows: csr_array, whole: Integers) -> npt.NDArray[Any]:
    """Return rows @ whole for rows of whole coefficients, in whole numbers of any size."""
    coefficients = np.rint(rows.data).astype(np.int64)
    size = abs(rows) @ np.abs(whole).astype(np.float64)
    if float(size.max(initial=0.0)) < SAFE_SUM:
        exact = csr_array((coefficients, rows.indices, rows.indptr), shape=rows.shape)
        return np.asarray(exact @ whole)
    terms = coefficients.astype(object) * whole[rows.indices].astype(object)
    return np.array([sum(part) for part in np.split(terms, rows.indptr[1:-1])], dtype=object)


def products_vanish(matrix: csr_array, vectors: csr_array) -> Flags:
    """Whether the product of each vector with every row of a whole-number matrix is exactly 0.

    Floats are whole multiples of a power of two. If g is the largest power of two that divides all
    entries of a vector d, and sum_j |a_j d_j| <= 2^53 g in each row, no sum in the product is
    rounded. Otherwise the product is computed in Python's whole numbers.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, shape (n_rows, n_cells)
        Whole numbers, stored as floats.
    vectors : scipy.sparse.csr_array, shape (n_vectors, n_cells)
        Finite, without duplicates.

    Returns
    -------
    numpy.ndarray of bool, shape (n_vectors,)
    """
    n_vectors = vectors.shape[0]
    if not vectors.nnz or not matrix.nnz:
        return np.ones(n_vectors, dtype=bool)
    transposed = csc_array(vectors.T)
    residual = csc_array(matrix @ transposed)
    size = csc_array(abs(matrix) @ abs(transposed))
    grain = _smallest_bits(vectors)
    largest = _largest_by_column(size, n_vectors)
    broken = _largest_by_column(csc_array(abs(residual)), n_vectors) > 0
    for number in np.flatnonzero(largest > 2.0**53 * grain).tolist():
        broken[number] = not _vanishes_in_whole_numbers(matrix, vectors, number)
    vanishing: Flags = ~broken
    return vanishing


def _largest_by_column(matrix: csc_array, n_columns: int) -> Floats:
    largest = np.zeros(n_columns)
    columns = np.repeat(np.arange(n_columns), np.diff(matrix.indptr))
    np.maximum.at(largest, columns, matrix.data)
    return largest


def _smallest_bits(vectors: csr_array) -> Floats:
    """Return the largest power of two that divides all entries of each vector."""
    smallest = np.full(vectors.shape[0], np.inf)
    row = np.repeat(np.arange(vectors.shape[0]), np.diff(vectors.indptr))
    used = vectors.data != 0
    mantissa, exponent = np.frexp(vectors.data[used])
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    lowest = (whole & -whole).astype(np.float64)
    np.minimum.at(smallest, row[used], np.ldexp(lowest, exponent - 53))
    return smallest


def _vanishes_in_whole_numbers(matrix: csr_array, vectors: csr_array, number: int) -> bool:
    taken = slice(vectors.indptr[number], vectors.indptr[number + 1])
    cells, data = vectors.indices[taken], vectors.data[taken]
    fractions = [value.as_integer_ratio() for value in data.tolist()]
    common = max(denominator for _, denominator in fractions)
    whole = {
        int(cell): numerator * (common // denominator)
        for cell, (numerator, denominator) in zip(cells, fractions, strict=True)
    }
    columns = csc_array(matrix[:, cells])
    sums: dict[int, int] = {}
    for position, cell in enumerate(cells.tolist()):
        for entry in range(columns.indptr[position], columns.indptr[position + 1]):
            row = int(columns.indices[entry])
            sums[row] = sums.get(row, 0) + int(columns.data[entry]) * whole[cell]
    return not any(sums.values())


def snapped(row: Integers, column: Integers, coefficient: Floats, d: Floats) -> Iterator[Floats]:
    """Yield `d` rounded to whole numbers, and to a binary grid, if the product with A is then 0.

    Most solutions, such as cycles, are multiples of one step, and rounding makes them exact.

    Parameters
    ----------
    row, column, coefficient : numpy.ndarray, shape (n_entries,)
        Whole coefficients of the matrix over the cells of `d`, entry by entry; rows numbered
        from 0.
    d : numpy.ndarray of float, shape (n_cells,)
        Solves the system up to a solver's rounding errors; no entry is 0.
    """
    top = _largest_sum(row, column, coefficient, d)
    grid = 2.0 ** (math.frexp(float(np.max(np.abs(d))))[1] - SNAP_BITS)
    for rounded, unit, noise in (
        (np.rint(d), 1.0, WHOLE_NOISE),
        (np.rint(d / grid) * grid, grid, grid),
    ):
        near = top < 2.0**FINE_BITS * unit and np.all(np.abs(rounded - d) <= noise)
        if near and not np.any(np.bincount(row, coefficient * rounded[column])):
            yield rounded


def _largest_sum(row: Integers, column: Integers, coefficient: Floats, d: Floats) -> float:
    size = np.bincount(row, np.abs(coefficient * d[column]), minlength=1)
    return max(float(size.max()), float(np.max(np.abs(d))))


class NullSpace:
    """Exact solutions of A d = 0 over the cells that a solution moves, by elimination.

    Parameters
    ----------
    row, column, coefficient : numpy.ndarray, shape (n_entries,)
        Whole coefficients, as for `snapped`; those of 0 count for nothing.
    held : numpy.ndarray of bool, shape (n_cells,)
        Cells at a bound or exactly at their need; the repair moves other cells first.
    ended : callable, optional
        Returns whether to give up; called every `ASKED_EVERY` pivots.
    """

    def __init__(
        self,
        row: Integers,
        column: Integers,
        coefficient: Floats,
        held: Flags,
        ended: Callable[[], bool] = lambda: False,
    ) -> None:
        self.row, self.column, self.coefficient = row, column, coefficient
        self.held = held
        self._pivots = _eliminated(row, column, coefficient, held, ended)
        self.is_given_up = self._pivots is None
        self.is_cut_short = self.is_given_up and ended()
        self._multiple = 1

    def near(self, d: Floats) -> Floats | None:
        """Return binary fractions close to `d` whose product with each row is exactly 0.

        A cell that the rows fix is 0 in the result. None if the elimination was given up, or if
        the common divisor of the free cells becomes too large.
        """
        if self._pivots is None:
            return None
        top = _largest_sum(self.row, self.column, self.coefficient, d)
        grid = 2.0 ** (math.frexp(top)[1] - FINE_BITS)
        # Pivots are whole if all free cells are multiples of some number: try 1, then multiply it
        # by the factor that was missing.
        while self._multiple <= LARGEST_MULTIPLE:
            whole, lacking = _solved(self._pivots, d / grid, self._multiple)
            if lacking == 1:
                exact = np.array([float(number) for number in whole])
                fits = all(int(x) == number for x, number in zip(exact, whole, strict=True))
                return exact * grid if fits else None
            self._multiple *= lacking
        return None


def _solved(
    pivots: list[tuple[int, dict[int, int]]], d: Floats, multiple: int
) -> tuple[list[int], int]:
    """Return the values, computed from the last pivot to the first, and the missing factor."""
    # Towards 0, so that a free cell at a bound stays within it.
    whole = [multiple * int(value / multiple) for value in d.tolist()]
    divisor = 1
    for cell, row in reversed(pivots):
        total = -sum(entry * whole[other] for other, entry in row.items() if other != cell)
        pivot = row[cell]
        lacking = abs(pivot) // math.gcd(total, pivot)
        if lacking > 1:
            divisor *= lacking
            if divisor > LARGEST_MULTIPLE:
                break
            whole = [number * lacking for number in whole]
            total *= lacking
        whole[cell] = total // pivot
    return whole, divisor


def _eliminated(
    row: Integers,
    column: Integers,
    coefficient: Floats,
    held: Flags,
    ended: Callable[[], bool],
) -> list[tuple[int, dict[int, int]]] | None:
    """Eliminate in whole numbers, the shortest row first.

    Returns each pivot cell with its row when it was chosen: its own pivot, later pivots and free
    cells. A row of one cell fixes that cell at 0. None if the rows grow too large, or if `ended`
    says so.
    """
    rows: dict[int, dict[int, int]] = {}
    cells: list[set[int]] = [set() for _ in held]
    is_held = held.tolist()
    for r, c, a in zip(row.tolist(), column.tolist(), coefficient.tolist(), strict=True):
        # Sparse matrices may store zeros, such as coefficients that were rounded to 0.
        if not a:
            continue
        rows.setdefault(r, {})[c] = int(a)
        cells[c].add(r)
    room = min(FILL * max(len(row), 50), MOST_STEPS)
    heap = [(len(own), r) for r, own in rows.items()]
    heapq.heapify(heap)
    pivots: list[tuple[int, dict[int, int]]] = []
    while heap:
        length, r = heapq.heappop(heap)
        own = rows.get(r)
        if own is None or len(own) != length:
            continue
        # A pivot gets whatever value its row demands, so a cell at a bound is the last choice;
        # then small coefficients and short columns keep numbers and rows small.
        cell = min(own, key=lambda c: (is_held[c], abs(own[c]), len(cells[c])))
        for c in own:
            cells[c].discard(r)
        del rows[r]
        pivots.append((cell, own if length > 1 else {cell: 1}))
        for other in list(cells[cell]):
            room -= len(own)
            reduced = _without_pivot(rows[other], own, cell)
            for c in own:
                (cells[c].add if c in reduced else cells[c].discard)(other)
            if reduced:
                rows[other] = reduced
                heapq.heappush(heap, (len(reduced), other))
            else:
                del rows[other]
        if room < 0 or (len(pivots) % ASKED_EVERY == 0 and ended()):
            return None
    return pivots


def _without_pivot(target: dict[int, int], pivot: dict[int, int], cell: int) -> dict[int, int]:
    """Eliminate a cell from a row by the pivot's row, in the smallest whole numbers.

    The target is changed in place, because it is often much longer than the pivot's row.
    """
    common = math.gcd(target[cell], pivot[cell])
    times, minus = pivot[cell] // common, target[cell] // common
    if times < 0:
        times, minus = -times, -minus
    if times > 1:
        for c in target:
            target[c] *= times
    for c, a in pivot.items():
        value = target.get(c, 0) - minus * a
        if value:
            target[c] = value
        else:
            target.pop(c, None)
    if not target or 1 in target.values() or -1 in target.values():
        return target
    divisor = math.gcd(*target.values())
    return {c: a // divisor for c, a in target.items()} if divisor > 1 else target
