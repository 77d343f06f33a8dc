"""Methods one after the other: what they do together is what they do in turn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from people import people
from tablecloak.contracts import check_microdata_method
from tablecloak.microdata import (
    Chain,
    CovarianceNoise,
    DataSwapping,
    LocalSuppression,
    Topcoding,
)

SWAP = DataSwapping(["job"], 0.2, keys=["state", "job"])
NOISE = CovarianceNoise(["wage", "hours"], 0.1)
GROUPS = LocalSuppression(["state", "job"], k=20)


@pytest.mark.filterwarnings("ignore::tablecloak.microdata.OrderWarning")
def test_a_chain_does_what_its_steps_do_in_turn_and_keeps_their_contract():
    chain = Chain([NOISE, GROUPS])
    random = np.random.default_rng(4)
    first = NOISE.protect(people(), seed=random)
    second = GROUPS.protect(first.frame, seed=random)
    found = chain.protect(people(), seed=4)
    pd.testing.assert_frame_equal(found.frame, second.frame)
    assert found.summary() == f"{first.summary()}; {second.summary()}"
    check_microdata_method(Chain([SWAP, NOISE]), people())


def test_a_promise_that_a_later_step_may_break_is_told():
    told = Chain([GROUPS, SWAP]).protect(people(), seed=1)
    assert told.notes == (
        "step 2 (swap) changed job after step 1 (local-suppression), whose promise held before",
    )
    assert told.notes[0] in told.summary()
    assert not Chain([SWAP, GROUPS]).protect(people(), seed=1).notes
    assert not Chain([GROUPS, NOISE]).protect(people(), seed=1).notes


def test_columns_are_those_of_all_steps_and_numbers_win():
    chain = Chain([SWAP, Topcoding("job", threshold=3), GROUPS])
    columns = chain.uses(["job", "state", "wage"])
    assert set(columns.changed) == {"job", "state"}
    assert columns.numbers == ["job"]
    assert columns.categories == ["state"]


def test_an_error_names_the_step():
    with pytest.raises(tc.InputError, match=r"Step 2 \(topcode\): There is no column 'pay'"):
        Chain([NOISE, Topcoding("pay")]).protect(people(), seed=1)
    with pytest.raises(tc.InputError, match="one or more methods for records. Got none"):
        Chain([])
    with pytest.raises(tc.InputError, match="Got 'noise'"):
        Chain(["noise"])
