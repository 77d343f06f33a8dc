"""A bound at the root by charges of relations, found by a first-order method.

With free directions the relaxation says hardly more than the balance and discrepancy rows of all
relations over absolute changes do. The packing program of these rows takes seconds where the
relaxation with balance rows takes minutes: see `first_order.packing`. Sums of relations add rows
of their own: see `first_order.combinations`.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tablecloak.budget import Budget
from tablecloak.certificates.verifier import MOST_TERMS, MOST_WHOLE
from tablecloak.cta.first_order.combinations import Combining
from tablecloak.cta.first_order.layout import FirstOrderLayout
from tablecloak.cta.first_order.packing import Packing, packed
from tablecloak.cta.first_order.proof import FirstOrderBound
from tablecloak.cta.model.limits import (
    CHARGED_GAIN,
    CHARGED_IN_VAIN,
    CLOSED_BY_ROUND,
    MOST_CHARGED_STEPS,
    NEAREST,
    TOWARDS_KNOWN,
)
from tablecloak.cta.search.state import SearchState


def charge(state: SearchState, budget: Budget) -> SearchState:
    """Prove a bound by charges of relations, and keep it if it is the best so far."""
    if not state.form.is_maximum and not budget.is_over:
        state.packing = Packing(FirstOrderLayout.of(state.form.model))
        _improve(state, state.packing, budget)
    return state


def combine(state: SearchState, budget: Budget) -> SearchState:
    """Add sums of relations that the charges so far violate, round by round.

    Rows are looked for between the packing program's point and the best table known: those that
    cut off the point alone are many and weak. Sums of few relations are found sooner, so that sums
    of more are looked for only where those have closed some of the gap.
    """
    table = state.form.model.problem.table
    # The verifier adds up relations with whole coefficients only: not too many, nor too large ones.
    is_whole = bool(np.all(table.relations.data == np.rint(table.relations.data)))
    if state.packing is None or state.best is None or not is_whole:
        return state
    model, packing = state.form.model, state.packing
    known = np.abs(model.groups(state.form.changes(state.best.x)))
    lengths, n_terms = np.diff(table.relations.indptr), 0
    size = abs(table.relations) @ np.ones(table.n_cells)
    for nearest in NEAREST:
        combining, rounds, is_worth_more = Combining(model.relations, nearest), 0, True
        while is_worth_more and not budget.is_over:
            between = TOWARDS_KNOWN * known + (1 - TOWARDS_KNOWN) * packing.moved
            found = combining.violated(between, model.sensitive, budget.share(0.5))
            found = csr_array(found[abs(found) @ size < MOST_WHOLE])
            n_terms += int(np.sum(lengths[found.indices]))
            if not found.shape[0] or n_terms > MOST_TERMS:
                break
            packing, before = packing.combining(found), state.bound
            _improve(state, packing, budget)
            gap = state.best.value - before
            is_worth_more = state.bound - before >= CLOSED_BY_ROUND * gap
            rounds += is_worth_more
        if not rounds:
            break
    if packing.layout.combined.shape[0]:
        state.notes.append(f"{packing.layout.combined.shape[0]} sums of relations")
    return state


def _improve(state: SearchState, packing: Packing, budget: Budget) -> None:
    """Improve charges, and keep their bound if it is the best so far."""
    form = state.form
    charges = packed(
        packing, budget, gain=CHARGED_GAIN, most=MOST_CHARGED_STEPS, in_vain=CHARGED_IN_VAIN
    )
    bound = (charges.bound() - form.offset) / form.scaling.objective
    if bound > state.bound:
        none = np.zeros(form.model.problem.table.n_cells, dtype=np.int64)
        combined = packing.layout.combined if packing.layout.combined.shape[0] else None
        state.bound = bound
        state.charged = FirstOrderBound(charges.multipliers(), none, combined)
        state.tree = None
        state.report("charges of relations")
