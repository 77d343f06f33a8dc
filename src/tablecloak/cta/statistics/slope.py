"""The slope of the adjusted on the original values."""

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
