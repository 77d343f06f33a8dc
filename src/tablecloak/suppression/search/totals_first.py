"""The phase that protects the totals first, and then hides the figures that would give them away.

Beside the totals, a table with figures has three further cells and two rows for each. Nearly all of
them belong to published cells. So the first pattern is found by whatever protects the totals alone,
at prices that include their figures; its witnesses say which figures to hide.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from tablecloak.budget import Budget
from tablecloak.suppression.proof.witness import Witnesses, WitnessPool
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.search.boxes.pattern import BoxFinder, BoxPattern, Grid
from tablecloak.suppression.search.closing import with_first
from tablecloak.suppression.search.sequential import protect_one_by_one
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.search.strategy import PORTFOLIO, Strategy
from tablecloak.suppression.system.figure_paths import FiguresOfTotals
from tablecloak.suppression.system.paths import Paths

CYCLES = Strategy(programs=False, symmetric=False)
"""Strategy for totals that are a network: cycles, which rows of figures leave exact."""


def protect_totals_first(state: SearchState, budget: Budget) -> SearchState:
    """Build a first pattern from that of the totals; later phases publish figures again."""
    beside = FiguresOfTotals.of(state.system)
    if beside is None or budget.is_stopped or not len(state.system.needs.cells):
        return state
    pool, working = WitnessPool(state.system), budget.at_least(np.inf)
    completed = [
        beside.completed(*witness, np.zeros(state.system.n_unknown), symmetric=False)
        for witness in _witnesses_of_totals(state, beside, working)
    ]
    for cells, moves in pool.take_exact([witness for witness in completed if witness is not None]):
        pool.add_sparse(cells, moves, working)
    weights = state.problem.weights[state.system.cells]
    first = Candidate(state.must | pool.moved(), pool, weights)
    if not first.is_proved:
        first = protect_one_by_one(
            state.problem, state.system, PORTFOLIO[0], budget, latest=working, begun=first
        )
    return with_first(state, first, budget) if first.is_proved else state


def _witnesses_of_totals(state: SearchState, beside: FiguresOfTotals, budget: Budget) -> Witnesses:
    """Return witnesses of the totals alone; they need not meet all needs."""
    part, must = beside.part, state.must[beside.totals]
    weights = beside.prices(state.problem.weights[state.system.cells])
    grid = None if Paths.of(part) else Grid.of(state.problem.table, part)
    if grid is not None:
        boxes = BoxPattern(part, weights, must, partial(BoxFinder, grid))
        boxes.build(budget)
        return list(boxes.witnesses())
    raised = state.problem.weights.copy()
    raised[part.cells] = weights
    begun = Candidate(must, WitnessPool(part), weights)
    pattern = protect_one_by_one(
        state.problem.with_changes(weights=raised), part, CYCLES, budget, begun=begun
    )
    return pattern.pool.whole_proof().witnesses
