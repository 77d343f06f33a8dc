"""Rounding of large tables of three dimensions and more: slab by slab, with a bound by prices."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.cta.rounding.in_parts import StepCosts, rounded_in_parts
from tablecloak.cta.rounding.model import RoundingModel
from tablecloak.cta.rounding.prices import Prices, driven, priced
from tablecloak.cta.rounding.rounded_table import RoundingBound
from tablecloak.cta.rounding.search import Rounding
from tablecloak.cta.rounding.slabs import Slabs
from tablecloak.errors import SolverError
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["large_rounding"]

LARGE = 3_000
"""Cells from which a table of three dimensions or more is rounded slab by slab. A tree leaves a gap
of 32 % at 8,745 cells after a minute, slabs leave one of 3 % after 2 s; on smaller tables a tree
also proves that no rounding exists."""

HOPELESS = 20_000
"""Cells from which nothing else is tried if slabs find no rounding."""

PRICES_SHARE = 0.3
"""Share of the time for prices; 150,000 cells take 4 s."""

SEARCH_SHARE = 0.8
"""Share of what is left then for the search; a bound for more steps, and the check, follow."""

DRIVEN_SHARE = 0.5
"""Share of the search for driving the point of the prices to whole numbers."""

TRIES = 4
"""Searches while exceptions are left, each from a point that was driven more slowly: of 19,628
cells in three hierarchies one left two exceptions, the next none."""

MORE_STEPS_SHARE = 0.6
"""Share of what is left after the search for prices of roundings with more steps."""


def large_rounding(
    problem: ProtectionProblem, base: int, max_steps: int, weights: Floats, budget: Budget
) -> tuple[RoundingModel, ProtectionProblem, Rounding, int, tuple[str, ...]] | None:
    """Return the model, the rounding, its steps and notes; None if the table is not for slabs.

    Parameters
    ----------
    problem : ProtectionProblem
    base, max_steps : int
    weights : numpy.ndarray of float, shape (n_cells,)
    budget : Budget

    Raises
    ------
    SolverError
        If no rounding of a very large table was found.
    """
    n_cells = problem.table.n_cells
    slabs = Slabs.of(problem.table) if n_cells >= LARGE else None
    if slabs is None:
        return None
    model = RoundingModel(problem, base, 1, weights)
    prices = priced(model.program, budget.share(PRICES_SHARE))
    costs = StepCosts.of(problem, base, max_steps, weights)
    t = _multiples(model, prices, slabs, costs, budget.share(SEARCH_SHARE))
    if t is None and n_cells < HOPELESS:
        return None
    if t is None:
        raise SolverError(
            f"No additive rounding to base {base} within {max_steps} steps was found in time. "
            f"Raise `time_limit` or `max_steps`."
        )
    steps = 1 + int(costs.beyond(t).max(initial=0))
    if steps > 1:
        model = RoundingModel(problem, base, steps, weights)
        prices = priced(model.program, budget.share(MORE_STEPS_SHARE))
    notes = tuple(
        f"a rounding with {k} step{'s' * (k > 1)} was not found in time" for k in range(1, steps)
    )
    rounding = Rounding(t * base, RoundingBound(None, prices.duals))
    return model, problem, rounding, steps, notes


def _multiples(
    model: RoundingModel, prices: Prices, slabs: Slabs, costs: StepCosts, budget: Budget
) -> Integers | None:
    """Return the best multiples of some searches; None if none were found."""
    best, least = None, np.inf
    step_cost, cells = np.maximum(model.up_cost, 1.0), np.arange(slabs.table.n_cells)
    for number in range(1, TRIES + 1):
        x = driven(model.program, prices, step_cost, budget.share(DRIVEN_SHARE), number)
        t = rounded_in_parts(slabs, costs, model.values(np.rint(x)) // model.base, budget)
        cost = np.inf if t is None else float(costs(cells, t).sum())
        if cost < least:
            best, least = t, cost
        if budget.is_over or (best is not None and not np.any(costs.beyond(best))):
            break
    return best
