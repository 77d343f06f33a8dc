"""Phases of a search: functions from a search state to a better one, within a budget."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.cta.model.tight import INTERIOR_ROWS
from tablecloak.cta.search.balance import BalanceRows, with_balance
from tablecloak.cta.search.cold_regions import CooledRegions
from tablecloak.cta.search.local_search import LocalSearch
from tablecloak.cta.search.state import DirectionState, Point, priced, with_directions
from tablecloak.cta.search.turns import turn_around
from tablecloak.solve.branch import BranchSearch, Rows
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve
from tablecloak.solve.solver import Solution

TIGHTENED_GAIN = 1e-4
"""Stop adding balance rows when a round raises the bound by less than this share."""

SLACK = 0.05
"""Scaled slack above which a balance row without a multiplier is dropped again."""

BALANCE_ROUNDS = 20
"""Rounds of balance rows at the root of branch and bound; a deeper node gets a tenth of them."""

FLIPPED_FROM_SCRATCH = 0.05
"""Share of promising directions turned at once when programs are solved without a warm start, so
that few can be tried. See docs/decisions, "Programs from scratch"."""

_NO_ROWS = np.empty(0, dtype=np.int64)


def tighten(state: DirectionState, budget: Budget) -> DirectionState:
    """Add the balance rows that the relaxation violates, round by round."""
    if state.relaxed is None or not len(state.relaxed.x):
        return state
    balance, first = BalanceRows(state.form), state.form.program.n_rows
    solver, x, rows = state.solver, state.relaxed.x, _NO_ROWS
    while not budget.is_over:
        new = balance.violated(x)
        if not len(new):
            break
        rows = np.concatenate([rows, new])
        solver.add_rows(*balance.rows(new))
        solution = solver.solve(max(budget.left, 0.01))
        if not len(solution.x):
            break
        x = solution.x
        kept = _binding(solver, solution, first)
        both = np.concatenate([np.arange(first), first + kept])
        solver.keep_rows(both)
        rows, gain = rows[kept], solution.bound - state.bound
        if gain > 0:
            state.root = replace(solution, duals=solution.duals[both])
            state.tight = state.proved = with_balance(state.form, rows)
            state.bound = solution.bound
            state.report("balance rows")
        if gain < TIGHTENED_GAIN * abs(state.bound):
            break
    solver.keep_rows(np.arange(first))
    state.notes.append(f"{state.tight.program.n_rows - first} balance rows")
    return state


def _binding(solver: LinearSolver, solution: Solution, first: int) -> Integers:
    """Return the added rows that bind or have a multiplier."""
    program = solver.program
    slack = (program.matrix @ solution.x - program.row_lower)[first:]
    return np.flatnonzero((slack <= SLACK) | (solution.duals[first:] > 0))


def turn(state: DirectionState, budget: Budget) -> DirectionState:
    """Turn directions, one at a time where programs are quick, otherwise many at once."""
    if state.best is None:
        return state
    directions, allowed = state.best_directions, state.form.model.allowed

    def offer(solution: Solution) -> None:
        state.offer(Point(solution.x, solution.value), "turning directions")

    def price(chosen: Floats, time_limit: float) -> tuple[float, Floats]:
        return priced(state, chosen, time_limit)

    if state.is_from_scratch:
        programs = turn_around(price, directions, allowed, budget, most=FLIPPED_FROM_SCRATCH)
    else:
        turnable = np.flatnonzero(allowed[0] < allowed[1])
        regions = CooledRegions(state.form.model, turnable, budget) if state.is_cooled else None
        search = LocalSearch(state.light, allowed, budget, offer, regions)
        search.run(directions)
        programs = search.programs
    state.notes.append(f"{programs} programs with directions of {len(directions)} cells turned")
    return state


def ask(state: DirectionState, budget: Budget) -> DirectionState:
    """Let a mixed-integer solver search the directions; the bound that it claims is not used."""
    seconds = budget.left
    if seconds <= 0 and state.best is not None:
        return state
    start = state.best.x if state.best else None
    if start is None:
        seconds = budget.past(1.0)
    solution = solve(state.form.program, start=start, time_limit=seconds)
    if len(solution.x):
        # A solver's directions may be off by its tolerance: solve again with exactly 0 or 1.
        with_directions(state, state.form.directions(solution.x))
    return state


def prove(state: DirectionState, budget: Budget) -> DirectionState:
    """Run branch and bound, or continue it from where it stopped before."""
    if state.branching is None:
        state.branching = branching_of(state)
    state.branching.run(budget=budget)
    result = state.branching.result()
    if len(result.x):
        with_directions(state, state.form.directions(result.x))
    # A tree known before may have grown since: `proved` must have its rows even where the bound
    # has not risen.
    if result.nodes and (result.bound > state.bound or state.tree is result.tree):
        state.bound, state.tree = max(state.bound, result.bound), result.tree
        state.proved = with_balance(state.tight, np.concatenate([_NO_ROWS, *state.added]))
        state.reserve.leaves = len(result.tree.multipliers)
    return state


def branching_of(state: DirectionState) -> BranchSearch:
    """Return a branch and bound search that adds balance rows when nodes violate them."""
    balance = BalanceRows(state.form)

    def separate(x: Floats, is_integral: bool) -> Rows | None:
        del is_integral
        new = balance.violated(x)
        if not len(new):
            return None
        state.added.append(new)
        return balance.rows(new)

    def report(best: float, bound: float, open_nodes: int) -> None:
        loss = state.form.loss(best) if np.isfinite(best) else np.inf
        state.total.report("branch and bound", loss, state.form.loss(bound), open_nodes)

    program = state.tight.program
    return BranchSearch(
        program,
        value=lambda: state.best.value if state.best else np.inf,
        separate=separate,
        root_rounds=BALANCE_ROUNDS,
        interior="first" if program.n_rows > INTERIOR_ROWS else "never",
        progress=report,
    )
