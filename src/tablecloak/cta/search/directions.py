"""Which sensitive cells go up and which go down: a start, and the phases of the search.

With directions fixed the program is linear and fast. A random choice is usually infeasible
in hierarchies, because directions in one relation depend on each other; all up is feasible in most
tables, since totals simply grow. From there branch and bound takes over: our own, with a proof, for
few sensitive cells, and HiGHS, whose claimed bound is not used, for many. Our own adds violated
balance rows (see `balance`); searches that only look for better points are quicker without them.
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.budget import Budget
from tablecloak.cta.model.answer import LATE
from tablecloak.cta.model.limits import (
    ELASTIC_SHARE,
    INTERIOR_ROWS,
    MISSED_AT_MOST,
)
from tablecloak.cta.model.tight import TightForm
from tablecloak.cta.search.fix_and_relax import relax
from tablecloak.cta.search.schedule import POINTS, PROOFS, Size
from tablecloak.cta.search.state import (
    SearchState,
    given,
    solved_relaxation,
    with_directions,
)
from tablecloak.cta.search.turns import all_directions
from tablecloak.phases import run_phases


def search(
    state: SearchState, fixed: Floats | None, budget: Budget, *, for_proof: bool = True
) -> SearchState:
    """Search directions, or solve once with given ones.

    Parameters
    ----------
    state : SearchState
        Before any phase.
    fixed : numpy.ndarray of float or None
        Directions, if they were given.
    budget : Budget
        Time for the whole adjustment, of which the search gets a share.
    for_proof : bool, default=True
        Whether a good bound is wanted, or only a good point.
    """
    if fixed is None:
        start(state)
    else:
        given(state, fixed)
    is_late = budget.left < state.reserve.verification
    if state.best is not None and is_late and not budget.is_stopped:
        state.notes.append(LATE)
    return improve(state, for_proof=for_proof) if fixed is None else state


def search_directions(form: TightForm, budget: Budget, *, for_proof: bool = True) -> SearchState:
    """Search directions from a start until the best point is proved optimal, or time is up.

    Parameters
    ----------
    form : TightForm
    budget : Budget
    for_proof : bool, default=True
        Whether a good bound is wanted, or only a good point.
    """
    return improve(start(SearchState(form, budget)), for_proof=for_proof)


def start(state: SearchState) -> SearchState:
    """Try all cells up, all down, and the rounded relaxation, as far as bounds allow each."""
    low, high = state.form.model.allowed
    if state.is_from_scratch and not (state.best is not None and state.budget.is_over):
        with_directions(state, high)
    relaxed = solved_relaxation(state)
    choices = [] if state.is_from_scratch and state.best is not None else [high, low]
    if len(relaxed.x) and state.form.program.n_rows <= INTERIOR_ROWS:
        choices.append(np.clip(state.form.directions(relaxed.x), low, high))
    for directions in choices:
        if state.best is not None and state.budget.is_over:
            return state
        with_directions(state, directions)
    if state.best is None and state.form.model.preserved and not state.form.is_elastic:
        _start_elastic(state)
    return state


def _start_elastic(state: SearchState) -> None:
    """Allow statistics to be missed at a price, and search directions that meet them anyway."""
    budget = state.budget.share(ELASTIC_SHARE).quiet()
    elastic = start(SearchState(state.form.elastic(), budget))
    missed = slice(-2 * len(state.form.model.preserved), None)

    def is_met(x: Floats) -> bool:
        return bool(np.all(x[missed] <= MISSED_AT_MOST))

    relax(elastic, elastic.budget, enough=is_met)
    if elastic.best is not None:
        with_directions(state, elastic.best_directions)
        state.notes.append("statistics were missed at first")


def improve(state: SearchState, *, for_proof: bool = True) -> SearchState:
    """Run the phases that the schedule has for tables of this size.

    Parameters
    ----------
    state : SearchState
        After a start.
    for_proof : bool, default=True
        Whether a good bound is wanted, or only a good point.
    """
    model = state.form.model
    size = Size.of(state.form.program.n_rows, len(model.sensitive), model.problem.table.n_relations)
    state = run_phases((PROOFS if for_proof else POINTS)[size], state, state.total)
    if state.best is None:
        # In far rooms a fraction of a direction is less than a solver's tolerance.
        for directions in all_directions(model.allowed):
            with_directions(state, directions)
            if state.budget.is_over:
                break
    return state
