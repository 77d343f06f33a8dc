"""Mean and slope: the regression of adjusted on original values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tablecloak.cta.statistics.mean import Mean
from tablecloak.cta.statistics.slope import Slope
from tablecloak.cta.statistics.statistic import STATISTICS, PreservedRow, Statistic
from tablecloak.tables.problem import ProtectionProblem


@STATISTICS.register
@dataclass(frozen=True)
class Regression(Statistic):
    """Slope 1 and intercept 0: the regression of adjusted on original values is the identity."""

    name: ClassVar[str] = "regression"

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return the rows of the mean and of the slope."""
        mean = Mean(self.subset, self.tolerance).rows(problem, integer=integer)
        return mean + Slope(self.subset, self.tolerance).rows(problem, integer=integer)
