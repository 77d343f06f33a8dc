"""Risk of households, by hand and by simulation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import household_risk, key_risk

FRAME = pd.DataFrame(
    {"home": ["x", "x", "y", "y", "y"], "age": [20, 30, 20, 40, 40], "w": [2, 3, 4, 5, 6]}
)


def test_the_risk_of_a_household_is_that_of_any_member():
    risk = key_risk(FRAME, ["age"], weight="w").individual
    found = household_risk(FRAME, ["age"], "home", weight="w")
    x, y = 1 - np.prod(1 - risk[:2]), 1 - np.prod(1 - risk[2:])
    assert found.of_household == pytest.approx([x, y])
    assert found.individual == pytest.approx([x, x, y, y, y])
    assert found.expected_households == pytest.approx(x + y)
    assert found.expected == pytest.approx(2 * x + 3 * y)
    assert found.share == pytest.approx(found.expected / 5)
    assert "of 2 with a re-identified member" in found.summary()


def test_households_of_one_person_have_the_risk_of_that_person():
    alone = FRAME.assign(home=range(5))
    found = household_risk(alone, ["age"], "home", weight="w")
    assert found.individual == pytest.approx(key_risk(FRAME, ["age"], weight="w").individual)


def test_no_member_is_safer_than_without_the_others():
    found = household_risk(FRAME, ["age"], "home", weight="w").individual
    assert np.all(found >= key_risk(FRAME, ["age"], weight="w").individual - 1e-15)


def test_a_certain_member_makes_the_household_certain():
    assert household_risk(FRAME, ["age"], "home").of_household[0] == 1


def test_persons_without_a_household_live_alone():
    frame = FRAME.assign(home=["x", "x", None, None, "y"])
    found = household_risk(frame, ["age"], "home", weight="w")
    assert found.members.tolist() == [2, 1, 1, 1]
    risk = key_risk(FRAME, ["age"], weight="w").individual
    assert found.individual[2:] == pytest.approx(risk[2:])


def test_expected_numbers_of_the_household_survey(instances):
    """Each household has at most the sum of its members' risks, and at least the largest."""
    frame = pd.read_csv(instances / "microdata/testdata.csv.gz")
    keys = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
    found = household_risk(frame, keys, "ori_hid", weight="sampling_weight")
    risk = key_risk(frame, keys, weight="sampling_weight")
    assert found.members.sum() == len(frame) == 4580
    assert found.expected_households <= risk.expected == pytest.approx(10.7783, abs=1e-4)
    assert np.all(found.individual >= risk.individual - 1e-15)


def test_a_column_that_is_not_there_is_refused():
    with pytest.raises(tc.InputError, match="no column 'hom'.*home"):
        household_risk(FRAME, ["age"], "hom")
