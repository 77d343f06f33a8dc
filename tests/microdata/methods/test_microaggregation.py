"""Microaggregation equals its definition, record by record."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.microdata import CovarianceNoise, Microaggregation
from tablecloak.microdata.methods import mdav as leaf_module
from tablecloak.microdata.methods import microaggregation
from tablecloak.microdata.methods.microaggregation import optimal_groups


def plain_mdav(points: np.ndarray, k: int) -> np.ndarray:
    """The definition: all distances anew for each group, ties to the first record."""
    groups = np.full(len(points), -1)
    left, number = np.arange(len(points)), 0

    def far_from(centre):
        return points[left[np.argmax(np.sum((points[left] - centre) ** 2, axis=1))]]

    def take(centre):
        nonlocal left, number
        distance = np.sum((points[left] - centre) ** 2, axis=1)
        nearest = np.argsort(distance, kind="stable")[:k]
        groups[left[nearest]] = number
        left, number = np.delete(left, nearest), number + 1

    while len(left) >= 2 * k:
        far = far_from(points[left].mean(axis=0))
        opposite = far_from(far) if len(left) >= 3 * k else None
        take(far)
        if opposite is not None:
            take(opposite)
    groups[left] = number
    return groups


@pytest.mark.parametrize("seed", range(12))
def test_groups_equal_the_definition_also_where_distances_tie(seed):
    random = np.random.default_rng(seed)
    n, p, k = int(random.integers(12, 300)), int(random.integers(1, 7)), int(random.integers(2, 12))
    draws = random.integers(0, 4, (n, p)) if seed % 2 else random.normal(size=(n, p))
    values = draws.astype(float)
    names = [f"c{axis}" for axis in range(p)]
    method = Microaggregation(names, k, grouping="mdav")
    release = method.protect(pd.DataFrame(values, columns=names))
    points = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
    assert np.array_equal(release.groups, plain_mdav(points, k))


def test_small_floats_stay_small_and_means_of_whole_numbers_are_not_rounded():
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"a": random.normal(size=50).astype("float32")})
    frame["b"] = random.integers(0, 9, 50)
    for method in (Microaggregation(["a", "b"]), CovarianceNoise(["a", "b"], 0.01)):
        released = method.protect(frame, seed=1).frame
        assert released.dtypes.astype(str).tolist() == ["float32", "float64"]
        assert (released.b != released.b.round()).any()


@pytest.mark.parametrize(
    ("frame", "columns", "message"),
    [
        (pd.DataFrame({"a": [1, 2, 3, 4]}), ["b"], "There is no column 'b'"),
        (pd.DataFrame({"a": list("wxyz")}), ["a"], "'a' is not numeric"),
        (pd.DataFrame({"a": [1, 2, np.nan]}), ["a"], "2 records with all values are fewer than"),
        (pd.DataFrame({"a": [1, 2, np.inf, 4]}), ["a"], "infinite value in row 2"),
        (pd.DataFrame({0: [1, 2, 3, 4]}), [0], "Column 0 has a name that is no text"),
        (pd.DataFrame({"a": [1, 2]}), ["a"], "2 records are fewer than k = 3"),
        (pd.DataFrame([[1, 2]] * 4, columns=["a", "a"]), ["a"], "Two columns are called 'a'"),
    ],
)
def test_frames_that_cannot_be_grouped(frame, columns, message):
    with pytest.raises(tc.InputError, match=message):
        Microaggregation(columns).protect(frame)


@pytest.mark.parametrize("columns", ["a", [], ["a", "a"], 5])
def test_lists_of_columns_that_are_none(columns):
    for method in (lambda: Microaggregation(columns), lambda: CovarianceNoise(columns, 0.1)):
        with pytest.raises(tc.InputError, match="must be a list of one or more names"):
            method()


@pytest.mark.parametrize("n", [3, 5, 6, 10, 31])
@pytest.mark.parametrize("k", [2, 3])
def test_every_group_has_at_least_k_and_less_than_2k_records(n, k):
    frame = pd.DataFrame({"x": np.random.default_rng(n).normal(size=n)})
    size = np.bincount(Microaggregation(["x"], k=k).protect(frame).groups)
    assert size.min() >= k
    assert size.max() < 2 * k
    assert size.sum() == n


@pytest.mark.parametrize("seed", range(3))
def test_means_stay_and_the_loss_is_the_variance_within_groups(seed):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.normal(size=(40, 2)) * [1, 50], columns=["x", "y"])
    release = Microaggregation(["x", "y"], k=4).protect(frame)
    assert release.frame.mean().to_numpy() == pytest.approx(frame.mean().to_numpy())
    within = ((frame - release.frame) ** 2).sum() / ((frame - frame.mean()) ** 2).sum()
    assert release.loss == pytest.approx(within.mean())
    assert release.frame.groupby(release.groups).nunique().max().max() == 1


def test_units_do_not_change_the_groups():
    frame = pd.DataFrame(np.random.default_rng(5).normal(size=(30, 2)), columns=["x", "y"])
    scaled = frame * [1000, 0.001] + [7, -3]
    groups = [Microaggregation(["x", "y"]).protect(each).groups for each in (frame, scaled)]
    assert np.array_equal(*groups)


def test_three_obvious_groups_are_found():
    frame = pd.DataFrame({"x": [1.0, 2, 3, 101, 102, 103, 201, 202, 203]})
    release = Microaggregation(["x"], k=3).protect(frame)
    assert release.frame["x"].tolist() == [2] * 3 + [102] * 3 + [202] * 3


def least_loss(values: np.ndarray, k: int) -> float:
    """Sum of squares of the best groups of sorted numbers, by the recursion over all last ones."""
    ordered = np.sort(values)
    best = [0.0] + [np.inf] * len(ordered)
    for end in range(k, len(ordered) + 1):
        for size in range(k, min(2 * k - 1, end) + 1):
            group = ordered[end - size : end]
            best[end] = min(best[end], best[end - size] + np.sum((group - group.mean()) ** 2))
    return best[-1]


@given(st.lists(st.integers(0, 40), min_size=3, max_size=90), st.integers(2, 9), st.booleans())
def test_groups_of_one_column_lose_the_least_possible(numbers, k, is_skewed):
    values = np.exp(np.array(numbers) / 3.0) if is_skewed else np.array(numbers, dtype=float)
    k = min(k, len(values))
    groups = optimal_groups(values, k)
    size = np.bincount(groups)
    assert k <= size.min() <= size.max() < 2 * k
    lost = sum(
        np.sum((values[groups == g] - values[groups == g].mean()) ** 2) for g in range(len(size))
    )
    assert lost == pytest.approx(least_loss(values, k), rel=1e-9, abs=1e-9)


def test_the_shortest_path_is_the_same_in_one_stretch_and_in_many(monkeypatch):
    values = np.random.default_rng(1).lognormal(8, 2, 3000)
    for k in (2, 5):
        many = optimal_groups(values, k)
        monkeypatch.setattr(microaggregation, "LONG", 1)
        short = optimal_groups(values, k)
        monkeypatch.setattr(microaggregation, "LONG", 10**6)
        one = optimal_groups(values, k)
        monkeypatch.undo()
        assert np.array_equal(many, one)
        assert np.array_equal(short, one)


def test_one_column_is_grouped_with_less_loss_than_by_mdav():
    frame = pd.DataFrame({"x": np.random.default_rng(1).lognormal(8, 2, 2000)})
    best = Microaggregation(["x"], k=5).protect(frame)
    plain = Microaggregation(["x"], k=5, grouping="mdav").protect(frame)
    assert best.grouping == "optimal"
    assert best.loss < plain.loss
    assert "the least possible" in best.summary()


@pytest.mark.parametrize("k", [3, 10])
@pytest.mark.parametrize("draw", ["normal", "lognormal"])
def test_groups_in_leaves_keep_their_size_and_lose_little_more(draw, k, monkeypatch):
    monkeypatch.setattr(leaf_module, "POOL", 500)
    frame = pd.DataFrame(
        getattr(np.random.default_rng(2), draw)(size=(4003, 3)), columns=list("xyz")
    )
    plain = Microaggregation(["x", "y", "z"], k, grouping="mdav").protect(frame)
    leaves = Microaggregation(["x", "y", "z"], k, grouping="leaves").protect(frame)
    size = np.bincount(leaves.groups)
    assert k <= size.min() <= size.max() < 2 * k
    assert leaves.loss < 1.3 * plain.loss
    monkeypatch.setattr(leaf_module, "POOL", 10**6)
    pooled = Microaggregation(["x", "y", "z"], k, grouping="leaves").protect(frame)
    assert pooled.loss <= plain.loss * (1 + 1e-12)


def test_records_with_gaps_join_the_nearest_group():
    frame = pd.DataFrame(
        {
            "x": [1.0, 1.1, 1.2, 9.0, 9.1, 9.2, 1.3, np.nan, np.nan],
            "y": [5.0, 5.1, 5.2, 7.0, 7.1, 7.2, np.nan, 7.3, np.nan],
        }
    )
    release = Microaggregation(["x", "y"]).protect(frame)
    near, far = release.groups[0], release.groups[3]
    assert release.groups.tolist() == [near] * 3 + [far] * 3 + [near, far, -1]
    assert release.frame.isna().equals(frame.isna())
    assert release.frame["x"].tolist()[6] == pytest.approx(frame["x"].iloc[[0, 1, 2, 6]].mean())
    assert release.frame["y"].tolist()[3] == pytest.approx(frame["y"].iloc[[3, 4, 5, 7]].mean())


def test_a_column_that_hardly_any_record_has_is_named_with_the_remedy():
    frame = pd.DataFrame({"wage": np.arange(20.0), "bonus": np.nan, "hours": np.arange(20.0)})
    frame.loc[:1, "bonus"], frame.loc[5, "hours"] = [3, 4], np.nan
    message = (
        "2 records with all values are fewer than k = 3.* Column 'bonus' lacks its value in 18 of "
        "20 records: leave it out of `columns`, or lower `k`"
    )
    with pytest.raises(tc.InputError, match=message):
        Microaggregation(list(frame)).protect(frame)
    assert Microaggregation(["wage", "hours"]).protect(frame).frame["hours"].isna().sum() == 1


def test_optimal_groups_of_several_columns_are_refused():
    with pytest.raises(tc.InputError, match="for one column only"):
        Microaggregation(["x", "y"], grouping="optimal")


def test_the_summary_counts_who_shares_all_columns_with_too_few():
    random = np.random.default_rng(2)
    frame = pd.DataFrame(random.normal(size=(400, 2)), columns=["a", "b"])
    assert "each column by itself" not in Microaggregation(["a", "b"], k=4).protect(frame).summary()
    gaps = frame.mask(random.random(frame.shape) < 0.1)
    release = Microaggregation(["a", "b"], k=4).protect(gaps)
    pairs = list(release.frame.fillna(-99).itertuples(index=False, name=None))
    few = sum(pairs.count(pair) < 4 and pair != (-99, -99) for pair in pairs)
    assert few > 0
    assert f"{few} records with missing values" in release.summary()
    for name in ("a", "b"):
        assert release.frame[name].value_counts().min() >= 4
