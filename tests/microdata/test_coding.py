"""Categories as whole numbers, and the cells of their cross-classification."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.microdata import coding
from tablecloak.microdata.coding import CodedRecords

FRAME = pd.DataFrame({"sex": list("fmfm"), "age": [30, 20, 40, 20], "town": ["b", "a", "a", "c"]})


def test_codes_are_the_places_of_sorted_categories():
    coded = CodedRecords.of(FRAME)
    assert coded.names == ("sex", "age", "town")
    assert [values.tolist() for values in coded.categories] == [
        ["f", "m"], [20, 30, 40], ["a", "b", "c"],
    ]  # fmt: skip
    assert coded.codes[1].tolist() == [1, 0, 2, 0]
    assert (coded.sizes, coded.n_cells, coded.n_records) == ((2, 3, 3), 18, 4)


def test_the_last_attribute_runs_first():
    coded = CodedRecords.of(FRAME)
    assert coded.strides == (9, 3, 1)
    # f, 30, b: 0 * 9 + 1 * 3 + 1.
    assert coded.cells().tolist() == [4, 9, 6, 11]


def test_the_part_of_some_attributes_is_what_they_add_to_the_cell():
    coded = CodedRecords.of(FRAME)
    parts = coded.part(["sex", "town"]) + coded.part(["age"])
    assert parts.tolist() == coded.cells().tolist()
    assert coded.part(["town"], np.array([3, 0])).tolist() == [2, 1]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 4)), min_size=1),
    st.integers(0, 1),
)
def test_combinations_are_numbered_as_sorting_would(records, tight):
    frame = pd.DataFrame(records, columns=["a", "b", "c"])
    coded = CodedRecords.of(frame)
    kept = coding.MOST_CELLS
    # With few cells allowed numbers are made small on the way.
    coding.MOST_CELLS = 3 if tight else kept
    try:
        found = coded.combined(["a", "c", "b"])
    finally:
        coding.MOST_CELLS = kept
    rows = list(frame[["a", "c", "b"]].itertuples(index=False, name=None))
    number = {row: at for at, row in enumerate(sorted(set(rows)))}
    assert found.tolist() == [number[row] for row in rows]


def test_codes_take_the_smallest_type_that_holds_them():
    frame = pd.DataFrame({"few": [0, 1] * 150, "many": range(300)})
    coded = CodedRecords.of(frame)
    assert [codes.dtype.itemsize for codes in coded.codes] == [1, 2]


def test_some_of_the_attributes_keep_their_codes():
    only = CodedRecords.of(FRAME).only(["town", "sex"])
    assert only.names == ("town", "sex")
    assert only.cells().tolist() == [2, 1, 0, 5]


def test_a_cross_classification_too_large_to_count_is_refused(monkeypatch):
    monkeypatch.setattr(coding, "MOST_CELLS", 17)
    with pytest.raises(tc.InputError, match="3 attributes have 18 cells; at most 17 are counted"):
        CodedRecords.of(FRAME).cells()


@pytest.mark.parametrize(
    ("frame", "columns", "message"),
    [
        (FRAME, ["sexx"], "no column 'sexx'. Did you mean 'sex'"),
        (FRAME.iloc[:0], None, "There are no records"),
        ([1, 2], None, "Records must be a pandas.DataFrame. Got list"),
        (pd.DataFrame({1: [2]}), None, "has a name that is no text"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), None, "Two columns are called 'a'"),
    ],
)
def test_records_that_cannot_be_coded_are_refused_with_their_place(frame, columns, message):
    with pytest.raises(tc.InputError, match=message):
        CodedRecords.of(frame, columns)


def test_an_attribute_that_was_not_coded_is_named():
    with pytest.raises(tc.InputError, match="no attribute 'twon'. Did you mean 'town'"):
        CodedRecords.of(FRAME).position("twon")


def test_missing_values_are_the_last_category_unless_they_are_refused():
    frame = FRAME.assign(age=[2, np.nan, 1, np.nan])
    coded = CodedRecords.of(frame, ["age"])
    assert coded.codes[0].tolist() == [1, 2, 0, 2]
    assert coded.categories[0][:2].tolist() == [1, 2]
    assert np.isnan(coded.categories[0][2])
    assert coded.first_of_each("age").tolist() == [2, 0, 1]
    with pytest.raises(tc.InputError, match="'age' has 2 missing values, the first in row 1"):
        CodedRecords.of(frame, refuse_missing=True)
