"""Data shuffling: values stay in the file, rank correlations stay, and values become unlinked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.microdata import Shuffling
from tablecloak.microdata.methods.noise import normal_draws, root_of


def people(n: int = 5000, seed: int = 1) -> pd.DataFrame:
    """Skewed wages and bonuses that depend on age and hours."""
    random = np.random.default_rng(seed)
    age, hours = random.uniform(16, 70, n), random.normal(38, 5, n)
    wage = np.exp(0.03 * age + 0.04 * hours + random.normal(0, 0.4, n))
    bonus = wage * random.lognormal(-2, 0.5, n)
    return pd.DataFrame({"age": age, "hours": hours, "wage": wage, "bonus": bonus})


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=40),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_every_value_stays_in_the_file(rows, with_regressor, seed):
    frame = pd.DataFrame(rows, columns=["x", "y"])
    method = Shuffling(["x"], ["y"] if with_regressor else ())
    released = method.protect(frame, seed=seed).frame
    assert sorted(released["x"]) == sorted(frame["x"])
    assert released["y"].equals(frame["y"])
    assert released["x"].dtype == frame["x"].dtype


def test_rank_correlations_stay_and_are_those_that_are_told():
    frame = people()
    release = Shuffling(["wage", "bonus"], ["age", "hours"]).protect(frame, seed=1)
    names = ["wage", "bonus", "age", "hours"]
    assert np.allclose(release.before, frame[names].corr("spearman"))
    assert np.allclose(release.after, release.frame[names].corr("spearman"))
    assert release.largest_change < 0.02
    assert release.before.loc["wage", "bonus"] > 0.5


def test_values_given_the_regressors_do_not_depend_on_the_original_ones():
    """Partial rank correlations of released and original wages, given age and hours, are 0."""
    frame = people(20_000)
    release = Shuffling(["wage"], ["age", "hours"]).protect(frame, seed=1)
    given_columns = frame[["age", "hours"]].rank().assign(one=1.0).to_numpy()
    both = np.column_stack([frame["wage"].rank(), release.frame["wage"].rank()])
    rest = both - given_columns @ np.linalg.lstsq(given_columns, both, rcond=None)[0]
    assert abs(np.corrcoef(rest.T)[0, 1]) < 0.03
    # What is left is what the regressors tell.
    assert release.own["wage"] == pytest.approx(0.64, abs=0.05)


def test_without_regressors_nothing_is_left_of_whose_a_value_is():
    frame = people()
    release = Shuffling(["wage", "bonus"]).protect(frame, seed=1)
    assert release.own.abs().max() < 0.05
    assert release.after.loc["wage", "bonus"] == pytest.approx(
        release.before.loc["wage", "bonus"], abs=0.01
    )


def test_missing_values_stay_and_the_others_are_shuffled():
    frame = people(400)
    frame.loc[[3, 40], "wage"] = np.nan
    frame.loc[[3, 7], "age"] = np.nan
    released = Shuffling(["wage"], ["age"]).protect(frame, seed=1).frame
    assert released["wage"].isna().equals(frame["wage"].isna())
    assert sorted(released["wage"].dropna()) == sorted(frame["wage"].dropna())
    assert (released["wage"] != frame["wage"]).sum() > 350


def test_constant_columns_change_nothing():
    frame = people(50).assign(same=4.0)
    release = Shuffling(["same", "wage"], ["age"]).protect(frame, seed=1)
    assert release.frame["same"].equals(frame["same"])
    other = Shuffling(["wage"], ["same"]).protect(frame, seed=1)
    assert sorted(other.frame["wage"]) == sorted(frame["wage"])
    assert "shuffle: 50 records" in release.summary()


@pytest.mark.parametrize(
    ("columns", "regressors", "message"),
    [
        (["x"], ["x"], "is in `columns` and `regressors`"),
        (["y"], (), "fewer than two known values"),
        (["x"], ["none"], "There is no column 'none'"),
        (["x"], "x", "must be a list of one or more names"),
    ],
)
def test_what_cannot_be_shuffled_is_refused(columns, regressors, message):
    frame = pd.DataFrame({"x": [1.0, 2, 3], "y": [1.0, np.nan, np.nan]})
    with pytest.raises(tc.InputError, match=message):
        Shuffling(columns, regressors).protect(frame)


@pytest.mark.parametrize("seed", range(2))
def test_draws_have_their_covariances_exactly(seed):
    random = np.random.default_rng(seed)
    given_columns = random.lognormal(8, 1, (40, 3))
    given_columns[:, 2] = given_columns[:, 0] * 2
    draws = normal_draws(given_columns, 4, random)
    together = np.cov(np.column_stack([draws, given_columns / 1000]), rowvar=False)
    assert together[:4, :4] == pytest.approx(np.eye(4), abs=1e-10)
    assert together[:4, 4:] == pytest.approx(np.zeros((4, 3)), abs=1e-8)
    assert draws.mean(axis=0) == pytest.approx(np.zeros(4), abs=1e-12)
    covariance = given_columns.T @ given_columns
    root = root_of(covariance)
    assert root @ root.T == pytest.approx(covariance)
