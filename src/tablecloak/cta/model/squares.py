"""Adjustment that moves cells by as little as possible in the sense of least squares.

min sum w_i z_i^2 over A z = 0, with each sensitive cell at or beyond one of its two levels. With
given directions this is a convex quadratic program. For any multipliers gamma of the relations,
with r = A^T gamma::

    sum_i min over z_i allowed of (w_i z_i^2 - r_i z_i)

bounds the optimum from below; each minimum is that of a parabola over one interval, or over two
for a sensitive cell whose direction is free. Multipliers alone therefore prove the bound, and
estimate the change from turning one direction.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array, diags_array, hstack

from tablecloak.arrays import Floats, Integers, median_of_positive
from tablecloak.budget import Budget
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.room import Room
from tablecloak.solve.mixed import solve_quadratic
from tablecloak.solve.program import Program, power_of_two

CLIMBS = 500
"""Largest number of steps that improve the multipliers of least squares."""

REACH_SLACK = 1e-6
"""Share added to rooms that are cut by the loss of a known table, against rounding."""


@dataclass(frozen=True, eq=False)
class SquaresPoint:
    """Least squares for some directions.

    Parameters
    ----------
    value : float
        Scaled sum of weighted squares.
    changes : numpy.ndarray of float, shape (n_cells,)
    duals : numpy.ndarray of float
        Multipliers of relations and statistics.
    """

    value: float
    changes: Floats
    duals: Floats


class SquaresForm:
    """The quadratic program, its scaling, and the bound that multipliers give.

    Parameters
    ----------
    model : AdjustmentModel
    known_loss : float
        Sum of weighted squares of a table that exists. No better one moves a cell farther than
        that allows, so that rooms are cut; the bound is never larger.
    """

    def __init__(self, model: AdjustmentModel, known_loss: float) -> None:
        self.model = model
        self.sensitive = model.sensitive
        self.length = float(power_of_two(np.asarray(model.problem.unit)))
        # Powers of two, so that scaling rounds no number.
        middle = float(power_of_two(np.asarray(median_of_positive(model.cost))))
        self.weights = model.cost / middle
        self.objective = middle * self.length**2
        self.known_loss = known_loss / self.objective
        self._cut_rooms(model.moves)
        self.matrix = model.rows.matrix
        self.row_lower = model.rows.low / self.length
        self.row_upper = model.rows.high / self.length

    def _cut_rooms(self, moves: Room) -> None:
        costly = self.weights > 0
        # What costs nothing may move anywhere, whatever the loss.
        reach = np.full(len(costly), np.inf)
        reach[costly] = np.sqrt((1 + REACH_SLACK) * self.known_loss / self.weights[costly])
        self.up = np.minimum(moves.up / self.length, reach)
        self.down = np.minimum(moves.down / self.length, reach)
        self.up_level = moves.up_level / self.length
        self.down_level = moves.down_level / self.length
        self.may_rise = moves.may_rise[self.sensitive]
        self.may_fall = moves.may_fall[self.sensitive]

    def solve(self, directions: Floats, time_limit: float) -> SquaresPoint | None:
        """Return the least squares for given directions.

        None if they are infeasible, or time was up.
        """
        low, high = -self.down, self.up.copy()
        at, up = self.sensitive, directions > 0
        low[at] = np.where(up, self.up_level[at], low[at])
        high[at] = np.where(up, high[at], -self.down_level[at])
        if np.any(low > high) or np.any(np.where(up, ~self.may_rise, ~self.may_fall)):
            return None
        program = Program(
            np.zeros(len(low)), self.matrix, self.row_lower, self.row_upper, low, high
        )
        x, duals = solve_quadratic(program, 2 * self.weights, time_limit)
        if not len(x):
            return None
        x = np.clip(x, low, high)
        changes = self.model.cells(x) * self.length
        return SquaresPoint(float(np.dot(self.weights, x**2)), changes, duals)

    def relaxed(self, time_limit: float) -> Floats:
        """Return multipliers of the relaxation in which directions may be fractions.

        z = UPL y - LPL (1 - y) + s+ - s-, and the square of a sensitive cell is replaced by
        what it is at y = 0 and y = 1, linearly in between.
        """
        n, at = len(self.weights), self.sensitive
        k = len(at)
        level = np.zeros((2, n))
        level[0, at], level[1, at] = self.up_level[at], self.down_level[at]
        up = np.maximum(self.up - level[0], 0.0)
        down = np.maximum(self.down - level[1], 0.0)
        swing = csr_array(self.matrix[:, at] @ diags_array(level[0, at] + level[1, at]))
        constant = self.matrix[:, at] @ level[1, at]
        cost = np.concatenate(
            [
                2 * self.weights * level[0],
                2 * self.weights * level[1],
                self.weights[at] * (level[0, at] ** 2 - level[1, at] ** 2),
            ]
        )
        can_fall = self.may_fall & (self.down[at] >= self.down_level[at])
        can_rise = self.may_rise & (self.up[at] >= self.up_level[at])
        program = Program(
            cost,
            csr_array(hstack([self.matrix, -self.matrix, swing], format="csr")),
            self.row_lower + constant,
            self.row_upper + constant,
            np.concatenate([np.zeros(2 * n), (~can_fall).astype(float)]),
            np.concatenate([up, down, can_rise.astype(float)]),
        )
        curved = np.concatenate([2 * self.weights, 2 * self.weights, np.zeros(k)])
        _, duals = solve_quadratic(program, curved, time_limit)
        return duals if len(duals) else np.zeros(len(self.row_lower))

    def climb(self, duals: Floats, budget: Budget) -> Floats:
        """Return multipliers that prove more, by steps along (sub)gradients of the bound."""
        best, best_duals = -np.inf, duals

        def negative(gamma: Floats) -> tuple[float, Floats]:
            nonlocal best, best_duals
            if budget.is_over:
                raise TimeoutError
            cheapest, place = self._cheapest(self.matrix.T @ gamma, None)
            side = np.where(gamma > 0, self.row_lower, self.row_upper)
            value = float(cheapest.sum() + side @ gamma)
            if value > best:
                best, best_duals = value, gamma.copy()
            return -value, self.matrix @ place - side

        with contextlib.suppress(TimeoutError):
            minimize(negative, duals, jac=True, method="L-BFGS-B", options={"maxiter": CLIMBS})
        return best_duals

    def bound(self, duals: Floats) -> float:
        """Return the bound that multipliers prove, in scaled units and but for rounding."""
        best, _ = self._cheapest(self.matrix.T @ duals, None)
        side = np.where(duals > 0, self.row_lower, self.row_upper)
        return float(np.sum(best) + np.dot(side, duals))

    def promise(self, duals: Floats, directions: Floats) -> Floats:
        """Return what turning each direction changes at least, at these multipliers."""
        priced = self.matrix.T @ duals
        present, other = (
            self._cheapest(priced, some)[0][self.sensitive] for some in (directions, 1 - directions)
        )
        change: Floats = np.asarray(other - present, dtype=np.float64)
        return change

    def _cheapest(self, priced: Floats, directions: Floats | None) -> tuple[Floats, Floats]:
        """Smallest w z^2 - r z of each cell, and where it lies."""
        at = self.sensitive
        value, where = self._parabola(priced, -self.down, self.up)
        ends = []
        for is_up, safe, low, high in (
            (True, self.may_rise, self.up_level[at], self.up[at]),
            (False, self.may_fall, -self.down[at], -self.down_level[at]),
        ):
            cost, place = self._parabola(priced[at], low, high, at)
            cost = np.where(safe & (low <= high), cost, np.inf)
            if directions is not None:
                cost = np.where((directions > 0) == is_up, cost, np.inf)
            ends.append((cost, place))
        upward = ends[0][0] <= ends[1][0]
        value[at] = np.where(upward, ends[0][0], ends[1][0])
        where[at] = np.where(upward, ends[0][1], ends[1][1])
        return value, where

    def _parabola(
        self, priced: Floats, low: Floats, high: Floats, at: Integers | None = None
    ) -> tuple[Floats, Floats]:
        weights = (self.weights if at is None else self.weights[at]).astype(priced.dtype)
        with np.errstate(divide="ignore", invalid="ignore"):
            top = np.where(weights > 0, priced / (2 * weights), np.sign(priced) * np.inf)
        top = np.where(np.isnan(top), 0.0, top)
        place = np.clip(top, np.minimum(low, high), high)
        return weights * place**2 - priced * place, place
