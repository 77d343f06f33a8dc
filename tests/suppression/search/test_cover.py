"""Neighbourhoods of a cell: its relations first, hidden cells and cheap ones before others."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from random_tables import random_problem
from tablecloak.suppression.search.cover import Neighbourhoods
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.system.requirement import Requirement


@pytest.fixture
def system():
    return SearchState.of(tc.examples.cox_rounded(), Requirement.TWO_SIDED, "exact").system


@pytest.fixture
def nothing(system):
    return np.zeros(system.n_unknown, dtype=bool)


def test_neighbourhood_is_sorted_distinct_and_has_its_cell(system, nothing):
    near = Neighbourhoods(system, np.ones(system.n_unknown))
    for cell in range(system.n_unknown):
        cells = near.around(cell, 2, nothing)
        assert cell in cells
        assert np.all(np.diff(cells) > 0)


def test_whole_table_is_near_when_the_size_admits_it(system, nothing):
    near = Neighbourhoods(system, np.ones(system.n_unknown))
    assert len(near.around(0, system.n_unknown, nothing)) == system.n_unknown


def test_neighbourhood_has_the_size_asked_for_and_shares_relations(system, nothing):
    near = Neighbourhoods(system, np.ones(system.n_unknown))
    for size in range(2, system.n_unknown):
        cells = near.around(0, size, nothing)
        assert len(cells) == size
        inside = np.zeros(system.n_unknown)
        inside[cells] = 1
        touched = (system.matrix != 0) @ inside
        assert np.all((system.by_cell != 0)[cells] @ (touched >= 2) >= 1)


def test_only_cells_that_may_be_used_are_near(system, nothing):
    near = Neighbourhoods(system, np.ones(system.n_unknown))
    within = np.arange(system.n_unknown) % 3 == 0
    cells = near.around(0, system.n_unknown, nothing, within)
    assert len(cells) > 1
    assert within[cells].all()


def test_of_cells_that_lack_as_few_relations_hidden_ones_come_first_and_then_cheap_ones(system):
    cell, nothing = 0, np.zeros(system.n_unknown, dtype=bool)
    rows = system.by_cell[[cell]].indices
    ring, shared = np.unique(system.matrix[rows].indices, return_counts=True)
    lacking = np.diff(system.by_cell.indptr)[ring] - shared
    lacking[ring == cell] = 99
    alike = ring[lacking == lacking.min()]
    assert len(alike) > 1
    for chosen in alike:
        hidden, cost = nothing.copy(), np.ones(system.n_unknown)
        hidden[chosen] = True
        pair = sorted((cell, int(chosen)))
        assert Neighbourhoods(system, cost).around(cell, 2, hidden).tolist() == pair
        cost[chosen] = 0.1
        assert Neighbourhoods(system, cost).around(cell, 2, nothing).tolist() == pair


def test_a_closed_part_holds_all_cells_whose_relations_it_has():
    grown = 0
    for seed in range(8):
        system = SearchState.of(
            random_problem(seed, shape=(4, 4, 3)), Requirement.TWO_SIDED, "exact"
        ).system
        near = Neighbourhoods(system, np.ones(system.n_unknown))
        last = np.random.default_rng(seed).random(system.n_unknown)
        for size in (1, 10, 30, system.n_unknown):
            cells = near.closed(seed, size, last)
            inside = np.zeros(system.n_unknown, dtype=bool)
            inside[cells] = True
            has = (system.matrix != 0) @ inside.astype(float) > 0
            missing = (system.by_cell != 0) @ (~has).astype(float)
            assert np.array_equal(missing == 0, inside)
            assert seed in cells
            assert len(cells) >= min(size, 1)
            grown += len(cells) > 1
        assert len(cells) == system.n_unknown
    assert grown >= 16
