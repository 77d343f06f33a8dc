"""Adjustments that meet smooth conditions, several at once: linear rows, moved along.

Next to a table, each condition is nearly the linear row that its gradient gives. The nearest
table with these rows is corrected again, and so on, as in Newton's method. The best table with
them is far away: with given directions the tables are convex, so that the part of the step is
taken that comes nearest to the conditions, and corrected from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.budget import Budget
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.refinement import additive_changes
from tablecloak.cta.model.tight import TightForm
from tablecloak.cta.search.directions import search_directions
from tablecloak.cta.search.state import DirectionState, with_directions
from tablecloak.cta.statistics.statistic import SmoothCondition
from tablecloak.errors import SolverError

STEPS = 4
"""Largest number of programs for given directions that look for a cheaper table."""

CORRECTIONS = 12
"""Largest number of corrections. Each squares what is missing, so that most tables need three or
four."""

GAIN = 1e-3
"""Share of the loss by which a step must improve it for a further one."""

SHORTER = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01)
"""Parts of a step of which the best is taken, and shares of the excess that a row asks for where it
cannot be removed at once."""

NEARER = 1e-3
"""Share of the tolerance at which a table counts as met: rounding it afterwards takes the rest."""


def with_conditions(
    model: AdjustmentModel,
    changes: Floats,
    conditions: Sequence[SmoothCondition],
    fixed: Floats | None,
    budget: Budget,
) -> Floats:
    """Change an adjustment so that it meets conditions, with its directions or others.

    Parameters
    ----------
    model : AdjustmentModel
    changes : numpy.ndarray of float, shape (n_cells,)
        An adjustment.
    conditions : sequence of SmoothCondition
    fixed : numpy.ndarray of float or None
        Directions, if they were given.
    budget : Budget

    Raises
    ------
    SolverError
        If none was found.
    """
    best: Floats | None = None
    for start in _starts(model, changes, conditions, fixed, budget):
        adjusted = _met(model, start, conditions, budget)
        if adjusted is not None and (best is None or model.loss(adjusted) < model.loss(best)):
            best = adjusted
        if best is not None and budget.is_over:
            break
    if best is None:
        raise SolverError(
            "No adjustment that preserves the statistics of two variables was found. Raise "
            "`time_limit`, their `tolerance` or `sensitive_limit`, or widen bounds or capacities."
        )
    return best


def _starts(
    model: AdjustmentModel,
    changes: Floats,
    conditions: Sequence[SmoothCondition],
    fixed: Floats | None,
    budget: Budget,
) -> Iterator[Floats]:
    """Yield the given adjustment, and the best one that meets the conditions to first order.

    Directions that are best without conditions may be bad ones with them, or leave no table.
    """
    yield changes
    if fixed is not None:
        return
    rows = [condition.row(model.problem, changes) for condition in conditions]
    form = TightForm.of(model.preserving(rows))
    seconds = max(budget.left / 2, 1.0)
    part = budget.at_least(seconds).within(seconds).quiet()
    state = search_directions(form, part, for_proof=False)
    if state.best is not None:
        yield form.changes(state.best.x)


def _met(
    model: AdjustmentModel, start: Floats, conditions: Sequence[SmoothCondition], budget: Budget
) -> Floats | None:
    """Return an adjustment with the directions of another one that meets all conditions."""
    directions, z = model.directions_of(start), start
    best = _corrected(model, z, conditions, budget)
    for _ in range(STEPS):
        if budget.is_over:
            break
        place = _next(model, z, conditions, directions, budget)
        if place is None:
            break
        z = place
        corrected = _corrected(model, z, conditions, budget)
        if corrected is None:
            continue
        if best is not None and model.loss(corrected) >= (1 - GAIN) * model.loss(best):
            break
        # The next step starts from a table that meets the conditions.
        best = z = corrected
    return best


def _corrected(
    model: AdjustmentModel, z: Floats, conditions: Sequence[SmoothCondition], budget: Budget
) -> Floats | None:
    """Return an adjustment near another one that meets all conditions; None if none was found.

    Each correction is the cheapest move onto the rows, so that moves, and with them what the rows
    miss, get smaller fast.
    """
    corrected = None
    for number in range(CORRECTIONS):
        missing = _missing(model, z, conditions)
        if number and missing <= 1:
            corrected = z
        if number and (missing <= NEARER or budget.is_over):
            break
        rows = [condition.row(model.problem, z) for condition in conditions]
        try:
            z = additive_changes(model.preserving(rows), z, budget).astype(np.float64)
        except SolverError:
            break
    return corrected


def _next(
    model: AdjustmentModel,
    z: Floats,
    conditions: Sequence[SmoothCondition],
    directions: Floats,
    budget: Budget,
) -> Floats | None:
    """Return the place of the next step, nearer to the conditions; None if there is none."""
    for share in SHORTER:
        rows = [condition.row(model.problem, z, share=share) for condition in conditions]
        form = TightForm.of(model.preserving(rows))
        point = with_directions(DirectionState(form, budget.quiet()), directions)
        if point is not None:
            far = form.changes(point.x)
            places = [z + part * (far - z) for part in SHORTER]
            return min(places, key=lambda place: _missing(model, place, conditions))
        if budget.is_over:
            return None
    return None


def _missing(model: AdjustmentModel, z: Floats, conditions: Sequence[SmoothCondition]) -> float:
    """Return the largest excess, as a multiple of its tolerance."""
    return max(
        abs(condition.excess(model.problem, z)) / max(condition.tolerance, LEAST_TOLERANCE)
        for condition in conditions
    )


LEAST_TOLERANCE = 1e-10
"""Tolerance that is used in place of a smaller one: what doubles keep of a moment of values that
are some thousand times as large as their standard deviation."""
