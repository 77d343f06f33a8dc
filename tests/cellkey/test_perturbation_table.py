"""Looking up changes, and tables that cannot be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablecloak.cellkey import KeyRows, PerturbationTable, design_count_table
from tablecloak.cellkey.perturbation_table import KEY_UNITS
from tablecloak.errors import InputError

TABLE = design_count_table(5, 3, blocked=2, stay=0.5)


def _by_hand(table: PerturbationTable, count: int, key: float) -> int:
    """First interval of the row whose upper bound is above the key."""
    row = min(count, int(table.values[-1]))
    for i, change, upper in zip(table.row, table.change, table.upper, strict=True):
        if i == row and key < upper:
            return int(change)
    raise AssertionError


@given(st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 10**8 - 1)), min_size=1))
def test_a_change_is_that_of_the_first_interval_above_the_key(cells):
    counts, keys = np.array(cells).T
    found = TABLE.changes(counts, keys * (KEY_UNITS // 10**8))
    assert found.tolist() == [_by_hand(TABLE, n, k / 10**8) for n, k in cells]


def test_a_key_on_a_bound_belongs_to_the_next_interval():
    bound = float(TABLE.upper[TABLE.row == 8][0])
    keys = np.array([round(bound * KEY_UNITS) - 1, round(bound * KEY_UNITS)])
    low, high = TABLE.changes(np.array([8, 8]), keys)
    assert (low, high) == (-5, -4)


def test_empty_cells_stay_empty():
    keys = np.arange(0, KEY_UNITS, KEY_UNITS // 7)
    assert not TABLE.changes(np.zeros(len(keys), dtype=int), keys).any()


def test_chances_are_the_shares_of_all_keys():
    keys = np.arange(10**5) * (KEY_UNITS // 10**5)
    found = TABLE.changes(np.full(len(keys), 4), keys)
    for change, chance in TABLE.chances(4).items():
        assert abs(np.mean(found == change) - chance) < 2e-5
    assert sum(TABLE.chances(7).values()) == pytest.approx(1)


def test_shuffling_keeps_every_probability_and_mixes_the_signs():
    mixed = TABLE.shuffled(0.05, seed=1)
    lengths = mixed.to_frame().groupby(["i", "v"]).p.sum()
    kept = TABLE.to_frame().groupby(["i", "v"]).p.sum()
    np.testing.assert_allclose(lengths, kept[kept > 0], atol=1e-9)
    assert mixed.probability.max() <= 0.05 + 1e-9
    row = mixed.change[mixed.row == 8]
    assert (np.diff(row) < 0).any()
    assert mixed.to_frame().equals(TABLE.shuffled(0.05, seed=1).to_frame())


def test_whole_keys_repeat_their_last_rows_for_large_counts():
    table = KeyRows(np.arange(-3, 9).reshape(4, 3) % 2, period=2)
    counts = np.array([0, 1, 4, 5, 6, 7])
    rows = [None, 0, 3, 2, 3, 2]
    expected = [0 if row is None else int(table.change[row, 1]) for row in rows]
    assert table.changes(counts, np.ones(6, dtype=int)).tolist() == expected


def test_counts_above_750_use_rows_501_to_750():
    table = KeyRows(np.repeat(np.arange(1, 751)[:, None], 2, axis=1))
    counts = np.array([750, 751, 1000, 1001, 1250])
    found = table.changes(counts, np.zeros(5, dtype=int))
    assert found.tolist() == [750, (751 - 1) % 250 + 501, 750, 501, 750]


def test_the_rounding_table_removes_small_counts_and_rounds_the_rest():
    counts = np.array([1, 9, 10, 12, 13, 17, 18])
    published = counts + KeyRows.rounding().changes(counts, np.zeros(7, dtype=int))
    assert published.tolist() == [0, 0, 10, 10, 15, 15, 20]


@pytest.mark.parametrize(
    ("row", "change", "upper", "message"),
    [
        ([1, 1], [-1, 1], [0.5, 0.9], "end with 1"),
        ([1, 1], [-1, 1], [0.7, 0.5], "must increase"),
        ([1, 1], [-2, 2], [0.5, 1.0], "leads below 0"),
        ([2, 1], [0, 0], [1.0, 1.0], "sorted by i"),
        ([], [], [], "has no rows"),
    ],
)
def test_tables_that_cannot_be_are_refused(row, change, upper, message):
    with pytest.raises(InputError, match=message):
        PerturbationTable(np.array(row), np.array(change), np.array(upper))


def test_whole_keys_never_lead_below_zero():
    with pytest.raises(InputError, match="Row 1, key 1: the change -2 leads below 0"):
        KeyRows(np.array([[0, -2]]), period=1)
