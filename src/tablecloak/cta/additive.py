"""From the point of a solver to a table that is additive exactly, or as exactly as doubles are.

A solver keeps relations up to 1e-9 of what it takes for 1. Here the error that is left is measured
in extended precision and made the unit of a further program, for a correction, until nothing is
left that doubles can tell (iterative refinement). Whole numbers are then rounded to, or searched
next to the fractional point, in numbers that count from there.

References
----------
.. [1] Gleixner, Steffy, Wolter: Iterative refinement for linear programming, INFORMS Journal on
   Computing 28 (2016).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack, vstack

from tablecloak.cta.formulation import AdjustmentModel
from tablecloak.cta.precision import LEVEL_SHARE, RELATION_ULPS, exact_products
from tablecloak.errors import SolverError
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["additive_changes", "is_near_whole", "published_values", "whole_changes"]

Floats = npt.NDArray[np.float64]
Extended = npt.NDArray[np.longdouble]
Integers = npt.NDArray[np.int64]

_LONG = np.longdouble

REFINEMENTS = 8
"""Corrections at most; each gains some seven digits."""

REFINED = 1e-17
"""Error of a row, as a share of its terms, from which on nothing is corrected."""

FAR = 1e7
"""Distance to a bound, in units of the correction, that counts as infinite."""

SOLVER_NOISE = 1e-9
"""What a solver may leave of 0, in the units of its program."""

NOISE_OF_LEVEL = 1e-6
"""The same, as a share of the protection level of the cell at most."""

CHEAPEST = 1e-6
"""Cost of a correction of the cheapest cells, as a share of the median."""

REACH = (1.0, 4.0, 100.0)
"""How far from the fractional point whole numbers are sought, one after the other."""

MOST_WHOLE = 2.0**52
"""Largest change in whole numbers."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """Relations between groups, and statistics; all are rows matrix @ g within [low, high]."""

    matrix: csr_array
    low: Floats
    high: Floats

    @classmethod
    def of(cls, model: AdjustmentModel) -> _Rows:
        relations = csr_array(model.relations[model.independent, :])
        spread = model.coupled.spread
        kept = [csr_array(row.coefficients[None, :] @ spread) for row in model.preserved]
        matrix = csr_array(vstack([relations, *kept], format="csr")) if kept else relations
        none = np.zeros(relations.shape[0])
        target = np.array([row.target for row in model.preserved])
        slack = np.array([row.slack for row in model.preserved])
        return cls(
            matrix, np.concatenate([none, target - slack]), np.concatenate([none, target + slack])
        )

    def missing(self, g: Extended) -> tuple[Extended, Extended]:
        """By how much each row may and must change at least, and at most."""
        activity = self.matrix.astype(_LONG) @ g
        return self.low - activity, self.high - activity

    def accepted(self, g: Extended, values: Floats) -> Floats:
        found: Floats = abs(self.matrix) @ (REFINED * np.abs(g).astype(np.float64) + values)
        return found


def additive_changes(model: AdjustmentModel, z: npt.ArrayLike, deadline: float) -> Extended:
    """Return changes of all cells next to given ones that keep all relations and statistics.

    Parameters
    ----------
    model : AdjustmentModel
    z : array of float, shape (n_cells,)
        What a solver found; its sensitive cells say which way they move.
    deadline : float
        Moment of `time.monotonic` after which no further correction is begun.

    Raises
    ------
    SolverError
        If no correction was found.
    """
    g = _settled(model, _refined(model, _groups(model, z), deadline), deadline)
    changes: Extended = model.coupled.spread.astype(_LONG) @ g
    return changes


def whole_changes(model: AdjustmentModel, z: npt.ArrayLike, deadline: float) -> Integers | None:
    """Return changes in whole numbers next to given ones, with the same directions.

    Relations of two-dimensional tables give whole numbers by themselves; in more dimensions they
    have to be asked for. None if none were found.
    """
    g = _groups(model, z)
    found = _whole(model, g)
    if found is not None:
        return found
    try:
        g = _refined(model, g, deadline)
    except SolverError:
        return None
    found = _whole(model, g)
    for number, reach in enumerate(REACH):
        left = max(deadline - time.monotonic(), 1.0)
        if found is None:
            found = _search(model, g, reach, left / (len(REACH) - number))
    return found


def is_near_whole(model: AdjustmentModel, z: npt.ArrayLike) -> bool:
    """Whether changes only need to be rounded to be an adjustment in whole numbers."""
    return _whole(model, _groups(model, z)) is not None


def published_values(problem: ProtectionProblem, changes: Extended) -> Floats:
    """Return adjusted values as doubles; rounding takes none nearer to the truth than its level."""
    true = problem.table.values
    values = (true.astype(_LONG) + changes).astype(np.float64)
    moved = values.astype(_LONG) - true
    share = 1 - LEVEL_SHARE / 2
    sensitive = problem.sensitive
    short_above = sensitive & (changes > 0) & (moved < share * problem.upper_protection)
    short_below = sensitive & (changes < 0) & (-moved < share * problem.lower_protection)
    values = np.where(short_above, np.nextafter(values, np.inf), values)
    return np.where(short_below, np.nextafter(values, -np.inf), values)


def _box(model: AdjustmentModel, g: Extended) -> tuple[Floats, Floats]:
    """What each group may change by, on the side on which it lies."""
    moves = model.moves
    low, high = -moves.down, moves.up.copy()
    at = model.sensitive
    up = g[at] > 0
    low[at] = np.where(up, model.up_level, -moves.down[at])
    high[at] = np.where(up, moves.up[at], -model.down_level)
    return low, high


def _groups(model: AdjustmentModel, z: npt.ArrayLike) -> Extended:
    """Changes of groups: within their bounds, and at a bound or 0 where they are next to it."""
    changes = np.asarray(z, dtype=_LONG)
    cells = np.flatnonzero(model.coupled.group >= 0)
    _, first = np.unique(model.coupled.group[cells], return_index=True)
    members = cells[first]
    g = model.coupled.sign[members].astype(_LONG) * changes[members]
    low, high = _box(model, g)
    noise = SOLVER_NOISE * model.scaling.column[: model.n_groups]
    level = np.full(model.n_groups, np.inf)
    level[model.sensitive] = np.where(g[model.sensitive] > 0, model.up_level, model.down_level)
    noise = np.minimum(noise, NOISE_OF_LEVEL * level)
    for target in (low, high, np.zeros_like(low)):
        g = np.where(np.abs(g - target) <= noise, target, g)
    within: Extended = np.clip(g, low, high)
    return within


def _refined(model: AdjustmentModel, g: Extended, deadline: float) -> Extended:
    rows = _Rows.of(model)
    low, high = _box(model, g)
    # Where values are no whole numbers, their own rounding is the least that relations are off.
    table = model.problem.table
    binary = np.spacing(np.abs(table.values)) / 4 if not table.integer else 0 * table.values
    binary = model.coupled.least(binary, binary)[0]
    middle = float(np.median(model.cost[model.cost > 0])) if np.any(model.cost > 0) else 1.0
    cost = np.clip(model.cost / middle, CHEAPEST, 1 / CHEAPEST)
    for number in range(REFINEMENTS):
        least, most = rows.missing(g)
        off = np.maximum(np.maximum(least, -most), 0).astype(np.float64)
        off = np.where(off > rows.accepted(g, binary), off, 0.0)
        # What is accepted stays as it is.
        least = np.where(off > 0, least, np.minimum(least, 0))
        most = np.where(off > 0, most, np.maximum(most, 0))
        unit = float(off.max(initial=0.0))
        if unit == 0 or (number and time.monotonic() > deadline):
            break
        unit = float(np.ldexp(1.0, np.frexp(unit)[1]))
        room = _clipped((high - g) / unit), _clipped((g - low) / unit)
        program = Program(
            np.tile(cost, 2),
            csr_array(hstack([rows.matrix, -rows.matrix], format="csr")),
            _clipped(least / unit),
            _clipped(most / unit),
            np.zeros(2 * len(cost)),
            np.maximum(np.concatenate(room), 0.0),
        )
        solution = LinearSolver(program).solve(max(deadline - time.monotonic(), 5.0))
        if not len(solution.x) and np.all(off <= rows.accepted(g, 8 * binary)):
            break
        if not len(solution.x):
            raise SolverError(
                "The best table was not made additive exactly. Raise `time_limit`, or widen bounds "
                "or capacities a little."
            )
        n = len(cost)
        moved = (solution.x[:n].astype(_LONG) - solution.x[n:]) * unit
        g = np.clip(g + moved, low, high)
    return g


def _settled(model: AdjustmentModel, g: Extended, deadline: float) -> Extended:
    """Correct what rounding of large values leaves of relations between small ones.

    Each relation is measured on the rounded table, and may be off by what its own terms allow.
    """
    relations, spread = model.problem.table.relations, model.coupled.spread.astype(_LONG)
    true = model.problem.table.values
    low, high = _box(model, g)
    rows = np.flatnonzero(np.diff(model.relations.indptr))
    matrix = csr_array(model.relations[rows, :])
    both = csr_array(hstack([matrix, -matrix], format="csr"))
    for number in range(REFINEMENTS):
        values = (true.astype(_LONG) + spread @ g).astype(np.float64)
        off = (relations[rows, :].astype(_LONG) @ (values.astype(_LONG) - true)).astype(np.float64)
        size = abs(relations[rows, :]) @ np.maximum(np.abs(values), np.abs(true))
        accepted = RELATION_ULPS * np.finfo(np.float64).eps * size
        worst = float(np.max(np.where(np.abs(off) > accepted, np.abs(off), 0.0), initial=0.0))
        if worst == 0 or (number and time.monotonic() > deadline):
            break
        room = _clipped((high - g) / worst), _clipped((g - low) / worst)
        program = Program(
            np.ones(2 * len(g)),
            both,
            (-off - accepted / 2) / worst,
            (-off + accepted / 2) / worst,
            np.zeros(2 * len(g)),
            np.maximum(np.concatenate(room), 0.0),
        )
        solution = LinearSolver(program).solve(max(deadline - time.monotonic(), 5.0))
        if not len(solution.x):
            break
        moved = (solution.x[: len(g)].astype(_LONG) - solution.x[len(g) :]) * worst
        g = np.clip(g + moved, low, high)
    return g


def _clipped(lengths: Extended) -> Floats:
    found = np.where(lengths > FAR, np.inf, np.where(lengths < -FAR, -np.inf, lengths))
    return found.astype(np.float64)


def _whole(model: AdjustmentModel, g: Extended) -> Integers | None:
    """Return changes of all cells for groups rounded to whole numbers, if these will do."""
    rounded = np.rint(g)
    if np.any(np.abs(rounded) > MOST_WHOLE):
        return None
    low, high = _box(model, g)
    if np.any((rounded < low) | (rounded > high)):
        return None
    groups = rounded.astype(np.int64)
    spread = model.coupled.spread.astype(np.int64)
    changes: Integers = np.asarray(spread @ groups)
    if np.any(exact_products(model.problem.table.relations, changes)):
        return None
    exact = changes.astype(np.float64)
    if any(row.error(exact) > 0 for row in model.preserved):
        return None
    return changes


def _search(
    model: AdjustmentModel, g: Extended, reach: float, time_limit: float
) -> Integers | None:
    """Whole numbers within some steps of the fractional point, by a mixed-integer program.

    Columns are steps up and down from a whole number next to it, so that all numbers are small
    however large the changes are.
    """
    rows = _Rows.of(model)
    low, high = _box(model, g)
    first = np.maximum(np.ceil(low), np.floor(g) - reach)
    last = np.minimum(np.floor(high), np.ceil(g) + reach)
    if np.any(first > last):
        return None
    crosses = (first < 0) & (last > 0)
    base = np.where(crosses, 0, np.clip(np.rint(g), first, last))
    slope = np.where(crosses, 1.0, np.sign(first + last).astype(np.float64))
    cost = model.cost / (float(np.max(model.cost, initial=0.0)) or 1.0)
    least, most = rows.missing(base.astype(_LONG))
    n = len(cost)
    program = Program(
        np.concatenate([slope * cost, np.where(crosses, 1.0, -slope) * cost]),
        csr_array(hstack([rows.matrix, -rows.matrix], format="csr")),
        least.astype(np.float64),
        most.astype(np.float64),
        np.zeros(2 * n),
        np.concatenate([last - base, base - first]).astype(np.float64),
        np.ones(2 * n, dtype=bool),
    )
    try:
        solution = solve(program, time_limit=time_limit, gap=1e-4)
    except SolverError:
        return None
    if not len(solution.x):
        return None
    steps = solution.x[:n].astype(_LONG) - solution.x[n:]
    return _whole(model, base.astype(_LONG) + steps)
