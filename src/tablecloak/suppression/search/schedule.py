"""What a search for a pattern does, in which order, and with which shares of the time.

This module is the one place for the policy of suppression. A schedule is a tuple of phases; each
is a function from state to state (modules `portfolio` and `exact`). Choices within a phase are made
beside its algorithm. Measurements are in docs/decisions/suppression.md.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tablecloak.budget import Budget
from tablecloak.phases import Phase, Run, either, group
from tablecloak.suppression.rows.following import FEW_NEEDS, is_spacious
from tablecloak.suppression.search.boxes.phases import (
    are_sums_ready,
    protect_by_boxes,
    protect_by_sums,
)
from tablecloak.suppression.search.boxes.relief import relieve
from tablecloak.suppression.search.deletion_phases import (
    delete_from_all_hidden,
    search_null_space,
)
from tablecloak.suppression.search.exact import (
    bound_by_every_row,
    cut_at_root,
    follow_at_root,
    look_at_root,
    prove_by_every_row,
    search_every_row,
    search_near_best,
    search_whole_tree,
)
from tablecloak.suppression.search.insiders import hold_against_insiders
from tablecloak.suppression.search.moves import improve_by_moves
from tablecloak.suppression.search.opening_phases import open_by_prices
from tablecloak.suppression.search.portfolio import (
    build_by_programs,
    try_strategies,
)
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.search.totals_first import protect_totals_first

EXACT_CELLS = 2000
"""Most free cells for which the method "auto" searches for a proved optimum. docs/decisions,
"Phases of suppression"."""

BOUNDED_CELLS = 50_000
"""Most free cells for which the method "auto" keeps time back for a lower bound. docs/decisions,
"Phases of suppression"."""

SEARCHED_CELLS = 1000
"""Most free cells for which the exact method finds better patterns than the heuristic in the same
time, so that the heuristic gets less of it. docs/decisions, "Phases of suppression"."""

UNPROVED_CELLS, CROSSED = 250, 3
"""The same where half of the cells lie in so many relations, as in tables of three dimensions,
whose optimum is hardly ever proved. docs/decisions, "Replaced cells"."""

OPENING_SHARE = 0.5
"""Share of the time for deletion, which begins with every cell hidden and gives a first pattern
where the table has room. docs/decisions, "Null space"."""

OPENING_SHARE_SMALL = 0.05
"""Share of the time for deletion on tables up to `SEARCHED_CELLS`, where programs and the exact
method find the best patterns."""

PRICES_SHARE = 0.5
"""Share of the time for an opening by prices. Where few cells are sensitive it takes a hundredth of
it; where it takes more, programs for one cell after another are better. docs/decisions, "Openings
by prices"."""

LARGE_PRICES_SHARE = 0.1
"""The same on large tables, where there is a pattern of boxes already: prices give a better one in
a tenth of the time, or not at all."""

SMALL_BUILD_SHARE = 0.7
"""Share of the time for a first pattern by programs where many cells are sensitive. What ends early
leaves its time to others. docs/decisions, "Neighbourhoods"."""

FIRST_BOXES_SHARE = 0.1
"""Share of the time for boxes on large tables, where they only give a first pattern."""

PROGRAM_SECONDS = 0.8e-3
"""Least seconds for each free cell with which programs find better patterns of dense tables than
sums of boxes do. docs/decisions, "Programs go on after sums"."""

SUMS_SHARE = 0.95
"""Share of the time for sums of boxes on large tables, which end by themselves: on tables of 25,000
cells after some seconds. docs/decisions, "Sums of boxes"."""

RELIEF_SHARE = 0.3
"""Share of the time for heavy cells on large tables where few are sensitive. docs/decisions, "Heavy
cells"."""

BUILD_SHARE, DENSE_BUILD_SHARE = 0.75, 0.92
"""Share of the time for a pattern by programs on large tables, and where many cells are sensitive:
there, exchanges and bounds gain next to nothing in the same time. docs/decisions, "Sums of
boxes"."""

