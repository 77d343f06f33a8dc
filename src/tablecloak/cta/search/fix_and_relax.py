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
from tablecloak.cta.search.neighbourhoods import DirectionNeighbourhoods
from tablecloak.cta.search.state import DirectionState, with_directions
from tablecloak.errors import SolverError
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Solution, SolveStatus

RELAXED = 10
"""Directions left free in the first program of fix and relax."""

RELAXED_SHARE = 0.15
"""Share of the phase's time for one program of fix and relax."""

RELAXED_GAP = 1e-4
"""Relative gap at which a program of fix and relax may stop."""

GROWTH, SHRINKAGE = 1.3, 0.8
"""Factors for the number of free directions after a quick program, and after one that its time
limit stopped."""

QUICK = 1 / 3
"""Share of its time limit below which a program of fix and relax counts as quick."""

BETTER = 1e-9
"""Relative gain below which the point of a program does not count as better."""


@dataclass(eq=False)
class _FreeDirections:
    """Draws directions to leave free: in turn spread at random, and next to each other."""

    state: DirectionState
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    programs: int = 0

    def __post_init__(self) -> None:
        model = self.state.form.model
        self.count = len(model.sensitive)
        self.size = min(RELAXED, self.count)
        self.near = DirectionNeighbourhoods(model, np.arange(self.count), self.random)

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
    state: DirectionState, budget: Budget, enough: Callable[[Floats], bool] = lambda _: False
) -> DirectionState:
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
        value = state.best.value
        if len(solution.x) and solution.value < value - BETTER * abs(value):
            # A solver's directions may be off by its tolerance: solve again with exactly 0 or 1.
            with_directions(state, state.form.directions(solution.x))
        if not free.adapt(solution, watch.seconds / limit):
            break
    state.notes.append(f"{free.programs} programs with up to {free.size} directions free")
    return state


def _solved(program: Program, start: Floats, limit: float, budget: Budget) -> Solution | None:
    seconds = min(limit, budget.past(0.5))
    try:
        return solve(program, start=start, time_limit=seconds, gap=RELAXED_GAP)
    except SolverError:
        return None


def _partly_directed(state: DirectionState, free: Integers) -> Program:
    """Return the program in which all but some directions are fixed at the best point's."""
    program, columns = state.form.program, state.form.direction_columns
    low, high = state.form.model.allowed
    lower, upper = program.lower.copy(), program.upper.copy()
    lower[columns] = upper[columns] = state.best_directions
    lower[columns[free]], upper[columns[free]] = low[free], high[free]
    return program.with_bounds(lower, upper)
