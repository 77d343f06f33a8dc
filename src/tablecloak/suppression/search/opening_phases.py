"""The phase that opens by prices; moves begin with such openings too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.budget import Budget
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.candidate import Candidate, completed
from tablecloak.suppression.search.boxes.phases import finished
from tablecloak.suppression.search.closing import with_first
from tablecloak.suppression.search.prices import MANY_OPEN, opened_by_prices
from tablecloak.suppression.search.sequential import protect_one_by_one
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.search.strategy import REPAIR

PRICED_SHARE = 0.95
"""Share of the time of an opening for prices; needs that are open then are met one by one.
Chosen by trial, as all constants here; not measured one by one."""

MOST_OPEN = 0.5
"""Share of the needs that may be open for an opening to be completed at all."""

NEARLY = 0.05
"""Share of the needs that may be open for a first pattern to be completed even if time is over."""

COMPLETED_SHARE = 0.25
"""Further time, as a share of that of an opening, for programs that meet the last needs of a first
pattern, each at any price."""


def open_by_prices(state: SearchState, budget: Budget) -> SearchState:
    """Build a pattern at rising prices; the needs that stay open are met one by one."""
    if not len(state.system.needs.cells) or budget.is_over:
        return state
    opened = opened_pattern(state, bare(state), np.random.default_rng(budget.seed), budget)
    if opened is None or (state.best and opened.loss >= state.best.loss):
        return state
    if state.best is None:
        state = with_first(state, opened, budget)
    return replace(state, best=opened, is_priced=True)


def bare(state: SearchState) -> Candidate:
    """Return the cells that every pattern hides, without witnesses."""
    weights = state.problem.weights[state.system.cells]
    return Candidate(state.must, WitnessPool(state.system), weights)


def opened_pattern(
    state: SearchState,
    begun: Candidate,
    random: np.random.Generator,
    budget: Budget,
) -> Candidate | None:
    """Return what prices make of a pattern that is begun; None if too many needs stay open.

    Parameters
    ----------
    state : SearchState
        Witnesses of its best pattern, if it has one, meet the needs that are open at the end.
    begun : Candidate
        Its weights are the costs.
    random : numpy.random.Generator
    budget : Budget
        A first pattern with few open needs is completed even if it is over.
    """
    seconds = budget.left
    opened = opened_by_prices(begun, random, budget.share(PRICED_SHARE))
    if np.mean(opened.pool.open) > MOST_OPEN:
        return None
    if not opened.is_proved:
        is_nearly = np.mean(opened.pool.open) <= NEARLY
        longer = budget.at_least(COMPLETED_SHARE * seconds) if is_nearly else budget
        if is_nearly and begun.pool.open.sum() >= MANY_OPEN:
            opened = opened_by_prices(opened, random, longer, at_any_price=True)
        latest = longer if state.best is None else budget
        opened = protect_one_by_one(
            state.problem, state.system, REPAIR, budget, latest=latest, begun=opened
        )
        if is_nearly and state.best is None:
            opened = finished(state, opened, budget)
    if opened.is_proved or state.best is not None:
        return completed(opened, state.best or opened, state.must)
    return None
