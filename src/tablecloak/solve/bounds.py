"""Checks that trust no solver: safe bounds, exact feasibility, confirmed infeasibility."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Floats, LongFloats
from tablecloak.errors import CHANGED, VerificationError
from tablecloak.solve.program import Program

ACCEPTED_VIOLATION = 1e-7
"""Largest violation of a scaled program that an accepted point may have."""

ACCEPTED_GAP = 1e-6
"""Largest relative difference between value and weak-duality bound that counts as optimal."""

_LONG = np.longdouble
_EPSILON = float(np.finfo(_LONG).eps)


@dataclass(frozen=True)
class Violation:
    """How far a point violates a program, in the program's own units.

    Parameters
    ----------
    rows, bounds, integrality : float
        Largest violation of any row, column bound, or whole-number condition.
    """

    rows: float
    bounds: float
    integrality: float

    @property
    def worst(self) -> float:
        """Largest violation of the three kinds."""
        return max(self.rows, self.bounds, self.integrality)


def violation(program: Program, x: Floats) -> Violation:
    """Measure how far a point violates a program, in extended precision.

    Parameters
    ----------
    program : Program
    x : numpy.ndarray of float, shape (n_columns,)
    """
    if not np.all(np.isfinite(x)):
        return Violation(np.inf, np.inf, np.inf)
    activity = program.extended[0] @ x.astype(_LONG)
    below = np.max(program.row_lower - activity, initial=0.0)
    above = np.max(activity - program.row_upper, initial=0.0)
    outside = max(np.max(program.lower - x, initial=0.0), np.max(x - program.upper, initial=0.0))
    fraction = np.abs(x - np.rint(x))[program.integral]
    return Violation(float(max(below, above)), float(outside), float(np.max(fraction, initial=0.0)))


def dual_bound(
    program: Program,
    duals: Floats | LongFloats,
    *,
    cost: Floats | None = None,
    lower: Floats | None = None,
    upper: Floats | None = None,
) -> float:
    """Return a lower bound on the optimal value that holds for *any* row multipliers.

    By weak duality, for every y::

        min c.x >= sum_r (y_r > 0 ? y_r row_lower_r : y_r row_upper_r)
                   + sum_j min over [l_j, u_j] of (c_j - A_j.y) x_j

    Poor multipliers give a poor bound, never a wrong one.

    Parameters
    ----------
    program : Program
    duals : numpy.ndarray of float, shape (k,)
        Multipliers of the first k rows; those of the other rows are 0.
    cost, lower, upper : numpy.ndarray of float, shape (n_columns,), optional
        Costs and column bounds to use instead of the program's.

    Returns
    -------
    float
        The bound, lowered by the largest possible rounding error; -inf if a reduced cost has the
        wrong sign for a column with an infinite bound. For such a column a reduced cost within
        its rounding error counts as 0.

    Notes
    -----
    Two sparse products in extended precision. The rounding error of a sum of k terms is at
    most k eps times the sum of their absolute values, which is subtracted.
    """
    y = np.zeros(program.n_rows, dtype=_LONG)
    y[: len(duals)] = duals
    low, high = program.row_lower, program.row_upper
    # A multiplier of an infinite side proves nothing; 0 is always valid.
    y = np.where((y > 0) & np.isneginf(low), 0.0, y)
    y = np.where((y < 0) & np.isposinf(high), 0.0, y)
    side = np.where(y > 0, low, np.where(y < 0, high, 0.0)).astype(_LONG)
    transposed = program.extended[1]
    priced = transposed @ y
    cost = program.cost if cost is None else cost
    reduced = cost - priced
    low_x = program.lower if lower is None else lower
    high_x = program.upper if upper is None else upper
    # At an infinite bound the rounding error of a reduced cost must not decide its sign.
    size = abs(transposed) @ np.abs(y) + np.abs(cost)
    noise = 4 * _EPSILON * size * np.maximum(np.diff(transposed.indptr), 1)
    at = np.where(reduced > 0, low_x, high_x).astype(_LONG)
    certain = np.where(np.isinf(at) & (np.abs(reduced) <= noise), 0.0, reduced)
    at = np.where(certain == 0, 0.0, at)
    terms = np.concatenate([y * side, certain * at])
    if np.any(np.isinf(terms)):
        return -np.inf
    finite = np.maximum(np.abs(low_x), np.abs(high_x))
    finite = np.where(np.isinf(finite), np.abs(at), finite)
    error = (len(terms) + 4) * _EPSILON * np.sum(np.abs(terms)) + np.sum(noise * finite)
    return float(np.sum(terms) - error)


def proves_infeasible(
    program: Program,
    duals: Floats | LongFloats,
    *,
    lower: Floats | None = None,
    upper: Floats | None = None,
) -> bool:
    """Whether row multipliers prove that no point satisfies rows and bounds (Farkas).

    With cost 0 every feasible point has the objective 0; a positive lower bound on it is a
    contradiction.
    """
    nothing = np.zeros(program.n_columns)
    return dual_bound(program, duals, cost=nothing, lower=lower, upper=upper) > 0


def is_proved(program: Program, x: Floats, duals: Floats, value: float, bound: float) -> bool:
    """Whether the value of a point and its weak-duality bound agree within `ACCEPTED_GAP`.

    With infinite column bounds the weak-duality bound is -inf as soon as one reduced cost is off
    by a rounding error. Reduced costs of the right sign within the tolerance are then enough: that
    tells a false answer from a true one, but is no proof.

    Parameters
    ----------
    program : Program
    x : numpy.ndarray of float
        A feasible point.
    duals : numpy.ndarray of float, shape (n_rows,)
    value, bound : float
        Objective of `x`, and the result of `dual_bound` for the multipliers.
    """
    if value - bound <= ACCEPTED_GAP * max(1.0, abs(value)):
        return True
    if np.isfinite(bound):
        return False
    reduced = program.cost - program.matrix.T @ duals
    lower = np.where(np.isinf(program.lower), np.minimum(x, 0.0) - 1.0, program.lower)
    upper = np.where(np.isinf(program.upper), np.maximum(x, 0.0) + 1.0, program.upper)
    boxed = dual_bound(program, duals, lower=lower, upper=upper)
    harmless = np.all(reduced[np.isinf(program.upper)] >= -1e-7) and np.all(
        reduced[np.isinf(program.lower)] <= 1e-7
    )
    return bool(harmless) and value - boxed <= ACCEPTED_GAP * max(1.0, abs(value))


def check_claim(claimed: float, proved: float) -> None:
    """Compare a claimed bound with what its proof supports.

    Raises
    ------
    VerificationError
        If less is proved than claimed.
    """
    if proved < claimed - 1e-9 * max(1.0, abs(claimed)):
        raise VerificationError(
            f"The bound {claimed:g} is claimed, but only {proved:g} is proved. {CHANGED}"
        )
