"""From a question to an answer: in parts where there are any, by a search, settled by distance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tablecloak.budget import Budget, Stopwatch
from tablecloak.cta.answer import INTERRUPTED, LATE, Answer
from tablecloak.cta.asked import Asked, fixed_directions
from tablecloak.cta.bounds import PartsBound
from tablecloak.cta.distances.distance import Searched
from tablecloak.cta.infeasibility import reason
from tablecloak.cta.parts import answer_parts, parts_of
from tablecloak.cta.question import Question
from tablecloak.cta.search.directed import given
from tablecloak.cta.search.directions import improve
from tablecloak.cta.search.reserve import Reserve
from tablecloak.cta.search.schedule import WHOLE_SHARE
from tablecloak.cta.search.start import start
from tablecloak.cta.search.state import SearchState
from tablecloak.cta.tight import TightForm

__all__ = ["answered"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def answered(question: Question, asked: Asked, budget: Budget) -> Answer | None:
    """Answer a question, in parts if there are any; None if nothing has to change.

    Raises
    ------
    ModelError
        If it is proved that there is no answer.
    SolverError
        If none was found.
    """
    problem = question.problem
    is_kept = all(abs(row.target) <= row.slack for row in question.preserved)
    if not problem.n_sensitive and is_kept:
        return None
    if asked.is_free and asked.distance.adds_up and not asked.statistics:
        part = parts_of(problem, question.room)
        if len(np.unique(part[problem.sensitive & (part >= 0)])) > 1:
            return _answer_in_parts(question, asked, part, budget)
    return _answer(question, asked, budget)


def _answer_in_parts(question: Question, asked: Asked, part: Integers, budget: Budget) -> Answer:
    """Answer for parts that no relation connects, and put the answers together."""

    def answer(alone: Question, own: Budget) -> Answer:
        return _answer(alone, asked, own)

    answers = answer_parts(question, part, answer, budget)
    changes = np.zeros(len(part), dtype=np.longdouble)
    for number, one in answers:
        changes[part == number] = one.changes[part == number]
    notes = [f"{len(answers)} parts that no relation connects were adjusted apart"]
    told = {note for _, one in answers for note in one.notes}
    return Answer(
        changes,
        all(one.is_whole for _, one in answers),
        PartsBound(
            tuple(number for number, _ in answers), tuple(one.certificate for _, one in answers)
        ),
        (*notes, *(note for note in (INTERRUPTED, LATE) if note in told)),
    )


def _answer(question: Question, asked: Asked, budget: Budget) -> Answer:
    """Answer in one part: lay out, search, settle."""
    whole = asked.wants_whole(question.problem)
    share = 1 - WHOLE_SHARE if whole else asked.distance.share
    form, reserve = _laid_out(question, asked)
    reserve.limit = budget.left
    fixed = fixed_directions(form.model, asked.directions)
    own = budget.share(share)
    reserve.kept = max(budget.left - own.left, 0.0) if np.isfinite(budget.left) else 0.0
    state = _searched(SearchState(form, own, reserve, is_first=True), asked, fixed, budget)
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
        breaks_ties=not asked.searched,
    )
    return _settled(searched, asked)


def _laid_out(question: Question, asked: Asked) -> tuple[TightForm, Reserve]:
    """Return the program of a question, and what writing it down took."""
    watch = Stopwatch()
    model = question.model()
    # The choice of independent relations is part of the proof: a check does not make it again.
    choosing = _seconds_of(lambda: model.independent)
    form = TightForm.of(model, free=asked.is_free, maximum=asked.distance.is_maximum)
    return form, Reserve(layout=watch.seconds - choosing)


def _seconds_of(task: Callable[[], object]) -> float:
    watch = Stopwatch()
    task()
    return watch.seconds


def _searched(
    state: SearchState, asked: Asked, fixed: Floats | None, budget: Budget
) -> SearchState:
    """Search directions, or solve once with given ones."""
    if fixed is not None:
        given(state, fixed)
    else:
        start(state)
    if (
        state.best is not None
        and not budget.is_stopped
        and budget.left < state.reserve.verification
    ):
        state.notes.append(LATE)
    if fixed is None:
        improve(state, for_proof=asked.distance.is_proved_by_search)
    return state


def _settled(searched: Searched, asked: Asked) -> Answer:
    """Let the distance settle the search, and meet statistics that are no rows."""
    answer, state = asked.distance.settle(searched), searched.state
    for statistic in asked.searched:
        near = answer.changes.astype(np.float64)
        met = statistic.met(state.form.model, near, searched.fixed, searched.budget)
        answer = replace(answer, changes=met.astype(np.longdouble), is_whole=False)
    return replace(answer, notes=tuple(state.notes))
