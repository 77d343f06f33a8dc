"""Full precision for answers that were written with eight digits.

Many solvers write their answers with eight significant digits. These still tell which columns lie
on their bounds and which rows on their sides; the other columns then follow from linear equations.
A wrong guess does no harm, since the result is checked like any other answer.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsqr

from tablecloak.arrays import Flags, Floats, LongFloats
from tablecloak.solve.bounds import violation
from tablecloak.solve.program import Program

NEAR = 1e-7
"""Distance within which a written number counts as equal to a bound, relative for numbers
above 1."""

DUST = 2.0**-60
"""Share of the largest multiplier up to which another one is an error of rounding. It may be the
only term of the price of a column without bounds, which it alone keeps from 0."""

DENSE = 1_000_000
"""Most coefficients for which least squares are solved by a dense factorisation."""


def polished(program: Program, x: Floats, duals: Floats) -> tuple[Floats, Floats]:
    """Return a point and multipliers near the given ones that satisfy the program more exactly.

    Parameters
    ----------
    program : Program
    x : numpy.ndarray of float, shape (n_columns,)
    duals : numpy.ndarray of float, shape (n_rows,)
        Empty without multipliers.
    """
    on_lower = _near(x, program.lower, np.abs(x))
    on_upper = _near(x, program.upper, np.abs(x))
    point = np.where(on_lower, program.lower, np.where(on_upper, program.upper, x))
    point[program.integral] = np.rint(point[program.integral])
    inside = ~(on_lower | on_upper | program.integral)
    activity = program.matrix @ point
    size = abs(program.matrix) @ np.abs(point)
    low = _near(activity, program.row_lower, size)
    high = _near(activity, program.row_upper, size)
    active = low | high
    side = np.where(low, program.row_lower, program.row_upper)
    part = csr_array(program.matrix[active, :])[:, inside]
    point[inside] += _least_squares(part, side[active] - activity[active])
    point = np.clip(point, program.lower, program.upper)
    if violation(program, x).worst < violation(program, point).worst:
        point = x
    return point, _multipliers(program, duals, active, inside) if len(duals) else duals


def settled_duals(program: Program, duals: Floats) -> LongFloats:
    """Return multipliers whose prices of columns without bounds are exactly 0, if they nearly are.

    Only then do they prove a bound: an infinite room times a rounding error is infinite.

    Parameters
    ----------
    program : Program
    duals : numpy.ndarray of float, shape (n_rows,)

    Returns
    -------
    numpy.ndarray of longdouble, shape (n_rows,)
        For `tablecloak.solve.bounds.dual_bound`, which counts what extended precision cannot tell
        from 0 as 0.
    """
    used = np.abs(duals) > DUST * np.max(np.abs(duals), initial=0.0)
    y = np.where(used, duals, 0.0).astype(np.longdouble)
    transposed = program.extended[1]
    size = np.abs(program.cost) + abs(program.matrix).T @ np.abs(duals)
    endless = np.isinf(program.lower) | np.isinf(program.upper)
    reduced = program.cost - transposed @ y
    zero = endless & _near(reduced.astype(np.float64), np.zeros_like(size), size)
    part = csr_array(csr_array(program.matrix[used, :])[:, zero].T)
    for _ in range(3):
        left = (program.cost - transposed @ y)[zero]
        y[used] += _least_squares(part, left.astype(np.float64))
    return y


def _multipliers(program: Program, duals: Floats, active: Flags, inside: Flags) -> Floats:
    """Return multipliers for which columns inside their bounds have reduced cost 0."""
    y = np.where(active, duals, 0.0)
    reduced = program.cost - program.matrix.T @ y
    size = np.abs(program.cost) + abs(program.matrix).T @ np.abs(y)
    zero = inside | _near(reduced, np.zeros_like(reduced), size)
    part = csr_array(csr_array(program.matrix[active, :])[:, zero].T)
    y[active] += _least_squares(part, reduced[zero])
    return y


def _near(values: Floats, ends: Floats, size: Floats) -> Flags:
    """Whether values, sums of terms whose total size is given, equal their ends up to `NEAR`."""
    return np.abs(values - ends) <= NEAR * np.maximum(size, 1.0)


def _least_squares(matrix: csr_array, right: Floats) -> Floats:
    """Return the shortest solution of a system; without one, the one of least squares."""
    solution = np.zeros(matrix.shape[1])
    if not matrix.nnz or not np.any(right):
        return solution
    is_dense = matrix.shape[0] * matrix.shape[1] <= DENSE
    for _ in range(2):
        left = right - matrix @ solution
        if is_dense:
            solution += np.linalg.lstsq(matrix.toarray(), left, rcond=None)[0]
        else:
            solution += lsqr(matrix, left, atol=1e-14, btol=1e-14)[0]
    return solution
