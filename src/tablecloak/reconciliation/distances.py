"""Distances between the given table and the reconciled one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack, vstack

from tablecloak.arrays import Floats
from tablecloak.budget import Budget
from tablecloak.cta.search.distance import DISTANCES
from tablecloak.reconciliation.least_squares import (
    NearestPoint,
    least_squares,
    least_squares_bound,
)
from tablecloak.reconciliation.problem import ReconciliationProblem
from tablecloak.registry import Registry
from tablecloak.solve.bounds import dual_bound
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve_quadratic
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Capability, chosen_solver

SETTLED = 1e-9
"""Residual of a relation, relative to its terms, with which Newton's method has done its work."""

MOST_QUADRATIC = 20_000
"""Largest number of cells for which the active-set method takes over. Its steps cost more the more
cells move."""


class Nearness(ABC):
    """Base class of all distances between a table and its reconciled version."""

    name: ClassVar[str]

    def loss(self, problem: ReconciliationProblem, x: Floats) -> float:
        """Return the distance of a table: the loss of an adjustment by the same changes."""
        return DISTANCES[self.name]().loss(problem.weights, x - problem.values)

    @abstractmethod
    def nearest(self, problem: ReconciliationProblem, budget: Budget) -> NearestPoint:
        """Search for the nearest additive table."""

    @abstractmethod
    def bound(self, problem: ReconciliationProblem, multipliers: Floats, loss: float) -> float:
        """Return a lower bound on the distance of every table, from any multipliers.

        Parameters
        ----------
        problem : ReconciliationProblem
        multipliers : numpy.ndarray of float
            Multipliers of the relations, or of the rows of the program.
        loss : float
            Distance of a known table; the bound never exceeds it.
        """


NEARNESS: Registry[Nearness] = Registry("distance of reconciliation")
"""All distances by name."""


@NEARNESS.register
class LeastSquares(Nearness):
    """Sum of weighted squares of the changes; weights 1 / variance give the best estimate."""

    name = "L2"

    def nearest(self, problem: ReconciliationProblem, budget: Budget) -> NearestPoint:
        """See `Nearness.nearest`."""
        point = least_squares(problem, budget)
        if point.residual <= SETTLED or problem.n_cells > MOST_QUADRATIC:
            return point
        # Where narrow bounds hold most cells, Newton's method can come to a standstill.
        return min([point, *_by_active_set(problem, budget)], key=lambda found: found.residual)

    def bound(self, problem: ReconciliationProblem, multipliers: Floats, loss: float) -> float:
        """See `Nearness.bound`."""
        return min(max(least_squares_bound(problem, multipliers), 0.0), loss)


def _by_active_set(problem: ReconciliationProblem, budget: Budget) -> Iterator[NearestPoint]:
    """Yield the point of the quadratic program, and what Newton's method makes of it."""
    if not chosen_solver().can(Capability.QUADRATIC):
        return
    in_units, unit, weight = problem.of_changes()
    changes, duals = solve_quadratic(in_units.program(), in_units.weights, budget.left)
    if len(changes):
        x, multipliers = problem.changed(unit * changes), -unit * weight * duals
        yield NearestPoint(x, multipliers, problem.worst(x))
        yield least_squares(problem, budget, start=multipliers)


class _ByProgram(Nearness):
    """Base class of distances that a linear program minimises."""

    @abstractmethod
    def program(self, problem: ReconciliationProblem) -> Program:
        """Return the program; its first columns are the amounts added to each cell."""

    def nearest(self, problem: ReconciliationProblem, budget: Budget) -> NearestPoint:
        """See `Nearness.nearest`."""
        in_units, unit, weight = problem.of_changes()
        program = self.program(in_units)
        found = LinearSolver(program, interior="first").solve(budget.left)
        if not len(found.x):
            within = problem.changed(np.zeros(problem.n_cells))
            return NearestPoint(within, np.zeros(program.n_rows), np.inf)
        n = problem.n_cells
        x = problem.changed(unit * (found.x[:n] - found.x[n : 2 * n]))
        # Rows beyond the relations compare changes with their limit, in whatever unit.
        multipliers = found.duals.copy()
        multipliers[: len(problem.sides)] *= weight
        return NearestPoint(x, multipliers, problem.worst(x))

    def bound(self, problem: ReconciliationProblem, multipliers: Floats, loss: float) -> float:
        """See `Nearness.bound`."""
        program = self.program(problem)
        # A table with a larger change of one cell is farther away than the known table. With these
        # limits, a rounding error in the multipliers lowers the bound by a rounding error only.
        limit = np.full(program.n_columns, loss)
        limit[: 2 * problem.n_cells] = np.tile(loss / problem.weights, 2)
        upper = np.maximum(np.minimum(program.upper, limit), program.lower)
        return min(max(dual_bound(program, multipliers, upper=upper), 0.0), loss)


def _changes(problem: ReconciliationProblem) -> tuple[csr_array, Floats, Floats, Floats]:
    """Return the relations on increases and decreases, their sides, and the limits of both.

    If a given value violates a bound, its cell has to change; the lower bounds of the columns
    require the least change.
    """
    a, y = problem.relations, problem.values
    rows = csr_array(hstack([a, -a], format="csr"))
    lower = np.concatenate([np.maximum(problem.lower - y, 0.0), np.maximum(y - problem.upper, 0.0)])
    upper = np.concatenate([np.maximum(problem.upper - y, 0.0), np.maximum(y - problem.lower, 0.0)])
    return rows, -problem.residual(y), lower, upper


@NEARNESS.register
class LeastSum(_ByProgram):
    """Sum of the weighted absolute changes: few cells change."""

    name = "L1"

    def program(self, problem: ReconciliationProblem) -> Program:
        """See `_ByProgram.program`."""
        rows, side, lower, upper = _changes(problem)
        cost = np.concatenate([problem.weights, problem.weights])
        return Program(cost, rows, side, side, lower, upper)


def settled(problem: ReconciliationProblem, x: Floats, budget: Budget) -> Floats:
    """Return a table near a point that nearly adds up, with smaller residuals.

    The residuals of a solver are a share of what it was asked for. Asked for the residuals alone,
    it leaves a share of these.
    """
    near = replace(problem, values=x, weights=np.ones(len(x)))
    found = LeastSum().nearest(near, budget).x
    return found if problem.worst(found) < problem.worst(x) else x


@NEARNESS.register
class LeastLargest(_ByProgram):
    """Largest weighted absolute change: no cell changes much."""

    name = "Linf"

    def program(self, problem: ReconciliationProblem) -> Program:
        """See `_ByProgram.program`."""
        rows, side, lower, upper = _changes(problem)
        n, m = problem.n_cells, rows.shape[0]
        # weight * (up + down) <= largest, for each cell.
        each = diags_array(problem.weights)
        limits = hstack([each, each, csr_array(-np.ones((n, 1)))])
        wide = hstack([rows, csr_array((m, 1))])
        return Program(
            cost=np.concatenate([np.zeros(2 * n), [1.0]]),
            matrix=csr_array(vstack([wide, limits], format="csr")),
            row_lower=np.concatenate([side, np.full(n, -np.inf)]),
            row_upper=np.concatenate([side, np.zeros(n)]),
            lower=np.concatenate([lower, [0.0]]),
            upper=np.concatenate([upper, [np.inf]]),
        )
