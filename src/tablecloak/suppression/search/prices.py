"""Openings by prices: a few open needs at a time, each met where it costs no more than its price.

One linear program moves a small group of sensitive cells whose needs are open. Each has a
direction, drawn by chance, and a price, which is paid in proportion to the share of the need that
is met.
Moving a hidden cell costs next to nothing, so that later groups use what earlier ones have hidden;
and many needs outside the group are met by the way. A need that is not worth its price stays open,
and its price rises. So heavy cells are hidden only when everything cheaper has been tried.

A group is small because directions drawn for many cells at once contradict each other: in every
relation the moves must cancel out. It grows where time is short. The program is solved from scratch
each time, by the dual simplex method: with no cell moved but those of the group, few relations are
broken at the start, while the last basis is neither primal nor dual feasible once prices have
changed. docs/decisions, "Openings by prices".
"""

from __future__ import annotations

import math
from itertools import islice

import numpy as np
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget, Stopwatch
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.solve.solver import SolveStatus
from tablecloak.suppression.attack.covering import NEGLIGIBLE
from tablecloak.suppression.attack.moves_program import FARTHEST
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.system.system import System

GROUP, LARGER_GROUP, MANY_ROWS = 3, 10, 5000
"""Fewest open needs of one program; fewest on tables of many relations, and how many are many.
Groups of 3 lose 3 to 10 % less than groups of 10, and take up to three times as long.
docs/decisions, "Openings by prices"."""

MOST_IN_GROUP = 50
"""Most open needs of one program where time is short: beyond, a program takes many times as long,
and directions drawn by chance contradict each other."""

HOPELESS = 3.0
"""Multiple of the time left above which the expected seconds of the open needs, in the largest
groups, end an opening: many needs are met by programs for others."""

MEMORY = 0.7
"""Weight of the previous average of the seconds of a program; the last program has the rest."""

FIRST_PRICE, RISE = 20.0, 10.0
"""First price of a need, in median weights, and the factor by which the price of a need that stays
open rises."""

CAREFUL_SHARE, LAST_PRICE = 0.7, 1e6
"""Share of the time for rising prices, and the price, in median weights, of all needs that are open
afterwards: programs over the table settle the last needs for far less than those around a cell."""

HIGHEST_PRICE = 1e9
"""Price beyond which a need is given up: its cells can move in no direction that was drawn."""

HIDDEN_SHARE = 1e-5
"""Cost of moving a hidden cell, as a share of its weight: a witness is to move few of them."""


class PriceProgram:
    """min sum c_i |d_i| - sum r_p min(s_p d_p, need_p) over A d = 0 within rooms.

    Each rewarded cell has two columns in its direction: one as long as its need, which is paid
    for, and one for what it moves beyond. It cannot move the other way.

    Parameters
    ----------
    system : System
    symmetric : bool
        Allow each cell the smaller of its two distances, so that the mirror image of a deviation
        is a witness too and one program protects both sides.
    """

    def __init__(self, system: System, symmetric: bool) -> None:
        needs = system.needs
        self.cells = needs.cells
        self.above, self.below = system.high, -system.low
        self.upper = np.maximum(needs.upper, needs.width / 2)
        self.lower = np.maximum(needs.lower, needs.width / 2)
        if symmetric:
            self.above = self.below = np.minimum(self.above, self.below)
            self.upper = self.lower = np.maximum(self.upper, self.lower)
        self.unit = float(np.median(np.maximum(self.upper, self.lower)))
        self.room = np.minimum(np.concatenate([self.above, self.below]) / self.unit, FARTHEST)
        matrix, zero = system.matrix, np.zeros(len(system.rows))
        paid = matrix[:, self.cells]
        columns = hstack([matrix, -matrix, paid, -paid], format="csr")
        n_columns = columns.shape[1]
        self.solver = LinearSolver(
            Program(
                np.zeros(n_columns),
                csr_array(columns),
                zero,
                zero,
                np.zeros(n_columns),
                np.zeros(n_columns),
            ),
            once=True,
        )
        self.n_unknown, self.n_needs = system.n_unknown, len(self.cells)

    def needed(self, group: Integers, signs: Floats) -> Floats:
        """Return how far the cells of some needs must move in given directions."""
        needed: Floats = np.where(signs > 0, self.upper[group], self.lower[group])
        return needed

    def solve(
        self, cost: Floats, group: Integers, signs: Floats, price: Floats, seconds: float
    ) -> Floats:
        """Return the best deviation at given prices; empty if the solver has none.

        Parameters
        ----------
        cost : numpy.ndarray of float, shape (n_unknown,)
            Cost of each cell for moving by the unit of length.
        group : numpy.ndarray of int, shape (n_group,)
            Positions of the needs that are paid for.
        signs : numpy.ndarray of float, shape (n_group,)
            Directions, 1 or -1.
        price : numpy.ndarray of float, shape (n_group,)
            What a need is worth if it is met.
        seconds : float
        """
        n, k = self.n_unknown, self.n_needs
        costs = np.concatenate([cost, cost, np.zeros(2 * k)])
        upper = np.concatenate([self.room, np.zeros(2 * k)])
        cells, need = self.cells[group], self.needed(group, signs) / self.unit
        ahead, behind = np.where(signs > 0, cells, cells + n), np.where(signs > 0, cells + n, cells)
        paid = 2 * n + group + np.where(signs > 0, 0, k)
        costs[paid] = -price / np.maximum(need, NEGLIGIBLE)
        upper[paid] = np.minimum(need, upper[ahead])
        upper[ahead] -= upper[paid]
        upper[behind] = 0.0
        every = np.arange(len(costs))
        self.solver.change_costs(every, costs)
        self.solver.change_bounds(every, np.zeros(len(costs)), upper)
        solution = self.solver.solve(seconds, from_scratch=True)
        if solution.status not in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE):
            return np.empty(0)
        x = solution.x
        moves = x[:n] - x[n : 2 * n]
        moves[self.cells] += x[2 * n : 2 * n + k] - x[2 * n + k :]
        deviation: Floats = np.where(np.abs(moves) > NEGLIGIBLE, moves, 0.0) * self.unit
        return deviation


