"""The pace of a first pattern: care as long as there is time, the least care last."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tablecloak as tc
import tablecloak.budget
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.suppression.search import sequential
from tablecloak.suppression.search.pace import CarefulPace, Pace
from tablecloak.suppression.search.sequential import protect_one_by_one
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.search.strategy import EASIER, HASTY, PORTFOLIO, Strategy
from tablecloak.suppression.system.details import Details


class HandClock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        """Return the seconds it was set to."""
        return self.now


@pytest.fixture
def clock(monkeypatch):
    found = HandClock()
    monkeypatch.setattr(tablecloak.budget, "time", found)
    return found


def handled(pace: Pace, clock: HandClock, n_open: int, seconds: float) -> Strategy:
    """Let one need take its time; return what was tried for it."""
    chosen = pace.strategy(n_open)
    clock.now += seconds
    pace.record(chosen, seconds)
    return chosen


def test_without_a_limit_every_need_gets_all_care(clock):
    pace = Pace(PORTFOLIO[1], Budget.of(), 1000)
    assert all(handled(pace, clock, 1000, 50.0) is PORTFOLIO[1] for _ in range(20))
    assert not pace.is_hopeless(1000)


def test_care_is_kept_while_the_rest_fits_into_the_time(clock):
    pace = Pace(PORTFOLIO[0], Budget.of(100.0), 100)
    tried = [handled(pace, clock, 100 - need, 0.9) for need in range(100)]
    assert tried == [PORTFOLIO[0]] * 100


def test_nothing_is_judged_in_the_first_tenth_of_the_time(clock):
    pace = Pace(PORTFOLIO[0], Budget.of(100.0), 10_000)
    assert handled(pace, clock, 10_000, 9.0) is PORTFOLIO[0]
    assert pace.strategy(9_999) is PORTFOLIO[0]
    assert not pace.is_hopeless(9_999)


def test_what_does_not_fit_gets_less_care_and_the_least_only_when_it_must(clock):
    pace = Pace(PORTFOLIO[0], Budget.of(100.0), 300)
    handled(pace, clock, 300, 11.0)
    middle, least = pace.levels[1], pace.levels[-1]
    tried = [handled(pace, clock, 299 - need, 0.5) for need in range(178)]
    assert tried[0] == middle
    assert least in tried
    assert tried.index(least) > tried.index(middle)


def test_levels_keep_what_the_strategy_says_of_mirror_images_and_order():
    for strategy in PORTFOLIO:
        levels = Pace(strategy, Budget.of(10.0), 5).levels
        assert levels[0] is strategy
        assert {each.symmetric for each in levels} == {strategy.symmetric}
        assert {each.largest_first for each in levels} == {strategy.largest_first}
        assert [each.sizes for each in levels[1:]] == [each.sizes for each in EASIER]


def test_paths_alone_are_not_made_easier_by_programs():
    paths = replace(PORTFOLIO[0], programs=False)
    assert Pace(paths, Budget.of(10.0), 5).levels == [paths]


def test_careful_building_keeps_all_care_until_sums_need_the_rest_of_the_time(clock):
    pace = CarefulPace(PORTFOLIO[0], Budget.of(100.0), 40_000)
    for n_open in (40_000, 20_000, 15_000):
        assert not pace.ends(n_open)
        assert handled(pace, clock, n_open, 25.0) is PORTFOLIO[0]
    assert not pace.ends(5_000)
    assert pace.ends(15_000)


def test_after_the_deadline_all_is_done_in_a_hurry(clock):
    pace = Pace(PORTFOLIO[0], Budget.of(10.0), 5)
    clock.now = 10.0
    assert pace.strategy(5) is HASTY


def test_open_needs_are_expected_to_fall_by_the_same_share(clock):
    pace = Pace(PORTFOLIO[0], Budget.of(100.0), 1023)
    for _ in range(10):
        handled(pace, clock, 1023, 2.0)
    # Ten needs halved what is open: nine more times ten are left.
    assert pace._expected(511) == pytest.approx(90.0)


def test_never_more_needs_are_expected_than_are_open(clock):
    pace = Pace(PORTFOLIO[0], Budget.of(100.0), 40)
    handled(pace, clock, 40, 20.0)
    assert pace._expected(40) == 40
    assert pace._expected(39) == 39


def test_pattern_is_given_up_only_if_the_least_care_so_far_is_too_slow_by_far(clock):
    pace = Pace(PORTFOLIO[0], Budget.of(100.0), 10_000)
    handled(pace, clock, 10_000, 26.0)
    least = pace.levels[-1]
    pace.record(least, 0.02)
    assert not pace.is_hopeless(9_000)
    begun = clock.now
    slow = Pace(PORTFOLIO[0], Budget.of(100.0), 10_000)
    handled(slow, clock, 10_000, 26.0)
    slow.record(least, 5.0)
    assert slow.is_hopeless(9_000)
    clock.now = begun + 20.0
    assert not slow.is_hopeless(9_000)


def test_pattern_half_built_is_not_given_up(clock):
    pace = Pace(PORTFOLIO[0], Budget.of(100.0), 10_000)
    handled(pace, clock, 10_000, 60.0)
    pace.record(pace.levels[-1], 100.0)
    assert not pace.is_hopeless(9_000)


def test_time_that_ends_within_the_last_attack_is_not_blamed_on_the_units(clock, monkeypatch):
    state = SearchState.of(random_problem(1), tc.Requirement.TWO_SIDED, "sequential")

    def ends_too_late(*_, **__):
        clock.now += 10.0
        return {}

    monkeypatch.setattr(sequential, "protect_need", lambda *_: False)
    monkeypatch.setattr(sequential, "_protect_groups", lambda *_: None)
    monkeypatch.setattr(Details, "witnesses", lambda *_: [])
    monkeypatch.setattr(sequential, "prove", lambda *_, **how: None if how else ends_too_late())
    budget = Budget.of(5.0)
    found = protect_one_by_one(state.problem, state.system, PORTFOLIO[0], budget)
    assert budget.is_over
    assert found.pool.open.any()
