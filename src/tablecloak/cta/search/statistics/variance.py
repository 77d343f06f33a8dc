"""The variance, which a search over slopes preserves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import Flags, Floats
from tablecloak.budget import Budget
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.search.conditions import SearchedStatistic
from tablecloak.cta.search.variance import VarianceTarget, with_variance
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
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["PreservedVariance", "Variance"]


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
