"""From the point of a solver to a table that is additive exactly, or as exactly as doubles are.

A solver keeps relations up to 1e-9 of its unit. Here the error that is left is measured
in extended precision and made the unit of a further program, for a correction, until nothing is
left that doubles can tell (iterative refinement).

References
----------
.. [1] Gleixner, Steffy, Wolter: Iterative refinement for linear programming, INFORMS Journal on
   Computing 28 (2016).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Floats, LongFloats, median_of_positive
from tablecloak.budget import Budget
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.precision import (
    LEVEL_SHARE,
    RELATION_ULPS,
)
from tablecloak.cta.model.room import near_bound
from tablecloak.cta.model.tight import INTERIOR_ROWS, units_of
from tablecloak.errors import SolverError
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program, power_of_two
from tablecloak.tables.problem import ProtectionProblem

_LONG = np.longdouble

REFINEMENTS = 8
"""Corrections at most; each gains some seven digits."""

REFINED = 1e-17
"""Error of a row, as a share of its terms, below which nothing is corrected."""

FAR = 1e7
"""Distance to a bound, in units of the correction, that counts as infinite."""

SOLVER_NOISE = 1e-9
"""Error of a solver's values, in the units of its program."""

NOISE_OF_LEVEL = 1e-6
"""Largest error of the solver, as a share of the protection level of a cell."""

CHEAPEST = 1e-6
"""Cost of a correction of the cheapest cells, as a share of the median."""

CORRECTION_SECONDS = 5.0
"""Time limit in seconds for one correction, also after the time limit: without it there is no
table to return."""


def additive_changes(model: AdjustmentModel, z: npt.ArrayLike, budget: Budget) -> LongFloats:
    """Return changes of all cells next to given ones that keep all relations and statistics.

    Parameters
    ----------
    model : AdjustmentModel
    z : array of float, shape (n_cells,)
        What a solver found; its sensitive cells say which way they move.
    budget : Budget
        No further correction is begun when it is over.

    Raises
    ------
    SolverError
        If no correction was found.
    """
    g = group_changes(model, z)
    g = refined(model, g, budget)
    g = _settled(model, g, budget)
    changes: LongFloats = model.cells(g).astype(_LONG)
    return changes


def published_values(problem: ProtectionProblem, changes: LongFloats) -> Floats:
    """Return adjusted values as doubles; rounding takes none nearer to the truth than its level."""
    true = problem.table.values
    values = (true.astype(_LONG) + changes).astype(np.float64)
    moved = values.astype(_LONG) - true
    share = 1 - LEVEL_SHARE / 2
    sensitive = problem.sensitive
    short_above = sensitive & (changes > 0) & (moved < share * problem.upper_protection)
    short_below = sensitive & (changes < 0) & (-moved < share * problem.lower_protection)
    values = np.where(short_above, np.nextafter(values, np.inf), values)
    values = np.where(short_below, np.nextafter(values, -np.inf), values)
    # What a true value leaves behind when it falls to a bound of 0 is its own rounding error.
    within = np.clip(values, problem.lower_bound, problem.upper_bound)
    return np.where(np.abs(within - values) <= near_bound(true, values), within, values)


def group_changes(model: AdjustmentModel, z: npt.ArrayLike) -> LongFloats:
    """Changes of groups: within their bounds, and at a bound or 0 where they are next to it."""
    g = model.groups(np.asarray(z, dtype=_LONG))
    low, high = model.box(g)
    noise = SOLVER_NOISE * power_of_two(units_of(model))
    level = np.full(model.n_groups, np.inf)
    level[model.sensitive] = np.where(g[model.sensitive] > 0, model.up_level, model.down_level)
    noise = np.minimum(noise, NOISE_OF_LEVEL * level)
    for target in (low, high, np.zeros_like(low)):
        g = np.where(np.abs(g - target) <= noise, target, g)
    within: LongFloats = np.clip(g, low, high).astype(_LONG)
    return within


