"""Phases: each makes the best point better or the bound higher, and neither worse."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.cta.search import cold_regions
from tablecloak.cta.search.cold_regions import cool
from tablecloak.cta.search.directions import start
from tablecloak.cta.search.fix_and_relax import relax
from tablecloak.cta.search.phases import ask, prove, tighten, turn
from tablecloak.cta.search.state import DirectionState, with_directions
from tight_forms import ENOUGH, form_of, state_of, values_of_directions

SEEDS = range(3)


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Tables of sixteen choices of directions: later draws, which take most steps, find no more."""
    monkeypatch.setattr(cold_regions, "COOLED_DRAWS", 2)


@cache
def values_of(seed: int) -> dict[tuple[float, ...], float]:
    return values_of_directions(form_of(random_problem(seed, (3, 4), 4)))


def begun(seed: int) -> DirectionState:
    """At the worst of its directions, with a relaxation."""
    state = state_of(random_problem(seed, (3, 4), 4))
    values = {y: value for y, value in values_of(seed).items() if value < np.inf}
    start(state)
    state.best = None
    with_directions(state, np.array(max(values, key=values.__getitem__)))
    return state


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("phase", [cool, turn, ask, relax, prove])
def test_from_the_worst_directions_each_phase_finds_better_ones(seed, phase):
    state = begun(seed)
    before, best = state.best.value, min(values_of(seed).values())
    phase(state, state.budget)
    assert best - 1e-6 * abs(best) <= state.best.value < before


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("phase", [ask, relax, prove])
def test_programs_over_the_whole_table_end_at_the_best_directions(seed, phase):
    state = begun(seed)
    phase(state, state.budget)
    assert state.best.value == pytest.approx(min(values_of(seed).values()), rel=2e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_tree_proves_the_best_directions(seed):
    state = begun(seed)
    prove(state, state.budget)
    assert state.is_closed
    assert state.tree is not None
    assert state.tree.verify(state.proved.program) == pytest.approx(state.bound, rel=1e-6)
    assert state.reserve.leaves == len(state.tree.multipliers)


@pytest.mark.parametrize("seed", SEEDS)
def test_tightening_raises_the_bound_and_keeps_the_point(seed):
    state = begun(seed)
    before, bound = state.best, state.bound
    tighten(state, state.budget)
    assert state.best is before
    assert bound <= state.bound <= min(values_of(seed).values()) + 1e-6
    assert state.notes[-1].endswith("balance rows")
    assert state.solver.program.n_rows == state.form.program.n_rows


@pytest.mark.parametrize("phase", [turn, relax])
def test_phases_that_improve_a_point_do_nothing_without_one(phase):
    state = state_of(random_problem(1))
    assert phase(state, state.budget) is state
    assert state.best is None
    assert state.notes == []


def test_nothing_is_tightened_without_a_relaxation():
    state = state_of(random_problem(1))
    assert tighten(state, state.budget).tight is state.form


@pytest.mark.parametrize("phase", [ask, prove])
def test_phases_over_the_whole_table_find_a_first_point(phase):
    seed = 2
    state = state_of(random_problem(seed, (3, 4), 4))
    phase(state, state.budget)
    assert state.best.value == pytest.approx(min(values_of(seed).values()), rel=1e-6)


def test_a_solver_is_not_asked_when_time_is_over_and_a_table_is_there():
    state = begun(1)
    state.total = Budget.of(0.0)
    before = state.best
    ask(state, state.budget)
    assert state.best is before


def test_fix_and_relax_stops_as_soon_as_enough_is_reached():
    state = begun(2)
    before = state.best.value
    relax(state, state.budget, enough=lambda x: True)
    assert state.best.value == before
    assert state.notes[-1].startswith("0 programs")


def test_a_proof_is_taken_up_where_it_stopped():
    state = begun(3)
    state.total = Budget.of(0.0)
    prove(state, state.budget)
    first = state.branching
    state.total = Budget.of(ENOUGH)
    prove(state, state.budget)
    assert state.branching is first
    assert state.is_closed
