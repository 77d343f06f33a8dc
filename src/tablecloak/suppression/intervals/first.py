"""First intervals: the cheapest widening for one need after another."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Flags, Floats
from tablecloak.budget import Budget
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.suppression.system.system import System

__all__ = ["widened"]

FARTHEST = 1e6
"""Farthest move of any cell, in needs, in the program that makes the first intervals."""


def widened(system: System, cost: Floats, open_: Flags, budget: Budget) -> Floats:
    """Return first intervals, widened for one need after another by the cheapest program.

    Columns are what the interval already allows, for nothing, and what must be added; upwards
    and downwards. Each program is measured in its own need. What has no solution in a program is
    left to the caller.
    """
    n = system.n_unknown
    room = np.concatenate([system.high, -system.low])
    zero = np.zeros(len(system.rows))
    both = csr_array(hstack([system.matrix, -system.matrix], format="csr"))
    solver = LinearSolver(
        Program(
            np.concatenate([np.zeros(2 * n), cost]),
            csr_array(hstack([both, both], format="csr")),
            zero,
            zero,
            np.zeros(4 * n),
            np.zeros(4 * n),
        ),
        once=True,
    )
    allowed = np.where(open_, room, 0.0)
    every = np.arange(4 * n)
    for cell, sign, need in _distances(system):
        if budget.is_over:
            break
        upper = np.minimum(np.concatenate([allowed, room - allowed]) / need, FARTHEST)
        lower = np.zeros(4 * n)
        at, other = (cell, cell + n) if sign > 0 else (cell + n, cell)
        had = upper[at]
        lower[at] = min(had, 1.0)
        lower[at + 2 * n] = min(1.0 - lower[at], upper[at + 2 * n])
        upper[[other, other + 2 * n]] = 0.0
        solver.change_bounds(every, lower, upper)
        solution = solver.solve(budget.left)
        if len(solution.x):
            added = np.maximum(solution.x[2 * n :], 0.0) * need
            allowed = np.minimum(allowed + added, room)
    return allowed / system.unit


def _distances(system: System) -> list[tuple[int, int, float]]:
    """How far each cell must move and in which direction, the largest needs first."""
    needs = system.needs
    size = np.maximum(np.maximum(needs.upper, needs.lower), needs.width)
    found = []
    for index in np.argsort(-size, kind="stable").tolist():
        cell = int(needs.cells[index])
        above, below = float(needs.upper[index]), float(needs.lower[index])
        lacking = max(float(needs.width[index]) - above - below, 0.0)
        more = min(lacking, max(float(system.high[cell]) - above, 0.0))
        found += [(cell, 1, above + more), (cell, -1, below + lacking - more)]
    return [(cell, sign, need) for cell, sign, need in found if need > 0]
