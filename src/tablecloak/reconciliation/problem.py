"""The problem of a reconciliation: which additive table within bounds is the nearest."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats
from tablecloak.solve.program import Program

WHOLE = 1e-6
"""Largest distance from a whole number at which a real number counts as whole."""


@dataclass(frozen=True, eq=False)
class ReconciliationProblem:
    """min distance(x, y)  subject to  A x = b,  lower <= x <= upper.

    Parameters
    ----------
    values : numpy.ndarray of float, shape (n_cells,)
        Given values y, which need not add up.
    weights : numpy.ndarray of float, shape (n_cells,)
        Weights w > 0 of the changes; for L2 the inverse of the variance.
    relations : scipy.sparse.csr_array, shape (n_relations, n_cells)
        A.
    sides : numpy.ndarray of float, shape (n_relations,)
        b, usually 0.
    lower, upper : numpy.ndarray of float, shape (n_cells,)
        Bounds; equal where a cell is fixed.
    """

    values: Floats
    weights: Floats
    relations: csr_array
    sides: Floats
    lower: Floats
    upper: Floats

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.values)

    @property
    def free(self) -> Flags:
        """Cells that may change."""
        return self.lower < self.upper

    def residual(self, x: Floats) -> Floats:
        """A x - b."""
        found: Floats = self.relations @ x - self.sides
        return found

    def scale(self, x: Floats | None = None) -> Floats:
        """Size of the terms of each relation, at least 1; residuals are relative to it.

        Of the given values, or of the larger of these and of a table near them: a change of 1e10
        leaves the rounding of 1e10 behind, however small the given value is.
        """
        size = np.maximum(np.abs(self.values), 1.0)
        size = size if x is None else np.maximum(size, np.abs(x))
        found: Floats = abs(self.relations) @ size + np.abs(self.sides)
        return np.maximum(found, 1.0)

    def of_changes(self) -> tuple[ReconciliationProblem, float, float]:
        """Return the problem for the changes x - y, in units in which they are about 1.

        Solvers have absolute tolerances: in the unit of the table, these would be too coarse for
        some tables and finer than a float for others.

        Returns
        -------
        problem : ReconciliationProblem
            Its values are 0.
        unit : float
            Size of a change of 1: the largest residual, or distance of a value from its bounds.
        weight : float
            Size of a weight of 1: the geometric mean of the weights.
        """
        off = np.maximum(self.lower - self.values, self.values - self.upper)
        # Relations follow from each other; their residuals do so only if they are not rounded.
        long = csr_array(self.relations, dtype=np.longdouble)
        side = (self.sides - long @ self.values.astype(np.longdouble)).astype(np.float64)
        unit = max(float(np.max(np.abs(side), initial=0.0)), float(np.max(off, initial=0.0))) or 1.0
        weight = float(np.exp(np.mean(np.log(self.weights))))
        problem = ReconciliationProblem(
            values=np.zeros(self.n_cells),
            weights=self.weights / weight,
            relations=self.relations,
            sides=side / unit,
            lower=(self.lower - self.values) / unit,
            upper=(self.upper - self.values) / unit,
        )
        return problem, unit, weight

    def changed(self, changes: Floats) -> Floats:
        """Return the values with changes, within the bounds."""
        return np.clip(self.values + changes, self.lower, self.upper)

    def worst(self, x: Floats) -> float:
        """Return the largest residual of a relation, relative to its terms."""
        return float(np.max(np.abs(self.residual(x)) / self.scale(x), initial=0.0))

    def program(self) -> Program:
        """Return the program of all tables that add up within the bounds; none of them costs."""
        cost = np.zeros(self.n_cells)
        return Program(cost, self.relations, self.sides, self.sides, self.lower, self.upper)

    def in_whole_numbers(self) -> ReconciliationProblem:
        """Return the problem with the outermost whole numbers within the bounds as bounds."""
        return replace(self, lower=np.ceil(self.lower - WHOLE), upper=np.floor(self.upper + WHOLE))

    def fixed_at(self, cells: Flags, values: Floats) -> ReconciliationProblem:
        """Return the problem with some cells fixed at values."""
        return replace(
            self,
            lower=np.where(cells, values, self.lower),
            upper=np.where(cells, values, self.upper),
        )
