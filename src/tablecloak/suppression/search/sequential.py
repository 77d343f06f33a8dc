"""Heuristic patterns: protect one sensitive cell after another by small linear programs.

For a cell whose need is open, the program finds the cheapest deviation that moves it far
enough; the cells it moves are suppressed, and the deviation becomes their witness. Cells that
are already suppressed cost next to nothing. The program covers a neighbourhood of the cell only,
which grows if it does not suffice. Costs divided by the last moves make it prefer few large moves
to many small ones, because a cell is suppressed as a whole. The pattern is improved by protecting
every cell again within it, and by publishing single cells again.

References
----------
.. [1] Kelly, Golden, Assad: Cell suppression: disclosure protection for sensitive tabular
   data, Networks 22 (1992).
.. [2] Fischetti, Salazar: Solving the cell suppression problem on tabular data with linear
   constraints, Management Science 47 (2001), section 5 (heuristic and clean-up).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget, Stopwatch
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.covering import CoverProgram
from tablecloak.suppression.attack.impossible import WHATEVER_IS_HIDDEN, unprotected
from tablecloak.suppression.attack.prove import prove
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.search.cover import Builder, scaled
from tablecloak.suppression.search.pace import Pace
from tablecloak.suppression.search.protect import (
    in_order,
    protect_in_region,
    protect_need,
    signed_target,
)
from tablecloak.suppression.search.strategy import Strategy
from tablecloak.suppression.system.details import Details
from tablecloak.suppression.system.system import System
from tablecloak.tables.problem import ProtectionProblem

BATCHED_CELLS = 100_000
"""Most cells for which a program attacks many needs at once during the search. On larger tables
this is left to the end, when nearly all cells needed are hidden; earlier such a program takes
minutes and proves little."""

PROGRAMS = (6, 400)
"""Minimum and maximum number of programs over the whole table, for needs that no neighbourhood can
meet. Chosen by trial; not measured."""

AFFORDABLE = 1 / 1.5
"""Share of the time left that the programs over the whole table may take, if each takes as long as
the last one. Chosen by trial; not measured."""

FIRST_SECONDS = 0.5
"""Seconds that the first program over the whole table is expected to take."""

MOST_FAILURES = 4
"""Number of programs over the whole table in a row that prove nothing, after which no other is
tried. Chosen by trial; not measured."""

BATCHED_AFTER, BATCHED_BETWEEN = 20, 10_000
"""Programs for single needs between the first two attacks on all of them, and most cells of a table
for these: later ones take many seconds on larger tables. docs/decisions, "Attacks between
programs"."""

REPORTED_EVERY = 0.2
"""Seconds between two reports of progress."""

FEW = 50
"""Most open needs for which each is attacked alone after a program over the whole table. Chosen by
trial; not measured."""


def protect_one_by_one(
    problem: ProtectionProblem,
    system: System,
    strategy: Strategy,
    budget: Budget,
    *,
    within: Flags | None = None,
    latest: Budget | None = None,
    begun: Candidate | None = None,
    pacing: Callable[[Strategy, Budget, int], Pace] = Pace,
) -> Candidate:
    """Build a pattern by protecting one sensitive cell after another.

    Parameters
    ----------
    problem : ProtectionProblem
        With finite external bounds.
    system : System
        The system of all cells that may be suppressed.
    strategy : Strategy
    budget : Budget
        Its seed determines the directions of batched programs, and what a shaken strategy draws.
    within : numpy.ndarray of bool, shape (n_unknown,), optional
        Cells that may be suppressed; by default all.
    latest : Budget, optional
        When to give up. Needs still open after the end of `budget` are met in a hurry until then.
        By default there is no such time.
    begun : Candidate, optional
        The pattern to extend; by default the cells that must be suppressed, without witnesses.
    pacing : callable, default=Pace
        Chooses the care of each need, and says when the rest is left to others.

    Returns
    -------
    Candidate
        Proved, unless `within` is too narrow or the budget ended.

    Raises
    ------
    ModelError
        If cells cannot be protected even with every cell suppressed; names all of them.
    """
    weights = problem.weights[system.cells]
    hidden = (problem.sensitive | problem.forced)[system.cells]
    pool = WitnessPool(system)
    if begun is not None:
        hidden, pool = hidden | begun.hidden, begun.pool.copy()
    is_whole = begun is None or int(pool.open.sum()) > FEW
    batched = system.n_unknown <= BATCHED_CELLS and is_whole
    attack = Attack(system, only_pushed=not batched)
    working = latest or budget
    if batched:
        attack.hide(hidden)
        prove(attack, pool, working, only_batches=True)
    random = np.random.default_rng(budget.seed) if strategy.shaken else None
    builder = Builder(system, weights, within, working, random)
    # The first need is reported at once, so that a search can be stopped before any proof.
    watch, shown = Stopwatch(), -REPORTED_EVERY
    pace = pacing(strategy, budget, int(pool.open.sum()))
    batches = _Batches(attack, pool)
    for index in in_order(pool, strategy.largest_first, random):
        if not pool.is_open(index):
            continue
        if working.is_over:
            break
        n_open, timer = int(pool.open.sum()), Stopwatch()
        if pace.ends(n_open):
            return Candidate(hidden, pool, weights)
        chosen = pace.strategy(n_open)
        protect_need(builder, pool, hidden, index, chosen)
        pace.record(chosen, timer.seconds)
        if batched and system.n_unknown <= BATCHED_BETWEEN:
            batches.after_program(hidden, working)
        if watch.seconds > shown + REPORTED_EVERY:
            shown = watch.seconds
            _report(budget, weights, hidden, pool)
    if not batched and within is None and np.any(pool.open):
        attack.hide(hidden)
        prove(attack, pool, working, only_batches=True)
        for index in in_order(pool, largest_first=True):
            protect_in_region(builder, pool, hidden, index)
            _report(budget, weights, hidden, pool)
    if np.any(pool.open) and not working.is_over:
        _protect_groups(builder, attack, pool, hidden, budget)
    if np.any(pool.open) and within is None and not working.is_over:
        protect_at_any_cost(problem, pool, hidden, working)
    return Candidate(hidden, pool, weights)


