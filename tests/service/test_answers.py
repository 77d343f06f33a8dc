"""Tables in JSON and back."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.service.answers import columns_of, finite, frame_of


def test_values_keep_the_types_that_were_sent():
    frame = frame_of({"code": ["01", "1"], "n": [1, None], "yes": [True, False]}, "table")
    assert frame.code.tolist() == ["01", "1"]
    assert frame.n.tolist() == [1, None]
    assert [type(value) for value in frame.yes] == [bool, bool]


def test_a_single_value_is_a_list_of_one():
    assert frame_of({"a": "x", "b": [3]}, "table").to_dict("list") == {"a": ["x"], "b": [3]}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({}, "table: the table has no columns"),
        ({"a": [1], "b": [1, 2], "c": []}, "Found 'a' 1, 'b' 2, 'c' 0"),
    ],
)
def test_what_is_no_table_is_told_with_its_place(columns, words):
    with pytest.raises(tc.InputError, match=words):
        frame_of(columns, "table")


def test_every_kind_of_column_becomes_json():
    frame = pd.DataFrame(
        {
            "text": pd.array(["a", None], dtype="string"),
            "whole": pd.array([1, None], dtype="Int64"),
            "real": [0.5, np.nan],
            "infinite": [np.inf, -np.inf],
            "flag": [True, False],
            "kind": pd.Categorical(["x", "y"]),
            "object": [None, np.float64(2.0)],
        }
    )
    found = json.loads(json.dumps(columns_of(frame), allow_nan=False))
    assert found == {
        "text": ["a", None], "whole": [1, None], "real": [0.5, None], "infinite": [None, None],
        "flag": [True, False], "kind": ["x", "y"], "object": [None, 2.0],
    }  # fmt: skip


def test_columns_come_back_as_they_were():
    sent = {"a": ["x", None, "z"], "n": [1, 2, None], "v": [0.1, 1e-300, 12345678901234567]}
    assert columns_of(frame_of(sent, "table")) == sent


@pytest.mark.parametrize(
    ("given", "told"),
    [(np.int64(3), 3), (np.nan, None), (-np.inf, None), (np.bool_(True), True), ("nan", "nan")],
)
def test_numbers_of_arrays_are_those_of_json(given, told):
    assert finite(given) is told or finite(given) == told
    assert json.dumps(finite(given), allow_nan=False)
