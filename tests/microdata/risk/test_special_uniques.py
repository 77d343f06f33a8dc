"""Special uniques, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata.risk.special_uniques import MANY_KEYS, special_uniques


def test_scores_of_four_records_by_hand():
    """Three keys. The last record is alone by a and by b; the first two only by a and c."""
    frame = pd.DataFrame(
        [(1, 1, 1), (1, 1, 2), (2, 1, 1), (2, 1, 2), (3, 2, 1)], columns=list("abc")
    )
    # A single key that is unique scores (K - 1)(K - 2) = 2, a pair K - 2 = 1, all three 1.
    assert special_uniques(frame, list("abc")).tolist() == [1, 1, 1, 1, 2 + 2]


def test_supersets_of_a_unique_do_not_count_again():
    frame = pd.DataFrame([(1, 1), (1, 2), (1, 2), (2, 2), (2, 2)], columns=list("ab"))
    # Only record 0 is alone, by b; the pair (a, b) contains that.
    assert special_uniques(frame, list("ab")).tolist() == [1, 0, 0, 0, 0]


def test_only_subsets_up_to_a_size_are_looked_at():
    frame = pd.DataFrame([(1, 1), (1, 2), (2, 1), (2, 2)], columns=list("ab"))
    assert special_uniques(frame, list("ab")).tolist() == [1, 1, 1, 1]
    assert special_uniques(frame, list("ab"), largest=1).tolist() == [0, 0, 0, 0]


def test_records_that_are_all_alike_stand_out_nowhere():
    frame = pd.DataFrame(np.ones((6, 3), dtype=int), columns=list("abc"))
    assert not special_uniques(frame, list("abc")).any()


def test_too_many_keys_are_refused():
    names = [f"k{i}" for i in range(MANY_KEYS + 1)]
    frame = pd.DataFrame(np.zeros((2, len(names)), dtype=int), columns=names)
    with pytest.raises(tc.InputError, match=f"{MANY_KEYS + 1} keys have too many subsets"):
        special_uniques(frame, names)
