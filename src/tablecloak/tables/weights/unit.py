"""Weights: 1 for each cell."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.tables.weights.rule import WEIGHT_RULES, Weighed, WeightRule


@WEIGHT_RULES.register
class Unit(WeightRule):
    """1 for each cell."""

    name: ClassVar[str] = "unit"

    def of(self, problem: Weighed) -> Floats:
        """Return them."""
        return np.ones(problem.table.n_cells)
