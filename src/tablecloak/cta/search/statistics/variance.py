"""The variance, which a search over slopes preserves.

The variance is quadratic in the changes. At a slope of 1 + t it is linear in t except for the term
Var(z). Each t is a linear row; between a t whose best table has too large a variance and one with
too small a variance lies a t that preserves it. With fixed directions the adjustments form a convex
set, so that on the line between two such tables one preserves the variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import Flags, Floats
from tablecloak.budget import Budget
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.refinement import additive_changes
from tablecloak.cta.model.tight import TightForm
from tablecloak.cta.search.conditions import SearchedStatistic
from tablecloak.cta.search.directions import search_directions
from tablecloak.cta.search.state import DirectionState, with_directions
from tablecloak.cta.statistics.moments import ValueMoments, centred, moments, select
from tablecloak.cta.statistics.regression import Slope
from tablecloak.cta.statistics.statistic import (
    STATISTICS,
    Condition,
    PreservedRow,
    SmoothCondition,
)
from tablecloak.errors import SolverError
from tablecloak.tables.problem import ProtectionProblem

VARIANCE_TURNS = 30
"""Largest number of programs for finding the slope at which the variance stays."""

VARIANCE_SHIFTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Slopes with which directions are searched, as shares of the growth of the variance at slope 1."""

VARIANCE_WIDTH = 1e-4
"""Width below which an interval of slopes is not halved further."""


@dataclass(frozen=True, eq=False)
class PreservedVariance(SmoothCondition):
    """The variance over some cells stays, within a tolerance; its quadratic form is checked.

    Parameters
    ----------
    cells : numpy.ndarray of bool, shape (n_cells,)
    tolerance : float
        Accepted distance of the ratio of variances from 1.
    """

    cells: Flags
    tolerance: float

    def excess(self, problem: ProtectionProblem, changes: Floats) -> float:
        """Return Var(a + z) / Var(a) - 1."""
        return self.moments(problem, changes).variance_ratio - 1

    def slopes(self, problem: ProtectionProblem, changes: Floats) -> Floats:
        """Return 2 (x_i - mean) / (n Var(a)) for the cells."""
        true, slopes = problem.table.values[self.cells], np.zeros(len(changes))
        now = centred(true + changes[self.cells])
        slopes[self.cells] = 2 * now / (len(now) * np.mean(centred(true) ** 2))
        return slopes

    def slope_row(self, problem: ProtectionProblem, shift: float) -> PreservedRow:
        """Return the row L(z) = shift.

        Raises
        ------
        ModelError
            If all values of the cells are equal.
        """
        row = Slope(self.cells).rows(problem)[0]
        distances = centred(problem.table.values[self.cells])
        target = shift * float(np.sum(distances**2)) / float(np.abs(distances).max())
        return PreservedRow("variance", row.coefficients, 0.0, target)

    def moments(self, problem: ProtectionProblem, changes: Floats) -> ValueMoments:
        """Compare the values of the cells before and after changes of all cells."""
        values = problem.table.values[self.cells]
        return moments(values, values + changes[self.cells])


@STATISTICS.register
@dataclass(frozen=True)
class Variance(SearchedStatistic):
    """The variance stays: 2 Cov(a, z) + Var(z) = 0.

    The condition is quadratic in z, so that a search over L(z) = t meets it: each t is a linear
    row, and between a t whose table has too large a variance and one with too small a variance
    lies a t that preserves it.

    Parameters
    ----------
    subset
        See `Statistic`.
    tolerance : float, default=1e-4
        Accepted distance of the ratio of variances from 1.
    """

    name: ClassVar[str] = "variance"

    tolerance: Annotated[
        float, Field(ge=0, description="Accepted distance of the ratio of variances from 1.")
    ] = 1e-4

    def conditions(self, problem: ProtectionProblem) -> list[Condition]:
        """Return the condition itself."""
        return [self.kept(problem)]

    def kept(self, problem: ProtectionProblem) -> PreservedVariance:
        """Return the condition itself, for checks."""
        return PreservedVariance(select(problem, self.subset), self.tolerance)

    def keep(
        self, model: AdjustmentModel, changes: Floats, fixed: Floats | None, budget: Budget
    ) -> Floats:
        """Return changes that preserve the variance, by a search over slopes."""
        kept = self.kept(model.problem)
        candidates = [fixed] if fixed is not None else _directions(model, changes, kept, budget)
        best: Floats | None = None
        for directions in candidates:
            met = _on_line(model, directions, kept, budget)
            if met is not None and (best is None or model.loss(met) < model.loss(best)):
                best = met
        if best is None:
            raise SolverError(
                "No adjustment that preserves the variance was found. Raise `time_limit` or "
                "`sensitive_limit`, widen bounds or capacities, or preserve the slope instead."
            )
        return best


