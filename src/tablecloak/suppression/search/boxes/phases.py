"""The phase of a suppression that builds a pattern from boxes, or from sums of boxes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from tablecloak.budget import Budget, Stopwatch, generator
from tablecloak.suppression.proof.witness import Witnesses, WitnessPool
from tablecloak.suppression.rows.candidate import Candidate, cheaper, completed
from tablecloak.suppression.search.boxes.pairs import PairFinder
from tablecloak.suppression.search.boxes.pattern import BoxFinder, BoxPattern, Grid
from tablecloak.suppression.search.boxes.sums import (
    CAREFUL,
    COMPLETING,
    QUICK,
    THOROUGH,
    Care,
    SumFinder,
    is_ready,
    lacking_loops,
)
from tablecloak.suppression.search.closing import with_first
from tablecloak.suppression.search.cover import Builder
from tablecloak.suppression.search.protect import in_order, protect_need
from tablecloak.suppression.search.sequential import protect_at_any_cost
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.search.strategy import Strategy
from tablecloak.suppression.system.details import Details
from tablecloak.suppression.system.paths import Paths

MOST_OPEN_SHARE = 0.1
"""Largest share of the needs that boxes may leave to programs. If they leave more, boxes do not
suit the table, and another phase builds the pattern. Chosen by trial; not measured."""

CARE_FOR_MORE = 6.5
"""Seconds of a sum for a need that programs leave open, as a multiple of those of a quick one.
docs/decisions, "Programs go on after sums"."""

HURRIED_SECONDS = 1e-3
"""Least seconds for each need with which another phase builds the pattern if boxes leave many needs
open. docs/decisions, "First pattern in haste"."""

GROUPS = (1, 4)
"""Numbers of boxes that are exchanged at once, in this order. docs/decisions, "Boxes"."""

LEAST_GAIN = 5e-3
"""Share by which a round of exchanges must lower the loss for another round of the same size; below
it programs gain more in the same time. docs/decisions, "Boxes"."""

REMAINING = Strategy(sizes=(300,), symmetric=False)
"""Strategy of the programs for needs that boxes leave open."""

LAST = Strategy(sizes=(300, 2500, 6000), symmetric=False)
"""Strategy of the programs for the few, large needs that sums of boxes leave open: in a small part
of the table they cost ten times as much. docs/decisions, "Sums of boxes"."""

LAST_SECONDS = 3.0
"""Seconds for each of them below which the largest neighbourhood is left out."""


def protect_by_boxes(state: SearchState, budget: Budget) -> SearchState:
    """Build a first pattern from boxes, and from programs for open needs; then exchange boxes.

    Notes
    -----
    The state is unchanged if cells have no usable codes, if boxes leave too many needs open, or if
    the table is a network, where the shortest cycle is better than any box.
    """
    is_late = budget.is_stopped or (budget.is_over and state.best is not None)
    grid = None if is_late else grid_of(state)
    if grid is None:
        return state
    # Boxes are the quickest way to a first pattern, so it is completed even if time is over.
    working = budget.at_least(np.inf) if state.best is None else budget
    # Where few cells are sensitive, boxes lose less than quick sums on some tables, which follow.
    is_summed = state.is_dense and is_ready(grid, budget.left)
    pattern = of_sums(state, grid, QUICK) if is_summed else _of_boxes(state, grid)
    is_hurried = state.best is None and budget.left < HURRIED_SECONDS * len(pattern.size)
    most_open = np.inf if is_hurried else MOST_OPEN_SHARE * len(pattern.size)
    if is_summed and len(pattern.open):
        # Loading what was compiled takes as long as a thousand sums.
        first = int(pattern.open[0])
        pattern.finder.cheapest(int(state.system.needs.cells[first]), float(pattern.size[first]))
    watch = Stopwatch()
    pattern.build(working, most_open)
    if is_summed:
        state = replace(state, sum_seconds=CARE_FOR_MORE * watch.seconds / len(pattern.size))
    if len(pattern.open) > most_open:
        return state
    left = _protect_others(state, pattern, budget)
    candidate = candidate_of(state, pattern, left)
    if not candidate.is_proved:
        return state
    if state.best is None:
        state = with_first(state, candidate, budget)
    if not state.is_dense and not is_ready(grid, budget.left):
        # Sums of boxes gain more than exchanges do, and on dense tables programs do
        # (docs/decisions, "Pace of a first pattern").
        _improve(pattern, budget)
        candidate = candidate_of(state, pattern, left)
    for text in lacking_loops(grid, budget.left):
        state = state.noted(text)
    return replace(state, best=min(candidate, state.best, key=lambda each: each.loss))


def grid_of(state: SearchState) -> Grid | None:
    """Return the grid of a table whose needs boxes can meet; a network has shorter cycles."""
    # Boxes are products of codes, and figures have none: `protect_totals_first` builds those.
    has_boxes = not state.system.has_rooms and Paths.of(state.system) is None
    if not has_boxes or not len(state.system.needs.cells):
        return None
    return Grid.of(state.problem.table, state.system)


def are_sums_ready(state: SearchState, budget: Budget) -> bool:
    """Whether sums of boxes can be found for a problem."""
    grid = grid_of(state)
    return grid is not None and is_ready(grid, budget.left)


def _of_boxes(state: SearchState, grid: Grid) -> BoxPattern:
    weights = state.problem.weights[state.system.cells]
    return BoxPattern(state.system, weights, state.must, partial(BoxFinder, grid))


def of_sums(state: SearchState, grid: Grid, care: Care) -> BoxPattern:
    """Return an empty pattern that is built of sums of boxes."""
    system, weights = state.system, state.problem.weights[state.system.cells]
    finding = partial(SumFinder, grid, care=care, is_whole=system.integer)
    return BoxPattern(system, weights, state.must, finding)


def _of_pairs(state: SearchState) -> BoxPattern:
    """Return an empty pattern that is built of pairs of details."""
    system, weights = state.system, state.problem.weights[state.system.cells]
    finding = partial(PairFinder, details=Details.of(system), is_whole=system.integer)
    return BoxPattern(system, weights, state.must, finding)


def protect_by_sums(state: SearchState, budget: Budget) -> SearchState:
    """Build patterns of sums of boxes, quickly where that was not yet done, and with care."""
    if state.best is None or budget.is_over:
        return state
    grid = grid_of(state)
    if grid is None or not is_ready(grid, budget.left):
        return state
    for care in (CAREFUL,) if state.is_dense else (QUICK, CAREFUL):
        nothing = Candidate(state.must, WitnessPool(state.system), state.best.weights)
        built = _summed(state, nothing, grid, care, budget)
        best = cheaper(state.best, completed(built, state.best, state.must))
        state = replace(state, best=best)
    return state


def completed_by_boxes(state: SearchState, begun: Candidate, budget: Budget) -> Candidate:
    """Meet the open needs of a pattern by boxes, which prefer the cells that it hides.

    Returns
    -------
    Candidate
        Perhaps with needs that are still open.
    """
    grid = grid_of(state)
    if grid is None:
        return begun
    if is_ready(grid, budget.left):
        return _summed(state, begun, grid, COMPLETING, budget)
    return _extended(_of_boxes(state, grid), state, begun, budget)


def _summed(
    state: SearchState, begun: Candidate, grid: Grid, care: Care, budget: Budget
) -> Candidate:
    """Meet the open needs of a pattern by sums of boxes, and the last ones by programs."""
    if budget.is_over:
        return begun
    built = _extended(of_sums(state, grid, care), state, begun, budget)
    built = _nearly_all(state, built, grid, budget)
    if state.best is None or built.loss < state.best.loss:
        # With the witnesses that the best pattern has for them, the few needs that are left would
        # bring back cells as heavy as all others.
        is_short = budget.left < LAST_SECONDS * built.pool.open.sum()
        strategy = replace(LAST, sizes=LAST.sizes[:-1]) if is_short else LAST
        _protect_each(state, built, strategy, budget)
    return built


def _extended(
    pattern: BoxPattern, state: SearchState, begun: Candidate, budget: Budget
) -> Candidate:
    """Meet the open needs of a pattern by boxes that are found for another one."""
    pattern.hold(begun.pool.moved(), np.flatnonzero(~begun.pool.open))
    pattern.build(budget)
    pool = begun.pool.copy()
    pool.take(pattern.witnesses())
    return Candidate(state.must | pool.moved(), pool, begun.weights)


def _nearly_all(state: SearchState, begun: Candidate, grid: Grid, budget: Budget) -> Candidate:
    """Meet the open needs of a pattern by sums of boxes of all shapes, where these can be found."""
    if begun.is_proved or not is_ready(grid, budget.left):
        return begun
    return _extended(of_sums(state, grid, THOROUGH), state, begun, budget)


def _protect_others(state: SearchState, pattern: BoxPattern, budget: Budget) -> Witnesses:
    """Meet otherwise the needs that a pattern leaves open; it then hides their cells for good."""
    open_ = pattern.open
    if not len(open_):
        return []
    found = candidate_of(state, pattern, [])
    # Programs over the whole table would move nearly all hidden cells, none of which could then be
    # published by an exchange.
    _protect_each(state, found, REMAINING, budget)
    found = finished(state, found, budget)
    chosen = np.zeros(len(pattern.size), dtype=bool)
    chosen[open_] = True
    witnesses = found.pool.proof(chosen).witnesses
    moved = np.zeros(state.system.n_unknown, dtype=bool)
    for cells, _ in witnesses:
        moved[cells] = True
    pattern.hold(moved, open_)
    return witnesses


def finished(state: SearchState, begun: Candidate, budget: Budget) -> Candidate:
    """Meet the last needs of a first pattern in a hurry, even if time is over.

    By sums of boxes where these can be found, by pairs of details, and at last by attacks with
    every cell hidden.

    Returns
    -------
    Candidate
        Proved, unless the search was stopped.

    Raises
    ------
    ModelError
        If some cell cannot be protected at all.
    """
    grid, working = grid_of(state), budget.at_least(np.inf)
    patterns = [partial(_of_pairs, state)]
    if grid is not None and is_ready(grid, budget.left):
        patterns = [*(partial(of_sums, state, grid, care) for care in (QUICK, THOROUGH)), *patterns]
    for pattern in patterns:
        if not begun.is_proved:
            begun = _extended(pattern(), state, begun, working)
    if not begun.is_proved:
        protect_at_any_cost(state.problem, begun.pool, begun.hidden, working)
    return begun


def _protect_each(
    state: SearchState, found: Candidate, strategy: Strategy, budget: Budget
) -> Builder:
    """Meet open needs by programs, extending a candidate in place, while there is time."""
    builder = Builder(state.system, found.weights, None, budget)
    for need in in_order(found.pool, largest_first=True):
        if not budget.is_over:
            protect_need(builder, found.pool, found.hidden, need, strategy)
    return builder


def _improve(pattern: BoxPattern, budget: Budget) -> None:
    random = generator(budget.seed)
    for size in GROUPS:
        before = np.inf
        while not budget.is_over and pattern.loss < before * (1 - LEAST_GAIN):
            before = pattern.loss
            pattern.improve(budget, random, size)


def candidate_of(state: SearchState, pattern: BoxPattern, others: Witnesses) -> Candidate:
    """Return the pattern of boxes with its witnesses as a candidate."""
    pool = WitnessPool(state.system)
    pool.take([*pattern.witnesses(), *others])
    return Candidate(pattern.hidden, pool, pattern.weights)
