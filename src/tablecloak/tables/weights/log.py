"""Weights: log(1 + absolute value)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.tables.weights.rule import WEIGHT_RULES, Weighed, WeightRule


@WEIGHT_RULES.register
class Log(WeightRule):
    """log(1 + absolute value)."""

    name: ClassVar[str] = "log"

    def of(self, problem: Weighed) -> Floats:
        """Return them."""
        return np.log1p(np.abs(problem.table.values))
