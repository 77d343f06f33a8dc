"""What everybody knows of a cell before anything is published."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import tablecloak as tc
from margins import with_margins
from tablecloak.tables.external_bounds import default_bounds, not_zero


def table_of(values, rows=None, **more) -> tc.Table:
    values = np.array(values, dtype=float)
    relations = csr_array(np.array(rows, dtype=float)) if rows else csr_array((0, len(values)))
    return tc.Table(
        keys=pd.DataFrame({"cell": [f"c{at}" for at in range(len(values))]}),
        values=values,
        relations=relations,
        right_hand_side=relations @ values,
        **more,
    )


@pytest.mark.parametrize(
    ("values", "bounds"),
    [
        ([2, 100, 40], (0, 150)),
        # Where values may be negative, so may those that an intruder considers.
        ([-20, 100], (-30, 150)),
        ([-20, -10], (-30, 0)),
        ([0, 0], (0, 0)),
    ],
)
def test_one_interval_for_the_table_reaches_half_beyond_its_extremes(values, bounds):
    assert default_bounds(table_of(values)) == bounds


def test_a_count_whose_zeros_are_published_is_at_least_one_where_it_is_hidden():
    low = not_zero(table_of([0, 1, 7]), np.zeros(3))
    assert low.tolist() == [0, 1, 1]


def test_a_total_is_at_least_the_number_of_its_parts_that_are_not_zero():
    low = not_zero(table_of([9, 4, 5, 0], [[-1, 1, 1, 1]]), np.zeros(4))
    assert low.tolist() == [2, 1, 1, 0]


def test_totals_of_totals_know_what_their_parts_know():
    rows = [[-1, 1, 0, 1, 0, 0], [0, -1, 0, 0, 1, 1], [0, 0, -1, 1, 0, 0]]
    low = not_zero(table_of([9, 5, 4, 4, 2, 3], rows), np.zeros(6))
    assert low.tolist() == [3, 2, 1, 1, 1, 1]


def test_a_known_bound_of_a_part_counts_in_its_total():
    low = not_zero(table_of([9, 4, 5], [[-1, 1, 1]]), np.array([0.0, 4.0, 0.0]))
    assert low.tolist() == [5, 4, 1]


def test_a_right_hand_side_moves_the_least_total():
    values = np.array([12.0, 4.0, 5.0])
    relations = csr_array(np.array([[-1.0, 1, 1]]))
    table = tc.Table(
        keys=pd.DataFrame({"cell": list("abc")}),
        values=values,
        relations=relations,
        right_hand_side=relations @ values,
    )
    # The total is the sum of its parts and 3.
    assert not_zero(table, np.zeros(3)).tolist() == [5, 1, 1]


@pytest.mark.parametrize("values", [[0.5, 1.5], [-1, 3]])
def test_nothing_is_raised_where_values_are_fractions_or_negative(values):
    low = np.zeros(2)
    assert not_zero(table_of(values), low).tolist() == low.tolist()


def test_a_cell_that_may_be_negative_for_all_that_is_known_stays_so():
    assert not_zero(table_of([3, 4]), np.array([-2.0, 0.0])).tolist() == [-2, 1]


def test_a_relation_with_two_totals_says_nothing_of_either():
    low = not_zero(table_of([2, 3, 4, 1], [[-1, -1, 1, 1]]), np.zeros(4))
    assert low.tolist() == [1, 1, 1, 1]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_raised_bounds_hold_for_every_table_whose_zeros_are_the_same(seed):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame([(row, column) for row in "abc" for column in "xyz"], columns=["r", "c"])
    trees = {"r": tc.Hierarchy.from_dict({"ab": {"a": {}, "b": {}}, "c": {}}),
             "c": tc.Hierarchy.flat(list("xyz"))}  # fmt: skip
    values = random.integers(0, 4, len(frame)) * random.integers(0, 2, len(frame))
    table = with_margins(frame.assign(v=values.astype(float)), trees, "v")
    low = not_zero(table, np.zeros(table.n_cells))
    assert np.all(low <= table.values)
    other = np.where(values > 0, random.integers(1, 4, len(frame)), 0)
    changed = with_margins(frame.assign(v=other.astype(float)), trees, "v")
    assert changed.keys.equals(table.keys)
    assert np.all(changed.values >= low)
