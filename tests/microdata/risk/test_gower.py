"""Linkage by Gower's distance: by hand, by all distances and by all assignments."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.microdata import mixed_linkage, record_linkage
from tablecloak.microdata.risk import gower
from tablecloak.microdata.risk.gower import GowerColumns


def files(seed: int, n: int = 7, holes: float = 0.0) -> tuple[pd.DataFrame, pd.DataFrame]:
    random = np.random.default_rng(seed)
    one = pd.DataFrame(
        {
            "job": random.choice(list("abc"), n).astype(object),
            "wage": np.round(random.normal(size=n), 1),
            "age": random.integers(20, 60, n).astype(float),
        }
    )
    other = one.assign(
        job=np.where(random.random(n) < 0.3, "b", one["job"]),
        wage=one["wage"] + np.round(random.normal(0, 0.5, n), 1),
    )
    return tuple(frame.mask(random.random(frame.shape) < holes) for frame in (one, other))


def by_definition(one: pd.DataFrame, other: pd.DataFrame) -> np.ndarray:
    far = np.ones((len(other), len(one)))
    for i, j in itertools.product(range(len(other)), range(len(one))):
        parts = []
        for name in one.columns:
            x, y = one[name].iloc[j], other[name].iloc[i]
            if pd.isna(x) or pd.isna(y):
                continue
            extent = one[name].max() - one[name].min() if name != "job" else None
            parts.append(float(x != y) if name == "job" else min(abs(x - y) / (extent or 1), 1))
        far[i, j] = np.mean(parts) if parts else 1.0
    return far


NAMES = ["job", "wage", "age"]


@settings(max_examples=15)
@given(seed=st.integers(0, 1000), holes=st.sampled_from([0.0, 0.3]))
def test_distances_equal_their_definition(seed, holes):
    one, other = files(seed, holes=holes)
    found = GowerColumns.of(one, other, NAMES).distances(np.arange(7))
    assert found == pytest.approx(by_definition(one, other))


@settings(max_examples=15)
@given(seed=st.integers(0, 1000), holes=st.sampled_from([0.0, 0.3]))
def test_the_nearest_of_all_is_linked_and_ties_share(seed, holes):
    one, other = files(seed, holes=holes)
    far = by_definition(one, other)
    near = far <= far.min(axis=1, keepdims=True) + 1e-12
    found = mixed_linkage(one, other, NAMES)
    assert found.right == pytest.approx(near.diagonal() / near.sum(axis=1))
    assert found.distance == pytest.approx(far.min(axis=1))


@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_an_assignment_has_the_least_sum_of_all(seed):
    one, other = files(seed, n=6)
    far = by_definition(one, other)
    least = min(far[np.arange(6), list(p)].sum() for p in itertools.permutations(range(6)))
    assert mixed_linkage(one, other, NAMES, assign=True).distance.sum() == pytest.approx(least)


def test_an_assignment_finds_records_whose_nearest_is_taken():
    """Both released wages are nearest to 4, which only one of them can have."""
    one = pd.DataFrame({"job": list("aabb"), "wage": [1.0, 4, 1, 4]})
    other = one.assign(wage=[2.8, 4.2, 2.8, 4.2])
    assert mixed_linkage(one, other, ["job", "wage"]).share == 0.5
    assert mixed_linkage(one, other, ["job", "wage"], assign=True).share == 1


@pytest.mark.parametrize("assign", [False, True])
def test_equal_originals_count_their_share(assign):
    same = pd.DataFrame({"job": list("aaab")})
    found = mixed_linkage(same, same, ["job"], assign=assign)
    assert found.right.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1])
    assert "50 % of 4" in found.summary()


def test_one_number_is_linked_as_by_euclid():
    random = np.random.default_rng(3)
    one = pd.DataFrame({"x": random.normal(size=60)})
    other = one + random.normal(0, 0.05, (60, 1))
    assert mixed_linkage(one, other, ["x"]).share == pytest.approx(
        record_linkage(one, other, ["x"])
    )


def test_distances_in_parts_are_those_at_once(monkeypatch):
    one, other = files(3, n=40, holes=0.1)
    expected = mixed_linkage(one, other, NAMES)
    monkeypatch.setattr(gower, "CHUNK", 100)
    assert mixed_linkage(one, other, NAMES).right.tolist() == expected.right.tolist()


def test_a_part_is_linked_to_all_originals_and_is_the_same_each_time():
    one, other = files(5, n=200)
    found, whole = mixed_linkage(one, other, NAMES, most=50), mixed_linkage(one, other, NAMES)
    assert found.right.tolist() == whole.right[found.records].tolist()
    assert found.records.tolist() == mixed_linkage(one, other, NAMES, most=50).records.tolist()


def test_bands_in_place_of_numbers_differ_from_them():
    one = pd.DataFrame({"age": [20, 30]})
    assert mixed_linkage(one, pd.DataFrame({"age": ["20-29", "30-39"]}), ["age"]).share == 0.5


def test_wrong_columns_and_too_many_assigned_are_refused():
    one, other = files(0)
    with pytest.raises(tc.InputError, match="no column 'jo'.*job"):
        mixed_linkage(one, other, ["jo"])
    with pytest.raises(tc.InputError, match="At most 5,000 records are assigned"):
        mixed_linkage(one, other, NAMES, assign=True, most=6000)
    with pytest.raises(tc.InputError, match="7 records and the release 3"):
        mixed_linkage(one, other.head(3), NAMES)
