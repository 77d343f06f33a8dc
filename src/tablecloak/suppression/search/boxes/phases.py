"""The phase of a suppression that builds a pattern from boxes, or from sums of boxes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from tablecloak.arrays import Integers
from tablecloak.budget import Budget, generator
from tablecloak.suppression.proof.witness import Witnesses, WitnessPool
from tablecloak.suppression.rows.candidate import Candidate, cheaper, completed
from tablecloak.suppression.search.boxes.pattern import BoxPattern, Grid
from tablecloak.suppression.search.boxes.sums import CAREFUL, QUICK, Care, SumFinder, is_ready
from tablecloak.suppression.search.closing import with_first
from tablecloak.suppression.search.cover import Builder
from tablecloak.suppression.search.protect import protect_in_region, protect_need
from tablecloak.suppression.search.sequential import protect_one_by_one
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.search.strategy import Strategy
from tablecloak.suppression.system.paths import Paths

MOST_OPEN_SHARE = 0.1
"""Largest share of the needs that boxes may leave to programs. If they leave more, boxes do not
suit the table, and another phase builds the pattern. Chosen by trial; not measured."""

GROUPS = (1, 4)
"""Numbers of boxes that are exchanged at once, in this order. docs/decisions, "Boxes"."""

LEAST_GAIN = 5e-3
"""Share by which a round of exchanges must lower the loss for another round of the same size; below
it programs gain more in the same time. docs/decisions, "Boxes"."""

REMAINING = Strategy(sizes=(300,), symmetric=False)
"""Strategy of the programs for needs that boxes leave open."""


def protect_by_boxes(state: SearchState, budget: Budget) -> SearchState:
    """Build a first pattern from boxes, and from programs for open needs; then exchange boxes.

    Notes
    -----
    The state is unchanged if cells have no usable codes, if boxes leave too many needs open, or if
    the table is a network, where the shortest cycle is better than any box.
    """
    is_late = budget.is_stopped or (budget.is_over and state.best is not None)
    grid = None if is_late else _grid_of(state)
    if grid is None:
        return state
    # Boxes are the quickest way to a first pattern, so it is completed even if time is over.
    working = budget.at_least(np.inf) if state.best is None else budget
    # Where few cells are sensitive, exchanges of boxes are as good a beginning (docs/decisions,
    # "Sums of boxes").
    pattern = _begun(state, grid, QUICK, budget) if state.is_dense else _of_boxes(state, grid)
    most_open = MOST_OPEN_SHARE * len(pattern.met)
    pattern.build(working, most_open)
    if len(pattern.open) > most_open:
        return state
    left = _protect_others(state, pattern, budget)
    candidate = _candidate(state, pattern, left)
    if not candidate.is_proved:
        return state
    if state.best is None:
        state = with_first(state, candidate, budget)
    if not state.is_dense:
        # Dense tables are left to sums and programs: exchanging boxes gained 1 % in 8 s on one of
        # 30,000 enterprises (docs/decisions, "Pace of a first pattern").
        _improve(pattern, budget)
        candidate = _candidate(state, pattern, left)
    return replace(state, best=min(candidate, state.best, key=lambda each: each.loss))


def _grid_of(state: SearchState) -> Grid | None:
    """Return the grid of a table whose needs boxes can meet; a network has shorter cycles."""
    # Boxes are products of codes, and figures have none: `protect_totals_first` builds those.
    has_boxes = not state.system.has_rooms and Paths.of(state.system) is None
    if not has_boxes or not len(state.system.needs.cells):
        return None
    return Grid.of(state.problem.table, state.system)


def _of_boxes(state: SearchState, grid: Grid) -> BoxPattern:
    weights = state.problem.weights[state.system.cells]
    return BoxPattern(grid, state.system, weights, state.must)


def _begun(state: SearchState, grid: Grid, care: Care, budget: Budget) -> BoxPattern:
    """Return a pattern to build: from sums of boxes where these can be found in time."""
    return _of_sums(state, grid, care) if is_ready(grid, budget.left) else _of_boxes(state, grid)


def _of_sums(state: SearchState, grid: Grid, care: Care) -> BoxPattern:
    system, weights = state.system, state.problem.weights[state.system.cells]
    finding = partial(SumFinder, care=care, is_whole=system.integer)
    return BoxPattern(grid, system, weights, state.must, finding)


def protect_by_sums(state: SearchState, budget: Budget) -> SearchState:
    """Build a pattern of sums of boxes with care."""
    best = state.best
    if best is None or budget.is_over:
        return state
    grid = _grid_of(state)
    if grid is None or not is_ready(grid, budget.left):
        return state
    pattern = _of_sums(state, grid, CAREFUL)
    pattern.build(budget)
    built = _candidate(state, pattern, [])
    # The few needs that are left would bring back cells as heavy as the rest of the pattern.
    _protect_each(state, built, pattern.open, budget)
    return replace(state, best=cheaper(best, completed(built, best, state.must)))


def completed_by_boxes(state: SearchState, begun: Candidate, budget: Budget) -> Candidate:
    """Meet the open needs of a pattern by boxes, which prefer the cells that it hides.

    Returns
    -------
    Candidate
        Perhaps with needs that are still open.
    """
    grid = Grid.of(state.problem.table, state.system)
    if grid is None:
        return begun
    return _extended(_begun(state, grid, CAREFUL, budget), state, begun, budget)


def _extended(
    pattern: BoxPattern, state: SearchState, begun: Candidate, budget: Budget
) -> Candidate:
    """Meet the open needs of a pattern by boxes that are found for another one."""
    pattern.hold(begun.pool.moved(), np.flatnonzero(~begun.pool.open))
    pattern.build(budget)
    pool = begun.pool.copy()
    pool.take(pattern.witnesses())
    return Candidate(state.must | pool.moved(), pool, begun.weights)


def _protect_others(state: SearchState, pattern: BoxPattern, budget: Budget) -> Witnesses:
    """Meet by programs the needs that boxes cannot; the pattern then hides their cells for good."""
    open_ = pattern.open
    if not len(open_):
        return []
    found, working = _candidate(state, pattern, []), budget.at_least(np.inf)
    # Programs over the whole table would move nearly all hidden cells, none of which could then be
    # published by an exchange.
    builder = _protect_each(state, found, open_, working)
    if isinstance(pattern.finder, SumFinder) and not found.is_proved:
        # Boxes try more moves of each code, but take the whole of a need from each cell.
        found = _extended(_of_boxes(state, pattern.finder.grid), state, found, working)
    for need in np.flatnonzero(found.pool.open).tolist():
        protect_in_region(builder, found.pool, found.hidden, need)
    if not found.is_proved:
        found = protect_one_by_one(
            state.problem, state.system, REMAINING, budget, latest=working, begun=found
        )
    chosen = np.zeros(len(pattern.met), dtype=bool)
    chosen[open_] = True
    witnesses = found.pool.proof(chosen).witnesses
    moved = np.zeros(state.system.n_unknown, dtype=bool)
    for cells, _ in witnesses:
        moved[cells] = True
    pattern.hold(moved, open_)
    return witnesses


def _protect_each(state: SearchState, found: Candidate, needs: Integers, budget: Budget) -> Builder:
    """Meet needs by programs, extending a candidate in place, while there is time."""
    builder = Builder(state.system, found.weights, None, budget)
    for need in needs.tolist():
        if not budget.is_over:
            protect_need(builder, found.pool, found.hidden, need, REMAINING)
    return builder


def _improve(pattern: BoxPattern, budget: Budget) -> None:
    random = generator(budget.seed)
    for size in GROUPS:
        before = np.inf
        while not budget.is_over and pattern.loss < before * (1 - LEAST_GAIN):
            before = pattern.loss
            pattern.improve(budget, random, size)


def _candidate(state: SearchState, pattern: BoxPattern, others: Witnesses) -> Candidate:
    """Return the pattern of boxes with its witnesses as a candidate."""
    pool = WitnessPool(state.system)
    pool.take([*pattern.witnesses(), *others])
    return Candidate(pattern.hidden, pool, pattern.weights)
