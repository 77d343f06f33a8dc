"""Topcoding."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import Topcoding


def test_mean_stays_if_extremes_are_replaced_by_their_mean():
    frame = pd.DataFrame({"wage": np.random.default_rng(1).lognormal(8, 1, 1000)})
    release = Topcoding("wage", quantile=0.95, replace_by="mean").protect(frame)
    assert release.n_replaced == 50
    assert release.frame.wage.mean() == pytest.approx(frame.wage.mean())
    kept = frame.wage <= release.threshold
    assert release.frame.wage[kept].equals(frame.wage[kept])
    assert np.ptp(release.frame.wage[~kept]) == 0
    plain = Topcoding("wage", quantile=0.95).protect(frame)
    assert plain.frame.wage.max() == plain.threshold


def test_what_would_tell_too_much_or_is_no_number_is_refused():
    frame = pd.DataFrame({"wage": [1.0, 2.0, 3.0, 90.0], "name": list("abcd")})
    with pytest.raises(tc.InputError, match="Only 1 values lie beyond 10"):
        Topcoding("wage", threshold=10, replace_by="mean").protect(frame)
    with pytest.raises(tc.InputError, match="'name' is not numeric"):
        Topcoding("name").protect(frame)
    with pytest.raises(tc.InputError, match="Did you mean 'wage'"):
        Topcoding("wages").protect(frame)
    with pytest.raises(tc.InputError, match="missing value in row 1"):
        Topcoding("wage").protect(frame.assign(wage=[1.0, np.nan, 2.0, 3.0]))
    with pytest.raises(tc.InputError, match="between 0 and 1"):
        Topcoding("wage", quantile=99)


@pytest.mark.parametrize("threshold", [np.nan, np.inf, -np.inf])
def test_a_threshold_that_replaces_nothing_silently(threshold):
    with pytest.raises(tc.InputError, match="`threshold` must be a finite number"):
        Topcoding("wage", threshold=threshold)


@pytest.mark.parametrize("kind", ["int16", "int64", "uint8", "Int32", "float32", "float64"])
def test_a_topcoded_column_keeps_its_type(kind):
    frame = pd.DataFrame({"wage": pd.Series([1, 5, 9, 90], dtype=kind)})
    release = Topcoding("wage", threshold=9.5).protect(frame)
    assert release.frame.wage.dtype == frame.wage.dtype
    top = 9 if "int" in kind.lower() else 9.5
    assert release.frame.wage.tolist() == [1, 5, 9, top]
