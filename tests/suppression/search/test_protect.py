"""One need at a time: which comes first, how far its cell has to move, and what that costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.search.cover import HIDDEN_COST, Builder, scaled
from tablecloak.suppression.search.protect import in_order, protect_need, signed_target
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.search.strategy import PORTFOLIO, REPAIR
from tablecloak.suppression.system.requirement import Requirement


@pytest.fixture
def state():
    return SearchState.of(tc.examples.cox_rounded(), Requirement.TWO_SIDED, "sequential")


@pytest.fixture
def builder(state):
    weights = state.problem.weights[state.system.cells]
    return Builder(state.system, weights, None, Budget.of())


def test_open_needs_come_by_size_in_either_order(state):
    pool = WitnessPool(state.system)
    needs = pool.needs
    size = np.maximum(np.maximum(needs.upper, needs.lower), needs.width)
    largest_first = in_order(pool, largest_first=True)
    assert np.all(np.diff(size[largest_first]) <= 0)
    assert in_order(pool, largest_first=False) == largest_first[::-1]


def test_protected_need_is_met_and_its_target_is_nothing(state, builder):
    pool, hidden = WitnessPool(state.system), state.must.copy()
    for index in in_order(pool, largest_first=True):
        assert protect_need(builder, pool, hidden, index, PORTFOLIO[0])
        assert not pool.is_open(index)
        assert signed_target(pool, index, symmetric=True) == 0
    assert in_order(pool, largest_first=True) == []
    assert np.all(hidden[pool.moved()])


def test_symmetric_target_serves_both_sides(state):
    pool = WitnessPool(state.system)
    for index in in_order(pool, largest_first=True):
        needs = pool.needs
        target = signed_target(pool, index, symmetric=True)
        assert target >= max(needs.upper[index], needs.lower[index])


def test_first_target_of_a_need_is_upwards(state):
    pool = WitnessPool(state.system)
    index = in_order(pool, largest_first=True)[0]
    assert signed_target(pool, index, symmetric=False) == pool.needs.upper[index] > 0


def test_nothing_is_protected_after_the_deadline(state):
    weights = state.problem.weights[state.system.cells]
    late = Builder(state.system, weights, None, Budget.of(0.0))
    pool, hidden = WitnessPool(state.system), state.must.copy()
    index = in_order(pool, largest_first=True)[0]
    assert not protect_need(late, pool, hidden, index, PORTFOLIO[0])
    assert np.array_equal(hidden, state.must)


def test_program_of_the_whole_table_is_made_once(builder, state):
    cells, program = builder.program(0, None, state.must, symmetric=False)
    assert len(cells) == state.system.n_unknown
    assert builder.program(1, None, state.must, symmetric=False)[1] is program
    assert builder.program(1, None, state.must, symmetric=True)[1] is not program


def test_forbidden_cell_is_in_no_neighbourhood(builder, state):
    cells, _ = builder.program(0, 8, state.must, symmetric=False)
    builder.forbidden = int(cells[-1])
    assert builder.forbidden not in builder.program(0, 8, state.must, symmetric=False)[0]


def test_hidden_cells_cost_next_to_nothing_and_others_lie_around_one():
    cost = np.array([1e-9, 5.0, 10.0, 20.0, 1e12])
    hidden = np.array([False, False, False, True, False])
    found = scaled(cost, hidden)
    assert found[3] == HIDDEN_COST
    assert found[0] == HIDDEN_COST
    assert found[4] == 1e4
    assert np.isclose(np.median(found[~hidden]), 1.0)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_need_without_mirror_images_is_met_on_one_side_after_the_other(seed, monkeypatch):
    """All cells but the sensitive ones may rise and not fall, as readers know."""
    monkeypatch.setattr("tablecloak.suppression.search.protect.ALL_AT_ONCE", 0)
    given = random_problem(seed, (3, 3, 3))
    lowest = np.where(given.sensitive, given.lower_bound, given.table.values)
    state = SearchState.of(replace(given, lower_bound=lowest), Requirement.TWO_SIDED, "sequential")
    weights = state.problem.weights[state.system.cells]
    builder, pool = Builder(state.system, weights, None, Budget.of()), WitnessPool(state.system)
    hidden, needs = state.must.copy(), in_order(pool, largest_first=True)
    assert needs
    assert all(protect_need(builder, pool, hidden, index, REPAIR) for index in needs)
