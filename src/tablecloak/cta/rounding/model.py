"""Controlled rounding as a program in steps from the multiple below each value.

Changes x - a satisfy A (x - a) = 0, and are small however large values are. Relations have whole
coefficients, so that their sides are whole numbers too: nothing in their rows is rounded.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.cta.model.precision import off_by
from tablecloak.cta.model.steps import Block, StepProgram
from tablecloak.cta.rounding.task import RoundingTask

EPSILON = float(np.finfo(np.float64).eps)
"""Largest relative error of two sums."""


class RoundingModel:
    """min w.|x - a| as a program in steps t = up + further - back.

    Columns: for each value that is not a multiple, whether it goes up; then, if more than one step
    is allowed, how many multiples each cell goes further up, and how many down.

    Parameters
    ----------
    task : RoundingTask
    steps : int

    Attributes
    ----------
    up_cost : numpy.ndarray of float
        What a whole step costs each value that is not a multiple, in the unit of the program.
    """

    def __init__(self, task: RoundingTask, steps: int) -> None:
        self.task, self.steps, self.true = task, steps, task.true
        base, weights = task.base, task.weights
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
            blocks += self._further(np.flatnonzero(~task.problem.frozen), scaled, float(steps - 1))
        self._columns = StepProgram.of(*self._rows(rest, steps), blocks)
        self.program = self._columns.program

    def _rows(self, rest: Integers, steps: int) -> tuple[csr_array, Floats, Floats]:
        """Relations on steps t: A (base t - rest) = 0, with the error that a table may have."""
        whole, base = self.task.whole, self.task.base
        real = whole.is_real
        # Whole sides, since relations with others are refused.
        side = (self.task.sides // base).astype(np.float64)
        side[real] = whole.rows[real, :] @ rest / base
        moved = np.abs(self.true).astype(np.float64) + steps * base
        error = self.task.accepted_errors(moved) / base
        terms = np.diff(whole.rows.indptr) + 3
        error += np.where(real, EPSILON * terms * (abs(whole.rows) @ rest) / base, 0.0)
        return whole.rows, side - error, side + error

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
        values: Integers = self.task.base * (self.floor + self._columns.moves(x))
        return values

    def adds_up(self, x: Floats) -> bool:
        """Whether the rounded table of a point satisfies every relation.

        A solver accepts small errors, which large coefficients make of a whole step.
        """
        return not np.any(off_by(self.task.problem.table, self.values(x)))
