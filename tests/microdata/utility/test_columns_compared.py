"""Columns of a release beside those of the original."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tablecloak.microdata.utility.columns_compared import categories_compared, numbers_compared


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
