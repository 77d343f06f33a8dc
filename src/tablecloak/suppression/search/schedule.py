"""What a search for a pattern does, in which order, and with which shares of the time.

The one place for the policy of suppression. A schedule is a tuple of phases; each is a function
from state to state (modules `portfolio` and `exact`). What a phase does inside is decided beside
its algorithm. Measurements are in docs/decisions.md, section Suppression.
"""

from __future__ import annotations

import math

from tablecloak.budget import Budget
from tablecloak.suppression.search.boxes.phases import protect_by_boxes
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
from tablecloak.suppression.search.following import is_spacious
from tablecloak.suppression.search.insiders import hold_against_insiders
from tablecloak.suppression.search.nullspace.phases import (
    clean_up_in_null_space,
    delete_from_all_hidden,
    search_null_space,
)
from tablecloak.suppression.search.phase import Phase, either, group, tell_time_left
from tablecloak.suppression.search.portfolio import exchange_by_programs, try_strategies
from tablecloak.suppression.search.state import SearchState

__all__ = [
    "BOUNDED",
    "BOUNDED_CELLS",
    "EXACT",
    "EXACT_CELLS",
    "EXACT_SMALL",
    "INSIDERS",
    "INSIDERS_SHARE",
    "SEARCHED_CELLS",
    "SEQUENTIAL",
    "WHOLE_NUMBERS_SHARE",
]

EXACT_CELLS = 2000
"""Free cells up to which the method "auto" searches for a proved optimum. docs/decisions.md,
"Phases of suppression"."""

BOUNDED_CELLS = 50_000
"""Free cells up to which the method "auto" keeps time back for a lower bound. docs/decisions.md,
"Phases of suppression"."""

SEARCHED_CELLS = 1000
"""Free cells up to which the exact method finds better patterns than the heuristic does in the same
time, so that the heuristic gets less of it. docs/decisions.md, "Phases of suppression"."""

OPENING_SHARE = 0.25
"""Share of the time for deletion from all hidden, which usually takes a tenth of it: a first
pattern where the table has room."""

OPENING_SHARE_MEDIUM = 0.1
"""The same up to `EXACT_CELLS`: it must not cost much where rooms bind."""

OPENING_SHARE_SMALL = 0.05
"""The same up to `SEARCHED_CELLS`, where programs and the exact method find the best patterns."""

NULL_SHARE_SMALL = 0.1
"""Share of the time for the search in null spaces, up to `SEARCHED_CELLS`."""

NULL_SHARE = 0.8
"""Share of the time for the search in null spaces where the table has room, up to `EXACT_CELLS`;
the rest is for a bound."""

PROGRAMS_CELLS = 4_000
"""Free cells up to which programs begin anew where boxes have found a pattern; beyond, they
exchange its cells; on dense tables programs begin anew up to `BOUNDED_CELLS`. docs/decisions.md,
"Boxes"."""

BOXES_SHARE = 0.75
"""Share of the time for boxes. They end by themselves, and take little of it on small tables."""

CLEAN_UP_SHARE = 0.05
"""Share of the time for the clean-up of a pattern in its null space, on large tables.
docs/decisions.md, "Null space"."""

FIRST_SHARE_SMALL = 0.5
"""Share of the time for the heuristic before the exact method, up to `SEARCHED_CELLS`."""

FIRST_SECONDS_SMALL = 1.0
"""Seconds that it gets at most: a first pattern, cleaned up. What the exact method mends is soon
better. docs/decisions.md, "Cuts, then a program over all of them"."""

FIRST_MOST_SHARE_SMALL = 1 / 15
"""Share of the whole time up to which it may get more than that: what it finds in 4 s on table7 the
exact method does not find in the 60 s that are left. docs/decisions.md, "Cuts, then a program over
all of them"."""

FIRST_SHARE = 0.7
"""Share of the time for the heuristic before the exact method, beyond `SEARCHED_CELLS`, up to the
seconds that follow."""

FIRST_SECONDS = 6.0
"""Seconds of that: two turns of a pattern of 1,400 cells. docs/decisions.md, "Pace of a first
pattern"."""

FIRST_MOST_SHARE = 0.5
"""Share of the whole time up to which it may get more than these."""

BOUND_SHARE = 0.2
"""Share of the time that the method "auto" keeps back for a bound on large tables."""

SPARE_SHARE = 0.3
"""Share of the whole time that must be left after the heuristic for the exact method to search
patterns as well; with less, it only proves a bound."""

LEAST_BOUND_SHARE = 0.02
"""Share of the whole time that a bound gets even where the first pattern took all of it."""

FOLLOWING_SHARE = 0.9
"""Share of the time of the exact method for rows of cells that follow from others, where rooms are
far above the needs. They end by themselves where they stop to help. docs/decisions.md, "Cells that
follow"."""

ROOT_SHARE = 0.3
"""Share of the time of the exact method for the first look at the root."""

MASTER_SHARE = 0.7
"""Share of the time then left for searches over all rows. docs/decisions.md, "Cuts, then a program
over all of them"."""

NEARBY_SHARE = 0.4
"""Share of the time then left for searches near the best pattern."""

