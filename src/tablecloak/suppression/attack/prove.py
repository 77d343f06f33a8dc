"""Witnesses for all needs of a system: many cells at once, then one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tablecloak.arrays import Flags, Floats
from tablecloak.budget import Budget
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.moves_program import BAND, Extreme
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.system.needs import Needs

BATCH_ROUNDS = 8
"""Most programs in a row that move many cells at once, since later ones prove few further needs.
Chosen by trial; not measured."""

SPARE = 1e-6
"""Share of a need that programs ask for in addition, where there is room, because making a witness
exact may change its last digits."""

ROOMY_SPARE = 1e-3
"""The same where rooms of derived figures absorb rounding: a witness may be shrunk afterwards."""

NEARBY_SPARE = 0.05
"""Share of a need that a second try asks for in addition: a witness that moves cells of another
order of magnitude must be shrunk to keep their bounds."""

ROOM_SHARES = (1 - 1e-4, 0.99, 0.9)
"""Shares of the rooms of derived figures that further tries use: coefficients of thousands carry
rounding from cell to cell, and at the end of a room nothing is left to absorb it. docs/decisions,
"Rooms of figures are spared"."""


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
    """Search for witnesses of all open needs of a system.

    First some programs move many cells at once, in random directions; then one program is solved
    for each side of each need that is still open.

    Parameters
    ----------
    attack : Attack
        The attack, with the hidden cells already set.
    pool : WitnessPool
        A pool of the same system; receives the witnesses.
    budget : Budget
        Its seed determines the random directions. Needs open when it ends stay open.
    stop_at_failure : bool, default=False
        Return at the first need that cannot be met.
    only_batches : bool, default=False
        Leave out the programs for single needs.
    disclosed : mapping of (int, int) to Extreme, optional
        Needs that are known to fail, as `disclosures` returns them; they are not attacked.
    after_each : callable, optional
        Called after each need.

    Returns
    -------
    dict of (int, int) to Extreme
        For each need, by its position, and each direction in which it was attacked alone without
        being met: how far the cell can move. After a first failure the other side is not tried.
    """
    needs = pool.needs
    failures = {key: extreme for key, extreme in (disclosed or {}).items() if pool.is_open(key[0])}
    hopeful = np.ones(len(needs.cells), dtype=bool)
    hopeful[[index for index, _ in failures]] = False

    random = np.random.default_rng(budget.seed)
    for band in _bands(needs, attack.system.unit):
        after_each()
        _prove_batch(attack, pool, band & hopeful, random, budget)
    few_first = False
    for index in [] if only_batches else np.flatnonzero(pool.open & hopeful).tolist():
        if budget.is_over:
            break
        if not pool.is_open(index):
            continue
        few_first = _prove_alone(attack, pool, index, failures, budget, few_first=few_first)
        after_each()
        if stop_at_failure and pool.is_open(index):
            break
    return failures


def _bands(needs: Needs, unit: float) -> list[Flags]:
    """Split needs by order of magnitude, since a program has one unit of length."""
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
    """Solve programs that move many cells in random directions, while they prove enough needs."""
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
    """Return the distance to ask for, so that a witness may lose last digits when made exact.

    In a table of whole numbers it is the next whole number, so that witnesses mostly are whole.
    """
    if pool.system.integer and not pool.system.has_rooms:
        return np.ceil(needed * (1 - 1e-9))
    more: Floats = needed * (1 + (ROOMY_SPARE if pool.system.has_rooms else SPARE))
    return more


def _prove_alone(
    attack: Attack,
    pool: WitnessPool,
    index: int,
    failures: dict[tuple[int, int], Extreme],
    budget: Budget,
    *,
    few_first: bool,
) -> bool:
    """Solve programs for each open side of one need; return whether few moves are tried first next.

    Moving a cell as far as it can tells also how far that is, and costs less from the last basis.
    But where such a move has once not become exact, one of few cells is tried first from then on.
    """
    needs, cell = pool.needs, int(pool.needs.cells[index])
    for side in (1, -1):
        if not pool.lacks(index, side):
            continue
        side_need = float((needs.upper if side > 0 else needs.lower)[index])
        wanted = _wanted(pool, index, side)
        if few_first and _moves_few(attack, pool, index, side, wanted, budget):
            continue
        extreme = attack.extreme(cell, side, enough=wanted, time_limit=budget.left)
        pool.add(extreme.deviation, budget, is_thorough=False, asked=cell)
        is_reached = extreme.reach >= min(wanted, side_need) * (1 - 1e-9)
        if pool.lacks(index, side) and is_reached and not few_first:
            few_first = _moves_few(attack, pool, index, side, wanted, budget)
        if pool.lacks(index, side) and is_reached:
            farther = wanted * (1 + NEARBY_SPARE)
            closer = attack.extreme(cell, side, enough=farther, time_limit=budget.left, nearby=True)
            # A move beyond the need may lose last digits, so it needs no elimination of its own.
            pool.add(closer.deviation, budget, is_thorough=False, asked=cell)
            for found in (extreme, closer):
                if pool.lacks(index, side):
                    pool.add(found.deviation, budget, asked=cell)
            for share in ROOM_SHARES if pool.system.has_rooms else ():
                if pool.lacks(index, side):
                    with attack.sparing_rooms(share):
                        inner = attack.extreme(cell, side, enough=wanted, time_limit=budget.left)
                    pool.add(inner.deviation, budget, asked=cell)
        if pool.lacks(index, side):
            failures[index, side] = extreme
        if extreme.limit < side_need * (1 - 1e-9):
            break
    return few_first


def _wanted(pool: WitnessPool, index: int, side: int) -> float:
    """Return how far the cell of a need should move up or down."""
    needs, width = pool.needs, float(pool.needs.width[index])
    side_need = float((needs.upper if side > 0 else needs.lower)[index])
    other = float((pool.below if side > 0 else pool.above)[index])
    # Either side may provide the missing width, so the first side moves by all of it.
    wanted = width if width > side_need + other else max(side_need, width - other)
    return float(_a_little_more(pool, np.array(wanted)))


def _moves_few(
    attack: Attack, pool: WitnessPool, index: int, side: int, wanted: float, budget: Budget
) -> bool:
    """Meet one side of a need by a move of few cells, if there is one that becomes exact."""
    cell = int(pool.needs.cells[index])
    found = attack.least(cell, side, wanted, budget.left)
    pool.add(found, budget, is_thorough=False, asked=cell)
    return not pool.lacks(index, side)
