"""Optimal patterns with a proof, by branch and bound over rows found where they are needed.

The master problem (module `master`) starts without rows. The root is solved and attacked until new
rows raise its bound too little. Then searches near the best pattern, in ever larger parts of the
table, find better patterns and more rows. Then branch and bound proves how good the best pattern
is; each node looks through the pool of known rows before it attacks. However the search ends, a
last program over all rows found on the way computes the bound that they prove together.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace

from tablecloak.budget import Budget
from tablecloak.solve.branch import BranchResult, BranchTree, Separate, branch_and_bound
from tablecloak.solve.program import Program
from tablecloak.suppression.rows.master import BoundCertificate
from tablecloak.suppression.search.cutting import (
    cut_by_following,
    cut_root,
    round_every_row,
    search_master,
)
from tablecloak.suppression.search.exploration import Exploration, Proof
from tablecloak.suppression.search.nearby import search_nearby
from tablecloak.suppression.search.state import SearchState

__all__ = [
    "bound_by_every_row",
    "cut_at_root",
    "follow_at_root",
    "look_at_root",
    "prove_by_every_row",
    "search_every_row",
    "search_near_best",
    "search_whole_tree",
]

FIRST_NODES = 1000
"""Most nodes of the first search, which suffice for small tables. Chosen by trial; not measured."""

MOST_NODES = 1_000_000
"""Most nodes of the last search of the exact method: more than any time limit allows."""


def follow_at_root(state: SearchState, budget: Budget) -> SearchState:
    """Raise the bound of the root by rows of cells that follow from others."""
    exploration = _begun(state, budget)
    tree, bound = cut_by_following(
        exploration.master,
        exploration.separator,
        budget,
        lambda bound: exploration.report(budget, bound, 1),
    )
    return _with(state, _proved(state, exploration, tree, bound))


def look_at_root(state: SearchState, budget: Budget) -> SearchState:
    """Search the root and the first nodes, which may settle a small table."""
    exploration = _begun(state, budget)
    result, exploration = _searched(state, exploration, budget, FIRST_NODES)
    best = exploration.master.objective(exploration.separator.best.loss)
    least = max(exploration.step / exploration.master.scale, 1e-6 * max(1.0, abs(best)))
    # A node at which the solver fails is closed with its parent's bound, so a search that ended
    # need not have proved the best pattern optimal.
    is_proved = result.is_complete and result.bound >= best - least
    return _with(state, exploration, is_settled=is_proved)


def cut_at_root(state: SearchState, budget: Budget) -> SearchState:
    """Raise the bound of the root by rows, as long as it rises fast."""
    exploration = _begun(state, budget)
    master, separator = exploration.master, exploration.separator
    tree, bound = cut_root(
        master, separator, budget, lambda bound: exploration.report(budget, bound, 1)
    )
    return _with(state, _proved(state, exploration, tree, bound))


def search_every_row(state: SearchState, budget: Budget) -> SearchState:
    """Search for the best pattern that satisfies all rows, until it is a protected one."""
    exploration = _of(state)
    is_agreed = search_master(
        exploration.master,
        exploration.separator,
        budget,
        step=exploration.step,
        progress=lambda: exploration.report(budget, -math.inf, 1),
    )
    return _with(state, replace(exploration, is_agreed=is_agreed))


def prove_by_every_row(state: SearchState, budget: Budget) -> SearchState:
    """Branch and bound over all rows found so far; only whole patterns are attacked."""
    before = _of(state)
    separator = before.separator
    round_every_row(before.master, separator, budget)
    result, exploration = _searched(
        state,
        before,
        budget,
        MOST_NODES,
        program=before.master.program.with_rows(*separator.use_every_row()),
        separate=lambda y, integral: separator(y, True) if integral else None,
    )
    is_proved = result.is_complete and result.bound >= before.proved
    return _with(state, exploration, is_settled=is_proved)


def search_near_best(state: SearchState, budget: Budget) -> SearchState:
    """Search for better patterns and more rows near the best pattern."""
    exploration = _of(state)
    # The separator may run out of time within a pattern; nothing is then known of this pattern.
    with contextlib.suppress(TimeoutError):
        search_nearby(
            exploration.master,
            exploration.separator,
            budget,
            step=exploration.step,
            progress=lambda: exploration.report(budget, -math.inf, 1),
        )
    return _with(state, exploration)


def search_whole_tree(state: SearchState, budget: Budget) -> SearchState:
    """Branch and bound to the end, with all rows of the pool at hand."""
    before = _of(state)
    result, exploration = _searched(state, before, budget, MOST_NODES)
    is_proved = result.is_complete and result.bound >= before.proved
    return _with(state, exploration, is_settled=is_proved)


def bound_by_every_row(state: SearchState, budget: Budget) -> SearchState:
    """Solve a last program over the rows that all searches have found."""
    exploration = _of(state)
    separator = exploration.separator
    tree, bound = separator.over_every_row(budget.left)
    if bound > exploration.proved:
        certificate = BoundCertificate(state.problem, state.requirement, separator.pool, tree)
        proofs = (*exploration.proofs, Proof(bound, certificate))
        exploration = replace(exploration, proofs=proofs)
        exploration.report(budget, bound, 1)
    return _with(state, exploration)


def _searched(
    state: SearchState,
    exploration: Exploration,
    budget: Budget,
    node_limit: int,
    *,
    program: Program | None = None,
    separate: Separate | None = None,
) -> tuple[BranchResult, Exploration]:
    """Search the tree once; return its result, and the exploration with the bound it proves.

    By default the search begins without any row, and attacks fractional patterns as well.
    """
    master, separator = exploration.master, exploration.separator
    if program is None:
        # Multipliers refer to rows by their order within one search.
        separator.forget_rows()
    result = branch_and_bound(
        program or master.program,
        value=lambda: master.objective(separator.best.loss),
        separate=separate or separator,
        purge=separator.keep_rows if program is None else None,
        step=exploration.step / master.scale,
        budget=budget,
        node_limit=node_limit,
        progress=lambda _, bound, open_nodes: exploration.report(budget, bound, open_nodes),
    )
    return result, _proved(state, exploration, result.tree, result.bound)


def _proved(
    state: SearchState, exploration: Exploration, tree: BranchTree, bound: float
) -> Exploration:
    """Return the exploration with the proof of a tree over the rows in use."""
    rows = list(exploration.separator.rows)
    certificate = BoundCertificate(state.problem, state.requirement, rows, tree)
    return replace(exploration, proofs=(*exploration.proofs, Proof(bound, certificate)))


def _begun(state: SearchState, budget: Budget) -> Exploration:
    """Return the exploration that earlier phases of the group left, or a new one."""
    assert state.best is not None
    return state.exploration or Exploration.of(
        state.problem, state.requirement, state.best, state.horizon or budget
    )


def _of(state: SearchState) -> Exploration:
    assert state.exploration is not None
    return state.exploration


def _with(state: SearchState, exploration: Exploration, *, is_settled: bool = False) -> SearchState:
    """Return the state with the best pattern, and the best bound, of an exploration."""
    proof = max(exploration.proofs, key=lambda proof: proof.bound)
    if is_settled:
        proof = exploration.proofs[-1]
    return replace(
        state,
        best=exploration.separator.best,
        exploration=exploration,
        bound_certificate=proof.certificate,
        is_settled=is_settled,
    )
