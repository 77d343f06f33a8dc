"""From a question about tables in one piece to an answer: lay out, search, settle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.budget import Budget, Stopwatch
from tablecloak.cta.model.answer import INTERRUPTED, Answer
from tablecloak.cta.model.question import Question
from tablecloak.cta.model.schedule import WHOLE_SHARE
from tablecloak.cta.model.tight import TightForm
from tablecloak.cta.search.asked import Asked
from tablecloak.cta.search.directions import search
from tablecloak.cta.search.distance import Searched
from tablecloak.cta.search.infeasibility import reason
from tablecloak.cta.search.reserve import Reserve
from tablecloak.cta.search.state import SearchState

__all__ = ["answer_one_part"]


def answer_one_part(question: Question, asked: Asked, budget: Budget) -> Answer:
    """Answer a question as one part, even if the table has several.

    Raises
    ------
    ModelError
        If it is proved that there is no answer.
    SolverError
        If none was found.
    """
    whole = asked.may_be_whole and bool(question.problem.table.integer)
    watch = Stopwatch()
    model = question.model()
    choice = Stopwatch()
    # The independent relations are stored with the proof, so that a check need not find them.
    model = replace(model, selected=model.independent)
    choosing = choice.seconds
    form = TightForm.of(model, free=asked.is_free, maximum=asked.distance.is_maximum)
    reserve = Reserve(layout=watch.seconds - choosing, limit=budget.left)
    fixed = model.fixed_directions(asked.directions)
    own = budget.share(1 - WHOLE_SHARE if whole else asked.distance.share)
    reserve.kept = max(budget.left - own.left, 0.0) if np.isfinite(budget.left) else 0.0
    state = SearchState(form, own, reserve, is_first=True)
    search(state, fixed, budget, for_proof=asked.distance.is_proved_by_search)
    if state.best is None:
        raise reason(question, state, fixed, budget)
    if budget.is_stopped:
        state.notes.append(INTERRUPTED)
        budget = Budget.of(reserve.needed, threads=budget.threads)
    searched = Searched(
        state,
        fixed,
        budget.within(max(budget.left - reserve.verification - reserve.correction, 0.0)),
        wants_whole=whole,
        must_be_whole=bool(asked.integer),
        conditions=tuple(asked.searched),
    )
    answer = asked.distance.settle(searched)
    return replace(answer, notes=tuple(state.notes))
