"""Numbers that stand in text keep their last digit."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from tablecloak.tables.text_numbers import numbers_of


@pytest.mark.parametrize("kind", [object, "string"])
def test_a_number_in_text_is_read_to_its_last_digit(kind):
    random = np.random.default_rng(1)
    numbers = random.random(2_000) * 10.0 ** random.integers(-9, 12, 2_000)
    column = pd.Series([repr(float(number)) for number in numbers], dtype=kind)
    assert np.array_equal(numbers_of(column).to_numpy(), numbers)


def test_what_is_no_number_is_missing_and_what_is_too_large_is_infinite():
    entries = ["x", "", "1_000", "0x10", None, "nan", "1e400", "-1e400", " 7 ", "+.5", 3, 2.5]
    expected = [math.nan] * 6 + [math.inf, -math.inf, 7, 0.5, 3, 2.5]
    found = numbers_of(pd.Series(entries, dtype=object, name="value"))
    np.testing.assert_array_equal(found.to_numpy(), expected)
    assert (found.name, found.dtype) == ("value", np.float64)


def test_columns_of_numbers_stay_what_they_are():
    assert numbers_of(pd.Series([1, 2])).tolist() == [1.0, 2.0]
    assert np.isnan(numbers_of(pd.Series([1, None], dtype="Int64")).iloc[1])
