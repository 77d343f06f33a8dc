"""Several strategies of the heuristic, at once or one after the other; the best result counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tablecloak.arrays import Flags
from tablecloak.budget import Budget, Stopwatch
from tablecloak.errors import InterruptedSearch
from tablecloak.executors import SerialExecutor, ThreadExecutor
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.prove import prove
from tablecloak.suppression.rows.candidate import (
    Candidate,
    cheaper,
    completed,
    costliest_first,
)
from tablecloak.suppression.search.boxes.phases import (
    are_sums_ready,
    completed_by_boxes,
    finished,
)
from tablecloak.suppression.search.closing import proved_pattern, with_first
from tablecloak.suppression.search.cover import Builder
from tablecloak.suppression.search.pace import CarefulPace, EndingPace, Pace
from tablecloak.suppression.search.protect import in_order, protect_need
from tablecloak.suppression.search.sequential import protect_one_by_one
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.search.strategy import EXCHANGED, EXCHANGED_CLOSED, PORTFOLIO, Strategy
from tablecloak.suppression.system.paths import Paths

PORTFOLIO_CELLS = 4000
"""Most free cells for which all strategies are tried; on larger tables only the first is. Chosen by
trial; not measured."""

CLEANED_CELLS = 5000
"""Most suppressed cells of a pattern whose cells are published again one by one. Chosen by trial;
not measured."""

BUILD_SHARE = 0.75
"""Share of the time after which the rest of a pattern is built in a hurry. It is large because,
where time is short, building with care gains more than improving does. docs/decisions, "Pace of
a first pattern"."""

TURNS = 2
"""Number of turns: all cells are protected again within the first pattern, in the same order and
then in the opposite one. docs/decisions, "Turns within the first pattern"."""

CAREFUL_SHARE, UNBOXED_SHARE = 0.65, 0.95
"""Shares of the time of a pattern that is to be better than boxes after which needs are met in a
hurry, and at last by boxes, which hide four times as much. docs/decisions, "Neighbourhoods"."""

SUMMED_SHARE = 0.9
"""Share of the time for programs and sums of boxes; the rest is for the last needs, which sums
leave to programs again."""

RESUMED = 2.0
"""Least time left for which programs go on after sums of boxes met the rest, as a multiple of the
seconds that these took."""

MOST_OPEN = 0.25
"""Share of the needs that may be open for boxes to complete a pattern. Chosen by trial."""

UNHURRIED_SHARE = 0.85
"""Share of the time of a turn after which the needs that are left are met in a hurry. Chosen by
trial."""

MOST_FAILURES = 3
"""Needs that a neighbourhood does not meet, after which the needs that are left keep the witnesses
they had. Chosen by trial."""

TURN_SHARE = 0.8
"""Least time left for which a turn is begun, as a multiple of the seconds that the pattern took."""

LEAST_GAIN = 1e-9
"""Improvements end when a round of them lowers the loss by less than this share."""


def clean_up(candidate: Candidate, must: Flags, budget: Budget) -> Candidate:
    """Publish secondaries again where the pattern stays proved, the costliest first.

    Only witnesses that move the cell in question are lost. The sensitive cells that they proved
    are protected again by moves of the other suppressed cells.

    Parameters
    ----------
    candidate : Candidate
        A proved pattern.
    must : numpy.ndarray of bool, shape (n_unknown,)
        Cells that must stay suppressed.
    budget : Budget
    """
    system, weights = candidate.pool.system, candidate.weights
    hidden, pool = candidate.hidden.copy(), candidate.pool
    moved = pool.moved()
    hidden &= moved | must
    order = costliest_first(hidden & ~must, weights)
    attack = Attack(system)
    attack.hide(hidden)
    for cell in order:
        if budget.is_over:
            break
        hidden[cell] = False
        trial = pool.without(int(cell))
        if np.any(trial.open):
            attack.hide(hidden)
            prove(attack, trial, budget, stop_at_failure=True)
        if np.any(trial.open):
            hidden[cell] = True
            continue
        pool = trial
        budget.report("cleaning up", float(weights[hidden].sum()))
    return Candidate(hidden, pool, weights)


