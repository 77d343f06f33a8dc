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
    with pytest.raises(tc.InputError, match="Only 1 values of 'wage' lie above 10"):
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


WAGES = pd.DataFrame({"wage": [1.0, 2.0, 3.0, 50.0, 60.0, 70.0]})


@pytest.mark.parametrize(
    ("options", "released", "replaced"),
    [
        ({"threshold": 10}, [1, 2, 3, 10, 10, 10], 3),
        ({"threshold": 10, "replace_by": "mean"}, [1, 2, 3, 60, 60, 60], 3),
        ({"threshold": 50}, [1, 2, 3, 50, 50, 50], 2),
        ({"threshold": 100}, [1, 2, 3, 50, 60, 70], 0),
        ({"threshold": 100, "replace_by": "mean"}, [1, 2, 3, 50, 60, 70], 0),
        ({"quantile": 0.5}, [1, 2, 3, 26.5, 26.5, 26.5], 3),
    ],
)
def test_values_beyond_the_threshold_are_replaced_and_no_others(options, released, replaced):
    release = Topcoding("wage", **options).protect(WAGES)
    assert release.frame["wage"].tolist() == released
    assert release.n_replaced == replaced
    assert WAGES["wage"].max() == 70


def test_whole_numbers_are_rounded_down_so_that_none_passes_the_threshold():
    frame = pd.DataFrame({"wage": [1, 2, 30, 40, 51]})
    by_threshold = Topcoding("wage", threshold=10.9).protect(frame).frame["wage"]
    assert by_threshold.tolist() == [1, 2, 10, 10, 10]
    by_mean = Topcoding("wage", threshold=10, replace_by="mean").protect(frame).frame["wage"]
    assert by_mean.tolist() == [1, 2, 40, 40, 40]


@pytest.mark.parametrize("number", [1, 2])
def test_the_mean_of_one_or_two_values_would_tell_them(number):
    frame = pd.DataFrame({"wage": [1.0] * 5 + [100.0] * number})
    with pytest.raises(tc.InputError, match=f"Only {number} values of 'wage' lie above 10"):
        Topcoding("wage", threshold=10, replace_by="mean").protect(frame)
