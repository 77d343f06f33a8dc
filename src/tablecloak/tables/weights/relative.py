"""Weights: 1 / absolute value; 1 for a cell with the value 0."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.tables.weights.rule import WEIGHT_RULES, Weighed, WeightRule


@WEIGHT_RULES.register
class Relative(WeightRule):
    """1 / absolute value; 1 for a cell with the value 0."""

    name: ClassVar[str] = "relative"

    def of(self, problem: Weighed) -> Floats:
        """Return them."""
        size = np.abs(problem.table.values)
        weights: Floats = 1.0 / np.where(size > 0, size, 1.0)
        return weights
