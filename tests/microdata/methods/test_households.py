"""Households and pairs of them in other areas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata.methods.targeted import HouseholdPairs, Households, joined

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


@pytest.mark.parametrize("seed", range(5))
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
