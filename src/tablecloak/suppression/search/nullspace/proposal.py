"""From a pattern with floating-point witnesses to a proved candidate."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.prove import prove
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.search.cover import Builder
from tablecloak.suppression.search.protect import in_order, protect_need
from tablecloak.suppression.search.strategy import REPAIR
from tablecloak.suppression.system.basis import ExactSpan
from tablecloak.suppression.system.system import System

NOISE = 1e-10
"""Share of the largest move below which a move is a rounding error."""

MARGIN = 1e-7
"""Share by which a witness stays within its bounds, and exceeds its needs, because rounding changes
it."""


def proved_candidate(
    system: System,
    weights: Floats,
    must: Flags,
    hidden: Flags,
    deviations: Floats,
    budget: Budget,
) -> Candidate:
    """Prove a pattern by exact witnesses, and extend it for needs that stay open.

    Parameters
    ----------
    system : System
    weights : numpy.ndarray of float, shape (n_unknown,)
    must : numpy.ndarray of bool, shape (n_unknown,)
        Cells that stay hidden.
    hidden : numpy.ndarray of bool, shape (n_unknown,)
    deviations : numpy.ndarray of float, shape (n_unknown, n_witnesses)
        Proposed witnesses in floating-point numbers, in units of the system.
    budget : Budget

    Returns
    -------
    Candidate
        Proved, unless the budget ended.
    """
    pool, hidden = WitnessPool(system), hidden.copy()
    _add_exactly(pool, system.unit * deviations, budget)
    if np.any(pool.open) and not budget.is_over:
        attack = Attack(system)
        attack.hide(hidden)
        prove(attack, pool, budget)
    if np.any(pool.open):
        builder = Builder(system, weights, None, budget)
        for index in in_order(pool, largest_first=True):
            if budget.is_over:
                break
            protect_need(builder, pool, hidden, index, REPAIR)
    return Candidate(hidden & (pool.moved() | must), pool, weights)


def _add_exactly(pool: WitnessPool, deviations: Floats, budget: Budget) -> None:
    """Keep the deviations that one elimination for all of them makes exact, on both sides."""
    cells = np.flatnonzero(np.any(deviations != 0, axis=1))
    if not len(cells) or budget.is_stopped:
        return
    span = ExactSpan.of(pool.system.part(cells).matrix, budget)
    if span is None:
        return
    for deviation in deviations[cells].T:
        for side in (deviation, -deviation):
            exact = span.near(_as_far_as_needed(pool, cells, side))
            if exact is None:
                return
            moved = exact != 0
            pool.add_exact(cells[moved], exact[moved])
        if not np.any(pool.open) or budget.is_over:
            return


def _as_far_as_needed(pool: WitnessPool, cells: Integers, deviation: Floats) -> Floats:
    """Scale a direction until it meets all needs that it moves, or just keeps within its bounds."""
    system, needs = pool.system, pool.needs
    size = np.abs(deviation)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(deviation > 0, system.high[cells], -system.low[cells]) / size
        index = pool.need_of[cells]
        asked = np.maximum(np.maximum(needs.upper, needs.lower), needs.width)[index] / size
    moving = size > NOISE * float(size.max())
    farthest = float(np.min(room[moving])) * (1 - MARGIN)
    wanted = float(np.max(asked[moving & (index >= 0)], initial=0.0)) * (1 + MARGIN)
    scaled: Floats = deviation * min(farthest, wanted)
    return scaled
