"""The pattern that was published last period."""

from __future__ import annotations

import pandas as pd
import pytest

import tablecloak as tc
from hand_tables import one_row
from tablecloak.publish.earlier import read_previous

PROBLEM = one_row([50, 60, 70], {"a": (3, 5)})


def previous(tmp_path, rows, columns=("code", "status")):
    path = tmp_path / "last.csv"
    pd.DataFrame(rows, columns=list(columns)).to_csv(path, index=False)
    return read_previous(PROBLEM, path)


def test_cells_are_matched_by_their_codes(tmp_path):
    rows = [("c", "secondary"), ("a", "primary"), ("b", "published"), ("Total", "published")]
    assert previous(tmp_path, rows).tolist() == [True, False, True, False]


def test_cells_of_other_periods_are_passed_over_and_new_ones_count_as_published(tmp_path):
    rows = [("a", "suppressed"), ("gone", "suppressed")]
    assert previous(tmp_path, rows).tolist() == [True, False, False, False]


def test_cells_may_be_named_by_their_numbers(tmp_path):
    flags = previous(tmp_path, [(1, "x"), (3, "published")], ("cell", "status"))
    assert flags.tolist() == [False, True, False, False]


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        ([("a", 1)], ("code", "value"), "there is no column 'status'"),
        ([("q", "x")], ("code", "status"), "none of its cells is in this table"),
        ([("a", "gone")], ("code", "status"), "row 1: status 'gone' is not known"),
        ([("a", "x")], ("town", "status"), "the cells are not named"),
    ],
)
def test_a_file_that_says_nothing_of_this_table_is_refused(tmp_path, rows, columns, message):
    with pytest.raises(tc.InputError, match=message):
        previous(tmp_path, rows, columns)
