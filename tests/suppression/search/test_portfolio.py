"""Strategies side by side: what they find is proved, and never costs more than what there was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.budget import Budget
from tablecloak.errors import SolverError
from tablecloak.suppression.search import portfolio
from tablecloak.suppression.search.portfolio import exchange_by_programs, try_strategies
from tablecloak.suppression.search.sequential import protect_one_by_one
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.search.strategy import PORTFOLIO
from tablecloak.suppression.system.requirement import Requirement


@pytest.fixture
def state():
    return SearchState.of(tc.examples.cox_rounded(), Requirement.TWO_SIDED, "sequential")


@pytest.fixture
def everything(state):
    """All that may be hidden, with the witnesses of some pattern."""
    first = protect_one_by_one(state.problem, state.system, PORTFOLIO[0], Budget.of())
    return replace(first, hidden=np.ones_like(first.hidden))


def test_strategies_end_with_a_proved_pattern_even_without_time(state):
    found = try_strategies(state, Budget.of(0.0))
    assert found.best.is_proved
    assert np.all(found.best.hidden[state.must])
    assert found.first_seconds < np.inf


def test_improved_pattern_never_costs_more_than_the_first(state):
    first = protect_one_by_one(state.problem, state.system, PORTFOLIO[0], Budget.of())
    assert try_strategies(state, Budget.of()).best.loss <= first.loss


def test_what_there_was_is_kept_where_strategies_find_nothing_better(state):
    best = try_strategies(state, Budget.of()).best
    again = try_strategies(replace(state, best=best), Budget.of())
    assert again.best.loss <= best.loss


def test_stopped_search_without_a_pattern_says_so(state):
    budget = Budget.of()
    budget.stop()
    with pytest.raises(SolverError, match="before any pattern"):
        try_strategies(state, budget)


def test_exchange_publishes_what_no_need_asks_for(state, everything):
    found = exchange_by_programs(replace(state, best=everything), Budget.of())
    assert found.best.is_proved
    assert found.best.loss < everything.loss


def test_exchange_leaves_a_state_without_a_pattern_alone(state):
    assert exchange_by_programs(state, Budget.of()) is state


def test_pattern_is_exchanged_where_no_strategy_ends(state, everything, monkeypatch):
    monkeypatch.setattr(portfolio, "_tried", lambda *_: None)
    found = try_strategies(replace(state, best=everything), Budget.of())
    assert found.best.is_proved
    assert found.best.loss < everything.loss


def test_turn_is_not_begun_where_it_cannot_end(state, monkeypatch):
    turns = []
    built = protect_one_by_one(state.problem, state.system, PORTFOLIO[0], Budget.of())

    def counted(*arguments, **options):
        turns.append(options)
        return built

    monkeypatch.setattr(portfolio, "protect_one_by_one", counted)
    portfolio._improved(state, built, PORTFOLIO[0], Budget.of(1000.0), 10_000.0)
    assert turns == []
    portfolio._improved(state, built, PORTFOLIO[0], Budget.of(), 10_000.0)
    assert len(turns) == portfolio.TURNS
    assert all(np.array_equal(options["within"], built.hidden) for options in turns)
