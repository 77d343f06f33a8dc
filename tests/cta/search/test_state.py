"""Time kept back for what follows a search, on a clock that only moves when it is told to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import one_row
from random_tables import random_problem
from tablecloak import budget as clock
from tablecloak.budget import Budget
from tablecloak.cta.model.answer import LATE
from tablecloak.cta.search import directions
from tablecloak.cta.search.directions import POINTS, PROOFS, Size
from tablecloak.cta.search.state import (
    CLOSING_PROGRAMS,
    FIRST_SECONDS,
    LAYOUTS,
    LEAST_SECONDS,
    MOST_SHARE,
    DirectionState,
    Point,
    Reserve,
    given,
    priced,
    solved_relaxation,
    with_directions,
)
from tablecloak.solve.solver import SolveStatus
from tight_forms import ENOUGH, all_directions, form_of, state_of, value_of, values_of_directions


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
    state = DirectionState(form_of(random_problem(1)), Budget.of(100.0), Reserve(layout=5.0))
    assert state.budget.left == 100 - LAYOUTS * 5
    state.reserve.leaves, state.reserve.product = 9, 1.0
    assert state.budget.left == 100 - LAYOUTS * 5 - 10
    hands.now = 85.0
    assert state.budget.is_over
    assert not state.total.is_over


def test_only_a_first_table_gets_time_past_the_limit(hands):
    form = form_of(random_problem(1))
    first, later = (DirectionState(form, Budget.of(5.0), is_first=one) for one in (True, False))
    hands.now = 6.0
    assert (first.seconds_for_one, later.seconds_for_one) == (FIRST_SECONDS, LEAST_SECONDS)
    first.best = Point(np.zeros(form.program.n_columns), 1.0)
    assert first.seconds_for_one == LEAST_SECONDS


def test_a_stop_takes_the_time_of_a_first_table_away(hands):
    state = DirectionState(form_of(random_problem(1)), Budget.of(5.0), is_first=True)
    state.total.stop()
    assert state.seconds_for_one == LEAST_SECONDS


@pytest.mark.parametrize("size", list(Size))
@pytest.mark.parametrize("for_proof", [True, False])
def test_phases_that_use_all_their_time_leave_the_reserve(hands, monkeypatch, size, for_proof):
    state = DirectionState(form_of(random_problem(1)), Budget.of(60.0), Reserve(layout=4.0))
    state.best = Point(np.zeros(state.form.program.n_columns), 1.0)

    def wasteful(state: DirectionState, budget: Budget) -> DirectionState:
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


def test_only_a_better_point_is_taken():
    state = state_of(one_row([50, 60], {"a": (3, 5)}))
    none = np.zeros(state.form.program.n_columns)
    first, worse, better = Point(none, 3.0), Point(none, 4.0), Point(none, 2.0)
    for point, kept in ((first, first), (worse, first), (better, better)):
        state.offer(point, "test")
        assert state.best is kept


def test_offers_are_reported_with_loss_and_bound():
    told: list[tuple] = []
    form = form_of(one_row([50, 60], {"a": (3, 5)}))
    state = DirectionState(form, Budget.of(ENOUGH, progress=lambda *what: told.append(what)))
    state.bound = 0.0
    state.offer(Point(np.zeros(form.program.n_columns), 1.0), "a stage")
    assert told == [("a stage", form.loss(1.0), form.loss(0.0), 0)]


@pytest.mark.parametrize(
    ("bound", "is_closed"), [(-np.inf, False), (9.0, False), (10 * (1 - 1e-8), True), (10.0, True)]
)
def test_a_search_is_closed_when_point_and_bound_meet(bound, is_closed):
    state = state_of(one_row([50, 60], {"a": (3, 5)}))
    state.bound = bound
    assert not state.is_closed
    state.best = Point(np.zeros(7), 10.0)
    assert state.is_closed == is_closed


@pytest.mark.parametrize("seed", range(3))
def test_each_choice_of_directions_has_its_optimum_and_the_best_is_kept(seed):
    state = state_of(random_problem(seed))
    expected = values_of_directions(state.form)
    for y, value in expected.items():
        point = with_directions(state, np.array(y))
        assert (np.inf if point is None else point.value) == pytest.approx(value, rel=1e-6)
    assert state.best.value == pytest.approx(min(expected.values()), rel=1e-6)
    assert expected[tuple(state.best_directions.tolist())] == pytest.approx(state.best.value)


@pytest.mark.parametrize("seed", range(3))
def test_without_room_beyond_the_levels_a_promise_bounds_what_turning_changes(seed):
    state = state_of(random_problem(seed, (3, 3), 4), limit=1.0)
    values, priced_ones = values_of_directions(state.form), 0
    for y in all_directions(state.form):
        value, promise = priced(state, y)
        if not np.isfinite(value):
            assert promise.tolist() == [0] * 4
            continue
        for i in range(len(y)):
            turned = y.copy()
            turned[i] = 1 - turned[i]
            change = values.get(tuple(turned.tolist()), np.inf) - value
            assert change >= promise[i] - 1e-6 * max(1.0, abs(value))
        priced_ones += 1
    assert priced_ones > 0


def test_programs_with_directions_leave_the_relaxation_as_it_was():
    state = state_of(random_problem(2))
    before = state.solver.lower.copy(), state.solver.upper.copy()
    for y in all_directions(state.form):
        with_directions(state, y)
    assert np.array_equal(state.solver.lower, before[0])
    assert np.array_equal(state.solver.upper, before[1])


@pytest.mark.parametrize("seed", range(2))
def test_the_bound_of_the_relaxation_is_its_optimum_and_below_every_table(seed):
    state = state_of(random_problem(seed))
    solved_relaxation(state)
    assert state.bound == pytest.approx(value_of(state.form.program.relaxed()), rel=1e-6)
    assert state.bound <= min(values_of_directions(state.form).values()) + 1e-7
    assert state.root is not None
    assert state.root.bound == state.bound


def test_given_directions_are_solved_once_and_proved():
    state = state_of(random_problem(1))
    y = np.array([1.0, 0.0, 1.0])
    given(state, y)
    assert state.best_directions.tolist() == y.tolist()
    assert state.best.value == pytest.approx(values_of_directions(state.form)[tuple(y)], rel=1e-6)
    assert state.root.status is SolveStatus.OPTIMAL


def test_impossible_directions_leave_no_point():
    # b and c together may fall by 4, but not by 5.
    problem = one_row([50, 60, 70], {"a": (3, 5)}, frozen=["Total"]).with_capacity(2)
    state = state_of(problem)
    assert with_directions(state, np.ones(1)) is None
    assert state.best is None
    assert with_directions(state, np.zeros(1)) is not None


def test_the_longest_program_is_remembered():
    state = state_of(random_problem(1))
    assert state.reserve.program == 0
    with_directions(state, np.ones(3))
    assert state.reserve.program > 0
