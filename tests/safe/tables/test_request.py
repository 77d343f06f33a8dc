"""Records in the cells of a table that was asked for, beside counting them one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from tablecloak.errors import InputError
from tablecloak.safe.tables.request import TableAxis, TableGrid, TableRequest, statistic_of


@pytest.mark.parametrize(
    ("function", "name"),
    [("mean", "mean"), ("len", "size"), (len, "size"), (sum, "sum"), (min, "min"), (np.sum, "sum"),
     (np.mean, "mean"), (np.average, "mean"), (np.nansum, "sum"), (np.median, "median")],
)  # fmt: skip
def test_a_statistic_is_known_in_all_forms_that_pandas_takes(function, name):
    assert statistic_of(function) == name


def test_a_statistic_without_a_rule_is_refused_with_the_likely_one():
    with pytest.raises(
        InputError, match="aggfunc 'medain' is not offered: .*leave. Did you mean 'median'"
    ):
        statistic_of("medain")


def grid_of(seed, *, n=30, rows=3, columns=2):
    rng = np.random.default_rng(seed)
    codes = rng.integers(-1, rows, n), rng.integers(-1, columns, n)
    axes = (
        TableAxis(code.astype(np.int64), np.arange(size + 1), size)
        for code, size in zip(codes, (rows, columns), strict=True)
    )
    return TableGrid(*axes), codes


def test_members_say_which_inner_cells_each_cell_adds_up():
    for seed in range(4):
        grid, (row, column) = grid_of(seed)
        inner = np.bincount(grid.group[grid.group >= 0], minlength=6)
        counted = (grid.members @ inner).reshape(grid.shape)
        there = (row >= 0) & (column >= 0)
        for r, c in itertools.product(range(4), range(3)):
            behind = there & ((row == r) | (r == 3)) & ((column == c) | (c == 2))
            assert counted[r, c] == behind.sum()
        # Every row and every column adds up, totals included.
        assert not (grid.relations @ counted.ravel()).any()
        assert grid.relations.shape == (4 + 3, 12)


def test_no_other_relation_holds_of_a_grid():
    """Tables that meet all relations are those of inner cells, and nothing is said twice over."""
    grid, _ = grid_of(0)
    relations = grid.relations.toarray()
    members = grid.members.toarray()
    n_inner = members.shape[1]
    assert np.linalg.matrix_rank(members) == n_inner
    assert np.linalg.matrix_rank(relations) == grid.n_cells - n_inner


def test_places_are_the_cells_of_the_frame_in_its_order():
    axis = TableAxis(np.zeros(1, np.int64), np.array([1, 0, 2]), 2)
    grid = TableGrid(axis, TableAxis(np.zeros(1, np.int64), np.array([0, 1]), 3))
    assert grid.places.tolist() == [[4, 5], [0, 1], [8, 9]]


def axis_of(keys, labels, margin=None, *, dropna=True):
    return TableAxis.of(keys, labels, margin, dropna)


def test_records_stand_under_their_label_and_those_without_one_count_in_margins_alone():
    keys = pd.DataFrame({"a": ["x", "y", "z", "x", None]})
    axis = axis_of(keys, [("y",), ("x",), ("All",)], ("All",))
    assert axis.size == 3  # z is not shown, and counts in the total
    assert axis.labelled.tolist() == [0, 1, 3]
    assert axis.codes.tolist() == [1, 0, 2, 1, -1]


def test_missing_keys_are_a_category_where_pandas_keeps_them():
    keys = pd.DataFrame({"a": ["x", None, "x"]})
    axis = axis_of(keys, [("x",), (np.nan,)], dropna=False)
    assert axis.codes.tolist() == [0, 1, 0]


def test_a_side_without_keys_is_one_row():
    axis = axis_of(pd.DataFrame(index=range(3)), [("income",), ("wages",)])
    assert axis.codes.tolist() == [0, 0, 0]
    assert axis.labelled.tolist() == [0, 0]
    assert axis.size == 1


def test_keys_of_several_levels_are_told_apart_by_all_of_them():
    rng = np.random.default_rng(1)
    keys = pd.DataFrame({"a": rng.integers(0, 3, 40), "b": rng.integers(0, 3, 40)})
    labels = list(itertools.product(range(3), range(3)))
    axis = axis_of(keys, labels)
    assert [labels[code] for code in axis.codes] == list(zip(keys.a, keys.b, strict=True))


@pytest.mark.parametrize("margins", [True, False])
def test_each_count_of_a_crosstab_of_pandas_is_that_of_its_place_in_the_grid(margins):
    rng = np.random.default_rng(5)
    data = pd.DataFrame(
        {"a": rng.choice(list("pqr"), 60), "b": rng.choice(list("xy"), 60),
         "c": rng.choice(list("mn"), 60)}
    )  # fmt: skip
    frame = pd.crosstab(data.a, [data.b, data.c], margins=margins)
    request = TableRequest(
        "crosstab", frame, data, ["a"], ["b", "c"], {}, lambda prefix: ("size", None),
        "All" if margins else None, True,
    )  # fmt: skip
    grid, pieces = request.grid()
    assert [tuple(piece) for piece in pieces] == [("size", None)] * frame.shape[1]
    inner = np.bincount(grid.group[grid.group >= 0], minlength=grid.members.shape[1])
    assert (grid.members @ inner)[grid.places].tolist() == frame.to_numpy().tolist()
