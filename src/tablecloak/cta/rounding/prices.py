"""Multipliers of the relaxation of a large rounding, by the primal-dual hybrid gradient method.

Any multipliers prove a bound by weak duality, so that the method may be stopped at any time. After
that, costs that grow with the distance from whole numbers drive its point to a vertex of the unit
cube, while the multipliers go on pulling it towards the rows.

References
----------
.. [1] Pock, Chambolle: Diagonal preconditioning for first order primal-dual algorithms in convex
   optimization, ICCV 2011.
.. [2] Applegate et al.: Practical large-scale linear programming using primal-dual hybrid gradient,
   NeurIPS 2021.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats
from tablecloak.budget import Budget
from tablecloak.solve.program import Program

LOOK = 50
"""Steps between two looks at the bound."""

RESTARTS = (200, 400, 800, 1600, 3200, 6400)
"""Steps after which the method goes on from the average so far."""

MOST_STEPS = 10_000
"""Steps after which the method ends: the bound of a table of 8,456 cells is then within 1e-5 of the
optimum."""

SETTLED = 2e-6
"""Growth of the bound over `PATIENCE` looks, as a share of the cost of all cells, that ends it."""

PATIENCE = 10
"""Looks over which growth is measured."""

STAGES = 160
"""Times at which the push towards whole numbers grows. With it slabs start from 27 exceptions and a
gap of 2 % at 237,628 cells, without it from 9,784 and 21 %. docs/decisions, "A first-order method
gives both ends of a rounding"."""

STAGE_STEPS = 20
"""Steps between two pushes."""

LAST_PUSH = 0.8
"""Largest push, as a share of what a step of the cell costs."""


@dataclass(frozen=True, eq=False)
class RelaxationPrices:
    """A nearly optimal point of a relaxation, and multipliers.

    Parameters
    ----------
    x : numpy.ndarray of float, shape (n_columns,)
        Satisfies the bounds, and the rows nearly.
    duals : numpy.ndarray of float, shape (n_rows,)
    bound : float
        What the multipliers prove, up to rounding errors.
    """

    x: Floats
    duals: Floats
    bound: float


class _Method:
    """The point and the multipliers, improved step by step, and their averages."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.cost = program.cost
        self._matrix = csr_array(program.matrix)
        self._transposed = csr_array(program.matrix.T)
        self._length = 1 / np.maximum(np.abs(self._transposed).sum(axis=1), 1.0)
        self._price_length = 1 / np.maximum(np.abs(self._matrix).sum(axis=1), 1.0)
        self.start(np.full(program.n_columns, 0.5), np.zeros(program.n_rows))

    def start(self, x: Floats, duals: Floats) -> None:
        """Go on from another point and other multipliers."""
        self.x = np.clip(x, self._program.lower, self._program.upper)
        self.duals, self._paid = duals, self._transposed @ duals
        self._forget()

    def _forget(self) -> None:
        self._sum, self._price_sum = np.zeros_like(self.x), np.zeros_like(self.duals)
        self._number = 0

    def step(self) -> None:
        program = self._program
        new = self.x - self._length * (self.cost - self._paid)
        np.clip(new, program.lower, program.upper, out=new)
        gap = program.row_lower - self._matrix @ (2 * new - self.x)
        self.duals = self.duals + self._price_length * gap
        self.x, self._paid = new, self._transposed @ self.duals
        self._sum += self.x
        self._price_sum += self.duals
        self._number += 1

    def steps(self, number: int, budget: Budget) -> None:
        """Make some steps, at least one."""
        for _ in range(number):
            self.step()
            if budget.is_over:
                break

    def average(self) -> tuple[Floats, Floats]:
        return self._sum / self._number, self._price_sum / self._number

    def restart(self) -> None:
        self.start(*self.average())

    def bound(self, duals: Floats) -> float:
        program = self._program
        reduced = program.cost - self._transposed @ duals
        least = np.minimum(reduced * program.lower, reduced * program.upper)
        return float(program.row_lower @ duals + least.sum())


def priced(program: Program, budget: Budget) -> RelaxationPrices:
    """Return multipliers of a program whose rows are equations and whose columns have bounds.

    Parameters
    ----------
    program : Program
        Whole-number conditions are left out.
    budget : Budget
        At least one step is made.
    """
    method, scale = _Method(program), float(np.abs(program.cost).sum())
    best = RelaxationPrices(method.x, method.duals, method.bound(method.duals))
    history = [best.bound]
    for number in range(LOOK, MOST_STEPS + 1, LOOK):
        method.steps(LOOK, budget)
        x, averaged = method.average()
        for duals in (method.duals, averaged):
            bound = method.bound(duals)
            if bound > best.bound:
                best = RelaxationPrices(x, duals, bound)
        history.append(best.bound)
        is_settled = (
            len(history) > PATIENCE and history[-1] - history[-1 - PATIENCE] <= SETTLED * scale
        )
        if is_settled or budget.is_over:
            break
        if number in RESTARTS:
            method.restart()
    return best


def driven(
    program: Program, prices: RelaxationPrices, step_cost: Floats, budget: Budget, slowness: int = 1
) -> Floats:
    """Return a point near whole numbers that nearly satisfies the rows, at little more cost.

    Parameters
    ----------
    program : Program
        Of columns between 0 and 1.
    prices : RelaxationPrices
        Where to start.
    step_cost : numpy.ndarray of float, shape (n_columns,)
        What a step of the cell costs, which is the unit of the push.
    budget : Budget
        With less time the push grows faster.
    slowness : int, default=1
        How many times as many steps are made.
    """
    method = _Method(program)
    method.start(prices.x, prices.duals)
    given, number = budget.left, 0
    while number < STAGES and not budget.is_over:
        spent = 1 - budget.left / given if np.isfinite(given) else 0.0
        number = max(number + 1, int(spent * STAGES))
        push = LAST_PUSH * number / STAGES
        method.cost = program.cost + push * step_cost * (1 - 2 * method.x)
        method.steps(slowness * STAGE_STEPS, budget)
    return method.x
