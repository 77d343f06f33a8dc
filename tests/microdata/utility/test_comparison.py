"""Columns, regressions and correlations of a release beside those of the original."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import (
    correlations_compared,
    eigenvalue_loss,
    information_loss,
    interval_overlap,
    regression_compared,
)
from tablecloak.microdata.utility.comparison import categories_compared, numbers_compared


def test_means_deviations_and_changes_by_hand():
    original = pd.DataFrame({"x": [1.0, 3, 5, 7], "t": list("abcd")})
    released = pd.DataFrame({"x": [1.0, 3, 5, 11], "t": list("abcd")})
    found = numbers_compared(original, released)
    assert found.index.tolist() == ["x"]
    row = found.loc["x"]
    assert (row["mean"], row["mean_released"], row["changed"]) == (4, 5, 0.25)
    assert row["sd"] == pytest.approx(np.sqrt(5))
    assert row["sd_released"] == pytest.approx(np.std([1, 3, 5, 11]))


def test_records_missing_in_either_file_count_as_missing_and_not_as_changed():
    original = pd.DataFrame({"x": [1.0, np.nan, 5, 7]})
    released = pd.DataFrame({"x": [1.0, 3, np.nan, 7]})
    row = numbers_compared(original, released).loc["x"]
    assert (row["missing"], row["changed"], row["mean"]) == (0.5, 0, 4)


def test_distances_of_distributions_of_categories():
    original = pd.DataFrame({"t": list("aabb")})
    released = pd.DataFrame({"t": list("abcc")})
    row = categories_compared(original, released).loc["t"]
    # p = (1/2, 1/2, 0), q = (1/4, 1/4, 1/2).
    assert row["categories"] == 3
    assert row["total_variation"] == pytest.approx(0.5)
    assert row["hellinger"] == pytest.approx(np.sqrt(1 - np.sqrt(1 / 2)))
    assert row["changed"] == 0.75


def test_a_permutation_changes_records_and_no_distribution():
    original = pd.DataFrame({"t": list("aabb")})
    row = categories_compared(original, pd.DataFrame({"t": list("bbaa")})).loc["t"]
    assert (row["total_variation"], row["hellinger"], row["changed"]) == (0, 0, 1)


def test_columns_of_many_values_are_no_categories_and_missing_columns_are_left_out():
    original = pd.DataFrame({"id": range(200), "t": ["a"] * 200, "gone": 1})
    found = categories_compared(original, original[["id", "t"]])
    assert found.index.tolist() == ["t"]


def test_missing_values_are_one_category_in_every_type():
    original = pd.DataFrame({"t": ["a", None, "b", "a"]})
    released = pd.DataFrame({"t": pd.Categorical(["a", np.nan, "b", np.nan])})
    row = categories_compared(original, released).loc["t"]
    assert (row["categories"], row["changed"], row["total_variation"]) == (3, 0.25, 0.25)
    whole = pd.DataFrame({"n": pd.array([1, None, 3, 4], dtype="Int64")})
    row = numbers_compared(whole, whole.assign(n=whole["n"] + 1)).loc["n"]
    assert (row["missing"], row["changed"]) == (0.25, 1)


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
    for pair, row in found.set_index(["one", "other"]).iterrows():
        assert row["original"] == pytest.approx(np.corrcoef(FRAME[list(pair)].T)[0, 1])
        assert row["change"] == pytest.approx(row["released"] - row["original"])
    assert row["released"] == pytest.approx(FRAME["x"].corr(FRAME["y"]))
    assert found["released"].iloc[1] == pytest.approx(1)


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


def frame(*columns) -> pd.DataFrame:
    return pd.DataFrame({f"x{at}": np.asarray(c, float) for at, c in enumerate(columns)})


def test_the_loss_is_a_sum_of_shifts_in_deviations():
    original, released = frame([0, 2, 4]), frame([1, 2, 4])
    # The standard deviation of 0, 2, 4 is 2.
    assert information_loss(original, released, ["x0"]) == pytest.approx(1 / (np.sqrt(2) * 2))
    assert information_loss(original, original, ["x0"]) == 0


def test_losses_of_columns_add_up_whatever_their_units():
    one, other = frame([0, 2, 4], [0, 200, 400]), frame([1, 2, 4], [100, 200, 400])
    together = information_loss(one, other, ["x0", "x1"])
    assert together == pytest.approx(2 * information_loss(one, other, ["x0"]))


def test_values_that_are_missing_before_or_after_are_left_out():
    original, released = frame([0, 2, 4, np.nan]), frame([1, np.nan, 4, 9])
    # Half a deviation in one of two known values; the deviation is that of 0, 2, 4.
    assert information_loss(original, released, ["x0"]) == pytest.approx(1 / (np.sqrt(2) * 2))
    average = information_loss(original, released, ["x0"], average=True)
    assert average == pytest.approx(1 / (np.sqrt(2) * 4))


def test_the_eigenvalue_loss_of_two_columns_by_hand():
    """The eigenvalues of two columns are 1 + r and 1 - r for a correlation of r."""
    random = np.random.default_rng(0)
    one, other = (random.multivariate_normal([0, 0], [[1, r], [r, 1]], 50) for r in (0.8, 0.3))
    r, s = (np.corrcoef(values.T)[0, 1] for values in (one, other))
    found = eigenvalue_loss(frame(*one.T), frame(*other.T), ["x0", "x1"])
    assert found == pytest.approx(abs(r - s) / (1 + r) + abs(r - s) / (1 - r))
    assert eigenvalue_loss(frame(*one.T), frame(*(5 * one.T + 3)), ["x0", "x1"]) < 1e-12


def test_eigenvalues_take_missing_values_and_dependent_columns():
    x = np.arange(5.0)
    same = frame(x, 2 * x)
    assert eigenvalue_loss(same, same, ["x0", "x1"]) == 0
    assert eigenvalue_loss(same, frame(x, x**2), ["x0", "x1"]) > 1e6
    holes = frame([0, 1, np.nan, 3, 4], [0, 2, 4, 6, 9])
    assert eigenvalue_loss(holes, holes, ["x0", "x1"]) == 0
    with pytest.raises(tc.InputError, match=r"Columns \['x1'\] are constant"):
        eigenvalue_loss(same, frame(x, 0 * x), ["x0", "x1"])
