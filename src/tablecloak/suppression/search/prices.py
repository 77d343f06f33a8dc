"""Openings by prices: open needs are met where that costs no more than their prices.

One linear program moves sensitive cells whose needs are open. Each has a direction, drawn by
chance, and a price, which is paid in proportion to the share of the need that is met.
Moving a hidden cell costs next to nothing, so that later programs use what earlier ones have
hidden; and many needs are met by the way. A need that is not worth its price stays open, and its
price rises. So heavy cells are hidden only when everything cheaper has been tried.

The needs of one program are of similar size: a cell costs what it costs however little it moves,
and the program only sees that where its moves are about as long as the needs. Where many needs are
open, one program asks for all of them at a price so low that only the cheapest are met, since
sensitive cells are hidden anyway and protect each other. Where few are open, directions drawn for
many cells at once contradict each other: in every relation the moves must cancel out. So a program
asks for three of them only, and at last for one.

On a large table a program is over a part of it whose cells move while all others stand. The program
is solved from scratch each time, by the dual simplex method: with no cell moved but those of the
group, few relations are broken at the start, while the last basis is neither primal nor dual
feasible once prices have changed. docs/decisions, "Openings by prices".
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
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.search.cover import Neighbourhoods
from tablecloak.suppression.system.system import System

MANY_OPEN = 70
"""Open needs from which on a program asks for all of them in its part of the table."""

PART_CELLS, LEAST_PART = 3000, 800
"""Cells of the part of a table that a program is about, if more cells than that are hidden: moving
hidden cells is what takes time. Parts are smaller, down to the least, where few needs are open and
time is short. docs/decisions, "Openings by prices"."""

SHRINK = 0.7
"""Factor by which parts shrink after a program that took longer than there is time for each open
need, and by whose inverse they grow after others."""

SIMILAR = 20.0
"""Ratio of two needs of one program: each is at most the root of it away from the need that was
drawn. docs/decisions, "Openings by prices"."""

GROUP = 3
"""Open needs of one program where few are open. Groups of 3 lose 3 to 10 % less than groups of 10,
and take up to three times as long. docs/decisions, "Openings by prices"."""

MEMORY = 0.7
"""Weight of the previous average of the seconds of a program; the last program has the rest."""

LOW_PRICE, SLOW_RISE = 0.1, 1.5
"""First price of a need where many are open, in median weights, and the factor by which the price
of a need that stays open rises up to `FIRST_PRICE`."""

FIRST_PRICE, RISE = 20.0, 10.0
"""First price of a need where few are open, in median weights, and the factor by which a price
above it rises."""

MANY_SHARE = 0.4
"""Share of the time after which all prices are at least `FIRST_PRICE`."""

CAREFUL_SHARE, LAST_PRICE = 0.7, 1e6
"""Share of the time for rising prices, and the price, in median weights, of all needs that are open
afterwards: programs over the table settle the last needs for far less than those around a cell.
These ask for one need at a time, the largest first, so that no directions contradict each other."""

HALF, MOST_OPEN = 0.5, 0.25
"""Share of the time after which an opening is given up if more than this share of the needs is
still open, since the last needs take longest."""

LEAST_SECONDS = 0.03
"""Seconds that a program for a single need is expected to take in the smallest part; while there is
less time than that for the open needs, one program asks for many."""

HIGHEST_PRICE = 1e9
"""Price, in median weights, beyond which a need is given up: its cells can move in no direction
that was drawn."""

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


def opened_by_prices(
    begun: Candidate,
    random: np.random.Generator,
    budget: Budget,
    *,
    at_any_price: bool = False,
) -> Candidate:
    """Extend a pattern until all needs are met, are given up, or the budget ends.

    Parameters
    ----------
    begun : Candidate
        Its witnesses stay; its weights are the costs.
    random : numpy.random.Generator
        Draws groups and directions.
    budget : Budget
    at_any_price : bool, default=False
        Whether each need is settled at once, the largest first, by a program of its own.

    Returns
    -------
    Candidate
        Perhaps with needs that are still open.
    """
    opening = _Opening(begun, random)
    for symmetric in (True, False):
        opening.meet(symmetric, budget, at_any_price)
    return Candidate(opening.hidden, opening.pool, begun.weights)


class _Opening:
    """A pattern that grows from program to program.

    Parameters
    ----------
    begun : Candidate
    random : numpy.random.Generator
    """

    def __init__(self, begun: Candidate, random: np.random.Generator) -> None:
        self.pool, self.hidden = begun.pool.copy(), begun.hidden.copy()
        self.weights, self.random = begun.weights, random
        self.system, needs = begun.pool.system, begun.pool.system.needs
        self.needed = np.maximum(np.maximum(needs.upper, needs.lower), needs.width / 2)
        self.typical = float(np.median(self.weights[needs.cells])) + 1.0
        self.whole: dict[bool, PriceProgram] = {}
        self.near = Neighbourhoods(self.system, self.weights)

    def meet(self, symmetric: bool, budget: Budget, at_any_price: bool) -> None:
        """Meet open needs by programs, until the budget ends or nothing is left to meet."""
        price = np.zeros(len(self.needed))
        began_with_many = bool(np.sum(self.pool.open) >= MANY_OPEN)
        allowed, seconds = budget.left, 0.0
        size = float(PART_CELLS if at_any_price else self.system.n_unknown)
        while not budget.is_over:
            open_ = np.flatnonzero(self.pool.open & (price < HIGHEST_PRICE))
            if not len(open_):
                break
            gone = 1 - budget.left / allowed if math.isfinite(allowed) else 0.0
            if gone > HALF and len(open_) > MOST_OPEN * len(price):
                break
            is_late = gone > CAREFUL_SHARE and len(open_) * LEAST_SECONDS <= budget.left
            is_many = len(open_) >= MANY_OPEN and not (at_any_price or is_late)
            least, watch = _least_price(is_many, began_with_many or at_any_price, gone), Stopwatch()
            price = np.maximum(price, least)
            few = 1 if price[open_].min() >= LAST_PRICE else GROUP
            n_most, part = (None, PART_CELLS) if is_many else (few, int(size))
            if not self._ask(open_, price, n_most, part, symmetric, budget):
                break
            if not is_many:
                seconds = MEMORY * (seconds or watch.seconds) + (1 - MEMORY) * watch.seconds
                is_slow = seconds * len(open_) > budget.left
                size = max(size * (SHRINK if is_slow else 1 / SHRINK), LEAST_PART)
                size = min(size, PART_CELLS if at_any_price else self.system.n_unknown)
            loss = float(self.weights[self.hidden].sum())
            budget.report("protecting", loss, open_=int(self.pool.open.sum()))

    def _ask(
        self,
        open_: Integers,
        price: Floats,
        n_most: int | None,
        size: int,
        symmetric: bool,
        budget: Budget,
    ) -> bool:
        """Ask for some open needs, and raise the prices of those that stay open, in place.

        The needs are one that is drawn, or the largest if it is asked for alone, and similar ones
        in its part of the table: `n_most` in all, or as many as there are. Returns whether the
        program was solved.
        """
        is_alone = n_most == 1
        chosen = open_[np.argmax(self.needed[open_])] if is_alone else self.random.choice(open_)
        cells, program = self._part(chosen, size, symmetric)
        group = self._similar(chosen, open_, cells)
        if n_most is not None:
            others = self.random.permutation(group[group != chosen])
            group = np.append(others[: n_most - 1], chosen)
        if not self._move(cells, program, group, price[group] * self.typical, budget):
            return False
        still = group[self.pool.open[group]]
        price[still] *= np.where(price[still] < FIRST_PRICE, SLOW_RISE, RISE)
        return True

    def _similar(self, chosen: int, open_: Integers, cells: Integers) -> Integers:
        """Return the open needs of some cells that are about as large as the chosen one."""
        inside = np.zeros(self.system.n_unknown, dtype=bool)
        inside[cells] = True
        ratio = self.needed[open_] / self.needed[chosen]
        is_similar = (ratio >= SIMILAR**-0.5) & (ratio <= SIMILAR**0.5)
        similar: Integers = open_[is_similar & inside[self.system.needs.cells[open_]]]
        return similar

    def _part(self, need: int, size: int, symmetric: bool) -> tuple[Integers, PriceProgram]:
        """Return cells around a need, hidden ones first, and the program over them."""
        n = self.system.n_unknown
        if self.hidden.sum() <= min(size, PART_CELLS) or size >= n:
            if symmetric not in self.whole:
                self.whole[symmetric] = PriceProgram(self.system, symmetric)
            return np.arange(n), self.whole[symmetric]
        last = self.random.random(n) + ~self.hidden
        cell = int(self.system.needs.cells[need])
        cells = self.near.closed(cell, size, last)
        return cells, PriceProgram(self.system.part(cells), symmetric)

    def _move(
        self,
        cells: Integers,
        program: PriceProgram,
        needs: Integers,
        price: Floats,
        budget: Budget,
    ) -> bool:
        """Meet some needs by one program over some cells; return whether it was solved."""
        up, down = (side[needs] for side in self.pool.open_sides())
        drawn = self.random.choice([-1.0, 1.0], len(needs))
        signs = np.where(up & down, drawn, np.where(up, 1.0, -1.0))
        place = np.searchsorted(cells, self.system.needs.cells[needs])
        group = np.searchsorted(program.cells, place)
        cost = _costs(program, self.hidden[cells], self.weights[cells], group, signs)
        deviation = program.solve(cost, group, signs, price, budget.left)
        if not len(deviation):
            return False
        before, moved = len(self.pool.rows), np.flatnonzero(deviation)
        self.pool.add_sparse(cells[moved], deviation[moved], budget, is_thorough=False)
        for witness, _ in islice(self.pool.rows.values(), before, None):
            self.hidden[witness] = True
        return True


def _least_price(is_many: bool, began_with_many: bool, gone: float) -> float:
    """Return the least price of an open need, which rises with time, in median weights."""
    if not is_many:
        return LAST_PRICE if began_with_many or gone > CAREFUL_SHARE else FIRST_PRICE
    return float(LOW_PRICE * (FIRST_PRICE / LOW_PRICE) ** min(gone / MANY_SHARE, 1.0))


def _costs(
    program: PriceProgram, hidden: Flags, weights: Floats, group: Integers, signs: Floats
) -> Floats:
    """Return costs for each unit of length: the weight, spread over what a cell can carry."""
    farthest = float(program.needed(group, signs).max())
    share = np.minimum(np.maximum(program.above, program.below), farthest)
    cost = weights * program.unit / np.maximum(share, NEGLIGIBLE * program.unit)
    costs: Floats = np.where(hidden, HIDDEN_SHARE * cost + NEGLIGIBLE, cost)
    return costs
