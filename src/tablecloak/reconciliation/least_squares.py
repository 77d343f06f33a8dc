"""The nearest table in weighted least squares, by Newton's method on the dual.

The dual function of  min 1/2 sum w (x - y)^2,  A x = b,  l <= x <= u  is

    g(t) = sum min over l <= x <= u of [ 1/2 w (x - y)^2 + (A't) x ]  -  t b,

attained at x(t) = clip(y - A't / w, l, u), with gradient A x(t) - b. It is concave and piecewise
quadratic. Each Newton step solves (A D A') dt = A x - b, D = 1/w for the cells inside their bounds,
by conjugate gradients: only sparse products, so that millions of cells take seconds. Every t gives
a lower bound on the distance, so that the bound is proved even if the search is interrupted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats
from tablecloak.budget import Budget
from tablecloak.reconciliation.problem import ReconciliationProblem

MOST_STEPS = 200
"""Largest number of Newton steps; few are needed if no bound binds, ten to thirty if many do."""

RESIDUAL = 1e-14
"""Largest residual of a relation, relative to its terms, at which the search is finished: a cent
beside a sum of 1e11 is more than that."""

CLOSE = 1e-7
"""Residual below which Newton steps solve their system to full accuracy."""

FORCING = 0.1
"""Relative accuracy of a step's system far from the answer, where higher accuracy is wasted."""

MOST_PRODUCTS = 2000
"""Largest number of conjugate gradient steps for one system."""

ENOUGH_RISE = 1e-4
"""Smallest accepted rise of a step, as a share of the rise that the gradient predicts."""

RIDGE = 1e-13
"""Amount added to the diagonal, relative to it, since relations may depend on each other."""


@dataclass(frozen=True, eq=False)
class NearestPoint:
    """A point, and the multipliers that bound the distance of every other one.

    Parameters
    ----------
    x : numpy.ndarray of float, shape (n_cells,)
    multipliers : numpy.ndarray of float, shape (n_relations,)
    residual : float
        Largest residual of a relation, relative to its terms.
    """

    x: Floats
    multipliers: Floats
    residual: float


def least_squares(
    problem: ReconciliationProblem, budget: Budget, start: Floats | None = None
) -> NearestPoint:
    """Find the nearest table, or the best multipliers that the time allows.

    Parameters
    ----------
    problem : ReconciliationProblem
    budget : Budget
    start : numpy.ndarray of float, shape (n_relations,), optional
        Multipliers to begin with; by default 0.

    Returns
    -------
    NearestPoint
        Its residual is above `RESIDUAL` if no such table exists, or the time was too short.
    """
    matrix, transposed = problem.relations, csr_array(problem.relations.T)
    squared = matrix.multiply(matrix).tocsr()
    scale = problem.scale()
    multipliers = np.zeros(matrix.shape[0]) if start is None else start
    x, value = _best_response(problem, transposed, multipliers)
    for step in range(MOST_STEPS):
        residual = problem.residual(x)
        worst = float(np.max(np.abs(residual) / scale, initial=0.0))
        budget.report("least squares", float(step), worst, 0)
        if worst <= RESIDUAL or budget.is_over:
            break
        moving = (x > problem.lower) & (x < problem.upper)
        inverse = np.where(moving, 1.0 / problem.weights, 0.0)
        accuracy = min(FORCING, worst / CLOSE) if worst > CLOSE else 1e-10
        direction = _conjugate_gradients(
            matrix, transposed, squared, inverse, residual, max(accuracy, 1e-10), budget
        )
        # Stuck rows, whose cells are all at bounds, get the gradient itself.
        rise = float(direction @ residual)
        if not rise > 0:
            break
        taken = _line_search(problem, transposed, multipliers, direction, value, rise)
        if taken is None:
            break
        multipliers, x, value = taken
    residual = problem.residual(x)
    return NearestPoint(x, multipliers, float(np.max(np.abs(residual) / scale, initial=0.0)))


def least_squares_bound(problem: ReconciliationProblem, multipliers: Floats) -> float:
    """Return a lower bound on sum w (x - y)^2 over all tables, from any multipliers.

    The bound is computed in extended precision, and lowered by the largest possible rounding error:
    one unit in the last place for each term of its sums.
    """
    long = np.longdouble
    transposed = csr_array(problem.relations.T, dtype=long)
    t = multipliers.astype(long)
    price = transposed @ t
    y, w = problem.values.astype(long), problem.weights.astype(long)
    x = np.clip(y - price / w, problem.lower, problem.upper)
    moved, paid, owed = w * (x - y) ** 2 / 2, x * price, t * problem.sides
    value = moved.sum() + paid.sum() - owed.sum()
    size = moved.sum() + np.abs(paid).sum() + np.abs(owed).sum()
    slack = size * np.finfo(long).eps * (len(x) + problem.relations.nnz)
    return float(2 * (value - slack))


def _best_response(
    problem: ReconciliationProblem, transposed: csr_array, multipliers: Floats
) -> tuple[Floats, float]:
    """Return x(t) and g(t)."""
    price = transposed @ multipliers
    y, w = problem.values, problem.weights
    x = np.clip(y - price / w, problem.lower, problem.upper)
    value = float(np.sum(x * price + 0.5 * w * (x - y) ** 2) - multipliers @ problem.sides)
    return x, value


def _line_search(
    problem: ReconciliationProblem,
    transposed: csr_array,
    multipliers: Floats,
    direction: Floats,
    value: float,
    rise: float,
) -> tuple[Floats, Floats, float] | None:
    """Take the full step, or half of it until the dual function rises enough."""
    length = 1.0
    noise = 1e-13 * max(abs(value), 1.0)
    for _ in range(40):
        tried = multipliers + length * direction
        x, reached = _best_response(problem, transposed, tried)
        if reached >= value + ENOUGH_RISE * length * rise - noise:
            return tried, x, reached
        length /= 2
    return None


def _conjugate_gradients(
    matrix: csr_array,
    transposed: csr_array,
    squared: csr_array,
    inverse: Floats,
    right: Floats,
    accuracy: float,
    budget: Budget,
) -> Floats:
    """Solve (A D A' + ridge) t = right, preconditioned by the diagonal."""
    diagonal = squared @ inverse
    largest = float(diagonal.max(initial=0.0)) or 1.0
    ridge = RIDGE * largest
    # Rows in which no cell can move would divide by zero: give them a small diagonal entry.
    preconditioner = 1.0 / np.maximum(diagonal, 1e-6 * largest)
    found = np.zeros(len(right))
    rest = right.copy()
    scaled = preconditioner * rest
    towards = scaled.copy()
    size = float(rest @ scaled)
    enough = accuracy**2 * size
    for _ in range(MOST_PRODUCTS):
        if size <= enough or budget.is_over:
            break
        image = matrix @ (inverse * (transposed @ towards)) + ridge * towards
        curvature = float(towards @ image)
        if not curvature > 0:
            break
        length = size / curvature
        found += length * towards
        rest -= length * image
        scaled = preconditioner * rest
        previous, size = size, float(rest @ scaled)
        towards = scaled + (size / previous) * towards
    return found if np.any(found) else right
