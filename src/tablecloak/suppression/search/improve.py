"""Improvements of a proved pattern: publish single cells again, or exchange them for cheaper."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Flags
from tablecloak.budget import Budget
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.prove import prove
from tablecloak.suppression.rows.candidate import Candidate, costliest_first
from tablecloak.suppression.search.cover import Builder
from tablecloak.suppression.search.protect import in_order, protect_need
from tablecloak.suppression.search.strategy import EXCHANGED

__all__ = ["clean_up", "exchange"]


def clean_up(candidate: Candidate, must: Flags, budget: Budget) -> Candidate:
    """Publish secondaries again where the pattern stays proved, the costliest first.

    Only witnesses that move the cell in question are lost. The sensitive cells that they proved
    are protected again by moves of the other suppressed cells.

    Parameters
    ----------
    candidate : Candidate
        A proved pattern.
    must : numpy.ndarray of bool, shape (n_unknown,)
        Cells that must stay suppressed.
    budget : Budget
    """
    system, weights = candidate.pool.system, candidate.weights
    hidden, pool = candidate.hidden.copy(), candidate.pool
    moved = pool.moved()
    hidden &= moved | must
    order = costliest_first(hidden & ~must, weights)
    attack = Attack(system)
    attack.hide(hidden)
    for cell in order:
        if budget.is_over:
            break
        hidden[cell] = False
        trial = pool.without(int(cell))
        if np.any(trial.open):
            attack.hide(hidden)
            prove(attack, trial, budget, stop_at_failure=True)
        if np.any(trial.open):
            hidden[cell] = True
            continue
        pool = trial
        budget.report("cleaning up", float(weights[hidden].sum()))
    return Candidate(hidden, pool, weights)


def exchange(candidate: Candidate, must: Flags, budget: Budget) -> Candidate:
    """Exchange secondaries for cheaper cells, the costliest first.

    The cell is forbidden, the needs that its witnesses proved are protected again by any other
    cells, and cells that are then not needed are published. The change is kept if the loss falls.
    Parameters as for `clean_up`.
    """
    weights = candidate.weights
    builder = Builder(candidate.pool.system, weights, None, budget)
    best = candidate
    tried: set[int] = set()
    while not budget.is_over:
        order = costliest_first(best.hidden & ~must, weights)
        cell = next((int(cell) for cell in order if int(cell) not in tried), None)
        if cell is None:
            break
        tried.add(cell)
        found = _without(builder, best, must, cell)
        if found is not None and found.loss < best.loss * (1 - 1e-12):
            best = found
        budget.report("exchanging", best.loss, open_=len(order) - len(tried))
    return best


def _without(builder: Builder, candidate: Candidate, must: Flags, cell: int) -> Candidate | None:
    """Return the pattern after one cell is forbidden; None if it cannot lose less."""
    builder.forbidden = cell
    pool, hidden = candidate.pool.without(cell), candidate.hidden.copy()
    hidden[cell] = False
    for index in in_order(pool, largest_first=True):
        if pool.is_open(index) and not protect_need(builder, pool, hidden, index, EXCHANGED):
            return None
        if float(builder.weights[hidden & (pool.moved() | must)].sum()) >= candidate.loss:
            return None
    return Candidate(hidden & (pool.moved() | must), pool, builder.weights)
