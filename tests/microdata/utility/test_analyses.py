"""An analyst's figures before and after."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import correlations_compared, regression_compared

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
        ("y", ["t"], "Column 't' is not numeric"),
        ("y", ["x", "z", "w"], "5 complete records are too few for 4|too few"),
    ],
)
def test_regressions_that_cannot_be_made_are_refused(response, predictors, message):
    frame = FRAME.assign(t=list("abcde"), w=1.0, v=2.0)
    predictors = [*predictors, "v"] if "w" in predictors else predictors
    with pytest.raises(tc.InputError, match=message):
        regression_compared(frame, frame, response, predictors)
