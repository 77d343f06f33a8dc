"""Directions that cool down: draws from random directions, and regions of the best ones again.

A first-order method that chooses directions anew in each step finds good ones in less time than
one program with given directions takes (see `first_order.search`). Each draw is solved exactly.
The local search then warms regions of neighbouring directions and cools them again, while all
others stay as they are in the best table: a search of large neighbourhoods without programs.

References
----------
.. [1] Shaw: Using constraint programming and local search methods to solve vehicle routing
   problems, CP 1998 (large neighbourhoods).
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.cta.first_order.layout import FirstOrderLayout
from tablecloak.cta.first_order.search import Warm, cooled
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.search.neighbourhoods import DirectionNeighbourhoods
from tablecloak.cta.search.state import DirectionState, priced

COOLED_DRAWS = 20
"""Draws from random directions. See docs/decisions, "Directions that cool down"."""

COOLED_STEPS = (600, 4800)
"""Steps of the first draw, and most steps of a draw; each takes twice as many as the one before."""

COOLED_REGIONS = (20, 50, 100, 200)
"""Sizes of the regions of directions that are cooled again, half of all directions at most."""

COOLED_AGAIN = 1500
"""Steps in which a region cools."""


def cool(state: DirectionState, budget: Budget) -> DirectionState:
    """Cool directions from random ones; each draw takes twice the steps of the one before."""
    low, high = state.form.model.allowed
    if not np.any(low < high):
        return state
    layout, random = FirstOrderLayout.of(state.form.model), np.random.default_rng(2)
    tried: set[bytes] = set()
    for number in range(COOLED_DRAWS):
        if budget.is_over:
            break
        steps = min(COOLED_STEPS[0] * 2**number, COOLED_STEPS[1])
        directions = cooled(layout, random, steps, budget)
        if directions.tobytes() not in tried:
            tried.add(directions.tobytes())
            priced(state, directions.astype(np.float64), max(budget.left, 0.01))
    state.is_cooled = bool(tried)
    if tried:
        state.notes.append(f"{len(tried)} programs with directions that cooled down")
    return state


class CooledRegions:
    """Regions of neighbouring directions, cooled again from a table.

    Parameters
    ----------
    model : AdjustmentModel
    turnable : numpy.ndarray of int
        Directions among which to choose.
    budget : Budget
    """

    def __init__(self, model: AdjustmentModel, turnable: Integers, budget: Budget) -> None:
        self._layout = FirstOrderLayout.of(model)
        self._count = max(len(turnable) // 2, 1)
        self._budget = budget
        self._random = np.random.default_rng(3)
        self._near = DirectionNeighbourhoods(model, turnable, self._random)
        self._warm: Warm | None = None

    def turned(self, directions: Floats, changes: Floats) -> Integers:
        """Return the directions that another choice in one region turns; none if it is the same.

        Parameters
        ----------
        directions : numpy.ndarray of float
            Direction of each sensitive group: 1 up, 0 down.
        changes : numpy.ndarray of float, shape (n_groups,)
            Best changes with these directions.
        """
        is_up = directions > 0
        if self._warm is None or not np.array_equal(self._warm.is_up, is_up):
            self._warm = Warm.of(self._layout, changes, is_up)
        region = np.zeros(len(is_up), dtype=bool)
        size = min(int(self._random.choice(COOLED_REGIONS)), self._count)
        region[self._near.draw(size)] = True
        again = self._warm, region
        cooled_directions = cooled(self._layout, self._random, COOLED_AGAIN, self._budget, again)
        return np.flatnonzero(cooled_directions != is_up)
