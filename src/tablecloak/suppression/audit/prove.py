"""Witnesses for all needs of a system: many cells at once, then one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from tablecloak.budget import Budget
from tablecloak.suppression.audit.attack import Attack
from tablecloak.suppression.audit.moves_program import BAND, Extreme
from tablecloak.suppression.needs import Needs
from tablecloak.suppression.witness import WitnessPool

__all__ = ["SPARE", "prove"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

BATCH_ROUNDS = 8
"""Most programs in a row that move many cells at once; later ones prove little that is new. Chosen
by trial; not measured."""

SPARE = 1e-6
"""Share of a need that is asked for beyond it, where there is room: making a witness exact may cost
a last digit."""

NEARBY_SPARE = 0.05
"""Share asked for beyond a need in a second try, since a witness beside cells of another order of
magnitude must be shrunk to keep their bounds."""


def prove(
    attack: Attack,
    pool: WitnessPool,
    budget: Budget,
    *,
    stop_at_failure: bool = False,
    only_batches: bool = False,
    disclosed: Mapping[tuple[int, int], Extreme] | None = None,
    after_each: Callable[[], None] = lambda: None,
) -> dict[tuple[int, int], Extreme]:
    """Search witnesses for all open needs of a system.

    First some programs that move many cells at once, in random directions; then one program
    for each side of each cell that is still open.

    Parameters
    ----------
    attack : Attack
        Already told what is hidden.
    pool : WitnessPool
        Of the same system; receives the witnesses.
    budget : Budget
        Its seed is for the random directions. What is open when it ends stays open.
    stop_at_failure : bool, default=False
        Return at the first need that cannot be met.
    only_batches : bool, default=False
        Leave out what must be attacked alone.
    disclosed : mapping of (int, int) to Extreme, optional
        Needs that are known to fail, from `disclosures`; they are not attacked.
    after_each : callable, optional
        Called after each need.

    Returns
    -------
    dict of (int, int) to Extreme
        For each need, by its position, and each direction that was tried alone and failed,
        how far the cell can move. After the first failure of a cell the other side is not
        tried.
    """
    needs = pool.needs
    failures = {key: extreme for key, extreme in (disclosed or {}).items() if pool.is_open(key[0])}
    hopeful = np.ones(len(needs.cells), dtype=bool)
    hopeful[[index for index, _ in failures]] = False

    random = np.random.default_rng(budget.seed)
    for band in _bands(needs, attack.system.unit):
        after_each()
        _prove_batch(attack, pool, band & hopeful, random, budget)
    for index in [] if only_batches else np.flatnonzero(pool.open & hopeful).tolist():
        if budget.is_over:
            break
        if not pool.is_open(index):
            continue
        _prove_alone(attack, pool, index, failures, budget)
        after_each()
        if stop_at_failure and pool.is_open(index):
            break
    return failures


def _bands(needs: Needs, unit: float) -> list[Flags]:
    """Split needs by their order of magnitude: one program has one length that counts as 1."""
    size = np.maximum(np.maximum(needs.upper, needs.lower), needs.width)
    order = np.zeros(len(size))
    positive = size > 0
    order[positive] = np.round(np.log(size[positive] / unit) / np.log(BAND**2))
    return [order == number for number in np.unique(order)]


def _prove_batch(
    attack: Attack,
    pool: WitnessPool,
    band: Flags,
    random: np.random.Generator,
    budget: Budget,
) -> None:
    """Programs that move many cells at once, in random directions, while they prove enough."""
    needs = pool.needs
    for _ in range(BATCH_ROUNDS):
        up, down = (side & band for side in pool.open_sides())
        some = np.flatnonzero(up | down)
        if len(some) <= 2 or budget.is_over:
            break
        sign = np.where(up & down, random.choice([-1.0, 1.0], len(up)), np.where(up, 1.0, -1.0))
        most = np.where(sign > 0, needs.upper, needs.lower)
        most = np.maximum(most, needs.width - np.where(sign > 0, pool.below, pool.above))
        before = int(np.sum(up) + np.sum(down))
        wanted = sign[some] * _a_little_more(pool, most[some])
        found = attack.push(needs.cells[some], wanted, budget.left)
        if len(found):
            pool.add(found, budget)
        left_up, left_down = (side & band for side in pool.open_sides())
        if before - int(np.sum(left_up) + np.sum(left_down)) < 0.1 * before:
            break


def _a_little_more(pool: WitnessPool, needed: Floats) -> Floats:
    """Distance to ask for, so that a witness may lose a last digit when it is made exact.

    In a table of whole numbers the next whole number: its witnesses then are mostly whole.
    """
    if pool.system.integer:
        return np.ceil(needed * (1 - 1e-9))
    more: Floats = needed * (1 + SPARE)
    return more


def _prove_alone(
    attack: Attack,
    pool: WitnessPool,
    index: int,
    failures: dict[tuple[int, int], Extreme],
    budget: Budget,
) -> None:
    """One program for each open side of one need."""
    needs, cell = pool.needs, int(pool.needs.cells[index])
    width = float(needs.width[index])
    for side in (1, -1):
        if not pool.lacks(index, side):
            continue
        side_need = float((needs.upper if side > 0 else needs.lower)[index])
        other = float((pool.below if side > 0 else pool.above)[index])
        # The width may be made up by either side: the first is taken as far as it goes.
        wanted = np.inf if width > side_need + other else max(side_need, width - other)
        wanted = float(_a_little_more(pool, np.array(wanted)))
        extreme = attack.extreme(cell, side, enough=wanted, time_limit=budget.left)
        pool.add(extreme.deviation, budget, is_thorough=False)
        if pool.lacks(index, side) and extreme.reach >= min(wanted, side_need) * (1 - 1e-9):
            farther = wanted * (1 + NEARBY_SPARE)
            closer = attack.extreme(cell, side, enough=farther, time_limit=budget.left, nearby=True)
            # What reaches farther may lose last digits, and needs no elimination of its own.
            pool.add(closer.deviation, budget, is_thorough=False)
            for found in (extreme, closer):
                if pool.lacks(index, side):
                    pool.add(found.deviation, budget)
        if pool.lacks(index, side):
            failures[index, side] = extreme
        if extreme.limit < side_need * (1 - 1e-9):
            return
