"""The regression of one variable on another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tablecloak.cta.search.statistics.association import OfTwoVariables
from tablecloak.cta.statistics.mean import Mean
from tablecloak.cta.statistics.statistic import STATISTICS, PreservedRow
from tablecloak.tables.problem import ProtectionProblem


@STATISTICS.register
@dataclass(frozen=True)
class JointRegression(OfTwoVariables):
    """The regression of a second variable on a first one stays: both means, and the slope.

    Both means are kept exactly, as rows, so that the intercept changes by the change of the slope
    times the mean of the first variable.

    Parameters
    ----------
    subset, tolerance, first, second
        See `OfTwoVariables`; the second one is explained by the first.
    """

    name: ClassVar[str] = "joint-regression"
    kind: ClassVar[str] = "slope"

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return the rows of both means."""
        return [
            row
            for cells in self.pairs(problem)
            for row in Mean(cells).rows(problem, integer=integer)
        ]
