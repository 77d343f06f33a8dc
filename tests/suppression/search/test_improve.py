"""Improvements keep a pattern proved, cost no more, and hide what must be hidden."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.suppression.search.moves import improve_by_moves
from tablecloak.suppression.search.portfolio import clean_up, exchange, replaced, turned_in_part
from tablecloak.suppression.search.sequential import protect_one_by_one
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.search.strategy import HASTY, PORTFOLIO, REPLACEMENT
from tablecloak.suppression.system.requirement import Requirement


@pytest.fixture
def state():
    return SearchState.of(tc.examples.cox_rounded(), Requirement.TWO_SIDED, "sequential")


@pytest.fixture
def hasty(state):
    return protect_one_by_one(state.problem, state.system, HASTY, Budget.of())


@pytest.mark.parametrize("improve", [clean_up, exchange])
def test_improved_pattern_is_proved_and_costs_no_more(state, hasty, improve):
    found = improve(hasty, state.must, Budget.of())
    assert found.is_proved
    assert found.loss <= hasty.loss
    assert np.all(found.hidden[state.must])


@pytest.mark.parametrize("improve", [clean_up, exchange])
def test_pattern_without_time_stays_as_good_as_it_was(state, hasty, improve):
    found = improve(hasty, state.must, Budget.of(0.0))
    assert found.is_proved
    assert found.loss <= hasty.loss


def test_clean_up_publishes_only(state, hasty):
    found = clean_up(hasty, state.must, Budget.of())
    assert np.all(hasty.hidden[found.hidden])


def test_cleaned_pattern_has_nothing_left_to_clean(state, hasty):
    once = clean_up(hasty, state.must, Budget.of())
    assert clean_up(once, state.must, Budget.of()).loss == once.loss


def test_what_no_witness_moves_is_published(state, hasty):
    everything = replace(hasty, hidden=np.ones_like(hasty.hidden))
    found = clean_up(everything, state.must, Budget.of())
    assert np.all(hasty.hidden[found.hidden] | state.must[found.hidden])


def test_cell_that_must_stay_hidden_stays(state, hasty):
    everything = np.ones_like(state.must)
    found = clean_up(replace(hasty, hidden=everything), everything, Budget.of())
    assert np.all(found.hidden)


def test_pattern_within_another_hides_no_other_cell(state, hasty):
    found = protect_one_by_one(
        state.problem, state.system, PORTFOLIO[0], Budget.of(), within=hasty.hidden
    )
    assert np.all(hasty.hidden[found.hidden])


def test_pattern_goes_on_from_what_was_begun(state, hasty):
    found = protect_one_by_one(state.problem, state.system, PORTFOLIO[0], Budget.of(), begun=hasty)
    assert found.is_proved
    assert np.array_equal(found.hidden, hasty.hidden)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("seconds", [0.0, np.inf])
def test_turn_of_some_cells_stays_within_the_pattern(share, seconds):
    """Whatever is drawn, and wherever it is cut short: proved, no dearer, and no cell is added."""
    gained = 0
    for seed in range(12):
        problem = random_problem(seed, shape=(4, 5, 4), n_sensitive=8)
        state = SearchState.of(problem, Requirement.TWO_SIDED, "sequential")
        hasty = protect_one_by_one(state.problem, state.system, HASTY, Budget.of())
        random = np.random.default_rng(seed)
        published = hasty.hidden & ~state.must & (random.random(len(hasty.hidden)) < share)
        turned = turned_in_part(state, hasty, published, random, Budget.of(seconds))
        assert turned.is_proved
        assert turned.loss <= hasty.loss
        assert np.all(hasty.hidden[turned.hidden])
        assert np.all(turned.hidden[state.must])
        gained += turned.loss < hasty.loss
    assert gained or not seconds or share < 0.5


@pytest.mark.parametrize("seconds", [0.0, np.inf])
def test_replaced_cells_are_published_and_others_cost_less(seconds):
    """What is kept is proved and cheaper, and hides none of the cells that were to be replaced."""
    gained = added = 0
    for seed in range(12):
        problem = random_problem(seed, shape=(4, 5, 4), n_sensitive=8)
        state = SearchState.of(problem, Requirement.TWO_SIDED, "sequential")
        best = protect_one_by_one(state.problem, state.system, HASTY, Budget.of())
        secondaries = np.flatnonzero(best.hidden & ~state.must)
        for number in (1, 3):
            near = np.zeros(len(best.hidden), dtype=bool)
            near[np.random.default_rng(seed).choice(secondaries, number)] = True
            other = replaced(best, near, state.must, REPLACEMENT, Budget.of(seconds))
            assert other.is_proved
            assert np.all(other.hidden[state.must])
            if other is not best:
                assert other.loss < best.loss
                assert not np.any(other.hidden & near)
                gained, added = gained + 1, added + bool(np.any(other.hidden & ~best.hidden))
    assert (gained > 5 and added > 0) or not seconds


def test_moves_end_by_themselves_where_there_is_no_time_limit():
    """Turns near single cells are drawn by chance, so that there is always another one."""
    problem = random_problem(0, shape=(4, 5, 4), n_sensitive=8)
    state = SearchState.of(problem, Requirement.TWO_SIDED, "sequential")
    hasty = protect_one_by_one(state.problem, state.system, HASTY, Budget.of())
    better = improve_by_moves(())(replace(state, best=hasty), Budget.of()).best
    assert better.is_proved
    assert better.loss <= hasty.loss
