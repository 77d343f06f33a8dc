"""Which sensitive cells go up and which go down: a start, and the phases of the search.

With directions fixed the program is linear and fast. A random choice is usually infeasible
in hierarchies, because directions must cohere; all up is feasible in most tables, since
totals simply grow. The search then leaves it to branch and bound, ours (with a proof) for
few sensitive cells, HiGHS (whose claim we do not take over) for many. The proof has the balance
rows that are violated (see `balance`); the search for better points is quicker without.
"""

from __future__ import annotations

from collections.abc import Mapping

from tablecloak.budget import Budget
from tablecloak.cta.search.phases import PhaseFunction, ask, prove, tighten, turn
from tablecloak.cta.search.relaxing import relax
from tablecloak.cta.search.schedule import Size, phases_for
from tablecloak.cta.search.start import start
from tablecloak.cta.search.state import SearchState
from tablecloak.cta.tight import TightForm

__all__ = ["PHASES", "improve", "search_directions"]

PHASES: Mapping[str, PhaseFunction] = {
    "tighten": tighten,
    "turn": turn,
    "ask": ask,
    "relax": relax,
    "prove": prove,
}
"""What the names in `schedule` stand for."""


def search_directions(form: TightForm, budget: Budget, *, for_proof: bool = True) -> SearchState:
    """Search directions from a start until the best point is proved, or time is up.

    Parameters
    ----------
    form : TightForm
    budget : Budget
    for_proof : bool, default=True
        Whether a good bound is wanted, or only a good point.
    """
    return improve(start(SearchState(form, budget)), for_proof=for_proof)


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
    for phase, share in phases_for(size, for_proof=for_proof):
        if phase.is_always or not state.is_closed:
            state = PHASES[phase.name](state, share)
    return state
