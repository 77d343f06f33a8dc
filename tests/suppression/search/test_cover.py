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


def test_every_other_cell_shares_relations_with_what_is_inside(system, nothing):
    near = Neighbourhoods(system, np.ones(system.n_unknown))
    cells = near.around(0, 3, nothing)
    inside = np.zeros(system.n_unknown)
    inside[cells] = 1
    touched = (system.matrix != 0) @ inside
    assert np.all((system.by_cell != 0)[cells] @ (touched >= 2) >= 1)


def test_whole_table_is_near_when_width_and_slack_are_large(system, nothing):
    near = Neighbourhoods(system, np.ones(system.n_unknown))
    assert len(near.around(0, system.n_unknown, nothing, slack=5)) == system.n_unknown


def test_neighbourhood_does_not_grow_beyond_the_largest_size(system, nothing):
    near = Neighbourhoods(system, np.ones(system.n_unknown))
    few = near.around(0, 1, nothing, largest=1)
    # What the relations of the cell give is taken in any case.
    assert len(few) <= 1 + len(system.by_cell[[0]].indices)


def test_hidden_cells_come_before_cheap_ones(system):
    cell = 0
    row = system.by_cell[[cell]].indices[0]
    others = system.matrix[[row]].indices
    chosen = others[others != cell][-1]
    cost = np.arange(system.n_unknown, dtype=float)
    hidden = np.zeros(system.n_unknown, dtype=bool)
    near = Neighbourhoods(system, cost)
    hidden[chosen] = True
    assert chosen in near.around(cell, 1, hidden, largest=0)


def test_cheaper_cells_of_a_relation_are_taken_first(system, nothing):
    cell = 0
    row = system.by_cell[[cell]].indices[0]
    others = system.matrix[[row]].indices
    for cheap in others:
        cost = np.ones(system.n_unknown)
        cost[cheap] = 0.1
        assert cheap in Neighbourhoods(system, cost).around(cell, 1, nothing, largest=0)


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
