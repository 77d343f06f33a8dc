"""Three intruders and a population: counts by hand, and figures of ARX."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import LocalSuppression, intruder_risk


def test_seven_records_in_three_groups_have_the_risks_that_arx_gives():
    """Its test of risks: seven records, 2-anonymous, largest risk 1/2 and average 3/7."""
    found = intruder_risk(pd.DataFrame({"zip": [1, 1, 2, 2, 3, 3, 3]}), ["zip"])
    assert found.prosecutor.max() == 0.5
    assert found.marketer == pytest.approx(0.42857142857142855)
    assert found.k_map == 2 and found.presence == (1.0, 1.0)


def test_a_population_makes_matches_less_certain_and_presence_uncertain():
    file = pd.DataFrame({"age": [20, 20, 30], "sex": list("mmf")})
    everybody = pd.DataFrame({"age": [20] * 8 + [30] * 4, "sex": ["m"] * 8 + ["f"] * 4})
    found = intruder_risk(file, ["age", "sex"], everybody)
    assert found.prosecutor.tolist() == [0.5, 0.5, 1.0]
    assert found.journalist.tolist() == [1 / 8, 1 / 8, 1 / 4]
    assert found.marketer == pytest.approx((1 / 8 + 1 / 8 + 1 / 4) / 3)
    assert (found.k_map, found.presence) == (4, (0.25, 0.25))
    more = pd.concat([everybody, pd.DataFrame({"age": [40], "sex": ["f"]})])
    assert intruder_risk(file, ["age", "sex"], more).presence == (0.0, 0.25)
    assert "4-map" in found.summary()


def test_presence_is_that_of_the_example_by_which_it_was_defined():
    """Nergiz, Atzori, Clifton 2007, as ARX gives it: nine persons, (1/2, 2/3)-present."""
    zips = ["47*"] * 6 + ["48*"] * 3
    everybody = pd.DataFrame({"zip": zips, "from": ["America"] * 6 + ["Europe"] * 3})
    file = everybody.loc[[1, 2, 5, 7, 8]]
    found = intruder_risk(file, ["zip", "from"], everybody)
    assert found.presence == (1 / 2, 2 / 3)
    assert (found.k_map, found.prosecutor.max(), found.journalist.max()) == (3, 1 / 2, 1 / 3)


def test_a_missing_key_fits_all_persons_who_have_the_others():
    file = pd.DataFrame({"age": [20, None, None], "sex": list("mmm")})
    everybody = pd.DataFrame({"age": [20.0, 20, 30, 30, 40], "sex": list("mmmmm")})
    found = intruder_risk(file, ["age", "sex"], everybody)
    assert found.sample.tolist() == [1, 2, 2]
    assert found.population.tolist() == [2, 5, 5]


@pytest.mark.parametrize("seed", range(5))
def test_in_released_groups_no_intruder_is_right_more_often_than_one_in_k(seed):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({f"q{at}": random.integers(0, 4, 60) for at in range(3)})
    release = LocalSuppression(list(frame), 4, time_limit=0.2).protect(frame)
    found = intruder_risk(release.frame, list(frame), frame)
    assert found.prosecutor.max() <= 1 / 4
    assert found.k_map >= 4
    assert (found.sample == release.group_sizes).all()


def test_a_population_without_the_file_is_refused():
    file = pd.DataFrame({"age": [20, 20]})
    with pytest.raises(tc.InputError, match="keys of row 0.*contains the file"):
        intruder_risk(file, ["age"], pd.DataFrame({"age": [20, 30]}))
