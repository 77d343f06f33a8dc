"""The interval of each cell that follows from what a pattern publishes."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.suppression.system.needs import needs_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.suppression.system.system import System


def hidden_intervals(pattern: SuppressionPattern) -> tuple[Floats, Floats]:
    """Return the interval of each cell that follows from what a pattern publishes.

    Published cells have intervals of width 0. Two linear programs for each suppressed cell. An end
    that nothing limits is infinite.

    Returns
    -------
    lower, upper : numpy.ndarray of float, shape (n_cells,)
    """
    problem = pattern.problem
    lower, upper = problem.table.values.copy(), problem.table.values.copy()
    needs = needs_of(problem, Requirement.TWO_SIDED)
    system = System.of(problem, needs, pattern.suppressed & ~problem.frozen)
    attack = Attack(system)
    attack.hide(np.ones(system.n_unknown, dtype=bool))
    for place, cell in enumerate(system.cells.tolist()):
        # The end is a proved bound: an error of the solver never makes the interval too narrow.
        upper[cell] += attack.extreme(place, 1).limit
        lower[cell] -= attack.extreme(place, -1).limit
    return np.maximum(lower, problem.lower_bound), np.minimum(upper, problem.upper_bound)
