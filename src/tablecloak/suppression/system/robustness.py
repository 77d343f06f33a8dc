"""How many hidden values an intruder must learn to compute others.

A pattern can satisfy every protection level although all hidden cells move along one direction. An
intruder who then learns a single hidden value knows all of them. The dimension of the space of
deviations is the number of hidden values from which all others follow.

Coefficients are fractions, so that all arithmetic is exact. The rank modulo a prime is never larger
than the true rank, so the dimension is never too small. It would be too large only if the prime, of
61 binary digits, divided all of the largest minors of the relations that are not 0.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Integers
from tablecloak.graph import components_of_cells
from tablecloak.solve.exact import whole_rows
from tablecloak.tables.coupling import CoupledCells
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.relations import distinct_rows

PRIME = 2**61 - 1
"""A Mersenne prime; sums of two products below it still fit into few machine words."""

DRAWN = 3
"""Number of random solutions by which cells are compared. Cells that are not proportional agree in
all of them with a probability of 2^-122."""

SUMMED_UP_CELLS = 100_000
"""Most hidden cells for which a summary contains the dimension, which takes seconds for more cells.
docs/decisions, "Dimension of what is unknown"."""


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


@dataclass(frozen=True, eq=False)
class Robustness:
    """The hidden values that follow once an intruder learns some of them. Secret.

    All hidden values follow from `dimension` well chosen ones. Arithmetic is exact modulo a prime
    of 61 binary digits; `dimension` is never too small. External bounds are left aside: where they
    are tight, an intruder may compute values from fewer others.

    Parameters
    ----------
    problem : ProtectionProblem
    cells : numpy.ndarray of int, shape (n_unknown,)
        Hidden cells whose values are not known beforehand.
    dimension : int
        Least number of hidden values from which all others follow.
    component : numpy.ndarray of int, shape (n_unknown,)
        Component of each cell; values of one component tell nothing of another. -1 for cells that
        follow from the published ones.
    dimensions : numpy.ndarray of int, shape (n_components,)
        Dimension of each component; they add up to `dimension`.
    group : numpy.ndarray of int, shape (n_unknown,)
        Group of each cell; an intruder who learns one cell of a group knows all. -1 as above.
    fact : numpy.ndarray of int, shape (n_unknown,)
        Number of each value; copies of one value, such as a total with a single child, share it.
    """

    problem: ProtectionProblem
    cells: Integers
    dimension: int
    component: Integers
    dimensions: Integers
    group: Integers
    fact: Integers

    @classmethod
    def of(cls, problem: ProtectionProblem, suppressed: Flags) -> Robustness:
        """Compute the robustness of any pattern.

        Parameters
        ----------
        problem : ProtectionProblem
        suppressed : numpy.ndarray of bool, shape (n_cells,)
        """
        is_open = problem.upper_bound > problem.lower_bound
        cells = np.flatnonzero(suppressed & ~problem.frozen & is_open)
        matrix, _ = distinct_rows(csr_array(problem.table.relations[:, cells]))
        solutions = Solutions(matrix)
        group = solutions.groups()
        component = components_of_cells(matrix, group >= 0)
        n_components = _n(component)
        free = component[solutions.free_cells()]
        dimensions = np.bincount(free[free >= 0], minlength=n_components).astype(np.int64)
        fact = _facts(problem, is_open)[cells]
        return cls(problem, cells, solutions.dimension, component, dimensions, group, fact)

    @property
    def n_known(self) -> int:
        """Number of hidden cells that follow from the published ones."""
        return int(np.sum(self.group < 0))

    @property
    def sensitive(self) -> Flags:
        """Which of the hidden cells are sensitive, shape (n_unknown,)."""
        flags: Flags = self.problem.sensitive[self.cells]
        return flags

    def told(self) -> Integers:
        """Return how many sensitive cells follow from each hidden value, itself included.

        Returns
        -------
        numpy.ndarray of int, shape (n_unknown,)
            0 for cells that follow from the published ones.
        """
        moving = self.group >= 0
        per_group = np.bincount(self.group[moving & self.sensitive], minlength=_n(self.group))
        return np.where(moving, np.append(per_group, 0)[self.group], 0)

    @property
    def most_told(self) -> int:
        """Largest number of sensitive cells that follow from one hidden value."""
        return int(self.told().max(initial=0))

    @property
    def n_exposed(self) -> int:
        """Number of sensitive cells that follow from one other value."""
        moving = self.group >= 0
        pairs = np.unique(np.column_stack([self.group, self.fact])[moving], axis=0)
        facts = np.append(np.bincount(pairs[:, 0], minlength=_n(self.group)), 0)
        return int(np.sum(moving & self.sensitive & (facts[self.group] > 1)))

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each component, the least robust first.

        Columns: number of hidden ``cells``, number of ``sensitive`` ones among them, ``dimension``,
        and ``told``, the largest number of sensitive cells that follow from one value.
        """
        moving, n = self.component >= 0, len(self.dimensions)
        own, told = self.component[moving], np.zeros(n, dtype=np.int64)
        np.maximum.at(told, own, self.told()[moving])
        frame = pd.DataFrame(
            {
                "cells": np.bincount(own, minlength=n),
                "sensitive": np.bincount(own, self.sensitive[moving], minlength=n).astype(int),
                "dimension": self.dimensions,
                "told": told,
            }
        )
        return frame.sort_values(["told", "dimension"], ascending=[False, True], kind="stable")

    def summary(self) -> str:
        """Return in a few words how many values determine others. Names no cell and no value."""
        n = int(self.sensitive.sum())
        right = (
            "the right unpublished value"
            if self.dimension == 1
            else (f"the right {self.dimension} unpublished values")
        )
        return (
            f"whoever learns {right} can compute all others; any one alone gives away at most "
            f"{self.most_told} of {n} sensitive cells"
        )

    def in_summary(self) -> str:
        """Return the addition to the summary of a pattern; empty if it hides no sensitive cell."""
        return f", {self.summary()}" if np.any(self.sensitive) else ""

    def __repr__(self) -> str:
        return f"<robustness: {self.summary()}>"


def _n(group: Integers) -> int:
    return int(group.max(initial=-1)) + 1


def _facts(problem: ProtectionProblem, is_open: Flags) -> Integers:
    """Return one number for all copies of a value, shape (n_cells,)."""
    movable = ~problem.frozen & is_open
    group = CoupledCells.find(problem.table.relations, movable, problem.sensitive).group
    facts: Integers = np.where(group >= 0, group, _n(group) + np.arange(len(group)))
    return facts
