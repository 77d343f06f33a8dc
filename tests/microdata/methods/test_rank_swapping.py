"""Rank swapping: values stay in the file, and none moves further in rank than is allowed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.microdata import RankSwapping
from tablecloak.microdata.methods.rank_swapping import near_pairs


def ranks_between(values: np.ndarray, released: np.ndarray) -> np.ndarray:
    """Values of the file that lie strictly between the old and the new value of a record."""
    ordered = np.sort(values)
    low, high = np.minimum(values, released), np.maximum(values, released)
    between = np.searchsorted(ordered, high, "left") - np.searchsorted(ordered, low, "right")
    return np.maximum(between, 0)


@given(
    st.lists(st.integers(-5, 30), min_size=2, max_size=80),
    st.floats(0.01, 1.0),
    st.integers(0, 10**6),
)
def test_values_stay_in_the_file_and_move_by_at_most_the_window(numbers, share, seed):
    values = np.array(numbers, dtype=float)
    share = max(share, 1.01 / len(values))
    method = RankSwapping(["x"], window=min(share, 1.0))
    release = method.protect(pd.DataFrame({"x": values}), seed=seed)
    released = release.frame["x"].to_numpy()
    assert np.array_equal(np.sort(released), np.sort(values))
    window = int(min(share, 1.0) * len(values))
    assert release.report.loc["x", "window"] == window
    assert ranks_between(values, released).max() < window


@given(st.integers(0, 60), st.integers(1, 70), st.integers(0, 10**6))
def test_pairs_are_disjoint_near_and_as_many_as_can_be_found(count, window, seed):
    low, high = near_pairs(count, window, np.random.default_rng(seed))
    assert np.all((high > low) & (high - low <= window))
    both = np.concatenate([low, high])
    assert len(set(both)) == len(both)
    left = np.setdiff1d(np.arange(count), both)
    assert np.all(np.diff(left) > window)


def test_distances_in_ranks_are_uniform_over_the_window():
    low, high = near_pairs(100_000, 400, np.random.default_rng(1))
    shares = np.histogram(high - low, 8, (0, 400))[0] / len(low)
    # 50,000 distances: three standard errors of a share of an eighth are 0.0045.
    assert shares == pytest.approx(np.full(8, 1 / 8), abs=0.005)
    assert 2 * len(low) > 99_900


@pytest.mark.parametrize(
    ("draw", "slack"), [("uniform", 0.1), ("normal", 0.2), ("exponential", 0.6)]
)
@pytest.mark.parametrize("kept", [0.8, 0.95, 0.99])
def test_the_correlation_asked_for_is_kept_and_the_window_is_not_much_too_narrow(draw, slack, kept):
    values = getattr(np.random.default_rng(3), draw)(size=4000)
    release = RankSwapping(["x"], correlation=kept).protect(pd.DataFrame({"x": values}), seed=1)
    found = np.corrcoef(values, release.frame["x"])[0, 1]
    assert release.report.loc["x", "correlation"] == pytest.approx(found)
    # A few extreme values decide what a window changes in skewed columns.
    assert kept <= found < kept + slack * (1 - kept)


def test_the_window_for_a_correlation_of_evenly_spread_values_follows_from_its_formula():
    """With D uniform on a window of share p of the range 1: E D^2 = p^2 / 3 = 2 (1 - r) / 12."""
    values = np.random.default_rng(3).permutation(20_000) / 20_000
    for kept in (0.9, 0.99, 0.999):
        release = RankSwapping(["x"], correlation=kept).protect(pd.DataFrame({"x": values}), seed=1)
        assert release.report.loc["x", "share"] == pytest.approx(((1 - kept) / 2) ** 0.5, rel=0.1)


def test_correlations_with_other_columns_fall_by_the_correlation_that_is_kept():
    random = np.random.default_rng(2)
    x = random.normal(size=30_000)
    frame = pd.DataFrame({"x": x, "y": x + random.normal(size=30_000)})
    before = frame.corr().loc["x", "y"]
    one = RankSwapping(["x"], correlation=0.9).protect(frame, seed=1)
    both = RankSwapping(["x", "y"], correlation=0.9).protect(frame, seed=1)
    kept = one.report.loc["x", "correlation"]
    assert one.frame.corr().loc["x", "y"] / before == pytest.approx(kept, abs=0.01)
    product = both.report["correlation"].prod()
    assert both.frame.corr().loc["x", "y"] / before == pytest.approx(product, abs=0.015)
    assert one.frame["y"].equals(frame["y"])


def test_means_of_subsets_stay_within_two_standard_errors():
    values = np.random.default_rng(5).normal(100, 30, 20_000)
    release = RankSwapping(["x"], mean_change=0.05).protect(pd.DataFrame({"x": values}), seed=1)
    change = release.frame["x"].to_numpy() - values
    assert 0.04 < np.sqrt(np.mean(change**2)) / values.mean() <= 0.05
    # 200 random subsets of 100 records.
    means = np.abs(change.reshape(200, 100).mean(axis=1))
    assert np.mean(means <= 2 * 0.05 * values.mean() / 10) > 0.9


def test_extremes_become_their_mean_and_their_mean_stays():
    values = np.random.default_rng(5).lognormal(8, 1, 1000)
    method = RankSwapping(["x"], window=0.05, top=0.02, bottom=0.01)
    release = method.protect(pd.DataFrame({"x": values}), seed=1)
    ordered, released = np.sort(values), np.sort(release.frame["x"])
    assert released[-20:] == pytest.approx(np.full(20, ordered[-20:].mean()))
    assert released[:10] == pytest.approx(np.full(10, ordered[:10].mean()))
    assert np.array_equal(released[10:-20], ordered[10:-20])
    assert release.report.loc["x", "coded"] == 30


def test_missing_values_stay_and_types_stay():
    frame = pd.DataFrame(
        {"x": pd.array([5, None, 7, 1, 9, 4], dtype="Int64"), "y": np.float32([1, 2, 3, 4, 5, 6])},
        index=list("abcdef"),
    )
    released = RankSwapping(["x", "y"], window=0.5).protect(frame, seed=1).frame
    assert released.dtypes.equals(frame.dtypes)
    assert released["x"].isna().tolist() == frame["x"].isna().tolist()
    assert sorted(released["x"].dropna()) == [1, 4, 5, 7, 9]
    assert not released["x"].equals(frame["x"])


@pytest.mark.parametrize(
    ("options", "values", "message"),
    [
        ({"window": 0.1, "correlation": 0.9}, [1, 2, 3], "Give one of them"),
        ({"top": 0.6, "bottom": 0.4}, [1, 2, 3], "must leave values between"),
        ({"window": 0.1}, [1, 2, 3], "less than one rank"),
        ({"window": 1}, [1], "less than one rank"),
        ({}, [1], "there are no two values"),
        ({"correlation": 1}, [1, 2, 3], "Exchanging neighbours in rank already changes 'x'"),
        ({"top": 0.1}, [1, 2, 3], "fewer than 3: their mean would reveal too much"),
        ({}, ["a", "b"], "'x' is not numeric"),
    ],
)
def test_what_cannot_be_exchanged_is_refused(options, values, message):
    with pytest.raises(tc.InputError, match=message):
        RankSwapping(["x"], **options).protect(pd.DataFrame({"x": values}))


def test_a_constant_column_stays():
    frame = pd.DataFrame({"x": [4.0] * 9})
    for options in ({}, {"window": 0.5}, {"mean_change": 0.1}):
        release = RankSwapping(["x"], **options).protect(frame, seed=1)
        assert release.frame.equals(frame)
        assert release.report.loc["x", "correlation"] == 1