IMPROVED_SHARE = 0.2
"""Share of the time for searches among the cells of several patterns, where prices did not give the
best pattern. docs/decisions, "Openings by prices"."""

STRATEGIES_INSIDE = 0.4
"""Share of the time of a search among the cells of several patterns for the heuristic; the rest is
for the exact method."""

NULL_SHARE_SMALL = 0.1
"""Share of the time for the search in null spaces, up to `SEARCHED_CELLS`."""

NULL_SHARE = 0.8
"""Share of the time for the search in null spaces where the table has room, up to `EXACT_CELLS`;
the rest is for a bound."""

PROGRAMS_CELLS = 4_000
"""Most free cells for which programs give the first pattern of a dense table. On larger tables it
comes from boxes, sooner. docs/decisions, "Boxes"."""

SUMMED_CELLS = 2_000
"""Most free cells of the same where sums of boxes can be found, which are sooner still.
docs/decisions, "All care for the largest needs"."""

NEED_SECONDS = 6e-3
"""Least seconds for each need with which programs give the first pattern of a small table in time.
docs/decisions, "First pattern in haste"."""

BOXES_SHARE = 0.75
"""Share of the time for boxes. They end by themselves, and take little of it on small tables."""

FIRST_SHARE_SMALL = 0.5
"""Share of the time for the heuristic before the exact method, up to `SEARCHED_CELLS`."""

FIRST_SECONDS_SMALL = 1.0
"""Most seconds for the heuristic up to `SEARCHED_CELLS`: enough for a first pattern and its
clean-up. Patterns that the exact method repairs are soon better. docs/decisions, "Rows, then a
program over all of them"."""

FIRST_MOST_SHARE_SMALL = 1 / 15
"""Share of the whole time that the heuristic may take up to `SEARCHED_CELLS`, even if that is above
`FIRST_SECONDS_SMALL`. On table7 the exact method does not find in 60 s what the heuristic finds in
4 s. docs/decisions, "Rows, then a program over all of them"."""

FIRST_SHARE = 0.6
"""Share of the time for moves that improve the pattern before the exact method, beyond
`SEARCHED_CELLS`. docs/decisions, "Moves"."""

BOUND_SHARE = 0.2
"""Share of the time that the method "auto" keeps back for a bound on large tables."""

SPARE_SHARE = 0.3
"""Share of the whole time that must be left after the heuristic for the exact method to search
patterns as well; with less, it only proves a bound."""

LEAST_BOUND_SHARE = 0.02
"""Share of the whole time for a bound even if the first pattern took all of the time."""

FOLLOWING_SHARE = 0.9
"""Share of the time of the exact method for rows of cells that follow from others, where rooms are
far above the needs. The phase ends earlier if these rows no longer raise the bound.
docs/decisions, "Cells that follow"."""

PREPARED_CELLS = 60
"""Fewest free cells for which the exact method first searches in null spaces, and collects rows of
cells that follow from others. Programs prove smaller tables in less time. docs/decisions, "Cells
that follow"."""

ROOT_SHARE = 0.3
"""Share of the time of the exact method for the first look at the root."""

MASTER_SHARE = 0.7
"""Share of the time left after the root for programs over all rows. docs/decisions, "Rows, then
a program over all of them"."""

NEARBY_SHARE = 0.4
"""Share of the time left after these programs for searches near the best pattern."""

CLOSING_SHARE = 0.05
"""Share of the time of the exact method kept back for the last program, over all rows found."""

NEARLY_BEST = 1.05
"""Loss of a pattern of deletion, as a multiple of the best, up to which the search goes on in null
spaces."""

INSIDERS_SHARE = 0.5
"""Share of the time for the search of a pattern that is afterwards extended against insiders."""

WHOLE_NUMBERS_SHARE = 0.8
"""Share of the time for the search of a pattern that is then only attacked in whole numbers."""


def is_improved_first(state: SearchState) -> bool:
    """Whether moves find better patterns in most of the time than the exact method does."""
    relations = np.diff(state.system.by_cell.indptr)
    is_crossed = bool(len(relations)) and np.median(relations) >= CROSSED
    return state.n_free > (UNPROVED_CELLS if is_crossed else SEARCHED_CELLS)