Place = tuple[float, Floats]
"""A shift t of the slope, and changes with the slope 1 + t."""


def _directions(
    model: AdjustmentModel, changes: Floats, kept: PreservedVariance, budget: Budget
) -> list[Floats]:
    """Return the directions of given changes, and those of the best tables at several slopes.

    At a slope of 1 the variance grows by V = Var(z) / Var(a). At 1 - V / 2 it would stay if
    Var(z) stayed, so the slope that is needed lies near.
    """
    choices = {model.directions_of(changes).tobytes(): changes}
    growth = 0.0
    for number, factor in enumerate(VARIANCE_SHIFTS):
        form = TightForm.of(model.preserving([kept.slope_row(model.problem, -factor * growth)]))
        seconds = max(budget.left, 1.0) / (len(VARIANCE_SHIFTS) + 1 - number)
        part = budget.at_least(seconds).within(seconds).quiet()
        state = search_directions(form, part, for_proof=False)
        if state.best is None:
            continue
        better = form.changes(state.best.x)
        choices.setdefault(model.directions_of(better).tobytes(), better)
        if not number:
            growth = max(kept.excess(model.problem, better), 0.0)
    return [model.directions_of(choice) for choice in choices.values()]


def _on_line(
    model: AdjustmentModel, directions: Floats, kept: PreservedVariance, budget: Budget
) -> Floats | None:
    """Return an adjustment with given directions that keeps the variance."""
    start = _solved(model, [], directions, budget)
    if start is None:
        return None
    first = kept.excess(model.problem, start)
    if abs(first) <= kept.tolerance:
        return start
    ends = _enclosed(model, directions, start, kept, budget)
    return None if ends is None else _exact(model, _between(model, *ends, kept), kept, budget)


def _exact(
    model: AdjustmentModel, changes: Floats, kept: PreservedVariance, budget: Budget
) -> Floats | None:
    """Return an additive adjustment next to an interpolated one.

    The interpolated one carries the rounding errors of both ends, whose changes may be far larger.
    """
    try:
        exact: Floats = additive_changes(model, changes, budget).astype(np.float64)
    except SolverError:
        return None
    return exact if abs(kept.excess(model.problem, exact)) <= kept.tolerance else None


def _enclosed(
    model: AdjustmentModel,
    directions: Floats,
    start: Floats,
    kept: PreservedVariance,
    budget: Budget,
) -> tuple[Floats, Floats] | None:
    """Return two adjustments, one with too much and one with too little variance, near in slope."""
    first = kept.excess(model.problem, start)
    # If Var(z) stayed, a shift by half of the excess would suffice; double it after each failure.
    near: Place = (kept.moments(model.problem, start).slope - 1, start)
    far: Place | None = None
    step = -first / 2
    for _ in range(VARIANCE_TURNS):
        width = abs(step if far is None else far[0] - near[0])
        if width <= VARIANCE_WIDTH or (far is not None and budget.is_over):
            break
        shift = near[0] + step if far is None else (near[0] + far[0]) / 2
        middle = _solved(model, [kept.slope_row(model.problem, shift)], directions, budget)
        if middle is None:
            step /= 4
        elif kept.excess(model.problem, middle) * first > 0:
            near, step = (shift, middle), 2 * step
        else:
            far = (shift, middle)
    return None if far is None else (near[1], far[1])


def _solved(
    model: AdjustmentModel, rows: Sequence[PreservedRow], directions: Floats, budget: Budget
) -> Floats | None:
    """Return the best adjustment with given directions and further rows; None if there is none."""
    form = TightForm.of(model.preserving(rows))
    point = with_directions(DirectionState(form, budget.quiet()), directions)
    if point is None:
        return None
    try:
        exact = additive_changes(form.model, form.changes(point.x), budget)
    except SolverError:
        return None
    return exact.astype(np.float64)


def _between(model: AdjustmentModel, near: Floats, far: Floats, kept: PreservedVariance) -> Floats:
    """Return the point between two at which the excess vanishes, on the side of the second."""
    sign = np.sign(kept.excess(model.problem, near))
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        place = near + middle * (far - near)
        inside = kept.excess(model.problem, place) * sign > 0
        low, high = (middle, high) if inside else (low, middle)
    return near + high * (far - near)