class _Batches:
    """Attacks on all open needs at once, between programs for single ones.

    What was hidden for other needs meets many that have no program yet. The next attack comes later
    where the last one met fewer needs than there were programs since the one before.

    Parameters
    ----------
    attack : Attack
    pool : WitnessPool
    """

    def __init__(self, attack: Attack, pool: WitnessPool) -> None:
        self.attack, self.pool = attack, pool
        self.after, self.programs = BATCHED_AFTER, 0

    def after_program(self, hidden: Flags, budget: Budget) -> None:
        """Count a program, and attack if there were enough."""
        self.programs += 1
        n_open = int(self.pool.open.sum())
        if self.programs < self.after or not n_open:
            return
        self.attack.hide(hidden)
        prove(self.attack, self.pool, budget, only_batches=True)
        if n_open - int(self.pool.open.sum()) < self.programs:
            self.after *= 2
        self.programs = 0


def _report(budget: Budget, weights: Floats, hidden: Flags, pool: WitnessPool) -> None:
    budget.report("protecting", float(weights[hidden].sum()), open_=int(pool.open.sum()))


def _protect_groups(
    builder: Builder, attack: Attack, pool: WitnessPool, hidden: Flags, budget: Budget
) -> None:
    """Protect cells that no neighbourhood can, in groups, by programs over the whole table.

    The budget limits the number of programs; the builder's budget says when to give up.
    """
    random, working = np.random.default_rng(budget.seed), builder.budget
    attack.hide(hidden)
    prove(attack, pool, working, only_batches=True)
    failed, seconds, symmetric = 0, FIRST_SECONDS, True
    while np.any(pool.open) and failed < MOST_FAILURES and not working.is_over:
        order = np.array(in_order(pool, largest_first=True))
        watch = Stopwatch()
        programs = int(np.clip(AFFORDABLE * budget.left / seconds, *PROGRAMS))
        size = len(order) if budget.is_over else max(1, -(-len(order) // programs))
        group = order[:size] if failed == 0 else random.choice(order, size, replace=False)
        found = _cheapest_for_many(
            builder, *builder.whole(symmetric), pool, hidden, group, symmetric, random
        )
        hidden[found[0]] = True
        pool.add_sparse(*found, working)
        attack.hide(hidden)
        prove(attack, pool, working, only_batches=int(pool.open.sum()) > FEW)
        seconds = watch.seconds
        proved = len(order) - int(pool.open.sum())
        failed = 0 if proved else failed + 1
        # Where most cells have room on one side only, mirror images break bounds: try without.
        symmetric ^= proved < 0.1 * size
        _report(budget, builder.weights, hidden, pool)


def _cheapest_for_many(
    builder: Builder,
    cells: Integers,
    program: CoverProgram,
    pool: WitnessPool,
    hidden: Flags,
    group: Integers,
    symmetric: bool,
    random: np.random.Generator,
) -> tuple[Integers, Floats]:
    """Return the cheapest deviation within some cells that moves most cells of a group."""
    targets = np.array([signed_target(pool, int(index), symmetric) for index in group])
    if symmetric and len(group) > 1:
        # Give each cell a random direction, since cells of a relation cannot all grow at once.
        targets *= random.choice([-1.0, 1.0], len(targets))
    positions = np.searchsorted(cells, pool.needs.cells[group])
    need = float(np.median(np.abs(targets)))
    cost = scaled(builder.cost[cells] / program.carries(need), hidden[cells])
    found = program.solve_many(cost, positions, targets)
    moved = np.flatnonzero(found)
    return cells[moved], found[moved]


def protect_at_any_cost(
    problem: ProtectionProblem, pool: WitnessPool, hidden: Flags, budget: Budget
) -> None:
    """Protect all open cells, with every cell suppressed, by moves of details and by attacks.

    The cells that these witnesses move are suppressed: costly, but quick and certain.

    Raises
    ------
    ModelError
        If cells cannot be protected even then; names all of them.
    SolverError
        If that is not settled.
    """
    pool.take_exact(Details.of(pool.system).witnesses(pool.system))
    attack = Attack(pool.system)
    failures = prove(attack, pool, budget)
    # A need that is open because time ended is not one that cannot be settled.
    if budget.is_over:
        return
    if np.any(pool.open):
        raise unprotected(problem.table, pool, failures, WHATEVER_IS_HIDDEN)
    hidden |= pool.moved()
