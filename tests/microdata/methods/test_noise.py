"""Noise: moments of masked data, and columns that cannot be masked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.microdata import (
    CovarianceNoise,
    IndependentNoise,
    RestrictedNoise,
)


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


KINDS = (CovarianceNoise, IndependentNoise, RestrictedNoise)


def survey(n: int = 5000) -> pd.DataFrame:
    random = np.random.default_rng(1)
    age = random.normal(40, 10, n)
    return pd.DataFrame(
        {"age": age, "wage": 50 * age + random.normal(0, 800, n), "hours": random.normal(38, 5, n)}
    )


@given(st.integers(8, 60), st.floats(0.0, 20.0), st.integers(0, 10**6))
def test_means_and_covariances_stay_exactly(count, noise, seed):
    random = np.random.default_rng(seed)
    x = random.lognormal(8, 2, count)
    frame = pd.DataFrame({"x": x, "y": 1e6 - 3 * x + random.normal(size=count), "z": 0.001 * x})
    released = RestrictedNoise(["x", "y", "z"], noise).protect(frame, seed=seed).frame
    assert released.mean().to_numpy() == pytest.approx(frame.mean().to_numpy(), rel=1e-9)
    scale = frame.std().to_numpy()
    both = [each.cov().to_numpy() / np.outer(scale, scale) for each in (frame, released)]
    assert both[1] == pytest.approx(both[0], abs=1e-8)


def test_regressions_among_masked_columns_stay_exactly():
    frame = survey(200)
    released = RestrictedNoise(["age", "wage", "hours"], 0.5).protect(frame, seed=3).frame
    fits = [
        np.linalg.lstsq(
            np.column_stack([np.ones(200), each["age"], each["hours"]]), each["wage"], rcond=None
        )[0]
        for each in (frame, released)
    ]
    assert fits[1] == pytest.approx(fits[0], rel=1e-8)
    assert (released["wage"] - frame["wage"]).abs().min() > 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_share_that_is_asked_for_is_reached_and_told(kind):
    frame = survey()
    for noise in (0.05, 0.3, 2.0):
        release = kind(["age", "wage"], noise).protect(frame, seed=4)
        for name in ("age", "wage"):
            found = np.corrcoef(frame[name], release.frame[name])[0, 1]
            told = release.achieved.loc[name]
            assert told["correlation"] == pytest.approx(found, abs=1e-6)
            assert told["share"] == pytest.approx(1 / found**2 - 1, abs=1e-5)
            assert told["share"] == pytest.approx(noise, rel=0.2)
        assert release.frame["hours"].equals(frame["hours"])
        assert "%" in release.summary()


def test_independent_noise_dilutes_correlations_and_keeps_covariances():
    frame = survey(40_000)
    release = IndependentNoise(["age", "wage"], 0.25).protect(frame, seed=4).frame
    before, after = frame.corr().loc["age", "wage"], release.corr().loc["age", "wage"]
    assert after == pytest.approx(before / 1.25, abs=0.015)
    assert release.cov().loc["age", "wage"] == pytest.approx(
        frame.cov().loc["age", "wage"], rel=0.05
    )
    assert release["age"].var() / frame["age"].var() == pytest.approx(1.25, abs=0.03)


def test_zeros_stay_zeros_where_asked_and_only_there():
    random = np.random.default_rng(1)
    x = np.where(random.random(20_000) < 0.6, 0.0, random.normal(100, 20, 20_000))
    frame = pd.DataFrame({"x": x})
    kept = IndependentNoise(["x"], 0.1, keep_zeros=True).protect(frame, seed=2)
    assert (kept.frame["x"] == 0).equals(frame["x"] == 0)
    change = (kept.frame["x"] - x)[x != 0]
    assert change.var() == pytest.approx(0.1 * x[x != 0].var(), rel=0.06)
    assert kept.achieved.loc["x", "measured"] == (x != 0).sum()
    plain = IndependentNoise(["x"], 0.1).protect(frame, seed=2).frame
    assert (plain["x"] != 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_stay_and_the_others_are_masked(kind):
    frame = survey(300)
    frame.loc[[5, 9], "age"] = np.nan
    frame.loc[9, "wage"] = np.nan
    released = kind(["age", "wage"], 0.2).protect(frame, seed=1).frame
    assert released.isna().equals(frame.isna())
    known = frame["wage"].notna()
    assert (released["wage"] != frame["wage"])[known].all()
    if kind is RestrictedNoise:
        assert released.mean().to_numpy() == pytest.approx(frame.mean().to_numpy())
        assert released.var().to_numpy() == pytest.approx(frame.var().to_numpy())


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (IndependentNoise, [1.0] * 9, "'x' is constant"),
        (RestrictedNoise, [1.0, 2.0, 3.0], "4 are needed"),
    ],
)
def test_columns_that_cannot_be_masked_are_named(kind, values, message):
    with pytest.raises(tc.InputError, match=message):
        kind(["x"], 0.1).protect(pd.DataFrame({"x": values}))


def test_zeros_cannot_stay_if_nothing_else_varies():
    with pytest.raises(tc.InputError, match="that are not 0 are equal"):
        IndependentNoise(["x"], 0.1, keep_zeros=True).protect(pd.DataFrame({"x": [0.0, 0.0, 3.0]}))


def test_restricted_noise_keeps_covariances_exactly_where_values_are_missing():
    """Each pattern of missing values keeps its own moments, so that the file keeps those of all."""
    random = np.random.default_rng(6)
    mixed = random.normal(size=(900, 3)) @ random.normal(size=(3, 3))
    frame = pd.DataFrame(mixed, columns=[*"abc"])
    frame = frame.mask(random.random(frame.shape) < 0.3)
    released = RestrictedNoise(["a", "b", "c"], 0.2).protect(frame, seed=1)
    assert np.allclose(released.frame.cov(), frame.cov(), rtol=1e-9)
    assert np.allclose(released.frame.mean(), frame.mean(), rtol=0, atol=1e-9)
    both = frame.dropna(), released.frame.dropna()
    assert np.allclose(both[0].cov(), both[1].cov(), rtol=1e-9)
    assert released.summary().endswith("means, variances and covariances stay exactly")


def test_restricted_noise_says_which_records_are_in_no_large_pattern():
    random = np.random.default_rng(6)
    frame = pd.DataFrame(random.normal(size=(300, 2)), columns=["a", "b"])
    frame.loc[:4, "b"] = np.nan
    released = RestrictedNoise(["a", "b"], 0.2).protect(frame, seed=1)
    assert "but covariances only about, for 5 records" in released.summary()
    assert not np.isclose(released.frame.a[:5], frame.a[:5]).any()
