"""The intruder who knows that all values are whole numbers: integer programs, with a proof.

A witness in whole numbers withstands this intruder as it withstands everybody. Where the
linear program moves a cell far enough only in fractions, branch and bound searches a whole
one, or proves that there is none.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tablecloak.solve.branch import branch_and_bound
from tablecloak.solve.program import Program
from tablecloak.suppression.system import System
from tablecloak.suppression.witness import WitnessPool

__all__ = ["prove_in_whole_numbers"]

Flags = npt.NDArray[np.bool_]

NODES = 5000
"""Nodes of one search after which a side stays undecided."""


def prove_in_whole_numbers(
    system: System, pool: WitnessPool, where: Flags, deadline: float, ended: Callable[[], bool]
) -> tuple[dict[int, tuple[float, float, bool]], int]:
    """Prove needs by witnesses in whole numbers, and put these into the pool.

    Parameters
    ----------
    system : System
    pool : WitnessPool
        Proves the needs in `where`, perhaps in fractions.
    where : numpy.ndarray of bool, shape (n_needs,)
        Needs to look at.
    deadline : float
        Moment of `time.monotonic` at which a search ends.
    ended : callable
        Asked between programs whether to stop.

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
    for index in np.flatnonzero(where).tolist():
        limits = {1: np.inf, -1: np.inf}
        for sign in (1, -1):
            if ended() or not whole.lacks(index, sign):
                continue
            reached = float((whole.below if sign > 0 else whole.above)[index])
            need = float((needs.upper if sign > 0 else needs.lower)[index])
            wanted = max(need, float(needs.width[index]) - reached)
            found, limit, nodes = _search(
                system, int(needs.cells[index]), sign, wanted, deadline - time.monotonic()
            )
            programs += nodes
            if len(found):
                whole.add(found)
            else:
                limits[sign] = limit
        if whole.is_open(index):
            above = max(limits[1], 0.0) if np.isfinite(limits[1]) else np.inf
            possible = needs.met(np.full(len(where), above), np.full(len(where), limits[-1]))[index]
            failures[index] = (above, limits[-1], not possible)
    pool.adopt(whole)
    return failures, programs


def _search(
    system: System, cell: int, sign: int, wanted: float, time_limit: float
) -> tuple[npt.NDArray[np.float64], float, int]:
    """Move one cell by at least `wanted` in whole numbers, or bound how far it can move."""
    low, high = np.ceil(system.low - 1e-9), np.floor(system.high + 1e-9)
    target = float(np.ceil(wanted * (1 - 1e-9)))
    cost, zero = np.zeros(system.n_unknown), np.zeros(len(system.rows))
    cost[cell] = -float(sign)
    # Nothing is gained by moving farther than asked.
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
        program, value=1.0 - target, step=1.0, time_limit=time_limit, node_limit=NODES
    )
    if len(result.x):
        return np.rint(result.x), target, result.nodes
    return np.empty(0), -result.bound, result.nodes
