"""The best proof that a search of directions has."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.cta.model.answer import LossBound
from tablecloak.cta.search.bounds import DistanceBound
from tablecloak.cta.search.state import SearchState
from tablecloak.solve.linear import LinearSolver

__all__ = ["search_bound"]

ROOT_SECONDS = 5.0
"""Time limit in seconds for the relaxation's multipliers, if the search has not computed any."""


def search_bound(state: SearchState, fixed: Floats | None) -> LossBound:
    """Return the bound with its proof: a tree of branch and bound, or else multipliers.

    Parameters
    ----------
    state : SearchState
    fixed : numpy.ndarray of float or None
        Directions, if they were given.
    """
    if state.tree is not None:
        return DistanceBound.of(state.proved, state.tree, np.empty(0))
    if state.charged is not None:
        return state.charged
    solution = state.root
    if solution is None:
        program = state.proved.program if fixed is None else state.form.directed(fixed)
        solution = LinearSolver(program).solve(ROOT_SECONDS)
    return DistanceBound.of(state.proved, None, solution.duals, fixed)
