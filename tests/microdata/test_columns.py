"""Columns of records: names, numbers, types."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata.columns import like, names_of, numbers_of, paired_numbers, taken_from

FRAME = pd.DataFrame({"wage": [3, 1, 2], "town": list("abc")}, index=[10, 20, 30])


@pytest.mark.parametrize("given", ["wage", [], ["wage", "wage"], None, 3])
def test_a_list_of_columns_is_neither_a_text_nor_empty_nor_has_it_twins(given):
    with pytest.raises(tc.InputError, match="`keys` must be a list of one or more names"):
        names_of(given, "keys")


def test_whole_numbers_become_fractions_unless_they_stay_whole():
    column = FRAME["wage"]
    assert like(column, np.array([1.5, 2, 3])).tolist() == [1.5, 2, 3]
    assert like(column, np.array([1.0, 2, 3])).dtype == np.float64
    assert like(column, np.array([1.0, 2, 3]), whole=True).dtype == column.dtype
    assert like(column, np.ones(3)).index.tolist() == [10, 20, 30]


def test_small_floats_stay_small():
    assert like(FRAME["wage"].astype(np.float32), np.ones(3)).dtype == np.float32


@pytest.mark.parametrize(
    ("frame", "name", "message"),
    [
        (FRAME, "wages", "no column 'wages'. Did you mean 'wage'"),
        (FRAME, "town", "Column 'town' is not numeric"),
        (FRAME.assign(wage=[1, np.nan, 2]), "wage", "'wage' has a missing value in row 20"),
        (FRAME.assign(wage=[1, 2, np.inf]), "wage", "'wage' has an infinite value in row 30"),
    ],
)
def test_what_is_no_number_is_named_by_column_and_row(frame, name, message):
    with pytest.raises(tc.InputError, match=message):
        numbers_of(frame, name)


def test_values_are_taken_from_the_original_also_where_donors_change_too():
    """A ring of three: each gets what the next one had."""
    changed = taken_from(FRAME, ["wage", "town"], np.array([0, 1, 2]), np.array([1, 2, 0]))
    assert changed["wage"].tolist() == [1, 2, 3]
    assert changed["town"].tolist() == ["b", "c", "a"]
    assert FRAME["town"].tolist() == ["a", "b", "c"]
    assert changed.index.tolist() == [10, 20, 30]


@pytest.mark.parametrize(
    ("other", "columns", "message"),
    [
        (FRAME.iloc[:2], ["wage"], "has 3 records and the release 2"),
        (FRAME.assign(wage=1.0), ["wage", "wage"], "none of them twice"),
    ],
)
def test_files_that_cannot_be_compared_are_refused(other, columns, message):
    with pytest.raises(tc.InputError, match=message):
        paired_numbers(FRAME, other, columns)


def test_a_constant_original_has_no_scale():
    with pytest.raises(tc.InputError, match="are constant"):
        paired_numbers(FRAME.assign(wage=2), FRAME, ["wage"])
    with pytest.raises(tc.InputError, match="There are no records"):
        paired_numbers(FRAME.iloc[:0], FRAME.iloc[:0], ["wage"])
