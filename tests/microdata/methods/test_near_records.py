"""Records near each other, against all distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablecloak.microdata.methods import neighbours
from tablecloak.microdata.methods.neighbours import NearRecords


def points_of(seed: int, n: int = 60, n_types: int = 3) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.column_stack([random.normal(size=n), random.normal(size=n),
                            10.0 * random.integers(0, n_types, n)])  # fmt: skip


def by_definition(points: np.ndarray, record: int, eps: float) -> list[int]:
    far = np.sqrt(((points - points[record]) ** 2).sum(axis=1))
    return [other for other in np.flatnonzero(far < eps).tolist() if other != record]


def collected(parts) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for part, cells, size in parts:
        for record, near in zip(part.tolist(), np.split(cells, np.cumsum(size)[:-1]), strict=True):
            assert record not in found
            found[record] = near.tolist()
    return found


@settings(max_examples=20)
@given(seed=st.integers(0, 200), eps=st.floats(0.1, 3.0))
def test_both_ways_of_looking_find_all_records_closer_than_eps(seed, eps):
    points = points_of(seed)
    order = np.random.default_rng(seed).permutation(len(points))[:40]
    reach = np.full(len(points), eps)
    expected = {record: by_definition(points, record, eps) for record in order.tolist()}
    near = NearRecords(points)
    assert collected(near.in_order(order, reach)) == expected
    strata = collected(near.by_strata(order, reach))
    assert {record: sorted(cells) for record, cells in strata.items()} == expected


def test_records_come_in_the_order_asked_for_and_neighbours_in_increasing_order():
    points = points_of(1)
    order = np.array([5, 3, 50, 7])
    parts = list(NearRecords(points).in_order(order, np.full(60, 2.0)))
    assert np.concatenate([part for part, _, _ in parts]).tolist() == order.tolist()
    for near in collected(parts).values():
        assert near == sorted(near)


def test_each_record_may_have_a_radius_of_its_own():
    points = points_of(2)
    reach = np.where(np.arange(60) % 2, 0.2, 2.0)
    found = collected(NearRecords(points).in_order(np.arange(60), reach))
    for record, near in found.items():
        assert near == by_definition(points, record, reach[record])


def test_many_records_come_in_chunks(monkeypatch):
    monkeypatch.setattr(neighbours, "CHUNK", 7)
    points = points_of(3)
    parts = list(NearRecords(points).in_order(np.arange(60), np.full(60, 1.0)))
    assert [len(part) for part, _, _ in parts] == [7] * 8 + [4]
    assert collected(parts) == {i: by_definition(points, i, 1.0) for i in range(60)}


def test_records_that_have_too_few_neighbours_get_the_nearest():
    points = np.array([[0.0], [1.0], [1.1], [5.0]])
    near = NearRecords(points)
    part, flat, size = np.array([0, 1, 3]), np.array([2]), np.array([0, 1, 0])
    cells, sizes = near.with_nearest(part, flat, size, np.array([0, 2]), 2)
    found = [sorted(each.tolist()) for each in np.split(cells, np.cumsum(sizes)[:-1])]
    # Record 1 keeps its own neighbour; 0 and 3 take their two nearest.
    assert found == [[1, 2], [2], [1, 2]]


def test_no_record_is_its_own_nearest_where_several_lie_at_one_place():
    points = np.zeros((5, 1))
    near = NearRecords(points)
    cells, sizes = near.with_nearest(
        np.arange(5), np.empty(0, dtype=int), np.zeros(5, dtype=int), np.arange(5), 2
    )
    assert sizes.tolist() == [2] * 5
    owner = np.repeat(np.arange(5), 2)
    assert not np.any(owner == cells)


@pytest.mark.parametrize(("eps", "n_strata"), [(5.0, 3), (15.0, 1)])
def test_a_column_of_distant_values_parts_the_records(monkeypatch, eps, n_strata):
    monkeypatch.setattr(neighbours, "LEAST_IN_STRATUM", 10)
    stratum, soft = neighbours._strata(points_of(4), eps)
    assert len(np.unique(stratum)) == n_strata
    assert soft.tolist() == [True, True, n_strata == 1]
