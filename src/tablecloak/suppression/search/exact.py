"""Optimal patterns with a proof, by branch and bound over rows found where they are needed.

The master problem (module `master`) starts without rows. The root is solved and attacked until new
rows raise its bound too little. Then searches near the best pattern, in ever larger parts of the
table, find better patterns and more rows. Then branch and bound proves how good the best pattern
is; each node looks through the pool of known rows before it attacks. However the search ends, a
last program over all rows found on the way computes the bound that they prove together.

Attacks on fractional patterns raise the bound of the root in few rounds. Then a mixed-integer
program over all rows found so far is solved again and again. If its solution is a protected
pattern, the solver claims that it is optimal; if not, attacks on it give further rows. A solution
that is not protected lacks little: after repair it often is the best pattern so far.

The proof does not rest on the solver's claim: branch and bound over the same rows proves
the bound.

References
----------
.. [1] Fischetti, Salazar: Solving the cell suppression problem on tabular data with linear
   constraints, Management Science 47 (2001).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tablecloak.arrays import Flags, Floats
from tablecloak.budget import Budget
from tablecloak.errors import SolverError
from tablecloak.solve.branch import BranchResult, BranchTree, Rows, Separate, branch_and_bound
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Solution
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.rows.master import BoundCertificate, Master
from tablecloak.suppression.rows.separator import Separator
from tablecloak.suppression.search.cover import Builder
from tablecloak.suppression.search.exploration import Exploration, Proof
from tablecloak.suppression.search.nearby import search_nearby
from tablecloak.suppression.search.protect import in_order, protect_need
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.search.strategy import EXCHANGED

WINDOW, LEAST_GAIN = 4, 5e-3
"""Rounds of rows to look back on, and the relative gain of the bound over these rounds below which
no more rows are added at the root: the program over all rows then raises the bound faster.
docs/decisions, "Rows, then a program over all of them"."""

LONG_WINDOW, LONG_GAIN = 4, 5e-3
"""Rounds to look back on, and least relative gain of the bound over them, for rows of cells that
follow from others. docs/decisions, "Cells that follow"."""

BARREN = 5
"""Rounds of random bases without a violated row after which no violated row is taken to exist."""

DROPPED_EVERY, SLACK = 10, 0.3
"""Number of rounds after which slack rows are dropped, and the slack above which a row is dropped.
Chosen by trial; not measured."""

NEXT_TO_NOTHING = 1e-6
"""Multipliers up to this share of the largest are left out of the proof: they prove too little."""

INTEGRALITY = 1e-6
"""Distance to a whole number within which a cell counts as hidden or published."""

WIDEST_GAP, NARROWEST_GAP = 1e-2, 1e-7
"""Relative gaps at which the first and the last program over all rows may stop."""

GAP_SHARE = 0.2
"""Relative gap at which the next program may stop, as a share of the gap between the best pattern
and the bound that the last program claims. A pattern that is not protected only serves to find
rows, so that it need not be optimal."""

LEAST_SECONDS = 0.05
"""Least time limit of a program, in seconds, so that a search whose time is up ends normally."""

FIRST_NODES = 1000
"""Most nodes of the first search, which suffice for small tables. Chosen by trial; not measured."""

MOST_NODES = 1_000_000
"""Most nodes of the last search of the exact method: more than any time limit allows."""


def cut_root(
    master: Master, separator: Separator, budget: Budget, progress: Callable[[float], None]
) -> tuple[BranchTree, float]:
    """Add rows at the root until they raise the bound too little; return the proof of the bound.

    Parameters
    ----------
    master : Master
    separator : Separator
        Collects the rows.
    budget : Budget
    progress : callable
        Called with the bound after each round.

    Returns
    -------
    tree : BranchTree
        The proof: multipliers of all rows, in the order of the separator.
    bound : float
        The bound that it proves, on the scaled objective.
    """
    separator.forget_rows()
    return _cut(LinearSolver(master.program), separator, (False, True) * 2, budget, progress)


def cut_by_following(
    master: Master, separator: Separator, budget: Budget, progress: Callable[[float], None]
) -> tuple[BranchTree, float]:
    """Add rows of cells that follow from others until none is violated, or the bound stops rising.

    Parameters and result as for `cut_root`, but slack rows are dropped on the way. Interior points
    violate more rows than vertices do, and take less time where thousands of rows are tight. In the
    end every cell that is partly hidden is attacked by a program.
    """
    separator.forget_rows()
    solver = LinearSolver(master.program, interior="always", crossover=False)
    tree, bound = BranchTree.of_root(np.empty(0)), -np.inf
    for is_attacked in (False, True):
        reached: list[float] = []
        barren = 0
        while not budget.is_over and barren < BARREN and not _is_stuck(reached):
            solution = solver.solve(max(budget.left, LEAST_SECONDS))
            if not len(solution.x):
                return tree, bound
            if solution.bound > bound:
                tree, bound = _of_root(solution.duals), solution.bound
            progress(bound)
            reached.append(bound)
            if len(reached) % DROPPED_EVERY == 2:
                tree = _without_slack(solver, separator, solution.x, tree)
            rows = separator.follow(solution.x, is_attacked=is_attacked)
            barren = 0 if rows is not None else barren + 1
            if rows is not None:
                solver.add_rows(*rows)
    return tree, bound


def _of_root(duals: Floats) -> BranchTree:
    """Return the proof of the root without negligible multipliers, which take time to check.

    Multipliers of an interior point are never exactly 0, so that all rows would stay in the proof.
    """
    least = NEXT_TO_NOTHING * np.max(duals, initial=0.0)
    return BranchTree.of_root(np.where(duals > least, duals, 0.0))


def _is_stuck(reached: list[float]) -> bool:
    """Whether the last rounds together raised the bound by less than the least gain."""
    if len(reached) <= LONG_WINDOW:
        return False
    return reached[-1] - reached[-1 - LONG_WINDOW] < LONG_GAIN * abs(reached[-1])


def _without_slack(
    solver: LinearSolver, separator: Separator, x: Floats, tree: BranchTree
) -> BranchTree:
    """Drop slack rows without multipliers; return the proof over the rows that are kept."""
    program, duals = solver.program, np.zeros(solver.program.n_rows)
    duals[: len(tree.multipliers[0])] = tree.multipliers[0]
    slack = program.matrix @ x - program.row_lower
    kept = np.flatnonzero((slack <= SLACK) | (duals != 0))
    solver.keep_rows(kept)
    separator.keep_rows(kept)
    return BranchTree.of_root(duals[kept])


def round_every_row(master: Master, separator: Separator, budget: Budget) -> None:
    """Add rounded sums of all rows found so far, until they raise the bound too little."""
    program = master.program.with_rows(*separator.use_every_row())
    _cut(LinearSolver(program), separator, (True,), budget, lambda _: None)


def _cut(
    solver: LinearSolver,
    separator: Separator,
    turns: Sequence[bool],
    budget: Budget,
    progress: Callable[[float], None],
) -> tuple[BranchTree, float]:
    """Add rows of one kind after the other, each until it raises the bound too little.

    Kinds are rows from attacks (False) and rounded sums (True).
    """
    tree, bound = BranchTree.of_root(np.empty(0)), -np.inf
    reached: list[float] = []
    left = list(turns)
    while True:
        solution = solver.solve(max(budget.left, LEAST_SECONDS))
        if solution.bound > bound:
            tree, bound = BranchTree.of_root(solution.duals), solution.bound
        progress(bound)
        reached.append(bound)
        rows = None
        while len(solution.x) and rows is None and left and not budget.is_over:
            if not _is_slow(reached):
                rows = _next_rows(separator, solution.x, is_rounding=left[0])
            if rows is None:
                left.pop(0)
                reached = reached[-1:]
        if rows is None:
            return tree, bound
        solver.add_rows(*rows)


def _is_slow(reached: list[float]) -> bool:
    """Whether the last rounds of rows raised the bound too little to continue."""
    if len(reached) <= WINDOW:
        return False
    return reached[-1] - reached[-1 - WINDOW] < LEAST_GAIN * abs(reached[-1])


def _next_rows(separator: Separator, x: Floats, *, is_rounding: bool) -> Rows | None:
    if is_rounding:
        return separator.round_up(x)
    is_whole = bool(np.all(np.abs(x - np.rint(x)) <= INTEGRALITY))
    with contextlib.suppress(TimeoutError):
        return separator(x, is_whole, is_root=True)
    return None


def search_master(
    master: Master,
    separator: Separator,
    budget: Budget,
    *,
    step: float,
    progress: Callable[[], None],
) -> bool:
    """Solve the program over all rows and attack its solutions, until no pattern is better.

    Parameters
    ----------
    master : Master
    separator : Separator
        Keeps the best pattern and all rows.
    budget : Budget
    step : float
        Loss of every pattern is a multiple of it, or 0.
    progress : callable
        Called after each program.

    Returns
    -------
    bool
        Whether the solver claims that no pattern is better. The claim proves nothing.
    """
    gap = WIDEST_GAP
    while not budget.is_over:
        best = master.objective(separator.best.loss)
        least = max(step / master.scale * (1 - 1e-6), 1e-7 * max(1.0, abs(best)))
        solution = _solved(master, separator, gap, budget)
        if solution is None:
            return False
        if not len(solution.x) or solution.bound > best - least:
            return True
        if solution.value > best - least:
            # The solver finds nothing better within the gap that it was asked for.
            if gap <= NARROWEST_GAP:
                return True
            gap = NARROWEST_GAP
            continue
        missing = (best - solution.bound) / max(abs(best), 1e-300)
        gap = float(np.clip(GAP_SHARE * missing, NARROWEST_GAP, gap))
        try:
            rows = separator(solution.x, True)
        except TimeoutError:
            return False
        if rows is None:
            gap = NARROWEST_GAP
        else:
            separator.offer(mended(separator.last, separator.fixed, budget))
        progress()
    return False


def _solved(master: Master, separator: Separator, gap: float, budget: Budget) -> Solution | None:
    """Solve the program over all rows once; None if time ended or the solver failed."""
    program = master.program.with_rows(*separator.every_row())
    start = separator.best.hidden[np.searchsorted(separator.system.cells, master.free)]
    try:
        solution = solve(
            program, start=start.astype(float), time_limit=max(budget.left, LEAST_SECONDS), gap=gap
        )
    except SolverError:
        return None
    is_cut_short = budget.is_over and solution.bound < solution.value
    return None if is_cut_short and not len(solution.x) else solution


def mended(broken: Candidate | None, must: Flags, budget: Budget) -> Candidate | None:
    """Protect the needs that a pattern leaves open, then publish cells that are not needed.

    Return None if a need stays open.
    """
    if broken is None:
        return None
    pool, hidden = broken.pool.copy(), broken.hidden.copy()
    builder = Builder(pool.system, broken.weights, None, budget)
    for index in in_order(pool, largest_first=True):
        if pool.is_open(index) and not protect_need(builder, pool, hidden, index, EXCHANGED):
            return None
    candidate = Candidate(hidden & (pool.moved() | must), pool, broken.weights)
    if not candidate.is_proved:
        return None
    return candidate


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