def exchange(candidate: Candidate, must: Flags, budget: Budget) -> Candidate:
    """Exchange secondaries for cheaper cells, the costliest first.

    The cell is forbidden, the needs that its witnesses proved are protected again by any other
    cells, and cells that are then not needed are published. The change is kept if the loss falls.
    Parameters as for `clean_up`.
    """
    weights = candidate.weights
    builder = Builder(candidate.pool.system, weights, None, budget)
    best = candidate
    tried: set[int] = set()
    while not budget.is_over:
        order = costliest_first(best.hidden & ~must, weights)
        cell = next((int(cell) for cell in order if int(cell) not in tried), None)
        if cell is None:
            break
        tried.add(cell)
        found = _without(builder, best, must, cell)
        if found is not None and found.loss < best.loss * (1 - 1e-12):
            best = found
        budget.report("exchanging", best.loss, open_=len(order) - len(tried))
    return best


def _without(builder: Builder, candidate: Candidate, must: Flags, cell: int) -> Candidate | None:
    """Return the pattern after one cell is forbidden; None if it cannot lose less."""
    builder.forbidden = cell
    strategy = EXCHANGED_CLOSED if builder.neighbourhoods.is_deep else EXCHANGED
    pool, hidden = candidate.pool.without(cell), candidate.hidden.copy()
    hidden[cell] = False
    for index in in_order(pool, largest_first=True):
        if pool.is_open(index) and not protect_need(builder, pool, hidden, index, strategy):
            return None
        if float(builder.weights[hidden & (pool.moved() | must)].sum()) >= candidate.loss:
            return None
    return Candidate(hidden & (pool.moved() | must), pool, builder.weights)


def replaced(
    candidate: Candidate, near: Flags, must: Flags, strategy: Strategy, budget: Budget
) -> Candidate:
    """Publish some secondaries, and hide any other cells for the needs that this opens.

    Returns the pattern as it was where that costs as much.
    """
    weights = candidate.weights
    builder = Builder(candidate.pool.system, weights, ~near, budget)
    pool, hidden = candidate.pool.within(~near), candidate.hidden & ~near
    for index in in_order(pool, largest_first=True):
        if pool.is_open(index) and not protect_need(builder, pool, hidden, index, strategy):
            return candidate
        if float(weights[hidden & (pool.moved() | must)].sum()) >= candidate.loss:
            return candidate
    return Candidate(hidden & (pool.moved() | must), pool, weights)


@dataclass(frozen=True, eq=False)
class Trial:
    """The result of one strategy.

    Parameters
    ----------
    rank : int
        Place of the strategy in the portfolio.
    best : Candidate
        The best pattern, proved.
    first_seconds : float
        Seconds from the start of the search until the first pattern was proved.
    closing_seconds : float
        Seconds that building and verifying a certificate took.
    """

    rank: int
    best: Candidate
    first_seconds: float
    closing_seconds: float


def try_strategies(state: SearchState, budget: Budget) -> SearchState:
    """Build and improve patterns; the first strategy always completes one.

    Raises
    ------
    ModelError
        If some cell cannot be protected at all.
    InterruptedSearch
        If the search was stopped before any pattern was proved.
    """
    strategies = PORTFOLIO if state.n_free <= PORTFOLIO_CELLS else PORTFOLIO[:1]

    def attempt(rank: int) -> Trial | None:
        if (rank or state.best) and budget.is_over:
            return None
        return _tried(state, strategies[rank], rank, budget)

    trials = [trial for trial in _each(attempt, range(len(strategies)), budget) if trial]
    if not trials and state.best is None:
        raise InterruptedSearch("Interrupted before any pattern was proved.")
    # Of equal losses the first strategy's counts, so the answer depends on no number of threads.
    best = min(trials, key=lambda trial: (trial.best.loss, trial.rank), default=None)
    if best is not None:
        is_better = state.best is None or best.best.loss < state.best.loss
        state = replace(
            state,
            best=best.best if is_better else state.best,
            first_seconds=min(state.first_seconds, *(trial.first_seconds for trial in trials)),
            closing_seconds=max(state.closing_seconds, *(each.closing_seconds for each in trials)),
        )
    else:
        # No strategy had the time to build a pattern, but the present one can be improved.
        state = exchange_by_programs(state, budget)
    return state


