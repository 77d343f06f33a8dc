"""The mean of a subset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tablecloak.cta.statistics.statistic import STATISTICS, PreservedRow, Statistic
from tablecloak.cta.statistics.subsets import select
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
