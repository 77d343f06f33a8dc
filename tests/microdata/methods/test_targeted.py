"""Targeted swapping of households: who is swapped, with whom, and what stays as it was."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.microdata import TargetedSwapping
from tablecloak.microdata.methods.targeted import HouseholdPairs, Households, joined

pytestmark = pytest.mark.filterwarnings("ignore::tablecloak.microdata.TellingColumnWarning")
"""Districts stay, and give swapped places away."""

GEOGRAPHY = ["state", "county", "town"]
SHARES = [0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.03, 0.02]


def census(seed: int, n_homes: int = 300) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    size = random.integers(1, 4, n_homes)
    home = np.repeat(np.arange(n_homes), size)
    place = random.integers(0, (2, 3, 4), (n_homes, 3))[home]
    frame = pd.DataFrame(place, columns=GEOGRAPHY)
    return frame.assign(
        home=home,
        job=random.choice(
            list("abcdefgh"), len(home), p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.03, 0.02]
        ),
        tenure=random.choice(["own", "rent"], n_homes)[home],
        district=(place[:, 0] * 100 + place[:, 1] * 10 + place[:, 2]),
        income=random.lognormal(size=len(home)),
    )


def least_counts(frame: pd.DataFrame, depth: int) -> pd.Series:
    """Smallest count of a member of each household, the plain way."""
    by = [*GEOGRAPHY[:depth], "job"]
    return frame.groupby(by)["home"].transform("size").groupby(frame["home"]).min()


@settings(max_examples=12)
@given(st.integers(0, 10_000), st.integers(1, 6), st.sampled_from([0.0, 0.05, 0.4]))
def test_what_a_targeted_swap_does_and_leaves(seed, k, rate):
    frame = census(seed)
    method = TargetedSwapping(
        GEOGRAPHY,
        "home",
        ["job"],
        k=k,
        rate=rate,
        similar=[["tenure"], []],
        carry_along=["district"],
    )
    release = method.protect(frame, seed=seed)
    after = release.frame
    # People, areas and their sizes are as before; only places have changed.
    rest = ["home", "job", "tenure", "income"]
    pd.testing.assert_frame_equal(after[rest], frame[rest])
    pd.testing.assert_series_equal(after.groupby(GEOGRAPHY).size(), frame.groupby(GEOGRAPHY).size())
    code = after["state"] * 100 + after["county"] * 10 + after["town"]
    assert (after["district"] == code).all()
    places = after.groupby("home")[GEOGRAPHY]
    assert (places.min() == places.max()).all(axis=None)
    # Each household is in one pair at most; partners live apart below the level above.
    assert len(np.unique(release.pairs)) == release.pairs.size
    first = frame.groupby("home").first()
    size = frame.groupby("home").size()
    for (one, other), level in zip(release.pairs, release.level, strict=True):
        assert size[one] == size[other]
        assert (first.loc[one, GEOGRAPHY[:level]] == first.loc[other, GEOGRAPHY[:level]]).all()
        prefix = GEOGRAPHY[: level + 1]
        assert (first.loc[one, prefix] != first.loc[other, prefix]).any()
    # Exactly the risky ones had to be swapped, at the highest level at which they are risky.
    expected = np.full(len(first), 3)
    for depth in (3, 2, 1):
        expected[(least_counts(frame, depth) < k).to_numpy()] = depth - 1
    np.testing.assert_array_equal(release.risky, expected)
    used = np.unique(release.pairs)
    np.testing.assert_array_equal(release.alone, np.setdiff1d(np.flatnonzero(expected < 3), used))
    for (one, _), level, forced in zip(release.pairs, release.level, release.forced, strict=True):
        assert not forced or expected[one] == level
    # Who found no partner had none left.
    left = np.setdiff1d(np.arange(len(first)), used)
    for home in release.alone:
        level = expected[home]
        same = (size[left] == size[home]).to_numpy()
        above = (first.loc[left, GEOGRAPHY[:level]] == first.loc[home, GEOGRAPHY[:level]]).all(
            axis=1
        )
        prefix = GEOGRAPHY[: level + 1]
        apart = (first.loc[left, prefix] != first.loc[home, prefix]).any(axis=1)
        assert not np.any(same & above.to_numpy() & apart.to_numpy())
    if rate == 0:
        assert release.forced.all()
    assert release.risk <= release.risk_before + 1e-12 or k > 3


def test_rate_is_met_in_each_area_where_partners_are_many():
    frame = census(5, 4000)
    release = TargetedSwapping(GEOGRAPHY, "home", ["tenure"], k=0, rate=0.2).protect(frame, seed=1)
    assert not release.forced.any()
    assert release.rate == pytest.approx(0.2, abs=0.03)
    home = frame.groupby("home").first()
    swapped = np.isin(np.arange(len(home)), release.pairs)
    share = pd.Series(swapped, index=home.index).groupby([home[c] for c in GEOGRAPHY]).mean()
    assert share.min() >= 0.12


def test_first_profile_is_preferred():
    frame = census(7, 2000)
    release = TargetedSwapping(
        GEOGRAPHY, "home", ["job"], k=0, rate=0.1, similar=[["tenure"], []]
    ).protect(frame, seed=1)
    first = frame.groupby("home")["tenure"].first().to_numpy()
    assert np.all(first[release.pairs[:, 0]] == first[release.pairs[:, 1]])


def test_sampling_weights_count_people():
    frame = census(3).assign(weight=10.0)
    plain = TargetedSwapping(GEOGRAPHY, "home", ["job"], k=3, rate=0)
    weighted = TargetedSwapping(GEOGRAPHY, "home", ["job"], k=3, rate=0, weight="weight")
    assert len(plain.protect(frame, seed=1).pairs) > 0
    assert len(weighted.protect(frame, seed=1).pairs) == 0


def test_seed_gives_the_same_release_and_none_draws_anew():
    frame = census(3)
    method = TargetedSwapping(GEOGRAPHY, "home", ["job"], rate=0.3)
    one, two = (method.protect(frame, seed=9) for _ in range(2))
    pd.testing.assert_frame_equal(one.frame, two.frame)
    assert not method.protect(frame).frame.equals(method.protect(frame).frame)


def test_riskier_households_are_swapped_rather_for_the_rate():
    frame = census(11, 6000)
    release = TargetedSwapping(["state"], "home", ["job"], k=0, rate=0.2).protect(frame, seed=2)
    least = least_counts(frame, 1).to_numpy()
    chosen = np.isin(np.arange(len(least)), release.pairs)
    assert least[chosen].mean() < least[~chosen].mean()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hierarchy": "town"}, "`hierarchy` must be a list"),
        ({"hierarchy": []}, "`hierarchy` must be a list"),
        ({"risk_variables": []}, "`risk_variables` must be"),
        ({"rate": 1.5}, "`rate` is a share"),
        ({"similar": ["tenure"]}, "list of lists"),
        ({"similar": [["town"]]}, "are swapped, so that"),
        ({"household": "hme"}, "There is no column 'hme'. Did you mean 'home'"),
        ({"weight": "job"}, "not numeric"),
    ],
)
def test_bad_input_is_refused_with_a_message(change, message):
    chosen = {"hierarchy": GEOGRAPHY, "household": "home", "risk_variables": ["job"]} | change
    with pytest.raises(tc.InputError, match=message):
        TargetedSwapping(**chosen).protect(census(1))


def test_household_in_two_places_is_refused():
    frame = census(1)
    several = frame.index[frame["home"].duplicated()][0]
    frame.loc[several, "town"] += 1
    with pytest.raises(tc.InputError, match="Members of household"):
        TargetedSwapping(GEOGRAPHY, "home", ["job"]).protect(frame)


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.6, 0.8, 0.95])
def test_the_rate_is_met_where_partners_are_plenty(rate):
    random = np.random.default_rng(4)
    n = 3000
    frame = pd.DataFrame({"county": random.integers(0, 8, n), "home": range(n)})
    frame["job"] = random.choice(list("abcdef"), n)
    release = TargetedSwapping(["county"], "home", ["job"], k=2, rate=rate).protect(frame, seed=1)
    assert rate - 0.005 <= release.rate <= rate + 0.02
    assert "was asked for" not in release.summary()


def test_a_rate_that_cannot_be_met_is_told():
    """Nobody in the second county is like anybody in the first."""
    frame = pd.DataFrame({"county": [1] * 50 + [2] * 50, "home": range(100), "job": "a"})
    frame["kind"] = frame.county
    frame = frame.sample(frac=1, random_state=1)
    method = TargetedSwapping(["county"], "home", ["job"], rate=0.5, similar=[["kind"]])
    assert "a rate of 50 % was asked for" in method.protect(frame, seed=1).summary()


@pytest.mark.parametrize("weight", [0.0, -1.0, np.inf, np.nan])
def test_weights_that_are_none(weight):
    frame = pd.DataFrame({"county": [1, 2, 1, 2], "home": range(4), "job": "a", "w": 1.0})
    frame.loc[2, "w"] = weight
    with pytest.raises(tc.InputError, match="row 2"):
        TargetedSwapping(["county"], "home", ["job"], weight="w").protect(frame)


FRAME = pd.DataFrame({"home": ["x", "y", "x", "z", "y", "y"], "area": [1, 2, 1, 1, 2, 2]})


def pairs_of(n: int, seed: int = 0) -> HouseholdPairs:
    return HouseholdPairs(n, np.ones(n), np.random.default_rng(seed))


def test_members_are_gathered_by_the_name_of_their_household():
    found = Households(FRAME, "home")
    assert found.names.tolist() == ["x", "y", "z"]
    assert found.of_record.tolist() == [0, 1, 0, 2, 1, 1]
    assert found.size.tolist() == [2, 3, 1]
    assert found.first.tolist() == [0, 1, 3]


def test_a_household_is_as_risky_as_its_riskiest_member():
    found = Households(FRAME, "home")
    assert found.least(np.array([5.0, 9, 3, 4, 7, 8])).tolist() == [3, 7, 4]


def test_a_household_that_lives_in_two_areas_is_named():
    found = Households(FRAME, "home")
    found.require_one(FRAME["area"].to_numpy(), "area")
    torn = FRAME["area"].to_numpy().copy()
    torn[4] = 1
    with pytest.raises(tc.InputError, match="Members of household 'y' .* in 'area'"):
        found.require_one(torn, "area")


@pytest.mark.parametrize("seed", range(3))
def test_partners_live_elsewhere_within_the_area_above_and_have_the_same_profile(seed):
    random = np.random.default_rng(seed)
    n = 60
    county = random.integers(0, 2, n)
    town = 10 * county + random.integers(0, 3, n)
    profile = random.integers(0, 2, n)
    found = pairs_of(n, seed)
    wanted = random.random(n) < 0.3
    found.swap(wanted, [county, town], 1, [profile])
    one, other = found.pairs.T
    assert np.all(county[one] == county[other])
    assert np.all(town[one] != town[other])
    assert np.all(profile[one] == profile[other])
    assert len(np.unique(found.pairs)) == found.pairs.size
    assert np.all(found.levels == 1)
    # Whoever was wanted and is alone has no unused partner left.
    for home in np.flatnonzero(wanted & ~found.used):
        fit = ~found.used & (county == county[home]) & (profile == profile[home])
        assert not np.any(fit & (town != town[home]))


def test_the_highest_level_reaches_everywhere():
    found = pairs_of(4)
    found.swap(np.array([True, False, False, False]), [np.array([0, 1, 1, 1])], 0,
               [np.zeros(4, dtype=int)], forced=True)  # fmt: skip
    assert found.pairs[0, 0] == 0
    assert found.forced.tolist() == [True]
    assert found.levels.tolist() == [0]


def test_the_second_profile_is_for_those_whom_the_first_leaves_alone():
    area = np.array([0, 1, 1])
    strict, loose = np.array([0, 1, 2]), np.zeros(3, dtype=int)
    none = pairs_of(3)
    none.swap(np.array([True, False, False]), [area], 0, [strict])
    assert len(none.pairs) == 0
    found = pairs_of(3)
    found.swap(np.array([True, False, False]), [area], 0, [strict, loose])
    assert len(found.pairs) == 1


def test_nobody_is_swapped_where_all_live_in_one_area():
    found = pairs_of(6)
    found.swap(np.ones(6, dtype=bool), [np.zeros(6, dtype=int)], 0, [np.zeros(6, dtype=int)])
    assert found.pairs.shape == (0, 2)
    assert found.levels.shape == found.forced.shape == (0,)


def test_combinations_of_two_numbers_are_numbered_in_order():
    one, other = np.array([2, 0, 2, 0]), np.array([1, 5, 0, 5])
    assert joined(one, other).tolist() == [2, 0, 1, 0]


def test_the_summary_says_what_weights_hide_and_that_risky_households_exceed_the_rate():
    frame = census(3).assign(weight=100.0)
    method = TargetedSwapping(["state"], "home", ["job", "tenure"], k=15, rate=0.01)
    plain = method.protect(frame, seed=1)
    assert "a rate of 1 % was asked for, and risky households are swapped beyond it" in (
        plain.summary()
    )
    weighted = TargetedSwapping(**{**method.get_params(), "weight": "weight"}).protect(
        frame, seed=1
    )
    assert weighted.risk_before == 0
    assert weighted.risk_unweighted == plain.risk_before > 0
    assert f"a share of {plain.risk_before:.6g} is risky" in weighted.summary()
