"""Risk by distance, by hand and by all distances."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablecloak.microdata.risk.linkage import interval_disclosure, record_linkage


def frame(values) -> pd.DataFrame:
    return pd.DataFrame({"x": np.asarray(values, dtype=float)})


def test_an_unchanged_file_is_linked_and_disclosed_throughout():
    same = frame([1, 2, 5, 9])
    assert record_linkage(same, same, ["x"]) == 1
    assert interval_disclosure(same, same, ["x"]) == 1


def test_a_reversed_file_links_nobody_but_the_one_in_the_middle():
    assert record_linkage(frame([1, 2, 3]), frame([3, 2, 1]), ["x"]) == pytest.approx(1 / 3)


def test_of_equal_originals_each_counts_its_share():
    """Three of four are alike: each is found with the chance of one in three."""
    same = frame([1, 1, 1, 9])
    assert record_linkage(same, same, ["x"]) == pytest.approx((3 * (1 / 3) + 1) / 4)


def test_intervals_are_measured_in_deviations_of_the_released_column():
    original, released = frame([0, 10]), frame([1, 11])
    deviation = np.std([1, 11], ddof=1)
    assert interval_disclosure(original, released, ["x"], width=1.01 / deviation) == 1
    assert interval_disclosure(original, released, ["x"], width=0.99 / deviation) == 0


def test_a_record_is_disclosed_only_if_all_its_columns_are():
    original = pd.DataFrame({"x": [0.0, 10, 20], "y": [0.0, 10, 20]})
    released = original.assign(y=[0.0, 15, 20])
    assert interval_disclosure(original, released, ["x"]) == 1
    assert interval_disclosure(original, released, ["x", "y"]) == pytest.approx(2 / 3)


@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_linkage_is_the_share_of_records_nearest_to_themselves(seed):
    random = np.random.default_rng(seed)
    x = np.round(random.normal(size=(15, 2)), 1)
    y = np.round(x + random.normal(0, 0.5, x.shape), 1)
    names = ["a", "b"]
    spread = x.std(axis=0, ddof=1)
    far = (((y[:, None] - x[None]) / spread) ** 2).sum(-1)
    least = far.min(axis=1, keepdims=True)
    near = far <= least * (1 + 1e-9) + 1e-15
    expected = np.mean(np.where(near.diagonal(), 1 / near.sum(axis=1), 0))
    found = record_linkage(pd.DataFrame(x, columns=names), pd.DataFrame(y, columns=names), names)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("factor", [0.001, 1000.0])
def test_units_of_measurement_do_not_matter(factor):
    random = np.random.default_rng(2)
    x = random.normal(size=30)
    y = x + random.normal(0, 0.2, 30)
    plain = record_linkage(frame(x), frame(y), ["x"])
    assert record_linkage(frame(factor * x), frame(factor * y), ["x"]) == pytest.approx(plain)
