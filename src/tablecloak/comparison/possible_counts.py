"""The smallest and the largest true count that agree with all that an intruder knows.

First each relation narrows the possible counts of its cells until nothing changes, which is fast;
then integer programs settle the ends that are still open. Each end is either attained by a table of
whole counts, or marked as an outer bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.errors import InputError
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.solve.solver import SolveStatus

NOTHING_FITS = (
    "No table of whole counts fits the published counts. Give the `deviation` or perturbation "
    "table that was used, and only tables of the same records."
)
"""Message if published counts contradict what is given of their perturbation."""

PROGRAM_SECONDS = 5.0
"""Time limit in seconds of one integer program. Most take milliseconds; where one is stopped, the
end of the interval remains an outer bound."""


@dataclass(frozen=True, eq=False)
class CountGuesses:
    """Possible true counts of each cell, before any relation is used.

    Cells with the same published count share their guesses.

    Parameters
    ----------
    case : numpy.ndarray of int, shape (n_cells,)
        Number of the list of guesses that each cell has.
    counts : list of numpy.ndarray of int
        Possible true counts, increasing.
    chances : list of numpy.ndarray of float
        Chance that each of these true counts is published as the cell's published count.
    """

    case: Integers
    counts: list[Integers]
    chances: list[Floats]

    def ends(self) -> tuple[Integers, Integers]:
        """Return the smallest and the largest guess of each cell."""
        low = np.array([counts[0] for counts in self.counts], dtype=np.int64)
        high = np.array([counts[-1] for counts in self.counts], dtype=np.int64)
        return low[self.case], high[self.case]

    def with_open(self, n_cells: int) -> CountGuesses:
        """Append cells of which nothing is published, none of them larger than the largest guess.

        Each is a part of some cell that has guesses.
        """
        counts = np.arange(max(int(each[-1]) for each in self.counts) + 1, dtype=np.int64)
        case = np.full(n_cells, len(self.counts), dtype=np.int64)
        return CountGuesses(
            np.concatenate([self.case, case]),
            [*self.counts, counts],
            [*self.chances, np.ones(len(counts))],
        )

    def snapped(self, lower: Integers, upper: Integers) -> tuple[Integers, Integers]:
        """Move the ends of intervals inwards to the next guess."""
        lower, upper = lower.copy(), upper.copy()
        for number, counts in enumerate(self.counts):
            cells = np.flatnonzero(self.case == number)
            first = np.searchsorted(counts, lower[cells])
            last = np.searchsorted(counts, upper[cells], side="right") - 1
            inside = first <= last
            lower[cells] = np.where(inside, counts[np.minimum(first, len(counts) - 1)], 1)
            upper[cells] = np.where(inside, counts[np.maximum(last, 0)], 0)
        return lower, upper

    def with_gaps(self, lower: Integers, upper: Integers) -> list[tuple[int, Integers]]:
        """Return the cells whose guesses within an interval skip a number, with these guesses."""
        found = []
        for number, counts in enumerate(self.counts):
            if counts[-1] - counts[0] + 1 == len(counts):
                continue
            for cell in np.flatnonzero(self.case == number):
                own = counts[(counts >= lower[cell]) & (counts <= upper[cell])]
                if len(own) and own[-1] - own[0] + 1 > len(own):
                    found.append((int(cell), own))
        return found


def possible_counts(
    guesses: CountGuesses,
    relations: csr_array,
    budget: Budget,
    *,
    sides: Floats | None = None,
    wanted: Flags | None = None,
) -> tuple[Integers, Integers, Flags]:
    """Find the interval of each true count.

    Parameters
    ----------
    guesses : Guesses
        Possible counts of each cell by itself.
    relations : scipy.sparse.csr_array, shape (n_relations, n_cells)
    budget : Budget
    sides : numpy.ndarray of float, shape (n_relations,), optional
        Right-hand sides of the relations; 0 by default.
    wanted : numpy.ndarray of bool, shape (n_cells,), optional
        Cells whose ends integer programs settle; all by default.

    Returns
    -------
    lower, upper : numpy.ndarray of int, shape (n_cells,)
    is_exact : numpy.ndarray of bool, shape (n_cells,)
        Whether both ends are attained.

    Raises
    ------
    InputError
        If no table of whole counts agrees with what is known.
    """
    right = np.zeros(relations.shape[0]) if sides is None else sides
    lower, upper = _propagated(guesses, relations, right)
    program = _program(guesses, relations, right, lower, upper)
    asked = np.ones(len(lower), dtype=bool) if wanted is None else wanted
    return _settled(program, asked, lower, upper, budget)


def _propagated(
    guesses: CountGuesses, relations: csr_array, sides: Floats
) -> tuple[Integers, Integers]:
    """Narrow intervals through each relation until nothing changes."""
    lower, upper = guesses.ends()
    matrix = csr_array(relations)
    plus, minus = matrix.maximum(0), (-matrix).maximum(0)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    for _ in range(len(lower)):
        before = lower.copy(), upper.copy()
        # Extreme sums of each relation, and the same without one cell.
        least = plus @ lower - minus @ upper
        most = plus @ upper - minus @ lower
        cells, signs = matrix.indices, matrix.data
        own_least = np.where(signs > 0, lower[cells], -upper[cells])
        own_most = np.where(signs > 0, upper[cells], -lower[cells])
        # sign * n = side - sum of the others
        high = sides[rows] - (least[rows] - own_least)
        low = sides[rows] - (most[rows] - own_most)
        new_upper = np.where(signs > 0, high, -low)
        new_lower = np.where(signs > 0, low, -high)
        np.minimum.at(upper, cells, np.floor(new_upper + 1e-9).astype(np.int64))
        np.maximum.at(lower, cells, np.ceil(new_lower - 1e-9).astype(np.int64))
        lower, upper = guesses.snapped(lower, upper)
        if np.any(lower > upper):
            raise InputError(NOTHING_FITS)
        if np.array_equal(before[0], lower) and np.array_equal(before[1], upper):
            break
    return lower, upper


def _settled(
    program: Program, wanted: Flags, lower: Integers, upper: Integers, budget: Budget
) -> tuple[Integers, Integers, Flags]:
    """Narrow intervals further by integer programs; return also which ends are attained."""
    n_cells = len(lower)
    seen_low, seen_high = upper.copy(), lower.copy()
    settled_low, settled_high = lower == upper, lower == upper
    cells = np.flatnonzero(wanted).tolist()

    def attained(counts: Integers) -> None:
        np.minimum(seen_low, counts, out=seen_low)
        np.maximum(seen_high, counts, out=seen_high)

    lower, upper = lower.copy(), upper.copy()
    for sign, settled in ((1, settled_low), (-1, settled_high)):
        for cell in cells:
            end = lower if sign > 0 else upper
            seen = seen_low if sign > 0 else seen_high
            if settled[cell] or seen[cell] == end[cell]:
                settled[cell] = True
                continue
            if budget.is_over:
                continue
            cost = np.zeros(program.n_columns)
            cost[cell] = sign
            question = program.with_columns(cost, program.lower, program.upper)
            found = solve(
                question, time_limit=min(PROGRAM_SECONDS, budget.left), gap=0.0, start=None
            )
            if found.status is SolveStatus.INFEASIBLE:
                raise InputError(NOTHING_FITS)
            if len(found.x):
                attained(np.rint(found.x[:n_cells]).astype(np.int64))
            if found.status is SolveStatus.OPTIMAL:
                end[cell] = round(found.x[cell])
                settled[cell] = True
    exact = (settled_low | (seen_low == lower)) & (settled_high | (seen_high == upper))
    return lower, upper, exact


def _program(
    guesses: CountGuesses, relations: csr_array, right: Floats, lower: Integers, upper: Integers
) -> Program:
    """Build the program of whole, additive counts; cells with gaps choose among their guesses."""
    n_cells, n_rows = len(lower), relations.shape[0]
    choices = guesses.with_gaps(lower, upper)
    columns, rows, data, sides = [], [], [], []
    width, row = n_cells, n_rows
    for cell, counts in choices:
        # n = sum of count * choice, with exactly one choice.
        own = width + np.arange(len(counts))
        rows += [row] * (len(counts) + 1) + [row + 1] * len(counts)
        columns += [cell, *own, *own]
        data += [-1.0, *counts, *([1.0] * len(counts))]
        sides += [0.0, 1.0]
        width, row = width + len(counts), row + 2
    base = relations.tocoo()
    matrix = csr_array(
        (
            np.concatenate([base.data, data]),
            (
                np.concatenate([base.coords[0], rows]).astype(np.int64),
                np.concatenate([base.coords[1], columns]).astype(np.int64),
            ),
        ),
        shape=(row, width),
    )
    side = np.concatenate([right, sides])
    extra = width - n_cells
    return Program(
        cost=np.zeros(width),
        matrix=matrix,
        row_lower=side,
        row_upper=side,
        lower=np.concatenate([lower, np.zeros(extra)]).astype(np.float64),
        upper=np.concatenate([upper, np.ones(extra)]).astype(np.float64),
        integral=np.ones(width, dtype=bool),
    )
