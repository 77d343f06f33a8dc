"""Risk by distance, by hand and by all distances."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.microdata import mixed_linkage, probabilistic_linkage, rank_intervals
from tablecloak.microdata.risk import linkage
from tablecloak.microdata.risk.linkage import (
    GowerColumns,
    agreement_model,
    interval_disclosure,
    record_linkage,
)


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
    monkeypatch.setattr(linkage, "CHUNK", 100)
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


# -- intervals of ranks -------------------------------------------------------------------


def test_an_unchanged_file_lies_within_and_intervals_of_no_width_hold_equal_values_only():
    frame = pd.DataFrame({"x": [3.0, 1, 2, 2], "y": [1, 2, 3, 4]})
    assert rank_intervals(frame, frame, ["x", "y"], width=0).all_columns == 1
    moved = frame.assign(x=[3.0, 1, 2, 2.5])
    found = rank_intervals(frame, moved, ["x", "y"], width=0)
    assert found.per_column().to_dict() == {"x": 0.75, "y": 1.0}
    assert found.all_columns == 0.75


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


SIZES = {"sex": 2, "region": 20, "job": 100, "status": 8}
KEPT = {"sex": 0.98, "region": 0.9, "job": 0.9, "status": 0.7}


def drawn_files(seed: int, n: int = 1200) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Categories of equal frequency, each kept with its probability and drawn anew otherwise."""
    random = np.random.default_rng(seed)
    one = pd.DataFrame({name: random.integers(0, size, n) for name, size in SIZES.items()})
    drawn = {
        name: np.where(random.random(n) < KEPT[name], one[name], random.integers(0, size, n))
        for name, size in SIZES.items()
    }
    return one.astype(str), pd.DataFrame(drawn).astype(str)


def test_estimates_are_near_the_probabilities_with_which_a_file_was_made():
    estimates = [probabilistic_linkage(*drawn_files(seed), list(SIZES)) for seed in range(3)]
    for name, size in SIZES.items():
        m = np.mean([each.columns.loc[name, "m"] for each in estimates])
        u = np.mean([each.columns.loc[name, "u"] for each in estimates])
        assert u == pytest.approx(1 / size, rel=0.05)
        assert m == pytest.approx(KEPT[name] + (1 - KEPT[name]) / size, abs=0.12)
    assert np.mean([each.matches for each in estimates]) == pytest.approx(1 / 1200, rel=0.4)


def likelihood(states, counts, matches, m, u) -> float:
    one, other = (
        np.prod(np.where(states == 1, p, np.where(states == 0, 1 - p, 1)), axis=1) for p in (m, u)
    )
    return float(counts @ np.log(matches * one + (1 - matches) * other))


def test_no_estimate_nearby_has_a_larger_likelihood():
    random = np.random.default_rng(2)
    states = np.array(list(itertools.product(range(3), repeat=3)))
    chance = np.prod(np.where(states == 1, 0.2, np.where(states == 0, 0.7, 0.1)), axis=1)
    counts = random.multinomial(20_000, chance).astype(float)
    counts[(states == 1).all(axis=1)] += 400
    matches, m, u = agreement_model(states, counts, 100)
    best = likelihood(states, counts, matches, m, u)
    for _ in range(60):
        moved = [np.clip(p + random.normal(0, 0.005, 3), 1e-6, 1 - 1e-6) for p in (m, u)]
        share = np.clip(matches * np.exp(random.normal(0, 0.05)), 1e-9, 1 - 1e-9)
        assert likelihood(states, counts, share, *moved) <= best + 1e-3


def test_links_go_to_the_largest_sum_of_weights():
    one, other = drawn_files(7, n=60)
    found = probabilistic_linkage(one, other, list(SIZES))
    for row in range(60):
        agree = one.to_numpy() == other.iloc[row].to_numpy()
        weight = np.where(agree, found.columns["agrees"], found.columns["differs"]).sum(axis=1)
        best = weight >= weight.max() - 1e-9
        assert found.right[row] == pytest.approx(best[row] / best.sum())


def test_an_unchanged_file_is_linked_and_an_unrelated_one_is_not():
    one, _ = drawn_files(1, n=400)
    unique = 1 / one.groupby(list(SIZES))["sex"].transform("size")
    assert probabilistic_linkage(one, one, list(SIZES)).share == pytest.approx(unique.mean())
    other = one.sample(frac=1, random_state=1).reset_index(drop=True)
    assert probabilistic_linkage(one, other, list(SIZES)).share < 0.05


def test_a_missing_value_says_nothing():
    one, other = drawn_files(3, n=300)
    holes = other.assign(job=None)
    found = probabilistic_linkage(one, holes, list(SIZES))
    without = probabilistic_linkage(one, holes, ["sex", "region", "status"])
    assert found.share == pytest.approx(without.share, abs=0.02)
    assert np.isfinite(found.columns.to_numpy()).all()


def test_numbers_agree_within_a_share_of_their_range():
    one = pd.DataFrame({"x": np.arange(101.0)})
    assert probabilistic_linkage(one, one + 1, ["x"], width=0.01).right[50] == pytest.approx(1 / 3)
    assert probabilistic_linkage(one, one + 1, ["x"], width=0.001).right[50] == 0


def test_the_summary_names_the_column_that_tells_most():
    found = probabilistic_linkage(*drawn_files(0), list(SIZES))
    assert found.summary().endswith("job tells most")


def test_parameters_out_of_range_are_refused():
    one, other = drawn_files(0, n=20)
    with pytest.raises(tc.InputError, match="At most 12 columns"):
        wide = pd.concat([one.add_suffix(str(i)) for i in range(4)], axis=1)
        probabilistic_linkage(wide, wide, list(wide))
    with pytest.raises(tc.InputError, match="`width` must be at least 0"):
        probabilistic_linkage(one, other, ["sex"], width=-1)
