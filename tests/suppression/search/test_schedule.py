"""Phases get their shares of the time, and what must come last always gets its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.budget import Budget
from tablecloak.phases import Phase, either, group, run_phases
from tablecloak.suppression.search import schedule
from tablecloak.suppression.search.methods.auto import Auto
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.system.requirement import Requirement


@pytest.fixture
def state() -> SearchState:
    return SearchState.of(tc.examples.cox_rounded(), Requirement.TWO_SIDED, "exact")


class Recorder:
    """A phase that only writes down how much time it gets."""

    def __init__(self) -> None:
        self.left: list[float] = []

    def __call__(self, state: SearchState, budget: Budget) -> SearchState:
        self.left.append(budget.left)
        return state.noted("recorded")


def test_phases_get_shares_of_what_is_left_after_the_last_steps(state):
    record = Recorder()
    state = replace(state, closing_seconds=20.0)
    phases = (Phase(record, 0.25), Phase(group(Phase(record, 0.5), Phase(record)), 0.5))
    after = run_phases(phases, state, Budget.of(100.0))
    assert after.notes == ("recorded",) * 3
    assert np.allclose(record.left, [20, 20, 40], atol=2)


def test_phase_with_a_least_share_gets_it_past_the_limit(state):
    record = Recorder()
    over = replace(Budget.of(100.0), deadline=0.0, started=-100.0)
    run_phases((Phase(record, least=0.02), Phase(record)), state, over)
    assert record.left == [pytest.approx(2.0, abs=0.5), 0.0]


def test_phases_that_are_not_due_are_left_out(state):
    record = Recorder()
    settled = replace(state, is_settled=True)
    phases = (Phase(record, when=schedule.is_open), Phase(record, when=schedule.is_unsettled))
    assert run_phases(phases, settled, Budget.of(10.0)).notes == ()
    assert run_phases(phases, state, Budget.of(0.0)).notes == ("recorded",)


def test_large_tables_with_little_time_left_get_a_bound_only(state, monkeypatch):
    monkeypatch.setattr(schedule, "EXACT_CELLS", 0)
    bound, search = Recorder(), Recorder()
    choose = either(schedule.is_hurried, bound, search)
    whole = Budget.of(100.0)
    late = replace(whole, started=whole.started - 100.0, deadline=whole.started + 20.0)
    for budget in (whole, late, Budget.of()):
        run_phases((Phase(choose),), state, budget)
    assert len(bound.left) == 1
    assert len(search.left) == 2


def test_stopped_search_starts_no_proof(state):
    record = Recorder()
    budget = Budget.of(10.0)
    budget.stop()
    run_phases((Phase(record, least=0.02, when=schedule.is_not_stopped),), state, budget)
    assert record.left == []


@pytest.mark.parametrize(("cells", "method"), [(0, "exact"), (100, "exact")])
def test_parameters_of_a_method_choose_its_schedule(cells, method):
    pattern = tc.suppress(tc.examples.cox_rounded(), method=Auto(exact_cells=cells))
    assert pattern.method == method
    assert pattern.is_optimal
    told = [note for note in pattern.notes if "left for the exact method" in note]
    assert bool(told) == (cells == 0)


def test_first_pattern_after_the_limit_is_told():
    problem = tc.examples.cox_rounded()
    late = tc.suppress(problem, time_limit=1e-6)
    assert late.first_seconds > late.time_limit
    assert "no pattern was proved within the limit" in late.summary()
    assert "limit" not in tc.suppress(problem).summary()