def build_by_programs(state: SearchState, budget: Budget) -> SearchState:
    """Build a pattern by the first strategy.

    The first pattern is always completed: without programs once time is over, or by cycles where
    the table is a network. If there is a pattern, needs that are open when time is over are met by
    boxes, or keep their witnesses.

    Raises
    ------
    ModelError
        If some cell cannot be protected at all.
    InterruptedSearch
        If the search was stopped before the pattern was proved.
    """
    if state.best is not None and are_sums_ready(state, budget):
        return replace(state, best=_built_with_sums(state, state.best, budget))
    if state.best is not None:
        begun = _begun_by_programs(state, CAREFUL_SHARE, EndingPace, budget)
        if np.mean(begun.pool.open) > MOST_OPEN:
            return state
        if not begun.is_proved:
            begun = completed_by_boxes(state, begun, budget)
        built = completed(begun, state.best, state.must)
        return replace(state, best=cheaper(state.best, built))
    latest = budget if Paths.of(state.system) is None else budget.at_least(np.inf)
    built = protect_one_by_one(state.problem, state.system, PORTFOLIO[0], budget, latest=latest)
    built = finished(state, built, budget)
    if not built.is_proved:
        raise InterruptedSearch("Interrupted before any pattern was proved.")
    return with_first(state, built, budget)


def _begun_by_programs(
    state: SearchState,
    share: float,
    pacing: Callable[[Strategy, Budget, int], Pace],
    budget: Budget,
    begun: Candidate | None = None,
) -> Candidate:
    """Return a pattern of programs for a share of the time, of which boxes may meet the rest."""
    return protect_one_by_one(
        state.problem,
        state.system,
        PORTFOLIO[0],
        budget.share(share),
        latest=budget.share(UNBOXED_SHARE),
        begun=begun,
        pacing=pacing,
    )


def _built_with_sums(state: SearchState, best: Candidate, budget: Budget) -> Candidate:
    """Build a pattern by programs as long as there is time, and the rest by sums of boxes.

    How long sums take is known afterwards only, so that programs go on from where they ended if
    time is left.
    """
    begun: Candidate | None = None
    seconds = state.sum_seconds
    while True:
        pacing = partial(CarefulPace, sum_seconds=seconds)
        begun = _begun_by_programs(state, SUMMED_SHARE, pacing, budget, begun)
        n_open, watch = int(begun.pool.open.sum()), Stopwatch()
        built = begun if begun.is_proved else completed_by_boxes(state, begun, budget)
        best = cheaper(best, completed(built, best, state.must))
        if not n_open or budget.left < RESUMED * watch.seconds:
            return best
        seconds = min(seconds, watch.seconds / n_open)


def exchange_by_programs(state: SearchState, budget: Budget) -> SearchState:
    """Improve the best pattern, the costliest cells first."""
    if state.best is None or budget.is_over:
        return state
    return replace(state, best=_exchanged(state, state.best, budget))


def turned(state: SearchState, best: Candidate, strategy: Strategy, budget: Budget) -> Candidate:
    """Protect all cells again within a pattern; return what is cheaper.

    Needs that are open when time is over keep the witnesses they had, so that a turn that is cut
    short saves something too.
    """
    rebuilt = protect_one_by_one(
        state.problem,
        state.system,
        strategy,
        budget.share(UNHURRIED_SHARE),
        within=best.hidden,
        latest=budget,
    )
    return cheaper(best, completed(rebuilt, best, state.must))


