"""Weights: the weights that came with the problem."""

from __future__ import annotations

from typing import ClassVar

from tablecloak.arrays import Floats
from tablecloak.tables.weights.rule import WEIGHT_RULES, Weighed, WeightRule


@WEIGHT_RULES.register
class File(WeightRule):
    """The weights that came with the problem."""

    name: ClassVar[str] = "file"
    is_of_table: ClassVar[bool] = False

    def of(self, problem: Weighed) -> Floats:
        """Return them."""
        return problem.weights
