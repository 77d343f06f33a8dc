"""Cells by their codes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.tables.keys import cell_of, check_same_values, label_of, number_rows

KEYS = pd.DataFrame({"region": ["N", "N", "S"], "industry": ["47", "Total", "47"]})


def test_a_cell_is_called_by_all_its_codes():
    assert label_of(KEYS, 1) == "region=N, industry=Total"


def test_a_cell_is_found_by_its_codes_in_any_order_and_type():
    assert cell_of(KEYS, {"industry": "47", "region": "S"}) == 2
    assert cell_of(KEYS, {"industry": 47, "region": "N"}) == 0
    assert cell_of(KEYS, {"industry": "Total"}) == 1


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ({"region": "N"}, "2 cells have the codes"),
        ({"region": "W"}, "0 cells have the codes"),
        ({"regoin": "N"}, "no dimension 'regoin'. Did you mean 'region'"),
    ],
)
def test_codes_of_no_cell_or_of_several_are_refused(codes, message):
    with pytest.raises(tc.InputError, match=message):
        cell_of(KEYS, codes)


def test_rows_are_numbered_by_first_appearance():
    first, number = number_rows(pd.DataFrame({"a": ["x", "y", "x", "z"]}))
    assert first.tolist() == [0, 1, 3]
    assert number.tolist() == [0, 1, 0, 2]


def test_missing_codes_are_the_same_code():
    first, number = number_rows(pd.DataFrame({"a": ["x", None, None]}))
    assert first.tolist() == [0, 1]
    assert number.tolist() == [0, 1, 1]


def same(values, dust=0.0) -> None:
    keys = pd.DataFrame({"a": ["x", "y", "x"]})
    check_same_values(keys, np.array(values, dtype=float), *number_rows(keys), dust)


def test_the_same_cell_may_be_given_twice_with_the_same_value():
    same([1, 2, 1])
    same([0.3, 2, 0.1 + 0.2])


def test_the_same_cell_with_two_values_is_refused_by_its_codes():
    with pytest.raises(tc.InputError, match="Cell a=x is given twice.*1.0 and 2.0"):
        same([1, 5, 2])


def test_what_cancelled_in_a_sum_may_differ_by_its_dust():
    with pytest.raises(tc.InputError):
        same([1e-7, 5, 0])
    same([1e-7, 5, 0], dust=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_no_numbers_are_left_to_who_reports_them(value):
    same([value, 1, 3])
