"""Local search over directions: turn one, and stop its program as soon as it gets worse.

With directions given the program is linear, and its best basis stays dual feasible when a
direction is turned. The dual simplex method then climbs towards the new optimum and can be stopped
where it passes the best known value: most trials end after a few dozen steps. Where turning any
single direction fails, a few that lie near each other are turned at once and the search goes on
around them (iterated local search).

References
----------
.. [1] Lourenco, Martin, Stutzle: Iterated local search, Handbook of Metaheuristics, 2003.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tablecloak.cta.formulation import AdjustmentModel
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.solver import Solution, SolveStatus

__all__ = ["LocalSearch", "turn_around"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

LEAST_GAIN = 1e-7
"""Relative gain below which a table is not better."""

DISORDER = 0.5
"""Standard deviation of the logarithm of what a promise is multiplied by before it is ranked."""

KICKED = (2, 3, 4)
"""How many directions are turned at once where single ones fail."""

KICKED_FROM = 8
"""Directions around a random one among which these are drawn."""

KICKED_WORSE = 0.01
"""Relative loss up to which the search goes on from there."""

AROUND = 24
"""Directions around it that are then turned one at a time."""

IN_VAIN = 5
"""Times that directions are turned so in vain, for each direction, after which the search ends."""

FLIPPED = 0.3
"""Share of the promising directions that is turned around at once."""

NOISE = 1.0
"""Standard deviation of the logarithm of what a promise is multiplied by in random choices."""

FIRST_SECONDS = 1.0
"""Seconds that the first program may take at least, also where time is up."""

REPEATED = 50
"""Choices that were tried before, in a row, after which the search gives up."""


@dataclass(frozen=True, eq=False)
class _State:
    """Directions with the optimum of their program."""

    directions: Floats
    value: float
    promise: Floats
    basis: Any


class Neighbourhoods:
    """Draws directions that lie near each other: few relations apart.

    Parameters
    ----------
    model : AdjustmentModel
    turnable : numpy.ndarray of int
        Directions among which to draw.
    random : numpy.random.Generator
    """

    def __init__(
        self, model: AdjustmentModel, turnable: Integers, random: np.random.Generator
    ) -> None:
        self._group = model.sensitive[turnable]
        self._turnable = turnable
        self._random = random
        self._relations = csr_array(abs(model.relations))
        self._back = csr_array(self._relations.T)

    def draw(self, count: int) -> Integers:
        """Return a random direction and those next to it, in the order of their distance."""
        start = int(self._random.integers(len(self._turnable)))
        reached = np.zeros(self._relations.shape[1])
        reached[self._group[start]] = 1
        order = self._turnable[[start]]
        while len(order) < count:
            further = ((self._back @ (self._relations @ reached)) > 0).astype(np.float64)
            if np.array_equal(further, reached):
                break
            new = self._turnable[(further > reached)[self._group]]
            order = np.concatenate([order, self._random.permutation(new)])
            reached = further
        return order[:count]


class LocalSearch:
    """Turns directions while that makes the best table better.

    Parameters
    ----------
    model : AdjustmentModel
        Made for given directions.
    allowed : tuple of numpy.ndarray
        Smallest and largest direction.
    deadline : float
        Moment of `time.monotonic` at which to stop.
    found : callable
        Called with each better solution.
    """

    def __init__(
        self,
        model: AdjustmentModel,
        allowed: tuple[Floats, Floats],
        deadline: float,
        found: Callable[[Solution], None],
    ) -> None:
        self.model = model
        self.deadline = deadline
        self.found = found
        self.programs = 0
        self._random = np.random.default_rng(0)
        self._turnable = np.flatnonzero(allowed[0] < allowed[1])
        self._solver = LinearSolver(model.program)
        self._near = Neighbourhoods(model, self._turnable, self._random).draw

    def run(self, directions: Floats) -> None:
        """Search from given directions until time is up, or nothing is left to turn."""
        start = self._begin(directions)
        if start is None or not len(self._turnable):
            return
        best, in_vain = self._descend(self._leap(start), self._turnable), 0
        while in_vain < IN_VAIN * len(self._turnable) and time.monotonic() < self.deadline:
            kicked = self._kick(best)
            in_vain += 1
            if kicked is not None and kicked.value < self._worse(best, -LEAST_GAIN):
                best, in_vain = kicked, 0

    def _begin(self, directions: Floats) -> _State | None:
        self._solver.change_bounds(*self.model.direction_bounds(directions))
        solution = self._solver.solve(self._left(), confirm=False)
        if solution.status is not SolveStatus.OPTIMAL:
            return None
        return self._reached(directions, solution)

    def _leap(self, state: _State) -> _State:
        """Turn many promising directions at once, fewer after each failure."""
        part = FLIPPED
        while time.monotonic() < self.deadline:
            promising = self._promising(state, self._turnable)
            size = int(part * len(promising))
            if size <= 1:
                break
            turned = self._turned(state, promising[:size], self._worse(state, -LEAST_GAIN))
            if turned is None:
                part /= 2
            else:
                state = turned
        return state

    def _promising(self, state: _State, candidates: Integers) -> Integers:
        """Return directions that promise a gain, roughly in the order of what they promise."""
        promise = state.promise[candidates]
        noise = np.exp(self._random.normal(0, DISORDER, len(candidates)))
        order = np.argsort(promise * noise, kind="stable")
        order = order[promise[order] < self._worse(state, -LEAST_GAIN) - state.value]
        return candidates[order]

    def _descend(self, state: _State, candidates: Integers) -> _State:
        """Turn single directions, the most promising first, until none makes it better."""
        untried = np.zeros(len(state.directions), dtype=bool)
        untried[candidates] = True
        is_better = False
        while time.monotonic() < self.deadline:
            promising = self._promising(state, np.flatnonzero(untried))[:1]
            if not len(promising):
                if not is_better:
                    break
                untried[candidates], is_better = True, False
                continue
            untried[promising] = False
            turned = self._turned(state, promising, self._worse(state, -LEAST_GAIN))
            if turned is not None:
                state, is_better = turned, True
        return state

    def _kick(self, state: _State) -> _State | None:
        """Turn some directions that lie near each other at once, and go on around them."""
        near = self._near(AROUND)
        size = min(int(self._random.choice(KICKED)), len(near))
        others = self._random.choice(near[1:KICKED_FROM], size - 1, replace=False)
        turned = self._turned(state, np.append(near[:1], others), self._worse(state, KICKED_WORSE))
        return None if turned is None else self._descend(turned, near)

    def _turned(self, state: _State, which: Integers, cutoff: float) -> _State | None:
        """Return what turning some directions leads to, None if it is not below a cutoff."""
        directions = state.directions.copy()
        directions[which] = 1 - directions[which]
        self._solver.change_bounds(*self.model.direction_bounds(directions))
        solution = self._solver.solve_from(state.basis, cutoff, self._left())
        self.programs += 1
        if solution.status is not SolveStatus.OPTIMAL or solution.value >= cutoff:
            return None
        return self._reached(directions, solution)

    def _reached(self, directions: Floats, solution: Solution) -> _State:
        self.found(solution)
        promise = self._promise(directions, solution.duals)
        return _State(directions, solution.value, promise, self._solver.basis)

    def _promise(self, directions: Floats, duals: Floats) -> Floats:
        """Lower bound on what turning each direction changes: the value is convex in all bounds."""
        model, program = self.model, self.model.program
        reduced = program.cost - program.matrix.T @ duals
        up, down = model.sensitive, model.n_groups + model.sensitive
        own = reduced[model.direction_columns]
        gains = np.minimum(reduced[[down, up]], 0.0) * program.upper[[down, up]]
        change: Floats = np.where(directions > 0, -own + gains[0], own + gains[1])
        return change

    def _worse(self, state: _State, share: float) -> float:
        """Objective at which the loss, levels included, is higher by a share."""
        scaling = self.model.scaling.objective
        return state.value + share * abs(self.model.loss(state.value)) / scaling

    def _left(self) -> float:
        return max(self.deadline - time.monotonic(), 0.01)


def turn_around(
    priced: Callable[[Floats, float], tuple[float, Floats]],
    directions: Floats,
    allowed: tuple[Floats, Floats],
    *,
    deadline: float,
    most: float = FLIPPED,
) -> int:
    """Turn directions around where that promises a gain; return how many programs were solved.

    The optimal value is convex in the directions, so that the reduced cost of a direction
    bounds from below what turning it can bring; without a promise the directions are optimal.
    The most promising share is turned at once, less after each failure; once even single ones
    fail, random choices among the promising ones follow.

    Parameters
    ----------
    priced : callable
        Given directions and a time limit: their optimal value, and a lower bound on what turning
        each changes.
    directions : numpy.ndarray of float
        1 up, 0 down, to start from.
    allowed : tuple of numpy.ndarray
        Smallest and largest direction of each cell.
    deadline : float
        Moment of `time.monotonic`.
    most : float, default=0.3
        Share of the promising directions that is turned around at once.
    """
    random = np.random.default_rng(0)
    low, high = allowed
    value, promise = priced(directions, max(deadline - time.monotonic(), FIRST_SECONDS))
    part, noise, programs = most, 0.0, 0
    tried: set[bytes] = set()
    repeated = 0
    while time.monotonic() < deadline and np.isfinite(value) and repeated < REPEATED:
        free = np.where(directions > 0, low < 0.5, high > 0.5)
        gain = np.where(free, promise, 0.0)
        candidates = np.flatnonzero(gain < -1e-9 * max(1.0, abs(value)))
        if not len(candidates):
            break
        drawn = gain[candidates] * np.exp(random.normal(0, 1, len(candidates)) * noise)
        order = candidates[np.argsort(drawn, kind="stable")]
        size = max(1, int(part * len(order)))
        turned = directions.copy()
        turned[order[:size]] = 1 - turned[order[:size]]
        if size == 1:
            part, noise = most, NOISE
        else:
            part /= 2
        if turned.tobytes() in tried:
            repeated += 1
            continue
        tried.add(turned.tobytes())
        programs += 1
        found, new_promise = priced(turned, max(deadline - time.monotonic(), 0.01))
        if found < value - 1e-9 * abs(value):
            directions, value, promise = turned, found, new_promise
            part, repeated = min(2 * part, most), 0
    return programs
