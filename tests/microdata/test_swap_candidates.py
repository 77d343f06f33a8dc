"""Candidates of swapping, compared over replicates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import DataSwapping
from tablecloak.microdata.swap_candidates import sweep

RANDOM = np.random.default_rng(3)
FRAME = pd.DataFrame({name: RANDOM.integers(0, 3, 200) for name in ("a", "b", "c")})
RATES = (0.0, 0.1, 0.4)


def swept(**options):
    candidates = [DataSwapping(["a"], rate) for rate in RATES]
    return sweep(FRAME, candidates, replicates=5, **options)


def test_more_swapping_distorts_more_and_none_not_at_all():
    table = swept().table
    assert table["distortion"].iloc[0] == 0
    assert table["distortion"].is_monotonic_increasing
    assert table["rate"].tolist() == list(RATES)


def test_each_candidate_has_random_numbers_of_its_own():
    """Its row does not depend on which others it is compared with."""
    alone = sweep(FRAME, [DataSwapping(["a"], 0.0), DataSwapping(["a"], 0.1)], replicates=5).table
    together = swept().table
    for column in ("risk", "distortion", "risk_error"):
        assert alone[column].iloc[1] == together[column].iloc[1]


def test_the_best_below_a_risk_is_the_least_distorted_of_the_tolerable():
    found = swept()
    limit = float(found.table["risk"].iloc[0])
    best = found.best(limit)
    tolerable = found.table[found.table["risk"] <= limit]
    assert set(best["distortion"]) == {tolerable["distortion"].min()}
    assert len(found.best(-1.0)) == 0


def test_the_frontier_of_the_means_is_within_two_errors_of_itself():
    table = swept().table
    assert table["frontier"].any()
    assert np.all(table.loc[table["frontier"], "near_frontier"])


def test_one_replicate_has_no_error():
    table = sweep(FRAME, [DataSwapping(["a"], 0.1)], replicates=1).table
    assert np.isnan(table["risk_error"]).all()


@pytest.mark.parametrize(("candidates", "replicates"), [([], 5), ([DataSwapping(["a"], 0.1)], 0)])
def test_nothing_to_compare_is_an_error(candidates, replicates):
    with pytest.raises(tc.InputError, match="At least one candidate and one replicate"):
        sweep(FRAME, candidates, replicates=replicates)
