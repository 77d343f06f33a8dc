"""Subsets of cells, as callers name them."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.cta.statistics.moments import select

COX = tc.examples.cox()
KEYS = COX.table.keys


def test_the_word_sensitive_means_all_sensitive_cells():
    assert np.array_equal(select(COX, "sensitive"), COX.sensitive)
    assert select(COX, "all").all()


def test_a_code_means_all_cells_with_it():
    code = KEYS["row"].iloc[0]
    assert np.array_equal(select(COX, {"row": code}), (KEYS["row"] == code).to_numpy())


def test_several_codes_of_one_dimension_are_united_and_dimensions_are_crossed():
    rows = list(dict.fromkeys(KEYS["row"]))[:2]
    column = KEYS.iloc[0, 1]
    chosen = select(COX, {"row": rows, KEYS.columns[1]: column})
    assert np.array_equal(chosen, (KEYS["row"].isin(rows) & (KEYS.iloc[:, 1] == column)).to_numpy())
    assert chosen.sum() == 2


def test_a_mask_and_the_numbers_of_its_cells_mean_the_same():
    mask = np.zeros(COX.table.n_cells, dtype=bool)
    mask[[1, 4]] = True
    assert np.array_equal(select(COX, mask), select(COX, [1, 4]))


@pytest.mark.parametrize(
    ("subset", "message"),
    [
        ("sensitiv", "Did you mean 'sensitive'"),
        ({"rows": "1"}, "`subset` names 'rows'. Did you mean 'row'"),
        ({"row": "no such code"}, "has no cell"),
        ([], "has no cell"),
    ],
)
def test_a_subset_that_is_empty_or_not_understood_is_an_error(subset, message):
    given = np.array(subset, dtype=int) if isinstance(subset, list) else subset
    with pytest.raises(tc.InputError, match=message):
        select(COX, given)
