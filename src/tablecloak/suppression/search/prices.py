"""Openings by prices: a few open needs at a time, each met where that costs no more than its price.

One linear program moves a small group of sensitive cells whose needs are open. Each has a direction,
drawn by chance, and a price, which is paid in proportion to the share of the need that is met.
Moving a hidden cell costs next to nothing, so that later groups use what earlier ones have hidden;
and many needs outside the group are met by the way. A need that is not worth its price stays open,
and its price rises. So heavy cells are hidden only when everything cheaper has been tried.

A group is small because directions drawn for many cells at once contradict each other: in every
relation the moves must cancel out. The program is solved from scratch each time, by the dual simplex
method: with no cell moved but those of the group, few relations are broken at the start, while the
last basis is neither primal nor dual feasible once prices have changed. docs/decisions, "Openings by
prices".
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.solve.solver import SolveStatus
from tablecloak.suppression.attack.moves_program import FARTHEST
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.system.system import System

GROUP = 10
"""Open needs of one program. Between 3 and 30 the loss differs by 2 %; larger groups are faster,
and lose up to a third more. docs/decisions, "Openings by prices"."""

FIRST_PRICE, RISE = 2.0, 4.0
"""First price of a need, in median weights, and the factor by which the price of a need that stays
open rises."""

HIGHEST_PRICE = 1e9
"""Price beyond which a need is given up: its cells can move in no direction that was drawn."""

HIDDEN_COST = 1e-5
"""Cost of moving a hidden cell, as a share of its weight: a witness is to move few of them."""

NEGLIGIBLE = 1e-9
"""Moves below this share of the program's unit of length are rounding errors of the solver."""


class PriceProgram:
    """min sum c_i |d_i| - sum r_p min(s_p d_p, need_p) over A d = 0 within rooms.

    Each rewarded cell has two columns in its direction: one as long as its need, which is paid
    for, and one for what it moves beyond. It cannot move the other way.

    Parameters
    ----------
    system : System
    """

    def __init__(self, system: System) -> None:
        self.cells = system.needs.cells
        self.need = np.maximum(
            np.maximum(system.needs.upper, system.needs.lower), system.needs.width / 2
        )
        # The mirror image of a move is a witness as well, if each cell has room on both sides.
        self.reach = np.minimum(system.high, -system.low)
        self.unit = float(np.median(self.need))
        self.room = np.minimum(self.reach / self.unit, FARTHEST)
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
        upper = np.concatenate([self.room, self.room, np.zeros(2 * k)])
        cells, need = self.cells[group], self.need[group] / self.unit
        ahead, behind = np.where(signs > 0, cells, cells + n), np.where(signs > 0, cells + n, cells)
        paid = 2 * n + group + np.where(signs > 0, 0, k)
        costs[paid] = -price / need
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
    program: PriceProgram, begun: Candidate, random: np.random.Generator, budget: Budget
) -> Candidate:
    """Extend a pattern until all needs are met, are given up, or the budget ends.

    Parameters
    ----------
    program : PriceProgram
        Of the system of the pattern.
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
    pool, hidden, weights = begun.pool.copy(), begun.hidden.copy(), begun.weights
    typical = float(np.median(weights[program.cells])) + 1.0
    price = np.full(program.n_needs, FIRST_PRICE * typical)
    while not budget.is_over:
        open_ = np.flatnonzero(pool.open & (price < HIGHEST_PRICE * typical))
        if not len(open_):
            break
        group = random.choice(open_, min(GROUP, len(open_)), replace=False)
        signs = random.choice([-1.0, 1.0], len(group))
        deviation = program.solve(
            _costs(program, hidden, weights, group), group, signs, price[group], budget.left
        )
        if len(deviation):
            _keep(pool, hidden, deviation, budget)
        price[group[pool.open[group]]] *= RISE
        budget.report("opening", float(weights[hidden].sum()), open_=int(pool.open.sum()))
    return Candidate(hidden, pool, weights)


def _costs(program: PriceProgram, hidden: Flags, weights: Floats, group: Integers) -> Floats:
    """Return costs for each unit of length: the weight, spread over what a cell can carry."""
    share = np.minimum(program.reach, float(program.need[group].max()))
    cost = weights * program.unit / np.maximum(share, NEGLIGIBLE * program.unit)
    found: Floats = np.where(hidden, HIDDEN_COST * cost + NEGLIGIBLE, cost)
    return found


def _keep(pool: WitnessPool, hidden: Flags, deviation: Floats, budget: Budget) -> None:
    """Hide what a deviation moves, if it proves anything."""
    before = pool._next
    pool.add(deviation, budget, is_thorough=False)
    for number in range(before, pool._next):
        hidden[pool.rows[number][0]] = True
