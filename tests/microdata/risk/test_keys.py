"""Risk by keys: closed forms against sums and simulation, and k-anonymity by counting."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad

import tablecloak as tc
from tablecloak.microdata.risk.keys import key_risk

FRAME = pd.DataFrame({"age": [1, 1, 1, 2, 2, 3], "sex": list("mmfmmf"), "w": [2, 4, 3, 5, 5, 10]})


def test_records_with_the_same_keys_are_counted_in_sample_and_population():
    found = key_risk(FRAME, ["age", "sex"], weight="w")
    assert found.sample.tolist() == [2, 2, 1, 2, 2, 1]
    assert found.population.tolist() == [6, 6, 3, 10, 10, 10]


@pytest.mark.parametrize(("k", "records"), [(1, 0), (2, 2), (3, 6)])
def test_violations_of_k_anonymity_are_records_and_not_groups(k, records):
    assert key_risk(FRAME, ["age", "sex"]).violations(k) == records


def test_without_weights_the_risk_of_a_record_is_one_over_its_kind():
    found = key_risk(FRAME, ["age", "sex"])
    assert found.individual.tolist() == [1 / 2, 1 / 2, 1, 1 / 2, 1 / 2, 1]
    # As many re-identifications as there are kinds.
    assert found.expected == 4
    assert found.share == 4 / 6


@pytest.mark.parametrize("p", [0.05, 0.2, 0.6])
def test_the_risk_of_a_sample_unique_is_the_mean_of_1_over_its_population(p):
    """F given f = 1 is geometric from 1: sum p (1 - p)^(F - 1) / F."""
    frame = pd.DataFrame({"key": ["x"], "w": [1 / p]})
    total = sum(p * (1 - p) ** (f - 1) / f for f in range(1, 3000))
    assert key_risk(frame, ["key"], weight="w").individual[0] == pytest.approx(total)


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


@pytest.mark.parametrize("weight", [0.5, 0.0, -1.0])
def test_a_record_that_stands_for_less_than_itself_is_named(weight):
    frame = FRAME.assign(w=[2, 2, weight, 2, 2, 2])
    with pytest.raises(tc.InputError, match="The weight in row 2 is not a number of at least 1"):
        key_risk(frame, ["age"], weight="w")


@pytest.mark.parametrize("f", [1, 2, 3, 4, 19, 20, 300])
@pytest.mark.parametrize("p", [0.001, 0.3, 0.97, 1.0])
def test_the_exact_risk_is_an_integral(f, p):
    """E(1/F | f) = p times the integral of (1-t)^(f-1) / (1 - (1-p) t) over 0 to 1."""
    frame = pd.DataFrame({"k": ["x"] * f, "w": 1 / p})
    found = key_risk(frame, ["k"], weight="w", exact=True).individual[0]
    expected = quad(lambda t: (1 - t) ** (f - 1) / (1 - (1 - p) * t), 0, 1, points=[1 / f])[0]
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
