"""Risk by keys: closed forms against sums and simulation, and k-anonymity by counting."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad

import tablecloak as tc
from tablecloak.microdata import household_risk, key_risk

FRAME = pd.DataFrame({"age": [1, 1, 1, 2, 2, 3], "sex": list("mmfmmf"), "w": [2, 4, 3, 5, 5, 10]})


def test_records_with_the_same_keys_are_counted_in_sample_and_population():
    found = key_risk(FRAME, ["age", "sex"], weight="w")
    assert found.sample.tolist() == [2, 2, 1, 2, 2, 1]
    assert found.population.tolist() == [6, 6, 3, 10, 10, 10]


def test_violations_of_k_anonymity_are_records_and_not_groups():
    found = key_risk(FRAME, ["age", "sex"])
    assert [found.violations(k) for k in (1, 2, 3)] == [0, 2, 6]


def test_without_weights_the_risk_of_a_record_is_one_over_its_kind():
    found = key_risk(FRAME, ["age", "sex"])
    assert found.individual.tolist() == [1 / 2, 1 / 2, 1, 1 / 2, 1 / 2, 1]
    # As many re-identifications as there are kinds.
    assert found.expected == 4
    assert found.share == 4 / 6


@pytest.mark.parametrize("sampled", [1, 2, 3, 10])
def test_the_risk_falls_with_the_weight_and_ends_at_certainty(sampled):
    risks = [
        key_risk(pd.DataFrame({"k": ["x"] * sampled, "w": w}), ["k"], weight="w").individual[0]
        for w in (1.0, 1.5, 4.0, 50.0)
    ]
    assert risks[0] == pytest.approx(1 / sampled)
    assert risks == sorted(risks, reverse=True)


def test_more_keys_are_never_safer():
    one, two = key_risk(FRAME, ["age"]), key_risk(FRAME, ["age", "sex"])
    assert np.all(one.sample >= two.sample)
    assert one.expected <= two.expected


def test_the_summary_counts_uniques_and_twos():
    text = key_risk(FRAME, ["age", "sex"]).summary()
    assert "2 uniques, 4 twos, 6 records below 3 and 6 below 5" in text


def test_a_record_that_stands_for_less_than_itself_is_named():
    for weight in (0.5, 0.0, -1.0):
        frame = FRAME.assign(w=[2, 2, weight, 2, 2, 2])
        with pytest.raises(tc.InputError, match="weight in row 2 is not a number of at least 1"):
            key_risk(frame, ["age"], weight="w")


@pytest.mark.parametrize("p", [0.001, 0.3, 0.97, 1.0])
def test_the_exact_risk_is_an_integral(p):
    """E(1/F | f) = p times the integral of (1-t)^(f-1) / (1 - (1-p) t) over 0 to 1."""
    for f in (1, 2, 3, 4, 19, 20, 300):
        frame = pd.DataFrame({"k": ["x"] * f, "w": 1 / p})
        found = key_risk(frame, ["k"], weight="w", exact=True).individual[0]
        expected = quad(
            lambda t, f=f: (1 - t) ** (f - 1) / (1 - (1 - p) * t), 0, 1, points=[1 / f]
        )[0]
        assert found == pytest.approx(p * expected, rel=1e-8)
        close = key_risk(frame, ["k"], weight="w").individual[0]
        assert found * (1 - 1e-9) <= close <= 1.05 * found


@pytest.mark.parametrize("f", [1, 2])
def test_weights_next_to_1_leave_the_risk_next_to_that_of_a_whole_population(f):
    frame = pd.DataFrame({"k": ["x"] * f, "w": 1 + 1e-12})
    assert key_risk(frame, ["k"], weight="w").individual[0] == pytest.approx(1 / f)


def test_an_open_key_agrees_with_all_values_but_lends_itself_to_nobody():
    frame = pd.DataFrame(
        {"age": [1, 1, np.nan, 2], "sex": ["m", "m", "m", None], "w": [1, 2, 3, 4]}
    )
    found = key_risk(frame, ["age", "sex"], weight="w", missing="open")
    # The third is one of three men, the fourth one of one person of age 2; both agree with
    # themselves, and the first two only with each other.
    assert found.sample.tolist() == [2, 2, 3, 1]
    assert found.population.tolist() == [3, 3, 6, 4]
    assert key_risk(frame, ["age", "sex"]).sample.tolist() == [2, 2, 1, 1]


def test_open_keys_equal_their_definition():
    random = np.random.default_rng(4)
    frame = pd.DataFrame(random.integers(0, 3, (60, 4)).astype(float), columns=list("abcd"))
    frame = frame.mask(random.random(frame.shape) < 0.3)
    values = frame.to_numpy()
    expected = [int(np.all((values == row) | np.isnan(row), axis=1).sum()) for row in values]
    assert key_risk(frame, list("abcd"), missing="open").sample.tolist() == expected


PEOPLE = pd.DataFrame(
    {"home": ["x", "x", "y", "y", "y"], "age": [20, 30, 20, 40, 40], "w": [2, 3, 4, 5, 6]}
)


def test_the_risk_of_a_household_is_that_of_any_member():
    risk = key_risk(PEOPLE, ["age"], weight="w").individual
    found = household_risk(PEOPLE, ["age"], "home", weight="w")
    x, y = 1 - np.prod(1 - risk[:2]), 1 - np.prod(1 - risk[2:])
    assert found.of_household == pytest.approx([x, y])
    assert found.individual == pytest.approx([x, x, y, y, y])
    assert found.expected_households == pytest.approx(x + y)
    assert found.expected == pytest.approx(2 * x + 3 * y)
    assert found.share == pytest.approx(found.expected / 5)
    assert "of 2 with a re-identified member" in found.summary()


def test_households_of_one_person_have_the_risk_of_that_person():
    alone = PEOPLE.assign(home=range(5))
    found = household_risk(alone, ["age"], "home", weight="w")
    assert found.individual == pytest.approx(key_risk(PEOPLE, ["age"], weight="w").individual)


def test_no_member_is_safer_than_without_the_others():
    found = household_risk(PEOPLE, ["age"], "home", weight="w").individual
    assert np.all(found >= key_risk(PEOPLE, ["age"], weight="w").individual - 1e-15)


def test_a_certain_member_makes_the_household_certain():
    assert household_risk(PEOPLE, ["age"], "home").of_household[0] == 1


def test_persons_without_a_household_live_alone():
    frame = PEOPLE.assign(home=["x", "x", None, None, "y"])
    found = household_risk(frame, ["age"], "home", weight="w")
    assert found.members.tolist() == [2, 1, 1, 1]
    risk = key_risk(PEOPLE, ["age"], weight="w").individual
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
        household_risk(PEOPLE, ["age"], "hom")