def is_open(state: SearchState, budget: Budget) -> bool:
    """Whether there is anything left to prove, and time for it."""
    return not state.is_settled and not budget.is_over


def has_figures(state: SearchState, budget: Budget) -> bool:
    """Whether derived figures are published beside the totals."""
    del budget
    return state.system.has_rooms


def is_unsettled(state: SearchState, budget: Budget) -> bool:
    """Whether the pattern is not proved to be optimal, however little time is left."""
    del budget
    return not state.is_settled


def is_left_to_relations(state: SearchState, budget: Budget) -> bool:
    """Whether relations alone give nearly the best rows, and the table has many of them."""
    is_prepared = state.n_free >= PREPARED_CELLS
    return is_prepared and is_open(state, budget) and is_spacious(state.system)


def is_agreed(state: SearchState, budget: Budget) -> bool:
    """Whether a solver claims that the pattern is optimal, so that only its proof is missing."""
    return is_open(state, budget) and state.exploration is not None and state.exploration.is_agreed


def is_not_stopped(state: SearchState, budget: Budget) -> bool:
    """Whether nobody asked to end the search."""
    del state
    return not budget.is_stopped


def are_insiders(state: SearchState, budget: Budget) -> bool:
    """Whether the pattern must be attacked by an intruder who knows more than everybody."""
    del budget
    return state.question is not None and bool(state.question.intruders)


def is_hurried(state: SearchState, budget: Budget) -> bool:
    """Whether the table is large, and too little time is left to search for better patterns."""
    whole = budget.deadline - budget.started
    is_short = math.isfinite(whole) and budget.left <= SPARE_SHARE * whole
    return state.n_free > EXACT_CELLS and is_short


def is_opened_by_deletion(state: SearchState, budget: Budget) -> bool:
    """Whether rooms are so far above levels that deletion finds the best first pattern."""
    del budget
    return is_spacious(state.system)


def is_roomy(state: SearchState, budget: Budget) -> bool:
    """Whether deletion in the null space finds better patterns than programs do."""
    del budget
    if state.best is None or state.opening is None or not state.opening.is_roomy:
        return False
    return state.opening.found.loss <= NEARLY_BEST * state.best.loss


def is_searched_in_null_space(state: SearchState, budget: Budget) -> bool:
    """Whether the search in null spaces is to go before the exact method."""
    return is_roomy(state, budget) and len(state.system.needs.cells) > FEW_NEEDS


def is_sparse(state: SearchState, budget: Budget) -> bool:
    """Whether so few cells are sensitive that prices find better patterns, or find them sooner."""
    del budget
    return not state.is_dense


def is_priced(state: SearchState, budget: Budget) -> bool:
    """Whether prices find better patterns than boxes and programs do, or find them sooner."""
    return is_sparse(state, budget) and not is_roomy(state, budget)


def is_priced_and_small(state: SearchState, budget: Budget) -> bool:
    """Whether prices give the first pattern."""
    return state.n_free <= PROGRAMS_CELLS and is_priced(state, budget)


def is_priced_and_large(state: SearchState, budget: Budget) -> bool:
    """Whether prices may soon give a better pattern than boxes."""
    is_bounded = state.n_free <= BOUNDED_CELLS
    return is_large(state, budget) and is_bounded and is_priced(state, budget)


def is_unfound(state: SearchState, budget: Budget) -> bool:
    """Whether there is no pattern yet."""
    del budget
    return state.best is None


def is_begun_by_programs(state: SearchState, budget: Budget) -> bool:
    """Whether programs for one cell after another give the best first pattern of a dense table."""
    is_spread = state.is_dense and not is_spacious(state.system)
    return is_spread and is_unfound(state, budget) and not is_large(state, budget)


def is_begun_by_boxes(state: SearchState, budget: Budget) -> bool:
    """Whether the table is so large that the quickest pattern comes first, to be improved."""
    return is_unfound(state, budget) and is_large(state, budget)