def refined(model: AdjustmentModel, g: LongFloats, budget: Budget) -> LongFloats:
    """Correct changes of groups until rows are off by no more than extended precision shows.

    Raises
    ------
    SolverError
        If no correction was found.
    """
    rows, (low, high) = model.rows, model.box(g)
    matrix, size = rows.matrix.astype(_LONG), abs(rows.matrix)
    doubles, cost = _doubles(model), _clipped_cost(model)
    binary = np.zeros(model.n_groups) if model.problem.table.integer else doubles
    for number in range(REFINEMENTS):
        activity = matrix @ g
        least, most = rows.low - activity, rows.high - activity
        off = np.maximum(np.maximum(least, -most), 0).astype(np.float64)
        terms = REFINED * np.abs(g).astype(np.float64)
        off = np.where(off > size @ (terms + binary), off, 0.0)
        # Rows within their tolerance are not corrected.
        least = np.where(off > 0, least, np.minimum(least, 0))
        most = np.where(off > 0, most, np.maximum(most, 0))
        worst = float(off.max(initial=0.0))
        if worst == 0 or (number and budget.is_over):
            break
        unit = float(np.ldexp(1.0, np.frexp(worst)[1]))
        sides = (_clipped(least / unit), _clipped(most / unit))
        moved = _correction(rows.matrix, sides, g, (low, high), unit, cost, budget)
        if moved is not None:
            g = np.clip(g + moved, low, high)
        elif np.all(off <= size @ (terms + 8 * doubles)):
            break
        else:
            raise SolverError(
                "The best table was not made additive exactly. Raise `time_limit`, or widen bounds "
                "or capacities a little."
            )
    return g


def _doubles(model: AdjustmentModel) -> Floats:
    """Rounding of the values of each group to doubles, the least by which relations are off."""
    rounding = np.spacing(np.abs(model.problem.table.values)) / 4
    return model.coupled.least(rounding, rounding)[0]


def _clipped_cost(model: AdjustmentModel) -> Floats:
    return np.clip(model.cost / median_of_positive(model.cost), CHEAPEST, 1 / CHEAPEST)


def _correction(
    matrix: csr_array,
    sides: tuple[Floats, Floats],
    g: LongFloats,
    box: tuple[Floats, Floats],
    unit: float,
    cost: Floats,
    budget: Budget,
) -> LongFloats | None:
    """Cheapest moves that bring rows within their sides, in a unit; None if none were found."""
    low, high = box
    room = _clipped((high - g) / unit), _clipped((g - low) / unit)
    n = len(cost)
    program = Program(
        np.tile(cost, 2),
        csr_array(hstack([matrix, -matrix], format="csr")),
        *sides,
        np.zeros(2 * n),
        np.maximum(np.concatenate(room), 0.0),
    )
    # See docs/decisions, "Corrections of large tables".
    is_large = program.n_rows > INTERIOR_ROWS
    solver = LinearSolver(program, interior="first" if is_large else "never")
    solution = solver.solve(budget.past(CORRECTION_SECONDS))
    if not len(solution.x):
        return None
    moved: LongFloats = (solution.x[:n].astype(_LONG) - solution.x[n:]) * unit
    return moved


def _settled(model: AdjustmentModel, g: LongFloats, budget: Budget) -> LongFloats:
    """Correct relations between small values for the rounding of large ones.

    Each relation is measured on the rounded table, and may be off by what its own terms allow.
    """
    relations, true = model.problem.table.relations, model.problem.table.values
    spread = model.coupled.spread.astype(_LONG)
    box = model.box(g)
    rows = np.flatnonzero(np.diff(model.relations.indptr))
    matrix, cells = csr_array(model.relations[rows, :]), csr_array(relations[rows, :])
    exact, size = cells.astype(_LONG), abs(cells)
    for number in range(REFINEMENTS):
        values = (true.astype(_LONG) + spread @ g).astype(np.float64)
        off = (exact @ (values.astype(_LONG) - true)).astype(np.float64)
        terms = size @ np.maximum(np.abs(values), np.abs(true))
        accepted = RELATION_ULPS * np.finfo(np.float64).eps * terms
        worst = float(np.max(np.where(np.abs(off) > accepted, np.abs(off), 0.0), initial=0.0))
        if worst == 0 or (number and budget.is_over):
            break
        sides = (-off - accepted / 2) / worst, (-off + accepted / 2) / worst
        moved = _correction(matrix, sides, g, box, worst, np.ones(len(g)), budget)
        if moved is None:
            break
        g = np.clip(g + moved, *box)
    return g


def _clipped(lengths: LongFloats) -> Floats:
    clipped = np.where(lengths > FAR, np.inf, np.where(lengths < -FAR, -np.inf, lengths))
    return clipped.astype(np.float64)
