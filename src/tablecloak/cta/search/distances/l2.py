"""The sum of weighted squares of changes, and multipliers that prove how small it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.budget import Budget, Stopwatch
from tablecloak.cta.model.answer import AdjustmentAnswer
from tablecloak.cta.model.refinement import additive_changes
from tablecloak.cta.model.squares import SquaresForm, SquaresPoint
from tablecloak.cta.search.bounds import SquaresBound
from tablecloak.cta.search.distance import DISTANCES, DirectionSearch, Distance
from tablecloak.cta.search.state import SPARE_SECONDS
from tablecloak.cta.search.turns import all_directions, turn_around

SQUARES_SHARE = 0.2
"""Share of the time for a search of directions with a small sum, from which least squares (L2)
start."""

TURNED_SHARE = 0.7
"""Share of the remaining time for turning directions of least squares; the same share of what then
remains goes to the relaxation."""


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

    def settle(self, searched: DirectionSearch) -> AdjustmentAnswer:
        """Return the least sum of squares, from the directions of the search or all alike."""
        model, fixed = searched.state.form.model, searched.fixed
        known_loss = self.loss(model.weights, searched.changes)
        least = _least_squares(SquaresForm(model, known_loss), searched)
        searched.state.notes.append(least.note)
        # A quadratic program that is cut short may end in a point worse than the start.
        is_better = self.loss(model.weights, least.changes) <= known_loss
        chosen = least.changes if is_better else searched.changes
        changes = additive_changes(model, chosen, searched.budget)
        return AdjustmentAnswer(changes, False, SquaresBound(model.independent, least.duals, fixed))


def _least_squares(form: SquaresForm, searched: DirectionSearch) -> LeastSquaresAnswer:
    state, fixed = searched.state, searched.fixed
    low, high = form.model.allowed
    starts = [state.best_directions, high, low] if fixed is None else [fixed]
    least = minimise_squares(form, starts, searched.budget, free=fixed is None)
    if least is not None:
        return least
    # A table with a small sum is an answer too. Multipliers of zero prove a bound cell by cell.
    none = np.zeros(len(form.row_lower))
    note = "no quadratic program was solved: the table has a small sum instead"
    return LeastSquaresAnswer(searched.changes, none, note)


@dataclass(frozen=True, eq=False)
class LeastSquaresAnswer:
    """The outcome of a search for the least sum of squares.

    Parameters
    ----------
    changes : numpy.ndarray of float, shape (n_cells,)
    duals : numpy.ndarray of float
        Multipliers that prove the highest bound found.
    note : str
    """

    changes: Floats
    duals: Floats
    note: str


def minimise_squares(
    form: SquaresForm, starts: list[Floats], budget: Budget, *, free: bool
) -> LeastSquaresAnswer | None:
    """Return the least sum of squares found; None if no directions that were tried are feasible.

    Parameters
    ----------
    form : SquaresForm
    starts : list of numpy.ndarray of float, shape (n_sensitive,)
        Directions to start from; the best of them are turned around.
    budget : Budget
    free : bool
        Whether directions may be turned around.
    """
    allowed = form.model.allowed
    search = _SquaresSearch(form)
    starts = [*starts, *all_directions(allowed)] if free else starts
    values: list[float] = []
    for start in starts:
        if values and budget.is_over:
            break
        values.append(search.priced(start, max(budget.left, SPARE_SECONDS))[0])
    if search.best is None:
        return None
    if not free:
        return LeastSquaresAnswer(search.best.changes, search.best.duals, "least squares")
    start = starts[int(np.argmin(values))]
    programs = turn_around(search.priced, start, allowed, budget.share(TURNED_SHARE))
    proof = _proof(search, budget)
    note = f"directions of {len(start)} cells turned around {programs} times"
    return LeastSquaresAnswer(search.best.changes, proof, note)


class _SquaresSearch:
    """Prices directions, and keeps the best point and the seconds of the longest program."""

    def __init__(self, form: SquaresForm) -> None:
        self.form = form
        self.best: SquaresPoint | None = None
        self.longest = 0.0

    def priced(self, directions: Floats, time_limit: float) -> tuple[float, Floats]:
        """Return the value of given directions, and the least change from turning each of them."""
        watch = Stopwatch()
        point = self.form.solve(directions, time_limit)
        self.longest = max(self.longest, watch.seconds)
        if point is None:
            return np.inf, np.zeros(len(directions))
        if self.best is None or point.value < self.best.value:
            self.best = point
        return point.value, self.form.promise(point.duals, directions)


def _proof(search: _SquaresSearch, budget: Budget) -> Floats:
    """Return the multipliers that prove most: a point's, the relaxation's, or improved ones."""
    assert search.best is not None
    form, multipliers = search.form, [search.best.duals]
    seconds = TURNED_SHARE * budget.left
    # The relaxation is larger than the programs before it; interrupted, it would prove nothing.
    if seconds > search.longest:
        multipliers.append(form.relaxed(seconds))
    best = max(multipliers, key=form.bound)
    return max((best, form.climb(best, budget)), key=form.bound)
