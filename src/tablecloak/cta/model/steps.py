"""Whole steps from a starting point, as a program: small numbers however large the point is.

A point is start + sum of steps, where each block of columns moves some places up or down by whole
numbers. The search for whole numbers next to a fractional table, rounding to the last digit, and
controlled rounding are programs of this form.

Next to a fractional adjustment, its changes are rounded; where that does not give an adjustment, a
mixed-integer program searches whole numbers near them. In two dimensions, best changes are whole by
themselves; in more dimensions whole numbers have to be asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Floats, Integers, LongFloats
from tablecloak.budget import Budget
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.refinement import group_changes, refined
from tablecloak.errors import SolverError
from tablecloak.solve.exact import exact_products
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program


@dataclass(frozen=True, eq=False)
class StepBlock:
    """Columns that move places in one direction.

    Parameters
    ----------
    places : numpy.ndarray of int
        Columns of the matrix of the rows.
    sign : int
        1 up, -1 down.
    cost : numpy.ndarray of float, shape (len(places),)
        Of each step.
    most : numpy.ndarray of float, shape (len(places),)
        Largest number of steps.
    """

    places: Integers
    sign: int
    cost: Floats
    most: Floats


@dataclass(frozen=True, eq=False)
class StepProgram:
    """low <= matrix @ moves <= high with moves in whole steps, and the way back to moves.

    Parameters
    ----------
    program : Program
    blocks : tuple of StepBlock
    n_places : int
    """

    program: Program
    blocks: tuple[StepBlock, ...]
    n_places: int

    @classmethod
    def of(
        cls, matrix: csr_array, low: Floats, high: Floats, blocks: Sequence[StepBlock]
    ) -> StepProgram:
        """Write rows on moves as a program in steps.

        Parameters
        ----------
        matrix : scipy.sparse.csr_array, shape (n_rows, n_places)
        low, high : numpy.ndarray of float, shape (n_rows,)
            What the moves have to make up for: sides less the activity of the starting point.
        blocks : sequence of StepBlock
        """
        parts = [block.sign * matrix[:, block.places] for block in blocks]
        n = sum(len(block.places) for block in blocks)
        program = Program(
            cost=np.concatenate([block.cost for block in blocks]),
            matrix=csr_array(hstack(parts, format="csr")),
            row_lower=low,
            row_upper=high,
            lower=np.zeros(n),
            upper=np.concatenate([block.most for block in blocks]),
            integral=np.ones(n, dtype=bool),
        )
        return cls(program, tuple(blocks), matrix.shape[1])

    def moves(self, x: Floats) -> Integers:
        """Return how far each place moves, in whole steps."""
        moved = np.zeros(self.n_places, dtype=np.int64)
        ends = np.cumsum([len(block.places) for block in self.blocks])
        for block, steps in zip(self.blocks, np.split(np.rint(x), ends[:-1]), strict=True):
            moved[block.places] += block.sign * steps.astype(np.int64)
        return moved


REACH = (1.0, 4.0, 100.0)
"""Largest distances from the fractional changes at which whole numbers are searched, one after the
other. Chosen by trial; not measured."""

MOST_WHOLE = 2.0**52
"""Largest change in whole numbers."""

WHOLE_GAP = 1e-4
"""Relative gap at which the search for whole numbers may stop."""


def whole_changes(model: AdjustmentModel, z: npt.ArrayLike, budget: Budget) -> Integers | None:
    """Return changes in whole numbers next to given ones, with the same directions.

    Parameters
    ----------
    model : AdjustmentModel
    z : array of float, shape (n_cells,)
    budget : Budget

    Returns
    -------
    numpy.ndarray of int or None
        None if none were found.
    """
    g = group_changes(model, z)
    whole = _whole(model, g)
    if whole is not None:
        return whole
    try:
        g = refined(model, g, budget)
    except SolverError:
        return None
    whole = _whole(model, g)
    for number, reach in enumerate(REACH):
        if whole is None:
            whole = _search(model, g, reach, budget.past(1.0) / (len(REACH) - number))
    return whole


def is_near_whole(model: AdjustmentModel, z: npt.ArrayLike) -> bool:
    """Whether rounding the changes is enough for an adjustment in whole numbers."""
    return _whole(model, group_changes(model, z)) is not None


def _whole(model: AdjustmentModel, g: npt.NDArray[np.floating]) -> Integers | None:
    """Return the rounded changes of all cells; None if these are not an adjustment."""
    rounded = np.rint(g)
    if np.any(np.abs(rounded) > MOST_WHOLE):
        return None
    low, high = model.box(g)
    if np.any((rounded < low) | (rounded > high)):
        return None
    groups = rounded.astype(np.int64)
    changes: Integers = np.asarray(model.coupled.spread.astype(np.int64) @ groups)
    if np.any(exact_products(model.problem.table.relations, changes)):
        return None
    exact = changes.astype(np.float64)
    if any(row.error(exact) > 0 for row in model.preserved):
        return None
    return changes


def _search(
    model: AdjustmentModel, g: LongFloats, reach: float, time_limit: float
) -> Integers | None:
    """Search whole changes that differ from the fractional ones by at most `reach`."""
    low, high = model.box(g)
    first = np.maximum(np.ceil(low), np.floor(g) - reach)
    last = np.minimum(np.floor(high), np.ceil(g) + reach)
    if np.any(first > last):
        return None
    crosses = (first < 0) & (last > 0)
    base = np.where(crosses, 0, np.clip(np.rint(g), first, last)).astype(np.longdouble)
    slope = np.where(crosses, 1.0, np.sign(first + last).astype(np.float64))
    cost = model.cost / (float(np.max(model.cost, initial=0.0)) or 1.0)
    rows, places = model.rows, np.arange(model.n_groups)
    activity = rows.matrix.astype(np.longdouble) @ base
    up = StepBlock(places, 1, slope * cost, (last - base).astype(np.float64))
    back = np.where(crosses, 1.0, -slope) * cost
    down = StepBlock(places, -1, back, (base - first).astype(np.float64))
    least, most = ((side - activity).astype(np.float64) for side in (rows.low, rows.high))
    steps = StepProgram.of(rows.matrix, least, most, [up, down])
    try:
        solution = solve(steps.program, time_limit=time_limit, gap=WHOLE_GAP)
    except SolverError:
        return None
    if not len(solution.x):
        return None
    return _whole(model, base + steps.moves(solution.x))