def turned_in_part(
    state: SearchState,
    best: Candidate,
    published: Flags,
    random: np.random.Generator,
    budget: Budget,
) -> Candidate:
    """Publish some secondaries, and meet the needs that this opens within the rest of the pattern.

    The cells that were published may be hidden again. Needs come in an order and at costs that are
    drawn; what is left open keeps the witnesses it had.
    """
    pool = best.pool.within(~published)
    hidden = state.must | pool.moved()
    builder = Builder(state.system, best.weights, best.hidden, budget, random)
    failures = 0
    for index in in_order(pool, largest_first=True, random=random):
        if budget.is_over or failures == MOST_FAILURES:
            break
        if pool.is_open(index):
            failures += not protect_need(builder, pool, hidden, index, PORTFOLIO[0])
    met = Candidate(hidden, pool, best.weights)
    return cheaper(best, completed(met, best, state.must))


def _each(
    attempt: Callable[[int], Trial | None], ranks: Sequence[int], budget: Budget
) -> list[Trial | None]:
    def guarded(rank: int) -> Trial | None:
        try:
            return attempt(rank)
        except Exception:
            # The error ends the whole search, so the other strategies need not go on.
            budget.stop()
            raise

    workers = min(budget.threads, len(ranks))
    executor = ThreadExecutor(workers) if workers > 1 else SerialExecutor()
    return [trial for _, trial in executor.run(guarded, ranks)]


def _tried(state: SearchState, strategy: Strategy, rank: int, budget: Budget) -> Trial | None:
    # The first strategy has no deadline if no phase has found a pattern: there must be one.
    latest = budget if rank or state.best else budget.at_least(np.inf)
    build, watch = budget.share(BUILD_SHARE), Stopwatch()
    built = protect_one_by_one(
        state.problem,
        state.system,
        strategy,
        build,
        latest=latest,
        pacing=EndingPace if state.best else Pace,
    )
    if not built.is_proved:
        return None
    build_seconds = watch.seconds
    watch, seconds = Stopwatch(), 0.0
    if rank == 0:
        proved_pattern(state.problem, state.requirement, built)
        seconds = watch.seconds
    first_seconds = budget.elapsed
    left = budget.within(max(budget.left - seconds, 0.0))
    improved = _improved(state, built, strategy, left, build_seconds)
    return Trial(rank, improved, first_seconds, seconds)


def _improved(
    state: SearchState, best: Candidate, strategy: Strategy, budget: Budget, turn_seconds: float
) -> Candidate:
    """Protect cells again within the pattern, publish single cells again, exchange others."""
    is_tidy = not budget.is_over and budget.left > TURN_SHARE * turn_seconds
    for turn in range(TURNS):
        # A turn takes about as long as building the pattern did.
        if not budget.is_over and budget.left > TURN_SHARE * turn_seconds:
            again = replace(strategy, largest_first=strategy.largest_first ^ (turn == 1))
            best = turned(state, best, again, budget)
    return _exchanged(state, best, budget, is_tidy=is_tidy)


def _exchanged(
    state: SearchState, best: Candidate, budget: Budget, *, is_tidy: bool = False
) -> Candidate:
    """Publish single cells again and exchange others, as long as the loss falls.

    A tidy pattern has been built within another one. Few of its cells can simply be published, so
    that exchanges come first. docs/decisions, "Exchanges before the clean-up".
    """
    if is_tidy:
        best = cheaper(best, exchange(best, state.must, budget))
    while not budget.is_over:
        before = best.loss
        if int(best.hidden.sum()) <= CLEANED_CELLS:
            best = cheaper(best, clean_up(best, state.must, budget))
        best = cheaper(best, exchange(best, state.must, budget))
        if best.loss >= before * (1 - LEAST_GAIN):
            break
    return best
