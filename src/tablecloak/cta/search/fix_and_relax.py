"""Fix and relax: in each program some directions are free, and all others are fixed.

References
----------
.. [1] Baena, Castro, Gonzalez: Fix-and-relax approaches for controlled tabular adjustment,
   Computers & Operations Research 58 (2015).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget, Stopwatch
from tablecloak.cta.model.limits import (
    GROWTH,
    QUICK,
    RELAXED,
    RELAXED_GAP,
    RELAXED_SHARE,
    SHRINKAGE,
)
from tablecloak.cta.search.neighbourhoods import Neighbourhoods
from tablecloak.cta.search.state import SearchState, with_directions
from tablecloak.errors import SolverError
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Solution, SolveStatus

BETTER = 1e-9
"""Relative gain below which the point of a program does not count as better."""


@dataclass(eq=False)
class _FreeDirections:
    """Draws directions to leave free: in turn spread at random, and next to each other."""

    state: SearchState
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    programs: int = 0

    def __post_init__(self) -> None:
        model = self.state.form.model
        self.count = len(model.sensitive)
        self.size = min(RELAXED, self.count)
        self.near = Neighbourhoods(model, np.arange(self.count), self.random)

    def draw(self) -> Integers:
        if self.programs % 2:
            return self.random.choice(self.count, self.size, replace=False)
        return self.near.draw(self.size)

    def adapt(self, solution: Solution, share_used: float) -> bool:
        """Adapt the number of free directions to a program's time; False if all were free."""
        if solution.status is not SolveStatus.OPTIMAL:
            self.size = max(int(SHRINKAGE * self.size), 1)
        elif share_used < QUICK:
            if self.size == self.count:
                return False
            self.size = min(int(GROWTH * self.size) + 1, self.count)
        return True


def relax(
    state: SearchState, budget: Budget, enough: Callable[[Floats], bool] = lambda _: False
) -> SearchState:
    """Solve programs with some directions free; how many depends on how long they take."""
    if state.best is None:
        return state
    free, limit = _FreeDirections(state), max(RELAXED_SHARE * budget.left, 1.0)
    while not budget.is_over and not state.is_closed and not enough(state.best.x):
        # Draw before counting the program: the count decides how directions are drawn.
        program = _partly_directed(state, free.draw())
        free.programs += 1
        watch = Stopwatch()
        solution = _solved(program, state.best.x, limit, budget)
        if solution is None:
            break
        if len(solution.x) and solution.value < _better(state.best.value):
            # A solver's directions may be off by its tolerance: solve again with exactly 0 or 1.
            with_directions(state, state.form.directions(solution.x))
        if not free.adapt(solution, watch.seconds / limit):
            break
    state.notes.append(f"{free.programs} programs with up to {free.size} directions free")
    return state


def _better(value: float) -> float:
    return value - BETTER * abs(value)


def _solved(program: Program, start: Floats, limit: float, budget: Budget) -> Solution | None:
    seconds = min(limit, max(budget.left, 0.5))
    try:
        return solve(program, start=start, time_limit=seconds, gap=RELAXED_GAP)
    except SolverError:
        return None


def _partly_directed(state: SearchState, free: Integers) -> Program:
    """Return the program in which all but some directions are fixed at the best point's."""
    program, columns = state.form.program, state.form.direction_columns
    low, high = state.form.model.allowed
    lower, upper = program.lower.copy(), program.upper.copy()
    lower[columns] = upper[columns] = state.best_directions
    lower[columns[free]], upper[columns[free]] = low[free], high[free]
    return program.with_bounds(lower, upper)
