"""Heuristic patterns: protect one sensitive cell after another by small linear programs.

For a cell whose need is open, the program finds the cheapest deviation that moves it far
enough; the cells it moves are suppressed, and the deviation becomes their witness. Cells that
are already suppressed cost next to nothing. The program covers a neighbourhood of the cell only,
which grows if it does not suffice. Costs divided by the last moves make it prefer few large moves
to many small ones, because a cell is suppressed as a whole. The pattern is improved by protecting
every cell again within it, and by publishing single cells again.

A first pattern that is begun with all care and finished in a hurry loses more than one built with
less care throughout, since cells hidden in a hurry are not looked at again. So the seconds of each
need are measured from early on.

References
----------
.. [1] Kelly, Golden, Assad: Cell suppression: disclosure protection for sensitive tabular
   data, Networks 22 (1992).
.. [2] Fischetti, Salazar: Solving the cell suppression problem on tabular data with linear
   constraints, Management Science 47 (2001), section 5 (heuristic and clean-up).
"""

from __future__ import annotations

import math
from dataclasses import replace

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
from tablecloak.suppression.search.protect import (
    in_order,
    protect_in_region,
    protect_need,
    signed_target,
)
from tablecloak.suppression.search.strategy import EASIER, HASTY, Strategy
from tablecloak.suppression.system.system import System
from tablecloak.tables.problem import ProtectionProblem

TRUSTED_SHARE = 0.1
"""Share of the time that passes before the pace is judged. Tables that take less keep all care, so
that their pattern depends on no clock."""

TOLERANCE = 2.0
"""Multiple of the time left up to which the open needs may be expected to take: the expectation is
too high, since later needs find more hidden cells to move. docs/decisions, "Pace of a first
pattern"."""

HOPELESS = 3.0
"""Multiple of the time left above which the expected seconds of the open needs, with the least
care, end the attempt if there is another pattern."""

JUDGED_SHARE, GIVEN_UP_SHARE = 0.25, 0.5
"""Shares of the time between which a pattern may be given up: sooner, too little is known of its
pace, and later it is completed."""

RESERVED = 1.0
"""Share of the time left above which the expected seconds of the open needs, with the least care,
make the least care obligatory."""

LEAST_CARE = 1 / 3
"""Assumed seconds of a need with the least care, as a share of those with the next level of care,
until they are measured. Chosen by trial; not measured."""

MEMORY = 0.9
"""Weight of the previous average of the seconds of a need; the last need has the rest."""

FORGETTING = 0.99
"""Factor on the expected seconds of all other levels of care after each need, so that a more
careful level is tried again."""

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

REPORTED_EVERY = 0.2
"""Seconds between two reports of progress."""

FEW = 50
"""Most open needs for which each is attacked alone after a program over the whole table. Chosen by
trial; not measured."""


