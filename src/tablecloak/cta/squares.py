"""Adjustment that moves cells by as little as possible in the sense of least squares.

min sum w_i z_i^2 over A z = 0, with each sensitive cell at or beyond one of its two levels. With
given directions this is a convex quadratic program. For any multipliers gamma of the relations,
with r = A^T gamma::

    sum_i min over z_i allowed of (w_i z_i^2 - r_i z_i)

bounds the optimum from below; each minimum is that of a parabola over one interval, or over two
for a sensitive cell whose direction is free. So multipliers alone prove the bound, and what
turning one direction may bring can be read off them.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.sparse import csr_array, diags_array, hstack, vstack

from tablecloak.cta.formulation import Room, coupled_room, sensitive_groups
from tablecloak.cta.question import Question
from tablecloak.cta.search.turning import turn_around
from tablecloak.cta.statistics.statistic import PreservedRow
from tablecloak.errors import VerificationError
from tablecloak.solve.independent import independent_rows
from tablecloak.solve.program import Program, power_of_two
from tablecloak.solve.quadratic import solve_quadratic
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["SquaresBound", "SquaresModel", "minimise_squares"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

ROUNDING = 16 * float(np.finfo(np.float64).eps)
"""Relative error that sums and differences of a few numbers may have, with some to spare."""

REACH_SLACK = 1e-6
"""Share that is added to what the known table allows, against rounding."""

CLIMBS = 500
"""Steps at most to better multipliers."""

ENUMERATED = 7
"""Directions up to which all choices are tried."""

_LONG = np.longdouble
_EPSILON = float(np.finfo(np.longdouble).eps)


class SquaresModel:
    """The quadratic program, its scaling, and the bound that multipliers give.

    Parameters
    ----------
    problem : ProtectionProblem
    weights : numpy.ndarray of float, shape (n_cells,)
        Cost of the square of a change.
    room : Room
    rows : list of PreservedRow
    known : float
        Sum of weighted squares of a table that exists. No better one moves a cell farther than
        that allows, so that rooms are cut; the bound is never larger.
    independent : numpy.ndarray of int, optional
        Relations to use; any selection gives a valid bound. By default found out.
    """

    def __init__(
        self,
        problem: ProtectionProblem,
        weights: Floats,
        room: Room,
        rows: list[PreservedRow],
        known: float,
        independent: Integers | None = None,
    ) -> None:
        self.problem = problem
        self.coupled, moves = coupled_room(problem, room)
        self.sensitive = sensitive_groups(problem, self.coupled)
        self.length = float(power_of_two(np.asarray(problem.unit)))
        spread = self.coupled.spread
        together = abs(spread).T @ weights
        positive = together[together > 0]
        # Powers of two, so that scaling rounds no number.
        middle = float(power_of_two(np.asarray(np.median(positive)))) if len(positive) else 1.0
        self.weights = together / middle
        self.objective = middle * self.length**2
        self.known = known / self.objective
        with np.errstate(divide="ignore"):
            reach = np.sqrt((1 + REACH_SLACK) * self.known / self.weights)
        self.up = np.minimum(moves.up / self.length, reach)
        self.down = np.minimum(moves.down / self.length, reach)
        self.up_level = moves.up_level / self.length
        self.down_level = moves.down_level / self.length
        self.may_rise = moves.may_rise[self.sensitive]
        self.may_fall = moves.may_fall[self.sensitive]
        members = self.coupled.group[self.coupled.group >= 0]
        self._members = 1 + int(np.bincount(members, minlength=1).max())
        relations = self.coupled.relations(problem.table.relations)
        used = independent_rows(relations) if independent is None else independent
        self.independent = used
        coefficients = np.array([row.coefficients for row in rows])
        kept = csr_array(coefficients.reshape(len(rows), spread.shape[0])) @ spread
        self.matrix = csr_array(vstack([relations[used, :], kept], format="csr"))
        side = np.concatenate([np.zeros(len(used)), [row.target for row in rows]]) / self.length
        slack = np.concatenate([np.zeros(len(used)), [row.slack for row in rows]]) / self.length
        self.row_lower, self.row_upper = side - slack, side + slack

    def solve(self, directions: Floats, time_limit: float) -> tuple[float, Floats, Floats] | None:
        """Return value, changes of all cells and multipliers for given directions.

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
        return float(np.dot(self.weights, x**2)), self.coupled.spread @ x * self.length, duals

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

    def climb(self, duals: Floats, deadline: float) -> Floats:
        """Return multipliers that prove more, by steps along (sub)gradients of the bound."""

        def negative(gamma: Floats) -> tuple[float, Floats]:
            if time.monotonic() > deadline:
                raise TimeoutError
            best, place = self._cheapest(self.matrix.T @ gamma, None)
            side = np.where(gamma > 0, self.row_lower, self.row_upper)
            value = float(best.sum() + side @ gamma)
            if value > known[0]:
                known[0], known[1] = value, gamma.copy()
            return -value, self.matrix @ place - side

        known: list[Any] = [-np.inf, duals]
        with contextlib.suppress(TimeoutError):
            minimize(negative, duals, jac=True, method="L-BFGS-B", options={"maxiter": CLIMBS})
        found: Floats = known[1]
        return found

    def bound(self, duals: Floats, directions: Floats | None) -> float:
        """Return the bound that multipliers prove, in scaled units, safe against rounding."""
        gamma = duals.astype(_LONG)
        priced = np.asarray(self.matrix.T.astype(_LONG) @ gamma)
        best, place = self._cheapest(priced, directions)
        side = np.where(gamma > 0, self.row_lower, self.row_upper).astype(_LONG) * gamma
        value = float(np.sum(best) + np.sum(side))
        # What each number may have been rounded by before it came here, and its sums here.
        parts = 2 * self.weights * place**2 + np.abs(priced * place)
        size = float(np.sum(parts) + np.sum(np.abs(side)))
        reach = np.maximum(self.up, self.down)
        terms = abs(self.matrix.T) @ np.abs(duals) + 2 * self.weights * reach
        summed = np.diff(self.matrix.T.tocsr().indptr) + 4
        error = (ROUNDING * self._members + _EPSILON * len(best)) * size
        error += _EPSILON * float(np.dot(terms * summed, reach))
        return min(value - error, self.known)

    def promise(self, duals: Floats, directions: Floats) -> Floats:
        """Return what turning each direction changes at least, at these multipliers."""
        priced = self.matrix.T @ duals
        own, other = (
            self._cheapest(priced, some)[0][self.sensitive] for some in (directions, 1 - directions)
        )
        change: Floats = np.asarray(other - own, dtype=np.float64)
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
            found, place = self._parabola(priced[at], low, high, at)
            found = np.where(safe & (low <= high), found, np.inf)
            if directions is not None:
                found = np.where((directions > 0) == is_up, found, np.inf)
            ends.append((found, place))
        upward = ends[0][0] <= ends[1][0]
        value[at] = np.where(upward, ends[0][0], ends[1][0])
        where[at] = np.where(upward, ends[0][1], ends[1][1])
        return value, where

    def _parabola(
        self, priced: Floats, low: Floats, high: Floats, at: npt.NDArray[np.int64] | None = None
    ) -> tuple[Floats, Floats]:
        weights = (self.weights if at is None else self.weights[at]).astype(priced.dtype)
        with np.errstate(divide="ignore", invalid="ignore"):
            top = np.where(weights > 0, priced / (2 * weights), np.sign(priced) * np.inf)
        top = np.where(np.isnan(top), 0.0, top)
        place = np.clip(top, np.minimum(low, high), high)
        return weights * place**2 - priced * place, place