def is_begun_in_haste(state: SearchState, budget: Budget) -> bool:
    """Whether programs for one need after another would take longer than there is time."""
    is_short = budget.left < NEED_SECONDS * len(state.system.needs.cells)
    return is_unfound(state, budget) and is_short and are_sums_ready(state, budget)


def is_large(state: SearchState, budget: Budget) -> bool:
    """Whether programs for one cell after another take long to give a first pattern."""
    if state.is_dense and SUMMED_CELLS < state.n_free <= PROGRAMS_CELLS:
        return are_sums_ready(state, budget)
    return state.n_free > PROGRAMS_CELLS


def is_left_to_sums(state: SearchState, budget: Budget) -> bool:
    """Whether there is too little time for programs with all care for the largest needs."""
    is_short = budget.left < PROGRAM_SECONDS * state.n_free
    return is_large(state, budget) and (is_sparse(state, budget) or is_short)


def is_sparse_and_large(state: SearchState, budget: Budget) -> bool:
    """Whether sums of boxes soon publish heavy cells again."""
    return is_large(state, budget) and is_sparse(state, budget)


def is_left_to_programs(state: SearchState, budget: Budget) -> bool:
    """Whether programs for one cell after another may find a better pattern than boxes."""
    is_boxed = is_large(state, budget) and not state.is_priced
    return is_unfound(state, budget) or (is_boxed and is_tight(state, budget))


def is_dense_and_left_to_programs(state: SearchState, budget: Budget) -> bool:
    """The same, where many cells are sensitive."""
    return state.is_dense and is_left_to_programs(state, budget)


def is_sparse_and_left_to_programs(state: SearchState, budget: Budget) -> bool:
    """The same, where few cells are sensitive."""
    return is_sparse(state, budget) and is_left_to_programs(state, budget)


def is_roomy_and_large(state: SearchState, budget: Budget) -> bool:
    """Whether deletion finds better patterns, and programs do not prove the best one sooner."""
    return state.n_free >= PREPARED_CELLS and is_roomy(state, budget)


def is_tight(state: SearchState, budget: Budget) -> bool:
    """Whether programs find better patterns than deletion does."""
    return not is_roomy(state, budget)


def tell_time_left(aim: str, method: str) -> Run[SearchState]:
    """Return a step that notes for which aim the remaining time is used."""

    def run(state: SearchState, budget: Budget) -> SearchState:
        state = replace(state, method=method)
        left = f"{budget.left:.0f}" if math.isfinite(budget.left) else "any number of"
        return state.noted(f"{left} s are left for {aim}")

    return run


INSIDE = (
    Phase(open_by_prices, STRATEGIES_INSIDE),
    Phase(try_strategies, STRATEGIES_INSIDE),
    Phase(
        group(
            Phase(cut_at_root, ROOT_SHARE),
            Phase(search_every_row, MASTER_SHARE, when=is_open),
            Phase(search_near_best, when=is_open),
        ),
        when=is_open,
    ),
)
"""Phases of a search among the cells of several patterns; its bound says nothing of the table."""

FIRST = (
    Phase(protect_totals_first, OPENING_SHARE, when=has_figures),
    Phase(build_by_programs, SMALL_BUILD_SHARE, when=is_begun_by_programs),
    Phase(protect_by_boxes, FIRST_BOXES_SHARE, when=is_begun_by_boxes),
    Phase(protect_by_sums, SUMS_SHARE, when=is_left_to_sums),
    Phase(relieve, RELIEF_SHARE, when=is_sparse_and_large),
    Phase(delete_from_all_hidden, OPENING_SHARE, when=is_opened_by_deletion),
    Phase(open_by_prices, LARGE_PRICES_SHARE, when=is_priced_and_large),
    Phase(open_by_prices, PRICES_SHARE, when=is_priced_and_small),
    Phase(protect_by_boxes, BOXES_SHARE, when=is_unfound),
    Phase(build_by_programs, DENSE_BUILD_SHARE, when=is_dense_and_left_to_programs),
    Phase(build_by_programs, BUILD_SHARE, when=is_sparse_and_left_to_programs),
)
"""Phases that find a first pattern: each shape of table has one that finds good ones soon."""

