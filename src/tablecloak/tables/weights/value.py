"""Weights: the absolute value."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tablecloak.tables.weights.rule import WEIGHT_RULES, Floats, Weighed, WeightRule

__all__ = ["Value"]


@WEIGHT_RULES.register
class Value(WeightRule):
    """The absolute value."""

    name: ClassVar[str] = "value"

    def of(self, problem: Weighed) -> Floats:
        """Return them."""
        return np.abs(problem.table.values)