def opened_by_prices(begun: Candidate, random: np.random.Generator, budget: Budget) -> Candidate:
    """Extend a pattern until all needs are met, are given up, or the budget ends.

    Parameters
    ----------
    begun : Candidate
        Its witnesses stay; its weights are the costs.
    random : numpy.random.Generator
        Draws groups and directions.
    budget : Budget

    Returns
    -------
    Candidate
        Perhaps with needs that are still open.
    """
    pool, hidden = begun.pool.copy(), begun.hidden.copy()
    for symmetric in (True, False):
        if np.any(pool.open) and not budget.is_over:
            program = PriceProgram(pool.system, symmetric)
            for share, first_price in ((CAREFUL_SHARE, FIRST_PRICE), (1.0, LAST_PRICE)):
                part = budget.share(share)
                _open(program, pool, hidden, begun.weights, first_price, random, part)
    return Candidate(hidden, pool, begun.weights)


def _open(
    program: PriceProgram,
    pool: WitnessPool,
    hidden: Flags,
    weights: Floats,
    first_price: float,
    random: np.random.Generator,
    budget: Budget,
) -> None:
    """Meet open needs by a program, extending the pool and `hidden` in place."""
    typical = float(np.median(weights[program.cells])) + 1.0
    price = np.full(len(program.cells), first_price * typical)
    least, seconds = GROUP if len(pool.system.rows) <= MANY_ROWS else LARGER_GROUP, 0.0
    while not budget.is_over:
        open_ = np.flatnonzero(pool.open & (price < HIGHEST_PRICE * typical))
        if not len(open_):
            break
        watch, size = Stopwatch(), least
        if seconds and math.isfinite(budget.left):
            hurried = math.ceil(len(open_) * seconds / max(budget.left, seconds))
            size = min(max(least, hurried), MOST_IN_GROUP)
        group = random.choice(open_, min(size, len(open_)), replace=False)
        up, down = (side[group] for side in pool.open_sides())
        drawn = random.choice([-1.0, 1.0], len(group))
        signs = np.where(up & down, drawn, np.where(up, 1.0, -1.0))
        cost = _costs(program, hidden, weights, group, signs)
        deviation = program.solve(cost, group, signs, price[group], budget.left)
        if len(deviation):
            _keep(pool, hidden, deviation, budget)
        price[group[pool.open[group]]] *= RISE
        seconds = MEMORY * (seconds or watch.seconds) + (1 - MEMORY) * watch.seconds
        if seconds * len(open_) / MOST_IN_GROUP > HOPELESS * budget.left:
            break
        budget.report("protecting", float(weights[hidden].sum()), open_=int(pool.open.sum()))


def _costs(
    program: PriceProgram, hidden: Flags, weights: Floats, group: Integers, signs: Floats
) -> Floats:
    """Return costs for each unit of length: the weight, spread over what a cell can carry."""
    farthest = float(program.needed(group, signs).max())
    share = np.minimum(np.maximum(program.above, program.below), farthest)
    cost = weights * program.unit / np.maximum(share, NEGLIGIBLE * program.unit)
    costs: Floats = np.where(hidden, HIDDEN_SHARE * cost + NEGLIGIBLE, cost)
    return costs


def _keep(pool: WitnessPool, hidden: Flags, deviation: Floats, budget: Budget) -> None:
    """Hide what a deviation moves, if it proves anything."""
    before = len(pool.rows)
    pool.add(deviation, budget, is_thorough=False)
    for cells, _ in islice(pool.rows.values(), before, None):
        hidden[cells] = True
