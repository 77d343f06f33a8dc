"""Noise: moments of masked data, and columns that cannot be masked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata.methods.noise import CovarianceNoise


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    random = np.random.default_rng(1)
    age = random.normal(40, 10, 40_000)
    wage = 2 * age + random.normal(0, 30, 40_000)
    return pd.DataFrame(
        {"age": age, "wage": wage, "tenure": 0.5 * age + random.normal(0, 5, 40_000)}
    )


def test_masking_keeps_correlations_within_the_block_and_dilutes_others(people):
    release = CovarianceNoise(["age", "wage"], 0.25).protect(people, seed=3)
    before, after = people.corr(), release.frame.corr()
    assert after.loc["age", "wage"] == pytest.approx(before.loc["age", "wage"], abs=0.02)
    assert after.loc["age", "tenure"] == pytest.approx(
        before.loc["age", "tenure"] / np.sqrt(1.25), abs=0.02
    )
    assert np.allclose(release.corrected_covariance(), people.cov(), rtol=0.05)
    assert release.frame.tenure.equals(people.tenure)


def test_slope_of_two_masked_columns_stays(people):
    release = CovarianceNoise(["age", "wage"], 0.5).protect(people, seed=4).frame
    slope = np.cov(release.age, release.wage)[0, 1] / release.age.var()
    assert slope == pytest.approx(2, abs=0.06)
    alone = CovarianceNoise(["age"], 0.15).protect(people, seed=5).frame
    slope = np.cov(alone.age, alone.wage)[0, 1] / alone.age.var()
    assert slope == pytest.approx(2 * 0.8695652174, abs=0.05)


def test_bad_columns_are_named(people):
    with pytest.raises(tc.InputError, match="'pay'"):
        CovarianceNoise(["pay"], 0.1).protect(people)
    with pytest.raises(tc.InputError, match="'age' is constant"):
        CovarianceNoise(["age"], 0.1).protect(people.assign(age=1.0))
    with pytest.raises(tc.InputError, match="'age' is not numeric"):
        CovarianceNoise(["age"], 0.1).protect(people.assign(age="x"))
    with pytest.raises(tc.InputError, match=">= 0"):
        CovarianceNoise(["wage"], -0.1)


def test_no_noise_changes_nothing_but_types():
    frame = pd.DataFrame({"x": [1, 2, 4], "y": [3.0, 1.0, 2.0]})
    release = CovarianceNoise(["x"], 0.0).protect(frame, seed=1)
    assert release.frame["x"].tolist() == [1, 2, 4]
    assert release.frame["x"].dtype == np.float64
    assert release.frame["y"].equals(frame["y"])


def test_a_column_and_its_double_get_the_same_noise():
    """The covariance is singular: what is exactly linear before is so after."""
    x = np.random.default_rng(1).normal(size=200)
    frame = pd.DataFrame({"x": x, "double": 2 * x, "minus": -x})
    masked = CovarianceNoise(["x", "double", "minus"], 0.5).protect(frame, seed=2).frame
    assert masked["double"].to_numpy() == pytest.approx(2 * masked["x"].to_numpy(), abs=1e-5)
    assert masked["minus"].to_numpy() == pytest.approx(-masked["x"].to_numpy(), abs=1e-5)
    assert np.abs(masked["x"] - x).min() > 0


def test_covariances_with_other_columns_are_not_corrected():
    release = CovarianceNoise(["x"], 1.0).protect(
        pd.DataFrame({"x": [1.0, 2, 4, 8], "y": [1.0, 3, 2, 5]}), seed=1
    )
    raw, corrected = release.frame.cov(), release.corrected_covariance()
    assert corrected.loc["x", "x"] == pytest.approx(raw.loc["x", "x"] / 2)
    assert corrected.loc["x", "y"] == raw.loc["x", "y"]
    assert "variances grow by 100 %" in release.summary()
