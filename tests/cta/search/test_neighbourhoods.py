"""Directions drawn by the number of relations between them."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from hand_tables import problem_of, two_rows
from random_tables import random_problem
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.search.neighbourhoods import DirectionNeighbourhoods


def model_of(problem) -> AdjustmentModel:
    weights = np.ones(problem.table.n_cells)
    return AdjustmentSpace.of(problem, weights=weights, limit=None).model


def distances(model: AdjustmentModel, start: int) -> list[int]:
    """Relations on the way from one sensitive group to each, by a search of the graph."""
    graph = nx.Graph()
    relations = model.relations.tocoo()
    graph.add_nodes_from(("group", g) for g in range(model.n_groups))
    graph.add_edges_from(
        (("row", r), ("group", g)) for r, g in zip(relations.row, relations.col, strict=True)
    )
    far = nx.single_source_shortest_path_length(graph, ("group", model.sensitive[start]))
    return [far[("group", g)] // 2 for g in model.sensitive.tolist()]


@pytest.mark.parametrize("seed", range(3))
def test_directions_come_in_the_order_of_their_distance(seed):
    model = model_of(random_problem(seed, (3, 4), 6))
    every = np.arange(len(model.sensitive))
    order = DirectionNeighbourhoods(model, every, np.random.default_rng(seed)).draw(len(every))
    assert sorted(order.tolist()) == every.tolist()
    far = distances(model, order[0])
    along = [far[direction] for direction in order]
    assert along == sorted(along)
    assert along[0] == 0


def test_what_no_relation_connects_is_not_reached():
    problem = two_rows([5, 6, 7], [8, 9, 4], {"a": (1, 1), "b": (1, 1), "A": (1, 1)})
    model = model_of(problem)
    near = DirectionNeighbourhoods(model, np.arange(3), np.random.default_rng(0))
    drawn = {tuple(sorted(near.draw(3).tolist())) for _ in range(20)}
    assert drawn == {(0, 1), (2,)}


def test_only_directions_that_can_be_turned_are_drawn():
    model = model_of(random_problem(3, (3, 4), 5))
    turnable = np.array([0, 2, 4])
    near = DirectionNeighbourhoods(model, turnable, np.random.default_rng(0))
    for _ in range(10):
        assert set(near.draw(5).tolist()) <= set(turnable.tolist())


def test_no_more_directions_are_drawn_than_asked_for():
    chain = problem_of(
        ["a", "b", "c", "d"],
        [4, 4, 4, 4],
        [[1, -1, 0, 0], [0, 1, 0, -1]],
        {"a": (1, 1), "d": (1, 1)},
    )
    grid = model_of(random_problem(5, (3, 4), 6))
    assert len(DirectionNeighbourhoods(grid, np.arange(6), np.random.default_rng(0)).draw(4)) == 4
    # Cells that can only move together are one direction.
    coupled = model_of(chain)
    assert len(coupled.sensitive) == 1
