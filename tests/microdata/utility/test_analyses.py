"""An analyst's figures before and after."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import (
    correlations_compared,
    interval_overlap,
    regression_compared,
)

X = np.array([1.0, 2, 3, 4, 6])
FRAME = pd.DataFrame({"x": X, "y": 2 + 3 * X + [0.5, -1, 0.5, 0, 0], "z": X[::-1]})


def test_slope_and_error_of_a_simple_regression_by_hand():
    found = regression_compared(FRAME, FRAME, "y", ["x"])
    slope = np.cov(FRAME["x"], FRAME["y"])[0, 1] / FRAME["x"].var()
    assert found.loc["x", "coefficient_original"] == pytest.approx(slope)
    residual = FRAME["y"] - FRAME["y"].mean() - slope * (X - X.mean())
    error = np.sqrt((residual**2).sum() / 3 / ((X - X.mean()) ** 2).sum())
    assert found.loc["x", "standard_error_original"] == pytest.approx(error)
    assert found["relative_change"].tolist() == pytest.approx([0, 0])


def test_a_doubled_response_doubles_all_coefficients():
    found = regression_compared(FRAME, FRAME.assign(y=2 * FRAME["y"]), "y", ["x"])
    assert found["relative_change"].tolist() == pytest.approx([1, 1])


def test_records_with_missing_values_are_left_out():
    holes = FRAME.assign(x=FRAME["x"].where(FRAME["x"] != 6))
    found = regression_compared(holes, FRAME.iloc[:4], "y", ["x"])
    assert found["relative_change"].tolist() == pytest.approx([0, 0], abs=1e-12)


def test_correlations_of_each_pair_are_compared():
    found = correlations_compared(FRAME, FRAME.assign(z=FRAME["x"]), ["x", "y", "z"])
    assert list(zip(found["one"], found["other"], strict=True)) == [
        ("x", "y"), ("x", "z"), ("y", "z"),
    ]  # fmt: skip
    row = found.set_index(["one", "other"]).loc[("x", "z")]
    assert row["released"] == pytest.approx(1)
    assert row["original"] == pytest.approx(np.corrcoef(X, X[::-1])[0, 1])
    assert row["change"] == pytest.approx(row["released"] - row["original"])


@pytest.mark.parametrize(
    ("response", "predictors", "message"),
    [
        ("yy", ["x"], "no column 'yy'"),
        ("y", ["xx"], "no column 'xx'"),
        ("t", ["x"], "Column 't' is not numeric"),
        ("y", ["t"], "5 complete records are too few for 4 predictors: at least 6"),
        ("y", [], "`predictors` must be a list"),
    ],
)
def test_regressions_that_cannot_be_made_are_refused(response, predictors, message):
    frame = FRAME.assign(t=list("abcde"))
    with pytest.raises(tc.InputError, match=message):
        regression_compared(frame, frame, response, predictors)


def survey(seed: int = 0, n: int = 200) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"job": random.choice(list("abc"), n), "age": random.normal(40, 9, n)})
    wage = 3 * frame["age"] + frame["job"].map({"a": 0, "b": 20, "c": -5})
    return frame.assign(wage=wage + random.normal(0, 10, n))


def test_categories_are_dummies_as_in_a_regression_by_hand():
    frame = survey()
    found = regression_compared(frame, frame, "wage", ["age", "job"])
    assert list(found.index) == ["(intercept)", "age", "job=b", "job=c"]
    x = np.column_stack(
        [np.ones(200), frame["age"], frame["job"] == "b", frame["job"] == "c"]
    ).astype(float)
    beta, square = np.linalg.lstsq(x, frame["wage"], rcond=None)[:2]
    errors = np.sqrt(square / 196 * np.diag(np.linalg.inv(x.T @ x)))
    assert found["coefficient_original"].to_numpy() == pytest.approx(beta)
    assert found["standard_error_masked"].to_numpy() == pytest.approx(errors)
    assert found["overlap"].tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("kind", ["object", "category"])
def test_a_category_that_the_release_lacks_has_no_coefficient_there(kind):
    frame = survey()
    released = frame.assign(job=frame["job"].replace("c", "b").astype(kind))
    found = regression_compared(frame, released, "wage", ["job", "age"])
    assert np.isnan(found.loc["job=c", ["coefficient_masked", "overlap"]].astype(float)).all()
    assert found.loc["job=c", "coefficient_original"] == pytest.approx(-5, abs=6)
    assert found.loc["age", "overlap"] > 0.5


def test_a_constant_predictor_has_no_coefficient():
    frame = survey().assign(same=7.0)
    found = regression_compared(frame, frame, "wage", ["same", "age"])
    assert np.isnan(found.loc["same", "coefficient_original"])
    assert found.loc["age", "relative_change"] == 0


def test_missing_categories_are_left_out_and_bands_in_place_of_numbers_refused():
    frame = survey()
    released = frame.assign(job=frame["job"].where(frame.index % 5 > 0))
    found = regression_compared(frame, released, "wage", ["age", "job"])
    left = frame[frame.index % 5 > 0]
    expected = regression_compared(left, left, "wage", ["age", "job"])
    assert found["coefficient_masked"].to_numpy() == pytest.approx(
        expected["coefficient_original"].to_numpy()
    )
    banded = frame.assign(age=np.where(frame["age"] < 40, "young", "old"))
    with pytest.raises(tc.InputError, match="'age' has numbers in one file and categories in"):
        regression_compared(frame, banded, "wage", ["job", "age"])


def test_overlaps_of_intervals_by_hand():
    one = [[0, 2], [0, 2], [0, 2], [0, 4], [1, 1], [np.nan, 1]]
    other = [[0, 2], [1, 3], [3, 4], [1, 2], [1, 1], [0, 1]]
    assert interval_overlap(one, other).tolist()[:5] == [1, 0.5, 0, 0.625, 1]
    assert np.isnan(interval_overlap(one, other)[5])


def test_noise_lowers_the_overlap():
    frame, random = survey(), np.random.default_rng(1)
    shares = []
    for size in (0, 3, 30):
        released = frame.assign(age=frame["age"] + random.normal(0, 1, 200) * size)
        shares.append(regression_compared(frame, released, "wage", ["age"]).loc["age", "overlap"])
    assert shares == sorted(shares, reverse=True)
    assert (shares[0], shares[2]) == (1, 0)
