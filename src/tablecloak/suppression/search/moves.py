"""Moves: ways to improve a pattern, of which each is made as long as it gains most.

Which of them gains differs from table to table. docs/decisions, "Moves".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats
from tablecloak.budget import Budget, Stopwatch
from tablecloak.phases import Phase, Run
from tablecloak.suppression.rows.candidate import Candidate, cheaper
from tablecloak.suppression.search.boxes.relief import Relieving
from tablecloak.suppression.search.inside import searched_inside
from tablecloak.suppression.search.opening_phases import bare, opened_pattern
from tablecloak.suppression.search.portfolio import (
    LEAST_GAIN,
    replaced,
    turned_in_part,
)
from tablecloak.suppression.search.protect import ALL_AT_ONCE
from tablecloak.suppression.search.sequential import protect_one_by_one
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.search.strategy import PORTFOLIO, REPLACEMENT, REPLACEMENT_FAR, Strategy

NOISE = 0.3
"""Spread of the log-normal noise on the weights of an opening, so that openings differ."""

FREE_CELLS = 1500
"""Most free cells of the smaller problem; of more, those that all patterns hide stay hidden."""

TURN_SHARE = 0.9
"""Most of the time left for a turn."""

TURNED = (0.03, 1.0)
"""Least and largest share of the secondaries that later turns publish before they begin.
docs/decisions, "Moves"."""

NEARBY_SHARE, LEAST_NEARBY = 0.1, 0.5
"""Share of the time left for turns near single cells at a time, and least seconds."""

TURNED_NEARBY = (5, 80)
"""Fewest and most of them where they are near each other. docs/decisions, "Moves"."""

MOST_INSIDE = 3_000
"""Most secondaries of a pattern among whose cells is searched."""

MOST_NEEDS = 1_000
"""Most needs for which is searched there; with more, attacks take all the time."""

FIRST_INSIDE_SHARE = 0.25
"""Share of the time for the first search, among the cells of the best pattern alone."""

INSIDE_SHARE, LEAST_INSIDE = 0.2, 1.0
"""Share of the time left that a search among the cells of patterns may take, and least seconds."""

REPLACED_SHARE, LEAST_REPLACED = 0.1, 0.5
"""Share of the time left for replacements at a time, and least seconds."""

REPLACED = (1, 3)
"""Fewest and most secondaries that are replaced at once. docs/decisions, "Replaced cells"."""

DESTROYED = (0.05, 1.0)
"""Least and largest share of the secondaries that an opening publishes before it begins.
Chosen by trial, as all constants here; not measured one by one."""

FIRST_OPENINGS = 3
"""Openings before the first search among cells of several patterns."""

CROSSING = 3.0
"""Expected seconds of turns among the cells of two patterns, as a multiple of those of a turn."""

CROSSED_CELLS = 4_000
"""Most free cells for turns, and for further openings, where prices gave no pattern: on larger
tables replacements gain far more in the same time."""

MEMORY = 0.5
"""Weight of what a move gained before, beside the last time: what draws cells by chance sometimes
gains nothing. docs/decisions, "Replaced cells"."""

CLOCK = 1e-3
"""Least seconds that a move is said to have taken."""

STALE_REPLACED = 50
"""Replacements in a row without a better pattern, after which other moves are tried."""

STALE = 10
"""Moves, or turns near single cells, in a row without a better pattern, after which others are
tried, or the phase ends."""


def improve_by_moves(phases: Sequence[Phase[SearchState]]) -> Run[SearchState]:
    """Return a phase that improves the best pattern by whatever gains most in the same time.

    Each move is made once, and again as long as it saves more a second than the others lately did:
    turns within the pattern, of cells near each other and, unless that would take too long, of
    cells anywhere; and replacements of few cells by any others. A search among the cells of the
    pattern and of openings, and turns among those of the pattern and of one opening, take longest
    and wait until the others save nothing.

    Parameters
    ----------
    phases : sequence of Phase
        The search of each smaller problem.
    """

    def run(state: SearchState, budget: Budget) -> SearchState:
        if state.best is None or budget.is_over or not len(state.system.needs.cells):
            return state
        moves: list[_Move] = [_Replacing(budget.seed + 6, REPLACEMENT)]
        if state.system.n_unknown > ALL_AT_ONCE:
            moves.append(_Replacing(budget.seed + 7, REPLACEMENT_FAR))
        moves += [_TurningNearby(budget.seed + 5), Relieving(budget.seed + 4)]
        waiting: list[_Move] = [_Inside(phases, budget.seed + 1)]
        if state.is_priced or state.n_free <= CROSSED_CELLS:
            turning = _Turning(budget.seed + 2)
            moves.insert(0, turning)
            waiting.append(_Crossing(budget.seed + 3, turning))
        # What takes longest waits until nothing else gains.
        rates = np.repeat([np.inf, 0.0], [len(moves), len(waiting)])
        moves += waiting
        last = np.arange(len(moves)) - len(moves)
        stale = number = 0
        while not budget.is_over and stale < STALE:
            best, watch = state.best, Stopwatch()
            assert best is not None
            # Of moves that gain the same, most often nothing, the one made longest ago is next.
            move = int(np.lexsort((last, -rates))[0])
            better = cheaper(best, moves[move].made(state, best, budget))
            gain = best.loss - better.loss
            rate = gain / max(watch.seconds, CLOCK)
            was_made = np.isfinite(rates[move])
            rates[move] = rate + MEMORY * (rates[move] - rate) if was_made else rate
            last[move] = number
            number, stale = number + 1, 0 if gain > LEAST_GAIN * best.loss else stale + 1
            state = replace(state, best=better)
            budget.report("improving", better.loss)
        return state

    return run


class _Move(Protocol):
    """A way to look for a better pattern, for some seconds at a time."""

    def made(self, state: SearchState, best: Candidate, budget: Budget) -> Candidate:
        """Return a pattern, be it better, worse or the best one."""
        ...


SHAKEN = replace(PORTFOLIO[0], shaken=True)
"""Strategy of turns. Each draws another order and other costs, and so ends in another pattern."""


class _Turning:
    """Turns within the best pattern: of all its secondaries at first, then of some, drawn anywhere.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.share, self.seconds = 1.0, 0.0

    def made(self, state: SearchState, best: Candidate, budget: Budget) -> Candidate:
        """Return a better pattern, or the best one."""
        watch, part = Stopwatch(), budget.share(TURN_SHARE).quiet()
        published = best.hidden & ~state.must & (self.random.random(len(best.hidden)) < self.share)
        better = turned_in_part(state, best, published, self.random, part)
        self.share = float(np.exp(self.random.uniform(*np.log(TURNED))))
        self.seconds = watch.seconds
        return better


