"""The regression of adjusted on original values: its mean, its slope, and both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tablecloak.cta.statistics.moments import centred
from tablecloak.cta.statistics.statistic import STATISTICS, PreservedRow, Statistic
from tablecloak.cta.statistics.subsets import select
from tablecloak.errors import ModelError
from tablecloak.tables.problem import ProtectionProblem


@STATISTICS.register
@dataclass(frozen=True)
class Mean(Statistic):
    """The mean of the subset stays: sum z_i = 0."""

    name: ClassVar[str] = "mean"

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return one row with coefficient 1 on each cell of the subset."""
        cells = select(problem, self.subset)
        total = float(np.abs(problem.table.values[cells].sum()))
        return [PreservedRow("mean", cells.astype(np.float64), self.tolerance * total)]


@STATISTICS.register
@dataclass(frozen=True)
class Slope(Statistic):
    """The slope of the adjusted on the original values is 1: L(z) = Cov(a, z) / Var(a) = 0."""

    name: ClassVar[str] = "slope"

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return one row with coefficients a_i - mean(a), scaled to at most 1.

        Raises
        ------
        ModelError
            If all values of the subset are equal, so that no slope is defined.
        """
        cells = select(problem, self.subset)
        values = problem.table.values
        distances = np.zeros(len(values))
        distances[cells] = centred(values[cells])
        largest = float(np.abs(distances).max())
        if largest == 0:
            raise ModelError(
                "Slope: all values of the subset are equal, so no slope is defined. Choose a "
                "subset with different values, or leave the slope out."
            )
        spread = float(np.sum(distances**2)) / largest
        # Changes in whole numbers cannot meet a row with fractional coefficients exactly. Accept
        # half a unit of one cell, the precision with which values are published.
        whole = 0.5 if integer else 0.0
        slack = max(self.tolerance * spread, whole)
        return [PreservedRow("slope", distances / largest, slack)]


@STATISTICS.register
@dataclass(frozen=True)
class Regression(Statistic):
    """Slope 1 and intercept 0: the regression of adjusted on original values is the identity."""

    name: ClassVar[str] = "regression"

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return the rows of the mean and of the slope."""
        mean = Mean(self.subset, self.tolerance).rows(problem, integer=integer)
        return mean + Slope(self.subset, self.tolerance).rows(problem, integer=integer)
