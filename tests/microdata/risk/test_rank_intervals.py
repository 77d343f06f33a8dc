"""Intervals of ranks, by their definition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.microdata import rank_intervals


def test_an_unchanged_file_lies_within_and_intervals_of_no_width_hold_equal_values_only():
    frame = pd.DataFrame({"x": [3.0, 1, 2, 2], "y": [1, 2, 3, 4]})
    assert rank_intervals(frame, frame, ["x", "y"], width=0).all_columns == 1
    moved = frame.assign(x=[3.0, 1, 2, 2.5])
    found = rank_intervals(frame, moved, ["x", "y"], width=0)
    assert found.per_column().to_dict() == {"x": 0.75, "y": 1.0}
    assert found.all_columns == 0.75


@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_intervals_equal_their_definition(seed):
    random = np.random.default_rng(seed)
    n, width = int(random.integers(2, 30)), float(random.choice([0.05, 0.1, 0.29]))
    x, y = np.round(random.normal(size=(2, n)), 1)
    expected = []
    for true, released in zip(x, y, strict=True):
        ranks = np.flatnonzero(np.sort(y) == released)
        low, high = ranks[0] - int(width * n + 1e-9), ranks[-1] + int(width * n + 1e-9)
        near = np.sort(y)[max(low, 0) : high + 1]
        expected.append(near.min() <= true <= near.max())
    found = rank_intervals(pd.DataFrame({"x": x}), pd.DataFrame({"x": y}), ["x"], width=width)
    assert found.inside["x"].tolist() == expected


def test_a_wider_interval_discloses_no_less():
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"x": random.normal(size=200)})
    noisy = frame + random.normal(0, 0.3, (200, 1))
    shares = [rank_intervals(frame, noisy, ["x"], width=w).all_columns for w in (0, 0.02, 0.1, 0.5)]
    assert shares == sorted(shares)
    assert shares[0] < 0.1
    assert shares[-1] > 0.9


def test_missing_values_are_left_out():
    frame = pd.DataFrame({"x": [1.0, np.nan, 3, 4], "y": [1.0, 2, 3, 4]})
    released = pd.DataFrame({"x": [1.0, 2, np.nan, 1], "y": [4.0, 2, 3, 1]})
    found = rank_intervals(frame, released, ["x", "y"], width=0)
    assert found.per_column().to_dict() == {"x": 0.5, "y": 0.5}
    assert found.all_columns == 0
    assert "x 50 %" in found.summary()
    empty = frame.assign(x=np.nan)
    assert np.isnan(rank_intervals(frame, empty, ["x"]).all_columns)


def test_widths_out_of_range_are_refused():
    frame = pd.DataFrame({"x": [1.0, 2]})
    with pytest.raises(tc.InputError, match="`width` must be a share"):
        rank_intervals(frame, frame, ["x"], width=5)
