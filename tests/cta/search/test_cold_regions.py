"""Directions that cool down: each draw is allowed, and the best table never becomes worse."""

from __future__ import annotations

import numpy as np
import pytest

from hand_tables import one_row
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.cta.first_order.layout import FirstOrderLayout
from tablecloak.cta.first_order.search import Warm, cooled
from tablecloak.cta.search import cold_regions
from tablecloak.cta.search.cold_regions import CooledRegions, cool
from tablecloak.cta.search.directions import start
from tablecloak.cta.search.local_search import LocalSearch
from tablecloak.cta.search.state import with_directions
from tight_forms import ENOUGH, form_of, state_of, values_of_directions


@pytest.mark.parametrize("seed", range(2))
def test_cooling_ends_at_the_best_directions_of_small_tables(seed, monkeypatch):
    monkeypatch.setattr(cold_regions, "COOLED_DRAWS", 3)
    problem = random_problem(seed, (3, 4), 4)
    values = [value for value in values_of_directions(form_of(problem)).values() if value < np.inf]
    state = cool(state_of(problem), Budget.of(ENOUGH))
    assert state.best.value >= min(values) - 1e-6
    # A heuristic: it finds one of the best tenth at least.
    assert state.best.value <= np.quantile(values, 0.1) + 1e-6
    assert "cooled down" in state.notes[-1]


@pytest.mark.parametrize("seed", range(2))
def test_regions_around_the_worst_directions_improve_them(seed):
    form = form_of(random_problem(seed, (3, 4), 4))
    values = {y: value for y, value in values_of_directions(form).items() if value < np.inf}
    worst, budget = np.array(max(values, key=values.__getitem__)), Budget.of(ENOUGH)
    low, high = form.model.allowed
    regions = CooledRegions(form.model, np.flatnonzero(low < high), budget)
    state = state_of(random_problem(seed, (3, 4), 4))
    with_directions(state, worst)
    changes = form.model.groups(form.changes(state.best.x))
    reached = []
    for _ in range(10):
        directions = worst.copy()
        turned = regions.turned(worst, changes)
        directions[turned] = 1 - directions[turned]
        reached.append(values.get(tuple(directions.tolist()), np.inf))
    assert min(reached) < values[tuple(worst.tolist())]


@pytest.mark.parametrize("seed", range(2))
def test_a_local_search_with_regions_ends_at_the_best_directions(seed):
    form = form_of(random_problem(seed, (3, 4), 4))
    values = {y: value for y, value in values_of_directions(form).items() if value < np.inf}
    allowed, budget, found = form.model.allowed, Budget.of(ENOUGH), []
    regions = CooledRegions(form.model, np.flatnonzero(allowed[0] < allowed[1]), budget)
    search = LocalSearch(form.directed_only(), allowed, budget, found.append, regions)
    search.run(np.array(max(values, key=values.__getitem__)))
    scaled = [form.loss(value) for value in values.values()]
    assert search.form.loss(min(one.value for one in found)) == pytest.approx(min(scaled), rel=1e-6)


def test_directions_outside_a_region_stay_as_they_are():
    model = form_of(random_problem(5, (4, 5), 4)).model
    layout, random = FirstOrderLayout.of(model), np.random.default_rng(0)
    low, high = model.allowed
    is_up = np.where(low < high, random.random(len(low)) < 0.5, low > 0)
    table = np.zeros(model.n_groups)
    table[model.sensitive] = np.where(is_up, model.up_level, -model.down_level)
    warm = Warm.of(layout, table, is_up)
    for seed in range(5):
        region = np.random.default_rng(seed).random(len(low)) < 0.5
        found = cooled(layout, random, 50, Budget.of(ENOUGH), (warm, region))
        assert np.array_equal(found[~region], is_up[~region])


def test_directions_that_bounds_forbid_are_not_drawn():
    # The first cell cannot fall by 40, nor the second one rise.
    problem = one_row([30, 60, 70], {"a": (40, 5), "b": (5, 50)}, bounds=(0, 200))
    model = form_of(problem).model
    low, high = model.allowed
    assert np.any(low == high)
    random = np.random.default_rng(0)
    for _ in range(20):
        found = cooled(FirstOrderLayout.of(model), random, 50, Budget.of(ENOUGH))
        assert np.all(found >= low) and np.all(found <= high)


def test_nothing_is_drawn_when_time_is_over():
    state = start(state_of(random_problem(1)))
    state.total = Budget.of(0.0)
    best, notes = state.best, list(state.notes)
    cool(state, state.budget)
    assert state.best is best
    assert state.notes == notes
