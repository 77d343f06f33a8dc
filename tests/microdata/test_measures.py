"""Risk and utility measures: values of the reference package, and definitions by brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import comb

import tablecloak as tc
from tablecloak.microdata import (
    Microaggregation,
    eigenvalue_loss,
    information_loss,
    interval_disclosure,
    key_risk,
    propensity_score,
    record_linkage,
    special_unique_risk,
)

FRANC = ["Key1", "Key2", "Key3", "Key4"]
HOUSEHOLD = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
INCOME = ["AGI", "FEDTAX", "PTOTVAL", "INTVAL"]


EIGHT = [
    (1, 2, 5, 1, 18), (1, 2, 1, 1, 45.5), (1, 2, 1, 1, 39), (3, 3, 1, 5, 17),
    (4, 3, 1, 4, 541), (4, 3, 1, 1, 8), (6, 2, 1, 5, 5), (1, 2, 5, 1, 92),
]  # fmt: skip
"""Four keys and the weight of each record in the worked example of individual risk."""


def read(instances, name) -> pd.DataFrame:
    return pd.read_csv(instances / f"microdata/{name}.csv.gz")


def test_eight_records():
    frame = pd.DataFrame(EIGHT, columns=[*FRANC, "w"])
    found = key_risk(frame, FRANC, weight="w")
    assert found.sample.tolist() == [2, 2, 2, 1, 1, 1, 1, 2]
    assert found.population.tolist() == [110, 84.5, 84.5, 17, 541, 8, 5, 110]
    expected = [
        0.01714426160, 0.02204232618, 0.02204232618, 0.17707583400,
        0.01165448015, 0.29706307738, 0.40235947811, 0.01714426160,
    ]  # fmt: skip
    assert np.allclose(found.individual, expected, atol=1e-11)
    assert special_unique_risk(frame, FRANC).score.tolist() == [0, 0, 0, 8, 6, 4, 8, 0]


@pytest.mark.parametrize("sampled", [1, 2, 4])
def test_individual_risk_is_the_mean_of_1_over_the_population_given_the_sample(sampled):
    """Sum of P(F | f) / F, where F given f is negative binomial (Benedetti and Franconi 1998)."""
    weight = 4.0
    frame = pd.DataFrame({"key": "a", "w": [weight] * sampled})
    rate, population = 1 / weight, np.arange(sampled, 2000)
    chance = (
        comb(population - 1, sampled - 1) * rate**sampled * (1 - rate) ** (population - sampled)
    )
    assert chance.sum() == pytest.approx(1)
    found, exact = key_risk(frame, ["key"], weight="w").individual, np.sum(chance / population)
    if sampled <= 2:
        assert np.allclose(found, exact, rtol=1e-9)
    else:  # The approximation of the literature, which errs to the safe side.
        assert np.allclose(found, rate / (sampled - (1 - rate)), rtol=1e-12)
        assert np.all((exact <= found) & (found <= 1.05 * exact))


def test_household_survey(instances):
    frame = read(instances, "testdata")
    found = key_risk(frame, HOUSEHOLD, weight="sampling_weight")
    assert [found.violations(k) for k in (2, 3, 5)] == [157, 281, 458]
    assert (found.sample == 2).sum() == 124
    assert found.expected == pytest.approx(10.7783, abs=1e-4)
    assert found.share == pytest.approx(0.00235334, abs=1e-8)
    scores = special_unique_risk(frame, HOUSEHOLD).score
    assert scores.max() == 720
    assert (scores > 0).sum() == 157


def test_microaggregation_of_incomes(instances):
    frame = read(instances, "CASCrefmicrodata")
    # The last column: eigen(var(scale(x))) of R 4.2 for the original and this release.
    for k, loss, difference, disclosed, eigen in [
        (3, 0.01441144, 219.9216, 0.1518519, 0.1624728916),
        (5, 0.02689145, 295.1866, 0.0666667, 0.2722942747),
        (10, 0.05181962, 402.5827, 0.0324074, 0.4453701665),
    ]:
        release = Microaggregation(INCOME, k).protect(frame)
        assert release.loss == pytest.approx(loss, abs=1e-8)
        assert information_loss(frame, release.frame, INCOME) == pytest.approx(difference, abs=1e-4)
        assert eigenvalue_loss(frame, release.frame, INCOME) == pytest.approx(eigen, abs=1e-9)
        found = interval_disclosure(frame, release.frame, INCOME)
        assert found == pytest.approx(disclosed, abs=1e-7)
        sizes = np.bincount(release.groups)
        assert k <= sizes.min() <= sizes.max() < 2 * k
        assert np.allclose(release.frame[INCOME].mean(), frame[INCOME].mean())


@settings(max_examples=12)
@given(st.integers(0, 10_000))
def test_special_uniques_equal_their_definition(seed):
    random = np.random.default_rng(seed)
    keys = list("abcd")
    frame = pd.DataFrame(random.integers(0, 3, (12, 4)), columns=keys)
    expected = np.zeros(12, dtype=int)
    for row, same in enumerate(frame.to_numpy()[:, None, :] == frame.to_numpy()[None, :, :]):
        alone = [
            set(subset)
            for size in range(1, 5)
            for subset in itertools.combinations(range(4), size)
            if same[:, subset].all(axis=1).sum() == 1
        ]
        for subset in alone:
            if not any(other < subset for other in alone):
                points = {1: 6, 2: 2, 3: 1, 4: 1}[len(subset)]
                expected[row] += points
    assert special_unique_risk(frame, keys).score.tolist() == expected.tolist()


def test_measures_of_an_unchanged_and_of_a_shuffled_file():
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.normal(size=(400, 2)), columns=["a", "b"])
    assert information_loss(frame, frame, ["a", "b"]) == 0
    assert interval_disclosure(frame, frame, ["a", "b"]) == 1
    assert record_linkage(frame, frame, ["a", "b"]) == 1
    assert propensity_score(frame, frame, ["a", "b"]).pmse == pytest.approx(0, abs=1e-12)
    shuffled = frame.sample(frac=1, random_state=1).reset_index(drop=True)
    assert record_linkage(frame, shuffled, ["a", "b"]) < 0.02
    assert propensity_score(frame, frame + 3, ["a", "b"]).pmse > 0.15
    double = pd.concat([frame, frame], ignore_index=True)
    assert record_linkage(double, double, ["a", "b"]) == pytest.approx(0.5)


def test_bad_input_is_named():
    frame = pd.DataFrame({"a": [1.0, 2.0, 2.0], "w": [1.0, 0.5, 3.0], "c": [1.0, 1.0, 1.0]})
    with pytest.raises(tc.InputError, match="3 records and the release 2"):
        information_loss(frame, frame.head(2), ["a"])
    with pytest.raises(tc.InputError, match=r"\['c'\] are constant"):
        information_loss(frame, frame, ["a", "c"])
    with pytest.raises(tc.InputError, match="'c' is constant"):
        Microaggregation(["c"], 2).protect(frame)
    with pytest.raises(tc.InputError, match="fewer than k"):
        Microaggregation(["a"], 5).protect(frame)
    with pytest.raises(tc.InputError, match="at most 16"):
        special_unique_risk(frame, ["a"] * 17)
