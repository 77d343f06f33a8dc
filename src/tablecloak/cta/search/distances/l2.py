"""The sum of weighted squares of changes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.cta.model.answer import Answer
from tablecloak.cta.model.refinement import additive_changes
from tablecloak.cta.model.schedule import SQUARES_SHARE
from tablecloak.cta.model.squares import SquaresForm
from tablecloak.cta.search.bounds import SquaresBound
from tablecloak.cta.search.distance import DISTANCES, Distance, Searched
from tablecloak.cta.search.least_squares import LeastSquares, minimise_squares

__all__ = ["L2"]


@DISTANCES.register
class L2(Distance):
    """sum w_i z_i^2, which spreads changes over more cells; gives fractional values."""

    name: ClassVar[str] = "L2"
    power: ClassVar[int] = 2
    share: ClassVar[float] = SQUARES_SHARE
    is_proved_by_search: ClassVar[bool] = False

    def loss(self, weights: Floats, changes: Floats) -> float:
        """Return sum w_i z_i^2."""
        return float(np.dot(weights, np.abs(changes) ** 2))

    def settle(self, searched: Searched) -> Answer:
        """Return the least sum of squares, from the directions of the search or all alike."""
        model, fixed = searched.state.form.model, searched.fixed
        known_loss = self.loss(model.weights, searched.changes)
        least = _least_squares(SquaresForm(model, known_loss), searched)
        searched.state.notes.append(least.note)
        # A quadratic program that is cut short may end in a point worse than the start.
        is_better = self.loss(model.weights, least.changes) <= known_loss
        chosen = least.changes if is_better else searched.changes
        changes = additive_changes(model, chosen, searched.budget)
        return Answer(changes, False, SquaresBound(model.independent, least.duals, fixed))


def _least_squares(form: SquaresForm, searched: Searched) -> LeastSquares:
    state, fixed = searched.state, searched.fixed
    low, high = form.model.allowed()
    starts = [state.best_directions, high, low] if fixed is None else [fixed]
    least = minimise_squares(form, starts, searched.budget, free=fixed is None)
    if least is not None:
        return least
    # A table with a small sum is an answer too. Multipliers of zero prove a bound cell by cell.
    none = np.zeros(len(form.row_lower))
    note = "no quadratic program was solved: the table has a small sum instead"
    return LeastSquares(searched.changes, none, note)
