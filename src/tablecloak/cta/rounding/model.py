"""Controlled rounding as a program in steps from the multiple below each value.

Changes x - a satisfy A (x - a) = 0, and are small however large values are. Relations have whole
coefficients, so that their sides are whole numbers too: nothing in their rows is rounded.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.cta.model.precision import accepted_errors, off_by, whole_products
from tablecloak.cta.model.steps import Block, StepProgram
from tablecloak.solve.exact import whole_factors, whole_rows
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.table import Table

__all__ = ["RoundingModel", "uneven_relations", "whole_relations"]

EPSILON = float(np.finfo(np.float64).eps)
"""Largest relative error of two sums."""


def whole_relations(relations: csr_array) -> tuple[csr_array, Floats]:
    """Return relations in whole coefficients without a common divisor, and what they are scaled by.

    Decimal coefficients stand for decimal numbers. Relations with others are left as they are.
    """
    rows, real = whole_rows(relations)
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    divisor = np.zeros(rows.shape[0], dtype=np.int64)
    np.gcd.at(divisor, row, np.where(real[row], 1.0, rows.data).astype(np.int64))
    divisor = np.maximum(divisor, 1)
    matrix = csr_array((rows.data / divisor[row], rows.indices, rows.indptr), shape=rows.shape)
    return matrix, np.where(real, 1.0, whole_factors(relations)) / divisor


def uneven_relations(table: Table, base: int) -> Integers:
    """Return the relations that no multiples of the base satisfy.

    In whole coefficients without a common divisor, their right-hand side is not such a multiple.
    """
    decimal = np.flatnonzero(whole_factors(table.relations))
    rows, _ = whole_relations(table.relations[decimal, :])
    rest = np.rint(table.values).astype(np.int64) % base
    odd: Integers = decimal[whole_products(rows, rest) % base != 0]
    return odd


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
        self._table = table
        self._steps = StepProgram.of(*self._rows(rest, steps), blocks)
        self.program = self._steps.program

    def _rows(self, rest: Integers, steps: int) -> tuple[csr_array, Floats, Floats]:
        """Relations on steps t: A (base t - rest) = 0, with the error that a table may have."""
        relations = self._table.relations
        rows, _ = whole_relations(relations)
        real = whole_factors(relations) == 0
        side = np.zeros(len(real))
        # Whole sides, since relations with others are refused.
        side[~real] = whole_products(rows[~real, :], rest) // self.base
        side[real] = rows[real, :] @ rest / self.base
        moved = np.abs(self.true).astype(np.float64) + steps * self.base
        error = accepted_errors(relations, moved) / self.base
        terms = np.diff(relations.indptr) + 3
        error += np.where(real, EPSILON * terms * (abs(rows) @ rest) / self.base, 0.0)
        return rows, side - error, side + error

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

    def adds_up(self, x: Floats) -> bool:
        """Whether the rounded table of a point satisfies every relation.

        A solver accepts small errors, which large coefficients make of a whole step.
        """
        return not np.any(off_by(self._table, self.values(x)))
