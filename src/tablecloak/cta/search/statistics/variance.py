"""The variance, which a search over slopes preserves.

The variance is quadratic in the changes. At a slope of 1 + t it is linear in t except for the term
Var(z). Each t is a linear row; between a t whose best table has too large a variance and one with
too small a variance lies a t that preserves it. With fixed directions the adjustments form a convex
set, so that on the line between two such tables one preserves the variance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import Flags, Floats
from tablecloak.budget import Budget
from tablecloak.cta.model.limits import VARIANCE_SHIFTS, VARIANCE_TURNS, VARIANCE_WIDTH
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.refinement import additive_changes
from tablecloak.cta.model.tight import TightForm
from tablecloak.cta.search.conditions import SearchedStatistic
from tablecloak.cta.search.directions import search_directions
from tablecloak.cta.search.state import SearchState, with_directions
from tablecloak.cta.statistics.moments import Moments, centred, moments
from tablecloak.cta.statistics.slope import Slope
from tablecloak.cta.statistics.statistic import (
    ROW_SHARE,
    STATISTICS,
    Condition,
    PreservedRow,
    SmoothCondition,
)
from tablecloak.cta.statistics.subsets import select
from tablecloak.errors import SolverError
from tablecloak.tables.problem import ProtectionProblem


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

    def row(
        self,
        problem: ProtectionProblem,
        changes: Floats,
        *,
        share: float = 1.0,
        slack: float = ROW_SHARE,
    ) -> PreservedRow:
        """Return the row that removes an excess next to given changes."""
        true = problem.table.values[self.cells]
        now = true + changes[self.cells]
        slopes = 2 * centred(now) / (len(now) * np.mean(centred(true) ** 2))
        largest = float(np.abs(slopes).max())
        coefficients = np.zeros(len(changes))
        coefficients[self.cells] = slopes / largest
        removed = share * self.excess(problem, changes) / largest
        target = float(coefficients @ changes) - removed
        return PreservedRow("sum", coefficients, slack * self.tolerance / largest, target)

    def moments(self, problem: ProtectionProblem, changes: Floats) -> Moments:
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

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return no row: the condition is not linear."""
        del problem, integer
        return []

    def conditions(self, problem: ProtectionProblem) -> list[Condition]:
        """Return the condition itself."""
        return [self.kept(problem)]

    def kept(self, problem: ProtectionProblem) -> PreservedVariance:
        """Return the condition itself, for checks."""
        return PreservedVariance(select(problem, self.subset), self.tolerance)

    def slope_row(self, problem: ProtectionProblem, shift: float) -> PreservedRow:
        """Return the row L(z) = shift.

        Raises
        ------
        ModelError
            If all values of the subset are equal.
        """
        row = Slope(self.subset).rows(problem)[0]
        cells = select(problem, self.subset)
        values = problem.table.values[cells]
        distances = centred(values)
        target = shift * float(np.sum(distances**2)) / float(np.abs(distances).max())
        return PreservedRow("variance", row.coefficients, 0.0, target)

    def keep(
        self, model: AdjustmentModel, changes: Floats, fixed: Floats | None, budget: Budget
    ) -> Floats:
        """Return changes that preserve the variance, by a search over slopes."""
        problem, kept = model.problem, self.kept(model.problem)
        target = VarianceTarget(
            excess=lambda z: kept.excess(problem, z),
            tolerance=kept.tolerance,
            slope_shift=lambda z: kept.moments(problem, z).slope - 1,
            slope_row=lambda shift: self.slope_row(problem, shift),
        )
        return with_variance(model, changes, target, fixed, budget)


Place = tuple[float, Floats]
"""A shift t of the slope, and changes with the slope 1 + t."""


@dataclass(frozen=True)
class VarianceTarget:
    """The condition on the variance, and the linear rows by which a search meets it.

    Parameters
    ----------
    excess : callable
        Takes changes z; returns Var(a + z) / Var(a) - 1.
    tolerance : float
        Accepted absolute excess.
    slope_shift : callable
        Takes changes z; returns the shift of the slope: that of a + z on a, minus 1.
    slope_row : callable
        Takes a shift; returns the row that fixes it.
    """

    excess: Callable[[Floats], float]
    tolerance: float
    slope_shift: Callable[[Floats], float]
    slope_row: Callable[[float], PreservedRow]


