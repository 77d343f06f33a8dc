"""The largest weighted absolute change."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tablecloak.arrays import Floats, LongFloats
from tablecloak.budget import Budget
from tablecloak.cta.model.answer import AdjustmentAnswer
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.refinement import additive_changes
from tablecloak.cta.model.tight import TightForm
from tablecloak.cta.search.bounds import search_bound
from tablecloak.cta.search.directions import improve, start
from tablecloak.cta.search.distance import DISTANCES, DirectionSearch, Distance
from tablecloak.cta.search.state import SPARE_SECONDS, DirectionState, given
from tablecloak.errors import ModelError, SolverError

MAXIMUM_SHARE = 0.4
"""Share of the time for the least maximum (Linf); the rest goes to a small sum that attains it."""

MAXIMUM_SLACK = 1e-9
"""Share by which the least maximum may be exceeded while the sum is minimised."""


@DISTANCES.register
class Linf(Distance):
    """max w_i |z_i|; among tables that attain it, one with a small sum; gives fractional values."""

    name: ClassVar[str] = "Linf"
    is_maximum: ClassVar[bool] = True
    share: ClassVar[float] = MAXIMUM_SHARE
    adds_up: ClassVar[bool] = False

    def loss(self, weights: Floats, changes: Floats) -> float:
        """Return max w_i |z_i|."""
        return float(np.max(weights * np.abs(changes), initial=0.0))

    def settle(self, searched: DirectionSearch) -> AdjustmentAnswer:
        """Return an adjustment with the maximum found and a small sum."""
        model, fixed = searched.state.form.model, searched.fixed
        largest = self.loss(model.weights, searched.changes)
        changes = None
        # A small sum needs another program, which has to be built, and solved at least once.
        reserve = searched.state.reserve
        if reserve.layout + reserve.program <= max(searched.budget.left, SPARE_SECONDS):
            # At the maximum itself there may be no room for rounding.
            with suppress(ModelError, SolverError):
                near = _within(model, (1 + MAXIMUM_SLACK) * largest)
                changes = _least_sum(near, searched.changes, fixed, searched.budget)
        if changes is None:
            changes = additive_changes(model, searched.changes, searched.budget)
        return AdjustmentAnswer(changes, False, search_bound(searched.state, fixed))


def _within(model: AdjustmentModel, largest: float) -> AdjustmentModel:
    """Return the model in which no weighted change is above the given limit."""
    weights, room = model.weights, model.room
    reach = np.full(len(weights), np.inf)
    reach[weights > 0] = largest / weights[weights > 0]
    return model.within(
        replace(room, up=np.minimum(room.up, reach), down=np.minimum(room.down, reach))
    )


def _least_sum(
    model: AdjustmentModel, changes: Floats, fixed: Floats | None, budget: Budget
) -> LongFloats | None:
    """Return an adjustment with a small sum, if one was found."""
    form = TightForm.of(model, free=fixed is None)
    state = DirectionState(form, budget.at_least(SPARE_SECONDS).quiet())
    given(state, model.directions_of(changes))
    if fixed is None:
        improve(start(state), for_proof=False)
    if state.best is None:
        return None
    return additive_changes(model, form.changes(state.best.x), budget)
