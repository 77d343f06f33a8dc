"""Components, forests and shortest paths, against those of networkx; walks of trees."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from tablecloak.graph import (
    children_of,
    components,
    components_of_cells,
    components_of_columns,
    joined_names,
    parents_first,
    parents_of,
    parts_first,
    path_to_root,
    shortest_paths,
    spanning_forest,
)

EDGES = [(*np.random.default_rng(seed).integers(0, 12, (2, 14)), 12) for seed in range(10)]
"""Ends of random edges, some of them parallel and some from a node to itself; their nodes."""


def sets_of(label: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(label == number).tolist()) for number in set(label.tolist())}


def graph_of(kind, one, other, n):
    graph = kind()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(zip(one.tolist(), other.tolist(), strict=True))
    return graph


def test_nodes_that_edges_join_are_one_component():
    for edges in EDGES:
        label = components(*edges)
        graph = graph_of(nx.Graph, *edges)
        assert sets_of(label) == set(map(frozenset, nx.connected_components(graph)))
        assert set(label.tolist()) == set(range(label.max() + 1))


def test_a_strong_component_is_what_reaches_each_other():
    for edges in EDGES:
        label = components(*edges, strong=True)
        graph = graph_of(nx.DiGraph, *edges)
        assert sets_of(label) == set(map(frozenset, nx.strongly_connected_components(graph)))


def test_columns_are_in_one_component_if_rows_lead_from_one_to_the_other():
    matrix = csr_array([[0, 1, 0, 1, 0], [0, 0, 0, 1, 1], [0, 0, 0, 0, 0], [2, 0, 0, 0, 0]])
    assert sets_of(components_of_columns(matrix)) == {
        frozenset({1, 3, 4}),
        frozenset({0}),
        frozenset({2}),
    }


def test_a_spanning_forest_joins_the_same_nodes_over_the_shortest_edges():
    for edges in EDGES:
        one, other, n = edges
        length = np.random.default_rng(1).integers(1, 6, len(one))
        forest = spanning_forest(one, other, length, n)
        assert sets_of(components(one[forest], other[forest], n)) == sets_of(components(*edges))
        # One edge fewer than nodes in each tree: no edge closes a cycle.
        assert len(forest) == n - (components(*edges).max() + 1)
        graph = nx.MultiGraph()
        graph.add_weighted_edges_from(
            zip(*map(np.ndarray.tolist, (one, other, length)), strict=True)
        )
        shortest = nx.minimum_spanning_edges(graph, data=True, keys=False)
        assert length[forest].sum() == sum(data["weight"] for *_, data in shortest)


def test_of_equally_long_edges_between_the_same_nodes_the_first_is_in_the_forest():
    one, other = np.array([0, 1, 1]), np.array([1, 0, 2])
    assert sorted(spanning_forest(one, other, np.ones(3), 3).tolist()) == [0, 2]


def test_a_shortest_path_is_found_back_from_its_end():
    for edges in EDGES:
        one, other, n = edges
        length = np.random.default_rng(2).uniform(1, 5, len(one))
        # Edges of the same ends would be told apart by nothing on the way back.
        _, first = np.unique(one * n + other, return_index=True)
        one, other, length = one[first], other[first], length[first]
        starts = np.searchsorted(one, np.arange(n + 1))
        distance, before = shortest_paths(length, other, starts, 0)
        graph = nx.DiGraph()
        graph.add_node(0)
        graph.add_weighted_edges_from(
            zip(*map(np.ndarray.tolist, (one, other, length)), strict=True)
        )
        reached = nx.single_source_dijkstra_path_length(graph, 0)
        assert np.flatnonzero(np.isfinite(distance)).tolist() == sorted(reached)
        for node, total in reached.items():
            assert distance[node] == pytest.approx(total)
            if node != 0:
                step = graph.edges[int(before[node]), node]["weight"]
                assert distance[before[node]] + step == pytest.approx(total)


TREES = [("T", ("N", "S")), ("N", ("a", "b")), ("S", ("c",)), ("T", ("x", "y"))]


def test_a_walk_from_the_root_meets_parents_first_and_one_from_the_parts_meets_them_last():
    children = children_of(TREES)
    walk = list(parents_first(["T"], children))
    assert [node for node, _ in walk] == ["T", "N", "a", "b", "S", "c", "x", "y"]
    assert [depth for _, depth in walk] == [0, 1, 2, 2, 1, 2, 1, 1]
    assert parts_first("T", children) == ["a", "b", "N", "c", "S", "x", "y", "T"]


def test_a_node_below_two_parents_is_walked_below_each_and_stands_once_behind_its_parts():
    children = children_of([("T", ("N", "x")), ("N", ("a", "b")), ("x", ("a", "b"))])
    assert [node for node, _ in parents_first(["T"], children)] == [
        "T",
        "N",
        "a",
        "b",
        "x",
        "a",
        "b",
    ]
    assert parts_first("T", children) == ["a", "b", "N", "x", "T"]


def test_trees_are_walked_to_any_depth():
    children = {level: [level + 1] for level in range(5000)}
    assert parts_first(0, children) == list(range(5000, -1, -1))
    assert list(parents_first([0], children))[-1] == (5000, 5000)
    assert path_to_root(5000, parents_of(children.items()))[-1] == 0


def test_names_are_joined_as_by_networkx():
    for seed in range(20):
        random = np.random.default_rng(seed)
        pairs = [tuple(f"v{i}" for i in random.integers(0, 30, 2)) for _ in range(20)]
        graph = nx.Graph(pairs)
        groups = {name: min(group) for group in nx.connected_components(graph) for name in group}
        assert joined_names(pairs) == groups
        assert joined_names([]) == {}


def test_cells_that_cannot_move_connect_nothing():
    for seed in range(20):
        random = np.random.default_rng(seed)
        relations = csr_array(random.choice([0.0, 0.0, 0.0, 1.0, -1.0], (6, 12)))
        moving = random.random(12) < 0.7
        graph = nx.Graph()
        graph.add_nodes_from(np.flatnonzero(moving).tolist())
        for row in relations.toarray():
            nx.add_path(graph, np.flatnonzero((row != 0) & moving).tolist())
        label = components_of_cells(relations, moving)
        assert (label[~moving] == -1).all()
        groups = {
            frozenset(np.flatnonzero(label == number).tolist()) for number in set(label[moving])
        }
        assert groups == {frozenset(group) for group in nx.connected_components(graph)}
