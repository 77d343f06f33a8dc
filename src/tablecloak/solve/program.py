"""A linear or mixed-integer program as arrays, and its scaling."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, vstack

from tablecloak.arrays import Flags, Floats, Integers, median_of_positive
from tablecloak.errors import InputError

LARGEST_COST = 1e9
"""Largest cost of a scaled program. The median cost is scaled to 1 unless that would make another
cost larger than this."""


@dataclass(frozen=True, eq=False)
class Program:
    """min c.x  subject to  row_lower <= A x <= row_upper,  lower <= x <= upper.

    Parameters
    ----------
    cost : numpy.ndarray of float, shape (n_columns,)
    matrix : scipy.sparse.csr_array, shape (n_rows, n_columns)
    row_lower, row_upper : numpy.ndarray of float, shape (n_rows,)
    lower, upper : numpy.ndarray of float, shape (n_columns,)
    integral : numpy.ndarray of bool, shape (n_columns,), optional
        Which columns must be whole numbers; by default none.
    """

    cost: Floats
    matrix: csr_array
    row_lower: Floats
    row_upper: Floats
    lower: Floats
    upper: Floats
    integral: Flags = field(default_factory=lambda: np.zeros(0, dtype=bool))

    def __post_init__(self) -> None:
        n, m = len(self.cost), len(self.row_lower)
        if not len(self.integral):
            object.__setattr__(self, "integral", np.zeros(n, dtype=bool))
        shapes = (self.matrix.shape, len(self.row_upper), len(self.lower), len(self.upper))
        if shapes != ((m, n), m, n, n):
            raise InputError(
                f"A program of {n} costs and {m} lower sides needs a matrix of shape {(m, n)}, "
                f"{m} upper sides, {n} lower and {n} upper bounds. It has a matrix of shape "
                f"{shapes[0]}, {shapes[1]} upper sides, {shapes[2]} lower and {shapes[3]} upper "
                "bounds: give arrays that fit."
            )

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.cost)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.row_lower)

    @property
    def is_mixed_integer(self) -> bool:
        """Whether any column must be a whole number."""
        return bool(np.any(self.integral))

    @cached_property
    def extended(self) -> tuple[csr_array, csr_array]:
        """The matrix and its transpose in extended precision, for checks."""
        # A copy, since sorting indices that both matrices share would misplace coefficients.
        matrix = csr_array(self.matrix, dtype=np.longdouble, copy=True)
        return matrix, csr_array(matrix.T)

    def relaxed(self) -> Program:
        """Return the linear relaxation."""
        return replace(self, integral=np.zeros(self.n_columns, dtype=bool))

    def with_bounds(self, lower: Floats, upper: Floats) -> Program:
        """Return the program with other column bounds."""
        return self.with_columns(self.cost, lower, upper)

    def with_columns(self, cost: Floats, lower: Floats, upper: Floats) -> Program:
        """Return the program with other costs and column bounds; the matrices are shared."""
        changed = replace(self, cost=cost, lower=lower, upper=upper)
        changed.__dict__["extended"] = self.extended
        return changed

    def with_sides(self, rows: Integers, row_lower: Floats, row_upper: Floats) -> Program:
        """Return the program with other sides of some rows; the matrices are shared."""
        low, high = self.row_lower.copy(), self.row_upper.copy()
        low[rows], high[rows] = row_lower, row_upper
        changed = replace(self, row_lower=low, row_upper=high)
        changed.__dict__["extended"] = self.extended
        return changed

    def with_rows(self, matrix: Any, row_lower: Floats, row_upper: Floats) -> Program:
        """Return the program with further rows at the end."""
        return replace(
            self,
            matrix=csr_array(vstack([self.matrix, matrix], format="csr")),
            row_lower=np.concatenate([self.row_lower, row_lower]),
            row_upper=np.concatenate([self.row_upper, row_upper]),
        )

    def only_rows(self, kept: Integers) -> Program:
        """Return the program with some of its rows only."""
        return replace(
            self,
            matrix=csr_array(self.matrix[kept, :]),
            row_lower=self.row_lower[kept],
            row_upper=self.row_upper[kept],
        )

    def objective(self, x: Floats) -> float:
        """Return c.x in extended precision."""
        return float(np.dot(self.cost.astype(np.longdouble), x.astype(np.longdouble)))


@dataclass(frozen=True, eq=False)
class Scaling:
    """Units of a program: x = column * x', rows times `row`, costs divided by `objective`.

    Solvers decide with absolute tolerances near 1e-7. A table in raw units has cells of 1e11
    and costs of 1e-9 a unit, so that any vertex passes as optimal. Measured in median
    protection levels, the numbers that decide are near 1.
    """

    column: Floats
    row: Floats
    objective: float

    @classmethod
    def by_units(cls, program: Program, units: Floats) -> Scaling:
        """Measure each column in a unit of its own, and bring rows and costs near 1.

        All factors are powers of two, so that scaling changes no number by rounding.

        Parameters
        ----------
        program : Program
        units : numpy.ndarray of float, shape (n_columns,)
            Values that become about 1, such as the protection level of a cell, all > 0; 1 for
            columns of 0 and 1.
        """
        column = power_of_two(units)
        scaled = abs(program.matrix @ diags_array(column))
        if program.n_rows and program.n_columns:
            largest = np.asarray(scaled.max(axis=1).todense()).reshape(-1)
        else:
            largest = np.zeros(program.n_rows)
        row = 1.0 / power_of_two(np.where(largest > 0, largest, 1.0))
        costs = np.abs(program.cost * column)
        # Solvers treat much larger costs as infinite.
        middle = max(median_of_positive(costs), float(costs.max(initial=0.0)) / LARGEST_COST)
        return cls(column, row, float(power_of_two(np.asarray(middle))))

    def apply(self, program: Program) -> Program:
        """Return the scaled program."""
        matrix = diags_array(self.row) @ program.matrix @ diags_array(self.column)
        return Program(
            cost=program.cost * self.column / self.objective,
            matrix=csr_array(matrix),
            row_lower=program.row_lower * self.row,
            row_upper=program.row_upper * self.row,
            lower=program.lower / self.column,
            upper=program.upper / self.column,
            integral=program.integral,
        )

    def point(self, x: Floats) -> Floats:
        """Return the point of the program for a point of the scaled program."""
        return x * self.column

    def duals(self, y: Floats) -> Floats:
        """Return the row multipliers of the program for those of the scaled program."""
        return y * self.row * self.objective


def power_of_two(values: Floats) -> Floats:
    """Return the largest powers of two that do not exceed positive values."""
    powers: Floats = np.ldexp(0.5, np.frexp(values)[1])
    return powers
