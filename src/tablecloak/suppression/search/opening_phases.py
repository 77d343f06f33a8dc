"""Phases that open by prices, and search among the cells of the best pattern and of openings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tablecloak.arrays import Flags, Floats
from tablecloak.budget import Budget, Stopwatch
from tablecloak.phases import Phase, Run
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.search.closing import with_first
from tablecloak.suppression.search.inside import searched_inside
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
"""Share of the needs that may be open for a first pattern to be completed however long it takes."""

COMPLETED_SHARE = 0.25
"""Further time, as a share of that of an opening, for programs that meet the last needs of a first
pattern, each at any price."""

NOISE = 0.3
"""Spread of the log-normal noise on the weights of an opening, so that openings differ."""

FREE_CELLS = 1500
"""Most free cells of the smaller problem; of more, those that all patterns hide stay hidden."""

FIRST_INSIDE_SHARE = 0.4
"""Share of the time for the first search, among the cells of the best pattern alone."""

INSIDE_SHARE, LEAST_INSIDE = 0.2, 1.0
"""Share of the time left that a search among the cells of patterns may take, and least seconds."""

DESTROYED = (0.05, 1.0)
"""Least and largest share of the secondaries that an opening publishes before it begins."""

FIRST_OPENINGS = 3
"""Openings before the first search among cells of several patterns."""

STALE = 10
"""Openings in a row without a better pattern, after which the phase ends."""


def open_by_prices(state: SearchState, budget: Budget) -> SearchState:
    """Build a pattern at rising prices; the needs that stay open are met one by one."""
    if not len(state.system.needs.cells) or budget.is_over:
        return state
    opened = _opened(state, _bare(state), np.random.default_rng(budget.seed), budget)
    if opened is None or (state.best and opened.loss >= state.best.loss):
        return state
    if state.best is None:
        state = with_first(state, opened, budget)
    return replace(state, best=opened, is_priced=True)


def improve_by_openings(phases: Sequence[Phase[SearchState]]) -> Run[SearchState]:
    """Return a phase that opens again and again, and searches among the cells of both patterns.

    Parameters
    ----------
    phases : sequence of Phase
        The search of each smaller problem.
    """

    def run(state: SearchState, budget: Budget) -> SearchState:
        if state.best is None or budget.is_over:
            return state
        random = np.random.default_rng(budget.seed + 1)
        # The first search is among the cells of the best pattern alone, which takes least time.
        stale, number = 0, 0
        while not budget.is_over and stale < STALE:
            best = state.best
            assert best is not None
            among, agreed, watch = best.hidden.copy(), best.hidden.copy(), Stopwatch()
            for _ in range(number):
                noisy = best.weights * random.lognormal(0.0, NOISE, len(best.weights))
                begun = _destroyed(state, best, noisy, random)
                # Its loss is that of noisy weights, and of a pattern that is not finished.
                opened = _opened(state, begun, random, replace(budget, progress=None))
                if opened is None:
                    break
                among |= opened.hidden
                agreed &= opened.hidden
            seconds = watch.seconds
            share = INSIDE_SHARE if number else FIRST_INSIDE_SHARE
            part = budget.within(max(share * budget.left, LEAST_INSIDE, 2 * seconds))
            if not number or int((among & ~state.must).sum()) <= FREE_CELLS:
                agreed = state.must
            better = searched_inside(state, among, agreed, phases, part)
            stale += 1
            if better is not None:
                state, stale = replace(state, best=better), 0
                budget.report("improving", better.loss)
            number = max(1, number + (1 if part.left > 0 else -1)) if number else FIRST_OPENINGS
        return state

    return run


def _bare(state: SearchState) -> Candidate:
    weights = state.problem.weights[state.system.cells]
    return Candidate(state.must, WitnessPool(state.system), weights)


def _destroyed(
    state: SearchState, best: Candidate, weights: Floats, random: np.random.Generator
) -> Candidate:
    """Return the pattern after some secondaries, drawn by chance, are published again."""
    share = float(np.exp(random.uniform(*np.log(DESTROYED))))
    secondaries = np.flatnonzero(best.hidden & ~state.must)
    published: Flags = np.zeros(len(weights), dtype=bool)
    published[random.permutation(secondaries)[: max(1, int(share * len(secondaries)))]] = True
    pool = best.pool.within(~published)
    return Candidate(state.must | pool.moved(), pool, weights)


def _opened(
    state: SearchState,
    begun: Candidate,
    random: np.random.Generator,
    budget: Budget,
) -> Candidate | None:
    seconds = budget.left
    opened = opened_by_prices(begun, random, budget.share(PRICED_SHARE))
    if np.mean(opened.pool.open) > MOST_OPEN:
        return None
    if not opened.is_proved:
        is_nearly = np.mean(opened.pool.open) <= NEARLY
        latest = budget.at_least(np.inf) if is_nearly and state.best is None else budget
        if is_nearly and begun.pool.open.sum() >= MANY_OPEN:
            longer = budget.at_least(COMPLETED_SHARE * seconds)
            opened = opened_by_prices(opened, random, longer, at_any_price=True)
        opened = protect_one_by_one(
            state.problem, state.system, REPAIR, budget, latest=latest, begun=opened
        )
    if not opened.is_proved:
        return None
    return Candidate(state.must | opened.pool.moved(), opened.pool, opened.weights)
