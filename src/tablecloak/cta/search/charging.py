"""A bound at the root by charges of relations, found by a first-order method.

With free directions the relaxation says hardly more than the balance and discrepancy rows of all
relations over absolute changes do. The packing program of these rows takes seconds where the
relaxation with balance rows takes minutes: see `first_order.packing`.
"""

from __future__ import annotations

import numpy as np

from tablecloak.cta.first_order.layout import Layout
from tablecloak.cta.first_order.packing import packed
from tablecloak.cta.first_order.proof import FirstOrderBound
from tablecloak.cta.search.schedule import CHARGED_GAIN, CHARGED_IN_VAIN, MOST_CHARGED_STEPS
from tablecloak.cta.search.state import SearchState

__all__ = ["charge"]


def charge(state: SearchState, share: float) -> SearchState:
    """Prove a bound by charges of relations, and keep it if it is the best so far."""
    form, budget = state.form, state.budget.share(share)
    if form.is_maximum or budget.is_over:
        return state
    layout = Layout.of(form.model)
    charges = packed(
        layout, budget, gain=CHARGED_GAIN, most=MOST_CHARGED_STEPS, in_vain=CHARGED_IN_VAIN
    )
    bound = (charges.bound() - form.offset) / form.scaling.objective
    if bound > state.bound:
        none = np.zeros(form.model.problem.table.n_cells, dtype=np.int64)
        state.bound, state.charged = bound, FirstOrderBound(charges.multipliers(), none)
        state.tree = None
        state.report("charges of relations")
    return state
