"""Risk and distortion of a swap, against a table counted anew."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.methods.swapping import SwapTable, association, entropy


def records(seed: int, n: int = 40) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame({"a": random.integers(0, 3, n), "b": random.integers(0, 4, n)})


def swapped(frame: pd.DataFrame, pairs: np.ndarray, names: list[str]) -> pd.DataFrame:
    after = frame.copy()
    for name in names:
        values = frame[name].to_numpy().copy()
        values[pairs] = values[pairs[:, ::-1]]
        after[name] = values
    return after


@settings(max_examples=25)
@given(seed=st.integers(0, 500), m=st.integers(0, 20), both=st.booleans())
def test_the_report_is_that_of_a_table_counted_anew(seed, m, both):
    frame = records(seed)
    names = ["a", "b"] if both else ["a"]
    order = np.random.default_rng(seed + 1).permutation(len(frame))
    pairs = order[: 2 * m].reshape(-1, 2)
    report, after = SwapTable(CodedRecords.of(frame)).evaluate(pairs, names)
    new = swapped(frame, pairs, names)
    coded = CodedRecords.of(frame)
    strides = coded.strides
    cells = (
        coded.categories[0].searchsorted(new["a"]) * strides[0]
        + coded.categories[1].searchsorted(new["b"]) * strides[1]
    )
    counts = np.bincount(cells.astype(int), minlength=coded.n_cells)
    assert after.tolist() == counts.tolist()
    n = len(frame)
    before = np.bincount(coded.cells(), minlength=coded.n_cells)
    assert report.total_variation == pytest.approx(np.abs(before - counts).sum() / 2 / n)
    distance = np.sqrt(((np.sqrt(before) - np.sqrt(counts)) ** 2).sum() / 2 / n)
    assert report.hellinger == pytest.approx(distance)
    unswapped = np.setdiff1d(np.arange(n), pairs.ravel())
    risky = np.isin(counts[cells.astype(int)], (1, 2))
    if len(unswapped):
        assert report.risk == pytest.approx(risky[unswapped].mean())
    else:
        assert np.isnan(report.risk)
    same = (new == frame).all(axis=1).to_numpy()
    assert report.n_altered == (~same).sum()
    if same.any():
        assert report.strict_risk == pytest.approx(risky[same].mean())


def test_swapping_all_attributes_together_changes_no_count():
    frame = records(1)
    pairs = np.arange(20).reshape(-1, 2)
    report, after = SwapTable(CodedRecords.of(frame)).evaluate(pairs, ["a", "b"])
    assert report.hellinger == report.total_variation == report.entropy_change == 0
    assert after.sum() == 40


@pytest.mark.parametrize(
    ("counts", "expected"),
    [([5], 0.0), ([1, 1], np.log(2)), ([2, 0, 2, 0], np.log(2)), ([1, 3], 0.5623351446188083),
     ([0, 0], 0.0)],
)  # fmt: skip
def test_entropy_of_small_tables(counts, expected):
    assert entropy(np.array(counts)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("counts", "contingency", "cramer"),
    [
        ([[10, 0], [0, 10]], np.sqrt(1 / 2), 1.0),
        ([[5, 5], [5, 5]], 0.0, 0.0),
        # chi^2 = 20 (6 * 6 - 4 * 4)^2 / 10^4 = 0.8
        ([[6, 4], [4, 6]], np.sqrt(0.8 / 20.8), 0.2),
    ],
)
def test_association_of_two_by_two_tables(counts, contingency, cramer):
    assert association(np.array(counts, dtype=float)) == pytest.approx((contingency, cramer))


def test_a_constant_attribute_has_no_association():
    assert np.isnan(association(np.array([[3.0, 4.0]]))).all()
    assert np.isnan(association(np.array([[3.0, 4.0], [0.0, 0.0]]))).all()
    assert np.isnan(association(np.zeros((2, 2)))).all()