class Pace:
    """Chooses the level of care for one need after the other.

    Parameters
    ----------
    strategy : Strategy
        The strategy with all care, used as long as there is time.
    budget : Budget
        Its end is the time by which all needs should be protected; then the least care is taken.
    n_open : int
        Needs that are open at the start.
    """

    def __init__(self, strategy: Strategy, budget: Budget, n_open: int) -> None:
        self.levels = [strategy]
        if strategy.programs:
            self.levels += [
                replace(each, symmetric=strategy.symmetric, largest_first=strategy.largest_first)
                for each in EASIER
            ]
        self.budget, self.n_open = budget, n_open
        self.whole = budget.left
        self.seconds: list[float | None] = [None] * len(self.levels)
        self.handled = 0

    def strategy(self, n_open: int) -> Strategy:
        """Return the strategy for the next need.

        Parameters
        ----------
        n_open : int
            Needs that are open now.
        """
        if self.budget.is_over:
            return HASTY
        return self.levels[self._level(n_open)]

    def record(self, strategy: Strategy, seconds: float) -> None:
        """Update the expected seconds by those of one need."""
        self.handled += 1
        if strategy not in self.levels:
            return
        used = self.levels.index(strategy)
        for level, known in enumerate(self.seconds):
            if level == used:
                before = seconds if known is None else known
                self.seconds[level] = MEMORY * before + (1 - MEMORY) * seconds
            elif known is not None:
                self.seconds[level] = FORGETTING * known

    def is_hopeless(self, n_open: int) -> bool:
        """Whether the least care so far will not protect all needs in time.

        Parameters
        ----------
        n_open : int
            Needs that are open now.
        """
        measured = [seconds for seconds in self.seconds if seconds is not None]
        gone = 1 - self.budget.left / self.whole if 0 < self.whole < math.inf else 0.0
        if not JUDGED_SHARE < gone < GIVEN_UP_SHARE or not measured:
            return False
        return min(measured) * self._expected(n_open) > HOPELESS * self.budget.left

    @property
    def _is_early(self) -> bool:
        left = self.budget.left
        is_early = self.whole - left <= TRUSTED_SHARE * self.whole
        return not math.isfinite(left) or is_early or not self.handled

    def _level(self, n_open: int) -> int:
        if self._is_early:
            return 0
        time, expected = self.budget.left, self._expected(n_open)
        for level, seconds in enumerate(self.seconds[:-1]):
            if seconds is None or seconds * expected <= TOLERANCE * time:
                return level
        # The cells chosen for large needs decide the loss, and large needs come first, so care is
        # kept as long as possible (docs/decisions, "Pace of a first pattern").
        least, last = self.seconds[-1], len(self.levels) - 1
        if least is None:
            least = LEAST_CARE * (self.seconds[last - 1] or 0.0)
        return last if least * expected > RESERVED * time else max(last - 1, 0)

    def _expected(self, n_open: int) -> float:
        """Return the expected number of needs to handle: each one handled also meets others."""
        met = math.log((self.n_open + 1) / (n_open + 1))
        if met <= 0:
            return n_open
        return min(n_open, self.handled / met * math.log(n_open + 1))


def protect_one_by_one(
    problem: ProtectionProblem,
    system: System,
    strategy: Strategy,
    budget: Budget,
    *,
    within: Flags | None = None,
    latest: Budget | None = None,
    begun: Candidate | None = None,
    may_end: bool = False,
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
    may_end : bool, default=False
        Give up as soon as the time will clearly not suffice.

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
    batched = system.n_unknown <= BATCHED_CELLS and begun is None
    attack = Attack(system, only_pushed=not batched)
    working = latest or budget
    if batched:
        attack.hide(hidden)
        prove(attack, pool, working, only_batches=True)
    random = np.random.default_rng(budget.seed) if strategy.shaken else None
    builder = Builder(system, weights, within, working, random)
    # The first need is reported at once, so that a search can be stopped before any proof.
    watch, shown = Stopwatch(), -REPORTED_EVERY
    pace = Pace(strategy, budget, int(pool.open.sum()))
    refresh = max(int(pool.open.sum()) // 2, 50)
    for count, index in enumerate(in_order(pool, strategy.largest_first, random)):
        if batched and count and count % refresh == 0 and np.any(pool.open):
            attack.hide(hidden)
            prove(attack, pool, working, only_batches=True)
        if not pool.is_open(index):
            continue
        if working.is_over:
            break
        n_open, timer = int(pool.open.sum()), Stopwatch()
        if may_end and pace.is_hopeless(n_open):
            return Candidate(hidden, pool, weights)
        chosen = pace.strategy(n_open)
        protect_need(builder, pool, hidden, index, chosen)
        pace.record(chosen, timer.seconds)
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
        _at_any_cost(problem, pool, hidden, working)
    return Candidate(hidden, pool, weights)


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


def _at_any_cost(
    problem: ProtectionProblem, pool: WitnessPool, hidden: Flags, budget: Budget
) -> None:
    """Protect all open cells by attacking the table with every cell suppressed.

    The cells that these witnesses move are suppressed: costly, but quick and certain.

    Raises
    ------
    ModelError
        If cells cannot be protected even then; names all of them.
    SolverError
        If that is not settled.
    """
    attack = Attack(pool.system)
    failures = prove(attack, pool, budget)
    # A need that is open because time ended is not one that cannot be settled.
    if budget.is_over:
        return
    if np.any(pool.open):
        raise unprotected(problem.table, pool, failures, WHATEVER_IS_HIDDEN)
    hidden |= pool.moved()
