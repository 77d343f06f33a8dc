"""Heavy cells are published again, and sums of boxes meet the needs that this opens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.budget import Budget, generator
from tablecloak.suppression.rows.candidate import Candidate, cheaper, completed
from tablecloak.suppression.search.boxes.phases import candidate_of, grid_of, of_sums
from tablecloak.suppression.search.boxes.sums import RELIEVED, is_ready
from tablecloak.suppression.search.state import SearchState

SHARE, LEAST_SECONDS = 0.1, 0.5
"""Share of the time left in which heavy cells are published at a time, and least seconds."""

LEAST_GAIN = 5e-3
"""Share by which a round over all cells must lower the loss for another round. Chosen by trial."""


class Relieving:
    """Publishes heavy cells again, and meets by sums of boxes the needs that this opens.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.tried: set[int] = set()

    def made(self, state: SearchState, best: Candidate, budget: Budget) -> Candidate:
        """Return a better pattern, or the best one."""
        part = budget.within(max(SHARE * budget.left, LEAST_SECONDS))
        better = _relieved(state, best, self.random, self.tried, part)
        if not part.is_over:
            self.tried.clear()
        return better


def relieve(state: SearchState, budget: Budget) -> SearchState:
    """Publish heavy cells again, each in turn, until a round gains next to nothing."""
    best, before, random = state.best, np.inf, generator(budget.seed)
    while best is not None and not budget.is_over and best.loss < before * (1 - LEAST_GAIN):
        before, best = best.loss, _relieved(state, best, random, set(), budget)
    return replace(state, best=best)


def _relieved(
    state: SearchState,
    best: Candidate,
    random: np.random.Generator,
    tried: set[int],
    budget: Budget,
) -> Candidate:
    grid = grid_of(state)
    if grid is None or not is_ready(grid, budget.left):
        return best
    pattern = of_sums(state, grid, RELIEVED)
    pattern.begin_with(best.pool)
    before = pattern.loss
    pattern.relieve(budget, random, tried)
    if pattern.loss >= before:
        return best
    return cheaper(best, completed(candidate_of(state, pattern, []), best, state.must))
