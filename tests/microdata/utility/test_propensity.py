"""Propensity scores: their expected value, mixed columns and missing values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import propensity_score


def survey(seed: int, n: int = 400) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "job": random.choice(list("abc"), n),
            "wage": random.normal(size=n),
            "age": random.normal(size=n),
        }
    )


def test_an_equal_file_cannot_be_told():
    found = propensity_score(survey(0), survey(0))
    assert (found.pmse, found.ratio) == (0, 0)


def ratios(pairs) -> np.ndarray:
    return np.array([propensity_score(one, other).ratio for one, other in pairs])


def test_records_drawn_from_the_original_have_the_expected_value():
    """Snoke et al. 2018, theorem 1: chi square with k - 1 degrees of freedom, scaled."""
    frame = survey(0)
    # A constant, two numbers and their squares, two dummy variables.
    assert propensity_score(frame, survey(1)).n_parameters == 7
    found = ratios((frame, frame.sample(frac=1, replace=True, random_state=i)) for i in range(150))
    # The standard deviation of a ratio is sqrt(2 / 6) = 0.58, of the mean of 150 of them 0.047.
    assert found.mean() == pytest.approx(1, abs=0.2)
    assert found.std() == pytest.approx(0.58, abs=0.15)


def test_two_samples_of_one_population_have_twice_as_much():
    found = ratios((survey(2 * i), survey(2 * i + 1)) for i in range(80))
    assert found.mean() == pytest.approx(2, abs=0.4)


def test_the_expected_value_by_hand():
    found = propensity_score(survey(0, 300), survey(1, 100), ["wage"])
    assert (found.n_parameters, found.n_records) == (3, 400)
    assert found.expected == pytest.approx(2 * (3 / 4) ** 2 * (1 / 4) / 400)
    # The deviation is sqrt(2 (k - 1)) (1 - c)^2 c / N, for k = 3 the expected value itself.
    assert found.standardised == pytest.approx(found.ratio - 1)


def test_files_that_differ_in_a_category_are_told():
    frame = survey(0)
    other = frame.assign(job=frame["job"].replace("c", "d"))
    assert propensity_score(frame, other, ["job"]).ratio > 20
    assert propensity_score(frame, other, ["wage"]).pmse == 0


def test_a_logistic_model_of_one_binary_column_is_its_table():
    """The fitted probabilities are the shares of released records in each category."""
    one, other = pd.DataFrame({"x": list("aaab")}), pd.DataFrame({"x": list("abbb")})
    assert propensity_score(one, other, ["x"]).pmse == pytest.approx((1 / 4) ** 2, abs=1e-6)


def column(values) -> pd.DataFrame:
    return pd.DataFrame({"x0": values})


def test_a_permuted_file_cannot_be_told_from_the_original_by_one_column():
    random = np.random.default_rng(0)
    x = random.normal(size=200)
    told = propensity_score(column(x), column(random.permutation(x)), ["x0"]).pmse
    assert told == pytest.approx(0, abs=1e-10)


def test_files_that_lie_apart_are_told_without_fail():
    x = np.linspace(0, 1, 50)
    assert propensity_score(column(x), column(x + 5), ["x0"]).pmse == pytest.approx(0.25, abs=0.01)


def test_more_noise_is_told_more_surely():
    random = np.random.default_rng(1)
    x, noise = random.normal(size=500), random.normal(size=500)
    told = [
        propensity_score(column(x), column(x + s * noise), ["x0"]).pmse for s in (0.0, 1.0, 3.0)
    ]
    assert told == sorted(told)
    assert told[0] == pytest.approx(0)


def test_missing_values_are_a_category():
    frame = survey(0)
    holes = frame.assign(wage=frame["wage"].where(frame.index % 3 > 0))
    found = propensity_score(frame, holes, ["wage"])
    assert found.ratio > 10
    assert propensity_score(holes, holes).pmse == 0
    texts = frame.assign(job=frame["job"].where(frame.index % 3 > 0).astype("category"))
    assert propensity_score(frame, texts, ["job"]).ratio > 10
    empty = frame.assign(wage=np.nan)
    assert propensity_score(empty, empty).pmse == 0


def test_a_part_of_the_records_is_the_same_part_each_time():
    one, other = survey(0), survey(1)
    found = propensity_score(one, other, most=100)
    assert found.n_records == 200
    assert found == propensity_score(one, other, most=100)
    assert "200 records" in found.summary()


def test_many_categories_are_grouped():
    frame = pd.DataFrame({"x": [f"c{i % 200}" for i in range(1000)]})
    assert propensity_score(frame, frame).n_parameters <= 32


def test_files_without_records_or_columns_are_refused():
    frame = survey(0)
    with pytest.raises(tc.InputError, match="nothing to compare"):
        propensity_score(frame, frame.head(0))
    with pytest.raises(tc.InputError, match="nothing to compare"):
        propensity_score(frame, frame[[]])
    with pytest.raises(tc.InputError, match="no column 'wag'.*wage"):
        propensity_score(frame, frame, ["wag"])
