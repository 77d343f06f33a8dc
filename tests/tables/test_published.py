"""What order, digits and types of a release tell: nothing but its published cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import tablecloak as tc
from tablecloak.tables.published import (
    common_decimals,
    in_published_order,
    published_column,
    published_decimals,
    published_intervals,
    published_order,
    published_rows,
)


def table_of(codes, values, hierarchies=None, **more) -> tc.Table:
    """A table of one dimension without relations."""
    return tc.Table(
        keys=pd.DataFrame({"region": list(codes)}),
        values=np.array(values, dtype=float),
        relations=csr_array((0, len(codes))),
        right_hand_side=np.zeros(0),
        hierarchies=hierarchies or {},
        **more,
    )


def test_codes_that_are_numbers_are_published_in_the_order_of_numbers():
    assert published_order(table_of(["10", "9", "2"], [1, 2, 3])).tolist() == [2, 1, 0]


def test_one_code_that_is_no_number_makes_all_of_them_text():
    assert published_order(table_of(["10", "9", "x"], [1, 2, 3])).tolist() == [0, 1, 2]
    # A superscript is a digit for Unicode, but no number.
    assert published_order(table_of(["10", "9", "²"], [1, 2, 3])).tolist() == [0, 1, 2]


def test_codes_with_leading_zeros_follow_their_numbers():
    assert published_order(table_of(["2", "01", "1"], [1, 2, 3])).tolist() == [1, 2, 0]


def test_codes_of_a_hierarchy_are_published_with_each_parent_before_its_children():
    tree = tc.Hierarchy.from_dict({"north": {"z": {}, "a": {}}, "east": {}})
    table = table_of(["east", "a", "z", "Total", "north"], [1, 2, 3, 4, 5], {"region": tree})
    published = published_rows(table).region.tolist()
    assert published == ["Total", "north", "z", "a", "east"]


@given(st.permutations(list(range(6))))
def test_the_order_of_the_input_is_not_seen_in_the_release(order):
    table = table_of(list("fbdace"), [3, 1, 4, 1, 5, 9])
    shuffled = table_of(
        [list("fbdace")[at] for at in order], [[3, 1, 4, 1, 5, 9][at] for at in order]
    )
    ours, theirs = in_published_order(table), in_published_order(shuffled)
    assert ours.keys.equals(theirs.keys)
    assert ours.values.tolist() == theirs.values.tolist()


def test_relations_follow_their_cells_into_the_published_order():
    cells = pd.DataFrame({"r": ["b", "Total", "a"], "v": [2.0, 5.0, 3.0]})
    table = in_published_order(tc.Table.from_frame(cells, ["r"], "v"))
    assert table.keys.r.tolist() == ["Total", "a", "b"]
    assert np.all(table.relations @ table.values == table.right_hand_side)


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ([1, 20, -3], 0),
        ([0.5, 2], 1),
        ([0.25, 0.1], 2),
        # Dust of binary sums is no digit.
        ([0.1 + 0.2, 1.1], 1),
        ([1e9 + 0.1 + 0.2], 1),
        ([np.pi], None),
        ([1 / 3, 1], None),
        ([], 0),
        # Beyond 2^53 every double is whole.
        ([2.0**60], 0),
    ],
)
def test_digits_are_those_of_which_all_values_are_multiples(values, decimals):
    assert common_decimals(values) == decimals


def test_declared_digits_decide_whatever_the_values_show():
    assert published_decimals([0.25], 1) == 1
    assert published_decimals([0.25], -2) == 0
    assert published_decimals([0.25]) == 2


def test_measurements_are_published_with_thirteen_digits_of_the_largest():
    assert published_decimals([np.pi]) == 12
    assert published_decimals([np.pi, 1000 * np.pi]) == 9
    assert published_decimals([1e20 * np.pi, 0.1]) <= 1


def test_hidden_values_leave_nothing_in_a_column():
    column = published_column(np.array([1.0, 123.0]), 0, np.array([False, True]))
    assert str(column.dtype) == "Int64"
    assert column[0] == 1
    assert pd.isna(column[1])
    # Not even below the mask.
    assert column._data.tolist() == [1, 0]


def test_the_type_of_a_column_is_chosen_by_what_is_shown():
    hidden = np.array([False, True])
    large = published_column(np.array([1.0, 2.0**60]), 0, hidden)
    assert str(large.dtype) == "Int64"
    shown = published_column(np.array([2.0**60, 1.0]), 0, hidden)
    assert str(shown.dtype).lower() == "float64"


def test_a_negative_zero_is_published_as_zero():
    column = published_column(np.array([-0.001]), 1)
    assert not np.signbit(np.asarray(column)[0])


def test_the_last_binary_digits_of_a_sum_are_not_published():
    column = published_column(np.array([0.1 + 0.2]), 1)
    assert np.asarray(column)[0] == 0.3


def test_ends_of_intervals_are_rounded_away_from_each_other():
    table = table_of(["a", "b"], [10, 20])
    shown = published_intervals(table, np.array([9.2, 20.0]), np.array([10.1, 20.0]))
    assert shown.lower.tolist() == [9, 20]
    assert shown.upper.tolist() == [11, 20]


@given(
    st.lists(
        st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e3), st.floats(0, 1e3)),
        min_size=1,
        max_size=5,
    ),
    st.integers(0, 3),
)
def test_published_intervals_lose_no_value_that_they_held(cells, decimals):
    values = np.round([value for value, _, _ in cells], decimals)
    lower = values - np.array([below for _, below, _ in cells])
    upper = values + np.array([above for _, _, above in cells])
    table = table_of([f"c{at}" for at in range(len(values))], values, decimals=decimals)
    shown = published_intervals(table, lower, upper)
    low, high = shown.lower.to_numpy(float), shown.upper.to_numpy(float)
    open_ = lower < upper
    assert np.all(low[open_] <= lower[open_])
    assert np.all(high[open_] >= upper[open_])
    # By no more than the last digit.
    step = 10.0**-decimals * (1 + 1e-6)
    assert np.all(lower - low <= step)
    assert np.all(high - upper <= step)


def test_a_cell_with_infinite_bounds_has_no_digits():
    table = table_of(["a", "b"], [10, 20])
    shown = published_intervals(table, np.array([-np.inf, 20.0]), np.array([np.inf, 20.0]))
    assert shown.lower.tolist() == [-np.inf, 20]
    assert shown.upper.tolist() == [np.inf, 20]