@dataclass(frozen=True, eq=False)
class SquaresBound:
    """Proof that no adjustment has a smaller sum of weighted squares than a bound.

    Parameters
    ----------
    independent : numpy.ndarray of int
        Relations to which the multipliers refer.
    duals : numpy.ndarray of float
        Multipliers of relations and statistics.
    directions : numpy.ndarray of float or None
        Fixed directions to which the bound refers; None if they were free.
    """

    independent: Integers
    duals: Floats
    directions: Floats | None = None

    def verify(self, question: Question, changes: Floats) -> float:
        """Return the bound on sum w z^2 that the multipliers prove, by sparse products alone.

        Parameters
        ----------
        question : Question
            From which rows and rooms are built anew.
        changes : numpy.ndarray of float, shape (n_cells,)
            Of a table that exists, so that better ones move no cell beyond its loss.
        """
        known = float(np.dot(question.weights, changes**2))
        model = SquaresModel(
            question.problem,
            question.weights,
            question.room,
            list(question.preserved),
            known,
            self.independent,
        )
        if len(self.duals) != len(model.row_lower):
            raise VerificationError("The multipliers do not fit the relations and statistics.")
        return model.bound(self.duals, self.directions) * model.objective


def minimise_squares(
    model: SquaresModel,
    starts: list[Floats],
    allowed: tuple[Floats, Floats],
    *,
    free: bool,
    deadline: float,
) -> tuple[Floats, SquaresBound, str] | None:
    """Return changes, proof and a note; None if no directions that were tried are feasible.

    Parameters
    ----------
    model : SquaresModel
    starts : list of numpy.ndarray of float, shape (n_sensitive,)
        Directions to start from; the best of them are turned around.
    allowed : tuple of numpy.ndarray
        Smallest and largest direction of each cell.
    free : bool
        Whether directions may be turned around.
    deadline : float
        Moment of `time.monotonic`.
    """
    best: tuple[float, Floats, Floats] | None = None

    def priced(directions: Floats, time_limit: float) -> tuple[float, Floats]:
        nonlocal best
        found = model.solve(directions, time_limit)
        if found is None:
            return np.inf, np.zeros(len(directions))
        if best is None or found[0] < best[0]:
            best = found
        return found[0], model.promise(found[2], directions)

    if free:
        starts = [*starts, *_all_directions(allowed)]
    values = []
    for start in starts:
        if best is not None and time.monotonic() > deadline:
            break
        values.append(priced(start, max(deadline - time.monotonic(), 1.0))[0])
    if best is None:
        return None
    start = starts[int(np.argmin(values))]
    if not free:
        return best[1], SquaresBound(model.independent, best[2], start), "least squares"
    half = time.monotonic() + 0.7 * max(deadline - time.monotonic(), 0.0)
    programs = turn_around(priced, start, allowed, deadline=half)
    proofs = [best[2], model.relaxed(max(0.7 * (deadline - time.monotonic()), 1.0))]
    proof = max(proofs, key=lambda duals: model.bound(duals, None))
    proof = max((proof, model.climb(proof, deadline)), key=lambda duals: model.bound(duals, None))
    note = f"directions of {len(start)} cells turned around {programs} times"
    return best[1], SquaresBound(model.independent, proof), note


def _all_directions(allowed: tuple[Floats, Floats]) -> list[Floats]:
    """Return all directions where they are few, else none."""
    low, high = allowed
    turnable = np.flatnonzero(low < high)
    if len(turnable) > ENUMERATED:
        return []
    found = []
    for choice in itertools.product([0.0, 1.0], repeat=len(turnable)):
        directions = low.copy()
        directions[turnable] = choice
        found.append(directions)
    return found
