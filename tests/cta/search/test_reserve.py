"""Time kept back for what follows a search, on a clock that only moves when it is told to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
from random_tables import random_problem
from tablecloak import budget as clock
from tablecloak.budget import Budget
from tablecloak.cta.model.answer import LATE
from tablecloak.cta.model.limits import FIRST_SECONDS, LEAST_SECONDS
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.model.tight import TightForm
from tablecloak.cta.search import directions
from tablecloak.cta.search.reserve import CLOSING_PROGRAMS, LAYOUTS, MOST_SHARE, Reserve
from tablecloak.cta.search.schedule import POINTS, PROOFS, Size
from tablecloak.cta.search.state import Point, SearchState


class Clock:
    """Stands for the module `time` in `tablecloak.budget`."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def hands(monkeypatch) -> Clock:
    stopped = Clock()
    monkeypatch.setattr(clock, "time", stopped)
    return stopped


def form_of(problem: tc.ProtectionProblem) -> TightForm:
    weights = tc.WeightRule.RELATIVE.of(problem)
    space = AdjustmentSpace.of(problem, weights=weights, limit=None)
    return TightForm.of(AdjustmentModel.of(problem, weights, space.room))


def test_a_reserve_counts_layout_leaves_and_programs():
    reserve = Reserve(layout=2.0, product=0.5, leaves=9)
    assert reserve.verification == LAYOUTS * 2.0 + 10 * 0.5
    reserve.observe_program(3.0)
    reserve.observe_program(1.0)
    assert reserve.needed == reserve.verification + CLOSING_PROGRAMS * 3.0
    assert reserve.seconds == reserve.needed


def test_one_slow_program_does_not_end_a_search():
    reserve = Reserve(program=60.0, limit=100.0)
    assert reserve.needed == MOST_SHARE * 100
    assert reserve.correction == MOST_SHARE * 100


def test_what_is_kept_anyway_is_not_kept_twice():
    reserve = Reserve(layout=2.0, kept=3.0)
    assert reserve.seconds == pytest.approx(LAYOUTS * 2.0 - 3.0)
    assert Reserve(layout=1.0, kept=60.0).seconds == 0


def test_the_budget_of_a_search_ends_before_its_reserve_and_shrinks_with_it(hands):
    state = SearchState(form_of(random_problem(1)), Budget.of(100.0), Reserve(layout=5.0))
    assert state.budget.left == 100 - LAYOUTS * 5
    state.reserve.leaves, state.reserve.product = 9, 1.0
    assert state.budget.left == 100 - LAYOUTS * 5 - 10
    hands.now = 85.0
    assert state.budget.is_over
    assert not state.total.is_over


def test_only_a_first_table_gets_time_past_the_limit(hands):
    form = form_of(random_problem(1))
    first, later = (SearchState(form, Budget.of(5.0), is_first=one) for one in (True, False))
    hands.now = 6.0
    assert (first.seconds_for_one, later.seconds_for_one) == (FIRST_SECONDS, LEAST_SECONDS)
    first.best = Point(np.zeros(form.program.n_columns), 1.0)
    assert first.seconds_for_one == LEAST_SECONDS


def test_a_stop_takes_the_time_of_a_first_table_away(hands):
    state = SearchState(form_of(random_problem(1)), Budget.of(5.0), is_first=True)
    state.total.stop()
    assert state.seconds_for_one == LEAST_SECONDS


@pytest.mark.parametrize("size", list(Size))
@pytest.mark.parametrize("for_proof", [True, False])
def test_phases_that_use_all_their_time_leave_the_reserve(hands, monkeypatch, size, for_proof):
    state = SearchState(form_of(random_problem(1)), Budget.of(60.0), Reserve(layout=4.0))
    state.best = Point(np.zeros(state.form.program.n_columns), 1.0)

    def wasteful(state: SearchState, budget: Budget) -> SearchState:
        hands.now += budget.left
        state.reserve.leaves += 10
        state.reserve.product = 0.01
        return state

    phases = [replace(phase, run=wasteful) for phase in (PROOFS if for_proof else POINTS)[size]]
    assert phases
    monkeypatch.setitem(PROOFS if for_proof else POINTS, size, phases)
    monkeypatch.setattr(Size, "of", lambda *_: size)
    directions.improve(state, for_proof=for_proof)
    # The last phase cannot know the leaves that it adds: a fifth of its time is left for them.
    assert state.total.left >= LAYOUTS * 4.0 + state.reserve.product * (state.reserve.leaves - 10)


def test_a_first_table_that_takes_longer_than_the_limit_is_told():
    adjusted = tc.adjust(random_problem(1), integer=False, time_limit=0.0)
    adjusted.verify()
    assert LATE in adjusted.notes
    assert LATE not in tc.adjust(random_problem(1), integer=False, time_limit=600).notes