SEQUENTIAL = (
    *FIRST,
    Phase(improve_by_moves(INSIDE), when=is_tight),
    Phase(search_null_space, when=is_roomy),
)

BOUND_ONLY = group(
    Phase(
        group(
            Phase(follow_at_root, FOLLOWING_SHARE, when=is_left_to_relations),
            Phase(look_at_root),
        ),
        1 - CLOSING_SHARE,
    ),
    Phase(bound_by_every_row, when=is_unsettled),
)
"""Phases that prove a bound, and hardly ever find a better pattern."""

PROVE = group(
    Phase(
        group(
            Phase(follow_at_root, FOLLOWING_SHARE, when=is_left_to_relations),
            Phase(cut_at_root, ROOT_SHARE),
            Phase(search_every_row, MASTER_SHARE, when=is_open),
            Phase(prove_by_every_row, when=is_agreed),
            Phase(search_near_best, NEARBY_SHARE, when=is_open),
            Phase(search_whole_tree, when=is_open),
        ),
        1 - CLOSING_SHARE,
    ),
    Phase(bound_by_every_row, when=is_unsettled),
)
"""Phases that find rows and better patterns, and prove how good the best pattern is."""

_ANY_PROOF = Phase(
    either(is_hurried, BOUND_ONLY, PROVE), least=LEAST_BOUND_SHARE, when=is_not_stopped
)

GIVEN_BOUNDS = (_ANY_PROOF,)
"""Phases that follow a search with finite bounds in place of infinite ones."""

EXACT_SMALL = (
    Phase(delete_from_all_hidden, OPENING_SHARE_SMALL, most=FIRST_SECONDS_SMALL),
    Phase(
        try_strategies,
        FIRST_SHARE_SMALL,
        most=FIRST_SECONDS_SMALL,
        most_share=FIRST_MOST_SHARE_SMALL,
    ),
    Phase(
        search_null_space,
        NULL_SHARE_SMALL,
        most=FIRST_SECONDS_SMALL,
        most_share=FIRST_MOST_SHARE_SMALL,
        when=is_roomy_and_large,
    ),
    _ANY_PROOF,
)

EXACT = (
    Phase(protect_totals_first, OPENING_SHARE, when=has_figures),
    Phase(delete_from_all_hidden, OPENING_SHARE, when=is_opened_by_deletion),
    Phase(open_by_prices, PRICES_SHARE, when=is_priced),
    Phase(
        group(
            Phase(protect_by_boxes, FIRST_BOXES_SHARE),
            Phase(build_by_programs, DENSE_BUILD_SHARE),
        ),
        when=is_begun_in_haste,
    ),
    Phase(build_by_programs, SMALL_BUILD_SHARE, when=is_unfound),
    Phase(improve_by_moves(INSIDE), FIRST_SHARE, when=is_tight),
    Phase(search_null_space, NULL_SHARE, when=is_searched_in_null_space),
    _ANY_PROOF,
)

BOUNDED = (
    *FIRST,
    Phase(improve_by_moves(INSIDE), 1 - BOUND_SHARE, when=is_tight),
    Phase(search_null_space, 1 - BOUND_SHARE - IMPROVED_SHARE, when=is_roomy),
    Phase(
        improve_by_moves(INSIDE),
        IMPROVED_SHARE / (BOUND_SHARE + IMPROVED_SHARE),
        when=is_roomy,
    ),
    Phase(
        either(
            is_hurried,
            group(Phase(tell_time_left("a bound", "sequential")), Phase(BOUND_ONLY)),
            group(Phase(tell_time_left("the exact method", "exact")), Phase(PROVE)),
        ),
        least=LEAST_BOUND_SHARE,
        when=is_not_stopped,
    ),
)

INSIDERS = (Phase(hold_against_insiders, when=are_insiders),)
"""Phases that follow the search of every method."""
