"""Weights: the absolute value."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.tables.weights.rule import WEIGHT_RULES, Weighed, WeightRule


@WEIGHT_RULES.register
class Value(WeightRule):
    """The absolute value; 1 for a count of 0, which would otherwise be hidden for nothing."""

    name: ClassVar[str] = "value"

    def of(self, problem: Weighed) -> Floats:
        """Return them."""
        size: Floats = np.abs(problem.table.values)
        return np.maximum(size, 1.0) if problem.table.is_count else size
