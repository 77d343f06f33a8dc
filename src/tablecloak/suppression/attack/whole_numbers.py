"""The intruder who knows that all values are whole numbers: integer programs, with a proof.

A witness in whole numbers holds against this intruder as against everybody. If the linear program
moves a cell far enough only in fractions, branch and bound searches for a witness in whole numbers,
or proves that there is none.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Flags, Floats
from tablecloak.budget import Budget
from tablecloak.errors import SolverError
from tablecloak.solve.branch import branch_and_bound
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.solve.solver import SolveStatus
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.system.system import System

NODES = 5000
"""Most nodes of one search in whole numbers. If they do not suffice, the need stays undecided.
Chosen by trial; not measured."""

GAP = 1e-4
"""Relative gap at which the cheapest move counts as found; no proof rests on its optimality."""


def prove_in_whole_numbers(
    system: System, pool: WitnessPool, where: Flags, budget: Budget
) -> tuple[dict[int, tuple[float, float, bool]], int]:
    """Prove needs by witnesses in whole numbers, and add these to the pool.

    Parameters
    ----------
    system : System
    pool : WitnessPool
        Proves the needs in `where`, perhaps by witnesses in fractions.
    where : numpy.ndarray of bool, shape (n_needs,)
        Needs to look at.
    budget : Budget

    Returns
    -------
    failures : dict of int to (float, float, bool)
        For each need that is not proved: limits above and below, and whether they prove that
        the intruder succeeds.
    programs : int
        Nodes of all searches.
    """
    whole = pool.in_whole_numbers()
    failures, programs = {}, 0
    needs = system.needs
    one = np.ones(system.n_unknown)
    for index in np.flatnonzero(where).tolist():
        limits = {1: np.inf, -1: np.inf}
        for sign in (1, -1):
            if budget.is_over or not whole.lacks(index, sign):
                continue
            reached = float((whole.below if sign > 0 else whole.above)[index])
            need = float((needs.upper if sign > 0 else needs.lower)[index])
            wanted = max(need, float(needs.width[index]) - reached)
            cell = int(needs.cells[index])
            # Try the cheapest move first: it often is whole, and takes less than a proof that no
            # move in whole numbers exists.
            found, _ = _cheapest_move(system, cell, sign * wanted, one, budget)
            limit, nodes = np.inf, 1
            if not len(found):
                found, limit, nodes = _search(system, cell, sign, wanted, budget)
            programs += nodes
            if len(found):
                whole.add(found, budget)
            else:
                limits[sign] = limit
        if whole.is_open(index):
            above = max(limits[1], 0.0) if np.isfinite(limits[1]) else np.inf
            possible = needs.met(np.full(len(where), above), np.full(len(where), limits[-1]))[index]
            failures[index] = (above, limits[-1], not possible)
    pool.adopt(whole)
    return failures, programs


def _whole(system: System, cell: int, target: float, moves: Floats) -> Floats:
    """Return moves rounded to whole numbers if they take a cell to its target, else none."""
    whole: Floats = np.rint(moves)
    good = (
        len(whole)
        and np.all(np.abs(moves - whole) < 1e-6)
        and whole[cell] * np.sign(target) >= abs(target)
        and np.all((system.low - 1e-9 <= whole) & (whole <= system.high + 1e-9))
        and not np.any(system.matrix @ whole)
    )
    return whole if good else np.empty(0)


def _search(
    system: System, cell: int, sign: int, wanted: float, budget: Budget
) -> tuple[Floats, float, int]:
    """Move one cell by at least `wanted` in whole numbers, or bound how far it can move."""
    low, high = np.ceil(system.low - 1e-9), np.floor(system.high + 1e-9)
    target = float(np.ceil(wanted * (1 - 1e-9)))
    cost, zero = np.zeros(system.n_unknown), np.zeros(len(system.rows))
    cost[cell] = -float(sign)
    # A move beyond the distance asked for gains nothing, so bound it.
    if sign > 0:
        high[cell] = min(high[cell], target)
    else:
        low[cell] = max(low[cell], -target)
    if low[cell] > high[cell] or target > (high[cell] if sign > 0 else -low[cell]):
        return np.empty(0), float(high[cell] if sign > 0 else -low[cell]), 0
    program = Program(
        cost, system.matrix, zero, zero, low, high, np.ones(system.n_unknown, dtype=bool)
    )
    result = branch_and_bound(
        program, value=1.0 - target, step=1.0, budget=budget, node_limit=NODES
    )
    if len(result.x):
        return np.rint(result.x), target, result.nodes
    return np.empty(0), -result.bound, result.nodes


def cheapest_in_whole_numbers(
    system: System, cell: int, cost: Floats, budget: Budget
) -> tuple[Flags, bool]:
    """Return cells to suppress so that moves in whole numbers protect a sensitive cell.

    The cells are a proposal only: the pattern that suppresses them is audited again.

    Parameters
    ----------
    system : System
        The system of all cells that may be suppressed.
    cell : int
        Position of the sensitive cell.
    cost : numpy.ndarray of float, shape (n_unknown,)
        Cost of moving each cell by 1.
    budget : Budget

    Returns
    -------
    moved : numpy.ndarray of bool, shape (n_unknown,)
    possible : bool
        False if no such moves exist, by proof.
    """
    needs, index = system.needs, int(system.need_of[cell])
    upper, lower, width = needs.upper[index], needs.lower[index], needs.width[index]
    possible = False
    # Either side may provide the missing width.
    for above, below in ((max(upper, width - lower), lower), (upper, max(lower, width - upper))):
        moved, found = np.zeros(system.n_unknown, dtype=bool), True
        for sign, wanted in ((1, above), (-1, below)):
            moves, is_possible = _cheapest_move(system, cell, sign * wanted, cost, budget)
            moved |= (moves != 0) if len(moves) else False
            found &= len(moves) > 0 or wanted == 0
            possible |= is_possible
        if found:
            return moved, True
    return np.zeros(system.n_unknown, dtype=bool), possible


def _cheapest_move(
    system: System, cell: int, wanted: float, cost: Floats, budget: Budget
) -> tuple[Floats, bool]:
    """Return the cheapest move in whole numbers to a signed distance; empty if none was found.

    The second result is False if no such move exists, by proof.
    """
    n = system.n_unknown
    if wanted == 0 or budget.is_over:
        return np.empty(0), True
    target = np.ceil(abs(wanted) * (1 - 1e-9))
    room = np.concatenate([np.floor(system.high + 1e-9), np.floor(1e-9 - system.low)])
    ahead, behind = (cell, cell + n) if wanted > 0 else (cell + n, cell)
    if target > room[ahead]:
        return np.empty(0), False
    least = np.zeros(2 * n)
    least[ahead], room[behind] = target, 0.0
    matrix = csr_array(hstack([system.matrix, -system.matrix], format="csr"))
    zero = np.zeros(matrix.shape[0])
    program = Program(np.tile(cost, 2), matrix, zero, zero, least, room, np.ones(2 * n, dtype=bool))
    try:
        solution = solve(program, time_limit=budget.left, gap=GAP, nodes=NODES)
    except SolverError:
        return np.empty(0), True
    if not len(solution.x):
        return np.empty(0), solution.status is not SolveStatus.INFEASIBLE
    moves = solution.x[:n] - solution.x[n:]
    return _whole(system, cell, np.sign(wanted) * target, moves), True