def with_variance(
    model: AdjustmentModel,
    changes: Floats,
    target: VarianceTarget,
    fixed: Floats | None,
    budget: Budget,
) -> Floats:
    """Change an adjustment so that it preserves the variance, with its directions or others.

    Raises
    ------
    SolverError
        If none was found.
    """
    candidates = [fixed] if fixed is not None else _directions(model, changes, target, budget)
    best: Floats | None = None
    for directions in candidates:
        met = _on_line(model, directions, target, budget)
        if met is not None and (best is None or _loss(model, met) < _loss(model, best)):
            best = met
    if best is None:
        raise SolverError(
            "No adjustment that preserves the variance was found. Raise `time_limit` or "
            "`sensitive_limit`, widen bounds or capacities, or preserve the slope instead."
        )
    return best


def _loss(model: AdjustmentModel, z: Floats) -> float:
    return float(np.dot(model.weights, np.abs(z)))


def _directions(
    model: AdjustmentModel, changes: Floats, target: VarianceTarget, budget: Budget
) -> list[Floats]:
    """Return the directions of given changes, and those of the best tables at several slopes.

    At a slope of 1 the variance grows by V = Var(z) / Var(a). At 1 - V / 2 it would stay if
    Var(z) stayed, so the slope that is needed lies near.
    """
    choices = {model.directions_of(changes).tobytes(): changes}
    growth = 0.0
    for number, factor in enumerate(VARIANCE_SHIFTS):
        form = TightForm.of(model.preserving([target.slope_row(-factor * growth)]))
        seconds = max(budget.left, 1.0) / (len(VARIANCE_SHIFTS) + 1 - number)
        own = budget.at_least(seconds).within(seconds).quiet()
        state = search_directions(form, own, for_proof=False)
        if state.best is None:
            continue
        better = form.changes(state.best.x)
        choices.setdefault(model.directions_of(better).tobytes(), better)
        if not number:
            growth = max(target.excess(better), 0.0)
    return [model.directions_of(each) for each in choices.values()]


def _on_line(
    model: AdjustmentModel, directions: Floats, target: VarianceTarget, budget: Budget
) -> Floats | None:
    """Return an adjustment with given directions that keeps the variance."""
    start = _solved(model, [], directions, budget)
    if start is None:
        return None
    first = target.excess(start)
    if abs(first) <= target.tolerance:
        return start
    ends = _enclosed(model, directions, start, target, budget)
    return None if ends is None else _exact(model, _between(*ends, target.excess), target, budget)


def _exact(
    model: AdjustmentModel, changes: Floats, target: VarianceTarget, budget: Budget
) -> Floats | None:
    """Return an additive adjustment next to an interpolated one.

    The interpolated one carries the rounding errors of both ends, whose changes may be far larger.
    """
    try:
        found: Floats = additive_changes(model, changes, budget).astype(np.float64)
    except SolverError:
        return None
    return found if abs(target.excess(found)) <= target.tolerance else None


def _enclosed(
    model: AdjustmentModel,
    directions: Floats,
    start: Floats,
    target: VarianceTarget,
    budget: Budget,
) -> tuple[Floats, Floats] | None:
    """Return two adjustments, one with too much and one with too little variance, near in slope."""
    first = target.excess(start)
    # If Var(z) stayed, a shift by half of the excess would suffice; double it after each failure.
    near: Place = (target.slope_shift(start), start)
    far: Place | None = None
    step = -first / 2
    for _ in range(VARIANCE_TURNS):
        width = abs(step if far is None else far[0] - near[0])
        if width <= VARIANCE_WIDTH or (far is not None and budget.is_over):
            break
        shift = near[0] + step if far is None else (near[0] + far[0]) / 2
        middle = _solved(model, [target.slope_row(shift)], directions, budget)
        if middle is None:
            step /= 4
        elif target.excess(middle) * first > 0:
            near, step = (shift, middle), 2 * step
        else:
            far = (shift, middle)
    return None if far is None else (near[1], far[1])


def _solved(
    model: AdjustmentModel, rows: Sequence[PreservedRow], directions: Floats, budget: Budget
) -> Floats | None:
    """Return the best adjustment with given directions and further rows; None if there is none."""
    form = TightForm.of(model.preserving(rows))
    point = with_directions(SearchState(form, budget.quiet()), directions)
    if point is None:
        return None
    try:
        exact = additive_changes(form.model, form.changes(point.x), budget)
    except SolverError:
        return None
    return exact.astype(np.float64)


def _between(near: Floats, far: Floats, excess: Callable[[Floats], float]) -> Floats:
    """Return the point between two at which the excess vanishes, on the side of the second."""
    sign = np.sign(excess(near))
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        inside = excess(near + middle * (far - near)) * sign > 0
        low, high = (middle, high) if inside else (low, middle)
    return near + high * (far - near)