class _TurningNearby:
    """Turns of secondaries near each other, of which a table of any size takes seconds.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def made(self, state: SearchState, best: Candidate, budget: Budget) -> Candidate:
        """Return a better pattern, or the best one."""
        # A turn that is cut short saves next to nothing, so that the last one may take longer.
        begun, stale = budget.within(max(NEARBY_SHARE * budget.left, LEAST_NEARBY)), 0
        while not begun.is_over and stale < STALE:
            secondaries, before = best.hidden & ~state.must, best.loss
            if not secondaries.any():
                break
            published = near_each_other(
                state.system.matrix, secondaries, best.weights, TURNED_NEARBY, self.random
            )
            best = turned_in_part(state, best, published, self.random, budget.quiet())
            stale = 0 if best.loss < before else stale + 1
        return best


class _Inside:
    """Searches among the cells of the best pattern, at first, and then of openings as well.

    Parameters
    ----------
    phases : sequence of Phase
    seed : int
    """

    def __init__(self, phases: Sequence[Phase[SearchState]], seed: int) -> None:
        self.phases, self.random = phases, np.random.default_rng(seed)
        self.number = 0

    def made(self, state: SearchState, best: Candidate, budget: Budget) -> Candidate:
        """Return a better pattern, or the best one."""
        is_small = int((best.hidden & ~state.must).sum()) <= MOST_INSIDE
        if not is_small or len(state.system.needs.cells) > MOST_NEEDS:
            return best
        among, agreed, watch = best.hidden.copy(), best.hidden.copy(), Stopwatch()
        for _ in range(self.number):
            noisy = _with_noise(best, self.random)
            begun = _destroyed(state, best, noisy, self.random)
            # Its loss is that of noisy weights, and of a pattern that is not finished.
            opened = opened_pattern(state, begun, self.random, budget.quiet())
            if opened is None:
                break
            among |= opened.hidden
            agreed &= opened.hidden
        share = INSIDE_SHARE if self.number else FIRST_INSIDE_SHARE
        part = budget.within(max(share * budget.left, LEAST_INSIDE, 2 * watch.seconds))
        if not self.number or int((among & ~state.must).sum()) <= FREE_CELLS:
            agreed = state.must
        better = searched_inside(state, among, agreed, self.phases, part)
        more = 1 if part.left > 0 else -1
        self.number = max(1, self.number + more) if self.number else FIRST_OPENINGS
        return better or best


class _Crossing:
    """Turns among the cells of the best pattern and of an opening from the beginning.

    Parameters
    ----------
    seed : int
    turning : _Turning
        Says how long a turn takes: too little time is not begun with.
    """

    def __init__(self, seed: int, turning: _Turning) -> None:
        self.random, self.turning = np.random.default_rng(seed), turning

    def made(self, state: SearchState, best: Candidate, budget: Budget) -> Candidate:
        """Return a pattern, or the best one where the time does not suffice."""
        if budget.left < CROSSING * self.turning.seconds:
            return best
        begun = replace(bare(state), weights=_with_noise(best, self.random))
        opened = opened_pattern(state, begun, self.random, budget.quiet())
        if opened is None:
            return best
        among = best.hidden | opened.hidden
        part = replace(budget.quiet(), seed=int(self.random.integers(2**31)))
        crossed = protect_one_by_one(state.problem, state.system, SHAKEN, part, within=among)
        if not crossed.is_proved:
            return best
        return self.turning.made(state, crossed, budget)


class _Replacing:
    """Replaces secondaries near each other, or single ones, by any other cells.

    Parameters
    ----------
    seed : int
    strategy : Strategy
        For the needs that are open without them.
    """

    def __init__(self, seed: int, strategy: Strategy) -> None:
        self.random, self.strategy = np.random.default_rng(seed), strategy

    def made(self, state: SearchState, best: Candidate, budget: Budget) -> Candidate:
        """Return a better pattern, or the best one."""
        part = budget.within(max(REPLACED_SHARE * budget.left, LEAST_REPLACED))
        stale = 0
        while not part.is_over and stale < STALE_REPLACED:
            secondaries, before = best.hidden & ~state.must, best.loss
            if not secondaries.any():
                break
            near = near_each_other(
                state.system.matrix, secondaries, best.weights, REPLACED, self.random
            )
            best = cheaper(best, replaced(best, near, state.must, self.strategy, budget.quiet()))
            stale = 0 if best.loss < before else stale + 1
        return best


def near_each_other(
    relations: csr_array,
    secondaries: Flags,
    weights: Floats,
    number: tuple[int, int],
    random: np.random.Generator,
) -> Flags:
    """Draw secondaries that relations join to one of them; heavy ones save most.

    Parameters
    ----------
    relations : scipy.sparse.csr_array, shape (n_rows, n_cells)
    secondaries : numpy.ndarray of bool, shape (n_cells,)
    weights : numpy.ndarray of float, shape (n_cells,)
    number : (int, int)
        Fewest and most of them; few are drawn as often as many.
    random : numpy.random.Generator
    """
    some = np.flatnonzero(secondaries)
    share = weights[some] + LEAST_GAIN * weights[some].max() + LEAST_GAIN
    size = round(float(np.exp(random.uniform(*np.log(number)))))
    near = np.zeros(len(weights))
    near[random.choice(some, p=share / share.sum())] = 1.0
    joined, n_near = abs(relations), -1
    while n_near < np.count_nonzero(near[some]) < size:
        n_near = int(np.count_nonzero(near[some]))
        near = joined.T @ (joined @ near)
        near /= near.max()
    # Of those joined alike, chance decides.
    order = np.argsort(-near[some] * random.random(len(some)), kind="stable")
    chosen: Flags = np.zeros(len(weights), dtype=bool)
    chosen[some[order[:size]]] = True
    return chosen & (near > 0)


def _with_noise(best: Candidate, random: np.random.Generator) -> Floats:
    weights: Floats = best.weights * random.lognormal(0.0, NOISE, len(best.weights))
    return weights


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
