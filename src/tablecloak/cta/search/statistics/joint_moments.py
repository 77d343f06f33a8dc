"""Means, variances and covariance of two variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tablecloak.cta.search.statistics.association import OfTwoVariables
from tablecloak.cta.search.statistics.variance import PreservedVariance
from tablecloak.cta.statistics.mean import Mean
from tablecloak.cta.statistics.statistic import STATISTICS, PreservedRow, SmoothCondition
from tablecloak.tables.problem import ProtectionProblem


@STATISTICS.register
@dataclass(frozen=True)
class JointMoments(OfTwoVariables):
    """All first and second moments of two variables stay: means, variances, and the covariance.

    With them stay the correlation, the regression of each variable on the other, and their
    standard errors. Means are kept exactly, as rows.

    Parameters
    ----------
    subset, tolerance, first, second
        See `OfTwoVariables`; of a variance the tolerance is a share.
    """

    name: ClassVar[str] = "joint-moments"
    kind: ClassVar[str] = "covariance"

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return the rows of both means."""
        means = [Mean(cells) for cells in self.pairs(problem)]
        return [row for each in means for row in each.rows(problem, integer=integer)]

    def smooth(self, problem: ProtectionProblem) -> list[SmoothCondition]:
        """Return the conditions on the covariance and on both variances."""
        kept = self.kept(problem)
        found: list[SmoothCondition] = [kept]
        for cells in (kept.first, kept.second):
            chosen = np.zeros(problem.table.n_cells, dtype=bool)
            chosen[cells] = True
            found.append(PreservedVariance(chosen, self.tolerance))
        return found
