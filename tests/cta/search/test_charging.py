"""Charges of relations: a bound for all directions, which the certificate proves on its own."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.cta.first_order.proof import FirstOrderBound
from tablecloak.cta.search import schedule
from tablecloak.cta.search.charging import charge
from tablecloak.cta.search.directions import start
from tablecloak.cta.search.proof import search_bound
from tablecloak.cta.search.schedule import Phase, Size
from tight_forms import form_of, state_of, values_of_directions


@pytest.mark.parametrize("seed", range(5))
def test_charges_prove_no_more_than_the_best_directions_lose(seed):
    problem = random_problem(seed, (3, 4), 4)
    state = charge(state_of(problem), 1.0)
    assert -np.inf < state.bound <= min(values_of_directions(form_of(problem)).values()) + 1e-9
    assert search_bound(state, None) is state.charged


@pytest.mark.parametrize("seed", range(3))
def test_charges_that_prove_less_than_is_known_are_not_kept(seed):
    state = start(state_of(random_problem(seed, (3, 4), 4)))
    state.bound = state.best.value
    charge(state, 1.0)
    assert state.charged is None
    assert state.bound == state.best.value


@pytest.mark.parametrize("seed", range(2))
def test_the_bound_of_an_adjustment_is_proved_by_charges_alone(seed, monkeypatch):
    phases = (Phase("charge", 1.0, 0.0), Phase("cool", 1.0, 1.0), Phase("turn", 1.0, 1.0))
    monkeypatch.setitem(schedule.SCHEDULES, Size.of(1, 1, 1), phases)
    problem = random_problem(seed, (3, 3, 3), 5)
    found = tc.adjust(problem, weights="relative", integer=False, time_limit=2)
    up = tc.adjust(problem, weights="relative", integer=False, directions="up").loss
    assert isinstance(found.bound_certificate, FirstOrderBound)
    assert 0 < found.bound <= found.loss <= up + 1e-9
    found.verify()
    assert found.proved_bound() == pytest.approx(found.bound)


def test_a_largest_change_has_no_charges():
    state = state_of(random_problem(1), maximum=True)
    assert charge(state, 1.0).charged is None


def test_nothing_is_charged_when_time_is_over():
    state = state_of(random_problem(1))
    state.total = Budget.of(0.0)
    assert charge(state, 1.0).charged is None
