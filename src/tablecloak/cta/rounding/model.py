"""Controlled rounding as a program in steps from the multiple below each value."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tablecloak.cta.steps import Block, StepProgram
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["RoundingModel"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class RoundingModel:
    """min w.|x - a| as a program in steps t = up + further - back.

    Columns: for each value that is not a multiple, whether it goes up; then, if more than one step
    is allowed, how many multiples each cell goes further up, and how many down.

    Parameters
    ----------
    problem : ProtectionProblem
    base : int
    steps : int
    weights : numpy.ndarray of float, shape (n_cells,)

    Attributes
    ----------
    up_cost : numpy.ndarray of float
        What a whole step costs each value that is not a multiple, in the unit of the program.
    """

    def __init__(self, problem: ProtectionProblem, base: int, steps: int, weights: Floats) -> None:
        table = problem.table
        self.true = np.rint(table.values).astype(np.int64)
        self.base, self.weights = base, weights
        self.floor, rest = self.true // base, self.true % base
        self.offset = float(np.dot(weights, rest))
        # The unit of costs is the median weight times the base.
        positive = weights[weights > 0]
        self.unit = float(np.median(positive)) * base if len(positive) else float(base)
        scaled = weights * base / self.unit
        up = np.flatnonzero(rest)
        share = rest[up] / base
        self.up_cost = scaled[up]
        blocks = [Block(up, 1, scaled[up] * (1 - 2 * share), np.ones(len(up)))]
        if steps > 1:
            blocks += self._further(np.flatnonzero(~problem.frozen), scaled, float(steps - 1))
        relations = csr_array(table.relations)
        side = np.rint(table.right_hand_side) / base - relations @ self.floor.astype(np.float64)
        self._steps = StepProgram.of(relations, side, side, blocks)
        self.program = self._steps.program

    def _further(self, cells: Integers, cost: Floats, most: float) -> list[Block]:
        """Steps beyond the two multiples around a value, so that no value changes its sign."""
        true, floor = self.true[cells], self.floor[cells]
        above = np.where(true < 0, np.minimum(-(floor + 1), most), most)
        below = np.where(true >= 0, np.minimum(floor, most), most)
        return [
            Block(cells, 1, cost[cells], np.maximum(above, 0.0)),
            Block(cells, -1, cost[cells], np.maximum(below, 0.0)),
        ]

    def loss(self, objective: float) -> float:
        """Return sum w |x - a| from an objective of the program."""
        return objective * self.unit + self.offset

    def values(self, x: Floats) -> Integers:
        """Return the rounded table that a point of the program stands for."""
        values: Integers = self.base * (self.floor + self._steps.moves(x))
        return values
