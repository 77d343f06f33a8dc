"""A space that is searched as one piece: lay out, search, settle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.budget import Budget, Stopwatch
from tablecloak.cta.model.answer import AdjustmentAnswer
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.model.tight import TightForm
from tablecloak.cta.search.directions import search
from tablecloak.cta.search.distance import DirectionSearch
from tablecloak.cta.search.infeasibility import reason
from tablecloak.cta.search.state import DirectionState, Reserve
from tablecloak.cta.search.task import AdjustmentTask

WHOLE_SHARE = 0.15
"""Share of the time kept back for finding whole numbers, if they are wanted."""


def answer_in_one_piece(
    space: AdjustmentSpace, task: AdjustmentTask, budget: Budget
) -> AdjustmentAnswer:
    """Return the nearest table of a space, searched as one piece even if it has several parts.

    Raises
    ------
    ModelError
        If it is proved that there is no answer.
    SolverError
        If none was found.
    """
    whole = task.may_be_whole and bool(space.problem.table.integer)
    watch = Stopwatch()
    model = space.model
    choice = Stopwatch()
    # The independent relations are stored with the proof, so that a check need not find them.
    model = replace(model, selected=model.independent)
    choosing = choice.seconds
    form = TightForm.of(model, free=task.is_free, maximum=task.distance.is_maximum)
    reserve = Reserve(layout=watch.seconds - choosing, limit=budget.left)
    fixed = model.fixed_directions(task.directions)
    part = budget.share(1 - WHOLE_SHARE if whole else task.distance.share)
    reserve.kept = max(budget.left - part.left, 0.0) if np.isfinite(budget.left) else 0.0
    state = DirectionState(form, part, reserve, is_first=True)
    search(state, fixed, budget, for_proof=task.distance.is_proved_by_search)
    if state.best is None:
        raise reason(space, state, fixed, budget)
    if budget.is_stopped:
        budget = Budget.of(reserve.needed, threads=budget.threads)
    searched = DirectionSearch(
        state,
        fixed,
        budget.within(max(budget.left - reserve.verification - reserve.correction, 0.0)),
        wants_whole=whole,
        must_be_whole=bool(task.integer),
        conditions=tuple(task.searched),
    )
    answer = task.distance.settle(searched)
    return replace(answer, notes=tuple(state.notes))
