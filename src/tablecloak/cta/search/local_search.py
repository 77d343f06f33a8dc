"""Local search over directions: turn one, and stop its program as soon as it proves worse.

With directions given the program is linear, and its best basis stays dual feasible when a
direction is turned. The dual simplex method then climbs towards the new optimum and can be stopped
when it passes the best known value: most trials end after a few dozen steps. Once no single turn
brings a gain, a few directions that lie near each other are turned at once, and the search goes on
around them (iterated local search). Where directions cooled down, regions of them cool again first,
and in turn with that (see `cold_regions`).

References
----------
.. [1] Lourenco, Martin, Stutzle: Iterated local search, Handbook of Metaheuristics, 2003.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget, Stopwatch
from tablecloak.cta.model.tight import INTERIOR_ROWS, TightForm
from tablecloak.cta.search.cold_regions import CooledRegions
from tablecloak.cta.search.neighbourhoods import DirectionNeighbourhoods
from tablecloak.cta.search.turns import FLIPPED
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.solver import Solution, SolveStatus

LEAST_GAIN = 1e-7
"""Smallest gain, as a share of the loss, by which another table counts as better."""

DISORDER = 0.5
"""Spread of the log-normal noise on estimated gains before directions are ranked by them."""

KICKED = (2, 3, 4)
"""Numbers of directions that are turned at once after turning single ones has failed. See
docs/decisions, "Local search"."""

KICKED_FROM = 8
"""Size of the neighbourhood of a random direction from which those to be turned are drawn."""

KICKED_WORSE = 0.01
"""Largest rise of the loss, as a share of it, after which the search still goes on from directions
that were turned at once."""

AROUND = 24
"""Number of neighbours of directions turned at once that are then turned one at a time."""

IN_VAIN = 5
"""Failed perturbations, per direction that can be turned, before the search stops."""

COOLED_FIRST = 0.5
"""Share of the time of a local search in which regions are cooled before single directions are
turned; afterwards they alternate."""

COOLED_IN_VAIN = 1
"""Failed regions, per direction that can be turned, before single directions are turned."""


@dataclass(frozen=True, eq=False)
class _State:
    """Directions with the optimum of their program."""

    directions: Floats
    value: float
    promise: Floats
    basis: Any
    x: Floats


class LocalSearch:
    """Turns directions as long as that improves the best table.

    Parameters
    ----------
    form : TightForm
        A form without the rows that are redundant once directions are given.
    allowed : tuple of numpy.ndarray
        Smallest and largest direction of each sensitive group.
    budget : Budget
    offer : callable
        Called with each better solution.
    regions : CooledRegions, optional
        By default no regions are cooled again.
    """

    def __init__(
        self,
        form: TightForm,
        allowed: tuple[Floats, Floats],
        budget: Budget,
        offer: Callable[[Solution], None],
        regions: CooledRegions | None = None,
    ) -> None:
        self.form = form
        self.budget = budget
        self.offer = offer
        self.programs = 0
        self._random = np.random.default_rng(0)
        self._turnable = np.flatnonzero(allowed[0] < allowed[1])
        self._regions = regions
        # From scratch the simplex method takes ten times as long on large tables.
        is_large = form.program.n_rows > INTERIOR_ROWS
        self._solver = LinearSolver(form.program, interior="first" if is_large else "never")
        self._near = DirectionNeighbourhoods(form.model, self._turnable, self._random).draw

    def run(self, directions: Floats) -> None:
        """Search from given directions until time is up, or nothing is left to turn."""
        start = self._begin(directions)
        if start is None or not len(self._turnable):
            return
        best, in_vain = self._descend(self._cool(self._leap(start)), self._turnable), 0
        cooling, kicking = 0.0, 0.0
        while in_vain < IN_VAIN * len(self._turnable) and not self.budget.is_over:
            watch, is_cooled = Stopwatch(), self._regions is not None and cooling <= kicking
            state = self._region(best) if is_cooled else self._kick(best)
            if is_cooled:
                cooling += watch.seconds
            else:
                kicking += watch.seconds
            in_vain += 1
            if state is not None and state.value < self._worse(best, -LEAST_GAIN):
                best, in_vain = state, 0

    def _begin(self, directions: Floats) -> _State | None:
        self._solver.change_bounds(*self.form.direction_bounds(directions))
        solution = self._solver.solve(self._left(), confirm=False)
        if solution.status is not SolveStatus.OPTIMAL:
            return None
        return self._reached(directions, solution)

    def _leap(self, state: _State) -> _State:
        """Turn many promising directions at once, fewer after each failure."""
        part = FLIPPED
        while not self.budget.is_over:
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

    def _cool(self, state: _State) -> _State:
        """Cool regions for a share of the time, as long as some of them improve the table."""
        budget, in_vain = self.budget.share(COOLED_FIRST), 0
        most = COOLED_IN_VAIN * len(self._turnable)
        while self._regions is not None and in_vain < most and not budget.is_over:
            turned = self._region(state)
            state, in_vain = (state, in_vain + 1) if turned is None else (turned, 0)
        return state

    def _region(self, state: _State) -> _State | None:
        """Turn what another choice in a region turns; None if that does not improve the table."""
        assert self._regions is not None
        model = self.form.model
        turned = self._regions.turned(state.directions, model.groups(self.form.changes(state.x)))
        if not len(turned):
            return None
        return self._turned(state, turned, self._worse(state, -LEAST_GAIN))

    def _promising(self, state: _State, candidates: Integers) -> Integers:
        """Return the directions that promise a gain, in roughly decreasing order of that gain."""
        promise = state.promise[candidates]
        noise = np.exp(self._random.normal(0, DISORDER, len(candidates)))
        order = np.argsort(promise * noise, kind="stable")
        order = order[promise[order] < self._worse(state, -LEAST_GAIN) - state.value]
        return candidates[order]

    def _descend(self, state: _State, candidates: Integers) -> _State:
        """Turn single directions, the most promising first, until none improves the table."""
        untried = np.zeros(len(state.directions), dtype=bool)
        untried[candidates] = True
        is_better = False
        while not self.budget.is_over:
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
        """Turn several neighbouring directions at once, then single directions around these."""
        near = self._near(AROUND)
        size = min(int(self._random.choice(KICKED)), len(near))
        others = self._random.choice(near[1:KICKED_FROM], size - 1, replace=False)
        turned = self._turned(state, np.append(near[:1], others), self._worse(state, KICKED_WORSE))
        return None if turned is None else self._descend(turned, near)

    def _turned(self, state: _State, which: Integers, cutoff: float) -> _State | None:
        """Turn some directions; return the new state, or None if it is not below a cutoff."""
        directions = state.directions.copy()
        directions[which] = 1 - directions[which]
        self._solver.change_bounds(*self.form.direction_bounds(directions))
        solution = self._solver.solve_from(state.basis, cutoff, self._left())
        self.programs += 1
        if solution.status is not SolveStatus.OPTIMAL or solution.value >= cutoff:
            return None
        return self._reached(directions, solution)

    def _reached(self, directions: Floats, solution: Solution) -> _State:
        self.offer(solution)
        promise = self._promise(directions, solution.duals)
        return _State(directions, solution.value, promise, self._solver.basis, solution.x)

    def _promise(self, directions: Floats, duals: Floats) -> Floats:
        """Bound the change from turning each direction below: the value is convex in all bounds."""
        model, program = self.form.model, self.form.program
        reduced = program.cost - program.matrix.T @ duals
        up, down = model.sensitive, model.n_groups + model.sensitive
        direction = reduced[self.form.direction_columns]
        gains = np.minimum(reduced[[down, up]], 0.0) * program.upper[[down, up]]
        change: Floats = np.where(directions > 0, -direction + gains[0], direction + gains[1])
        return change

    def _worse(self, state: _State, share: float) -> float:
        """Return the objective at which the loss, levels included, is higher by the given share."""
        scaling = self.form.scaling.objective
        return state.value + share * abs(self.form.loss(state.value)) / scaling

    def _left(self) -> float:
        return max(self.budget.left, 0.01)
