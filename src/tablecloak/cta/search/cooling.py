"""Directions that cool down: draws from random directions, then regions of the best ones again.

A first-order method that chooses directions anew in each step finds good ones in less time than
one program with given directions takes (see `first_order.search`). Each draw is solved exactly.
Then regions of neighbouring directions are warmed and cooled again, while all others stay as they
are in the best table: a search of large neighbourhoods, whose programs are steps of that method.

References
----------
.. [1] Shaw: Using constraint programming and local search methods to solve vehicle routing
   problems, CP 1998 (large neighbourhoods).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tablecloak.budget import Budget
from tablecloak.cta.first_order.layout import Layout
from tablecloak.cta.first_order.search import Warm, cooled
from tablecloak.cta.search.neighbourhoods import Neighbourhoods
from tablecloak.cta.search.schedule import (
    COOLED_AGAIN,
    COOLED_DRAWS,
    COOLED_IN_VAIN,
    COOLED_REGIONS,
    COOLED_STEPS,
    LEAST_GAIN,
)
from tablecloak.cta.search.state import SearchState, priced

__all__ = ["cool"]

Floats = npt.NDArray[np.float64]


def cool(state: SearchState, share: float) -> SearchState:
    """Cool directions from random ones, then regions of the best ones, until time is up."""
    low, high = state.form.model.allowed()
    turnable = np.flatnonzero(low < high)
    budget = state.budget.share(share)
    if not len(turnable) or budget.is_over:
        return state
    cooling = _Cooling(state, budget, turnable)
    cooling.draw()
    cooling.draw_again()
    state.notes.append(f"{cooling.programs} programs with directions that cooled down")
    return state


@dataclass(eq=False)
class _Cooling:
    """Draws directions, and solves the program of each."""

    state: SearchState
    budget: Budget
    turnable: npt.NDArray[np.int64]
    programs: int = 0
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(2))
    tried: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.layout = Layout.of(self.state.form.model)
        self.near = Neighbourhoods(self.state.form.model, self.turnable, self.random)

    def draw(self) -> None:
        """Cool from random directions; each draw takes twice the steps of the one before."""
        for number in range(COOLED_DRAWS):
            if self.budget.is_over:
                break
            steps = min(COOLED_STEPS[0] * 2**number, COOLED_STEPS[1])
            self._solve(cooled(self.layout, self.random, steps, self.budget))

    def draw_again(self) -> None:
        """Cool regions of the best directions, until time is up or none improves them."""
        warm, in_vain, most = None, 0, COOLED_IN_VAIN * len(self.turnable)
        while self.state.best is not None and in_vain < most and not self.budget.is_over:
            if warm is None:
                changes = self.state.form.model.groups(self.state.form.changes(self.state.best.x))
                warm = Warm.of(self.layout, changes, self.state.best_directions > 0)
            count = int(self.random.choice(COOLED_REGIONS))
            region = np.zeros(len(warm.is_up), dtype=bool)
            region[self.near.draw(min(count, max(len(self.turnable) // 2, 1)))] = True
            is_better = self._solve(
                cooled(self.layout, self.random, COOLED_AGAIN, self.budget, (warm, region))
            )
            warm, in_vain = (None, 0) if is_better else (warm, in_vain + 1)

    def _solve(self, directions: npt.NDArray[np.bool_]) -> bool:
        """Solve the program of some directions; return whether the best table became better."""
        key = directions.tobytes()
        if key in self.tried or self.budget.is_stopped:
            return False
        self.tried.add(key)
        before = np.inf if self.state.best is None else self.state.best.value
        value, _ = priced(self.state, directions.astype(np.float64), max(self.budget.left, 0.01))
        self.programs += 1
        return value < before - LEAST_GAIN * abs(before) if np.isfinite(before) else value < before