CLOSING_SHARE = 0.05
"""Share of the time of the exact method kept back for the last program, over all rows found."""

INSIDERS_SHARE = 0.5
"""Share of the time for the search of a pattern that must then be extended against insiders."""

WHOLE_NUMBERS_SHARE = 0.8
"""Share of the time for the search where only whole numbers are looked at afterwards."""


def is_open(state: SearchState, budget: Budget) -> bool:
    """Whether there is anything left to prove, and time for it."""
    return not state.is_settled and not budget.is_over


def is_unsettled(state: SearchState, budget: Budget) -> bool:
    """Whether the pattern is not proved to be optimal, however little time is left."""
    del budget
    return not state.is_settled


def is_left_to_relations(state: SearchState, budget: Budget) -> bool:
    """Whether rooms are so far above the needs that relations alone give the best rows."""
    return is_open(state, budget) and is_spacious(state.system)


def is_agreed(state: SearchState, budget: Budget) -> bool:
    """Whether a solver claims that the pattern is optimal, so that only its proof is missing."""
    return is_open(state, budget) and state.exploration is not None and state.exploration.is_agreed


def is_not_stopped(state: SearchState, budget: Budget) -> bool:
    """Whether nobody asked to end the search."""
    del state
    return not budget.is_stopped


def are_insiders(state: SearchState, budget: Budget) -> bool:
    """Whether anybody who knows more than everybody attacks."""
    del budget
    return state.question is not None and bool(state.question.intruders)


def is_hurried(state: SearchState, budget: Budget) -> bool:
    """Whether the table is large, and too little time is left to search better patterns."""
    whole = budget.deadline - budget.started
    is_short = math.isfinite(whole) and budget.left <= SPARE_SHARE * whole
    return state.n_free > EXACT_CELLS and is_short


def is_roomy(state: SearchState, budget: Budget) -> bool:
    """Whether deletion in the null space finds better patterns than programs do."""
    del budget
    return state.best is not None and state.opening is not None and state.opening.is_roomy


def is_tight(state: SearchState, budget: Budget) -> bool:
    """Whether programs find better patterns."""
    return not is_roomy(state, budget)


def is_crossed(state: SearchState, budget: Budget) -> bool:
    """Whether boxes find better patterns than programs and deletion do, or find them sooner."""
    return is_tight(state, budget) and state.n_free > EXACT_CELLS


def is_left_to_programs(state: SearchState, budget: Budget) -> bool:
    """Whether programs may still find a better pattern in the time that is left."""
    most = BOUNDED_CELLS if state.is_dense else PROGRAMS_CELLS
    return is_tight(state, budget) and (state.best is None or state.n_free <= most)


def is_to_be_exchanged(state: SearchState, budget: Budget) -> bool:
    """Whether a pattern of boxes is all that there is, and too large to begin anew."""
    return is_tight(state, budget) and not is_left_to_programs(state, budget)


def is_unopened(state: SearchState, budget: Budget) -> bool:
    """Whether there was no time to delete from all hidden; from a pattern it takes far less."""
    return state.opening is None and state.best is not None and not budget.is_over


SEQUENTIAL = (
    Phase(delete_from_all_hidden, OPENING_SHARE),
    Phase(protect_by_boxes, BOXES_SHARE, when=is_crossed),
    Phase(try_strategies, 1 - CLEAN_UP_SHARE, when=is_left_to_programs),
    Phase(exchange_by_programs, 1 - CLEAN_UP_SHARE, when=is_to_be_exchanged),
    Phase(clean_up_in_null_space, when=is_unopened),
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
"""A bound, and hardly ever a better pattern."""

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
"""Rows, better patterns, and a proof of how good the best one is."""

_ANY_PROOF = Phase(
    either(is_hurried, BOUND_ONLY, PROVE), least=LEAST_BOUND_SHARE, when=is_not_stopped
)

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
        when=is_roomy,
    ),
    _ANY_PROOF,
)

EXACT = (
    Phase(delete_from_all_hidden, OPENING_SHARE_MEDIUM),
    Phase(
        try_strategies,
        FIRST_SHARE,
        most=FIRST_SECONDS,
        most_share=FIRST_MOST_SHARE,
        when=is_tight,
    ),
    Phase(search_null_space, NULL_SHARE, when=is_roomy),
    _ANY_PROOF,
)

BOUNDED = (
    Phase(delete_from_all_hidden, OPENING_SHARE),
    Phase(protect_by_boxes, BOXES_SHARE, when=is_crossed),
    Phase(try_strategies, 1 - BOUND_SHARE - CLEAN_UP_SHARE, when=is_left_to_programs),
    Phase(exchange_by_programs, 1 - BOUND_SHARE - CLEAN_UP_SHARE, when=is_to_be_exchanged),
    Phase(
        clean_up_in_null_space, CLEAN_UP_SHARE / (BOUND_SHARE + CLEAN_UP_SHARE), when=is_unopened
    ),
    Phase(search_null_space, 1 - BOUND_SHARE, when=is_roomy),
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
"""What follows the search of any method."""
