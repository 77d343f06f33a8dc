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


@pytest.mark.parametrize("kind", ["Int64", "float64", "Float64"])
def test_missing_values_stay_missing(kind):
    frame = pd.DataFrame({"wage": pd.array([1, None, 9, 90], dtype="Int64").astype(kind)})
    released = Topcoding("wage", threshold=9, side="both", bottom_threshold=2).protect(frame).frame
    assert released["wage"].isna().tolist() == [False, True, False, False]
    assert released["wage"].dropna().tolist() == [2, 9, 9]
    unknown = frame.assign(wage=pd.array([None] * 4, dtype=kind))
    assert Topcoding("wage").protect(unknown).frame.equals(unknown)


def test_several_columns_and_both_ends_have_their_own_thresholds():
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.lognormal(8, 1, (1000, 2)), columns=["wage", "bonus"])
    method = Topcoding(
        ["wage", "bonus"], side="both", thresholds={"bonus": 9000}, bottom_quantile=0.05
    )
    release = method.protect(frame)
    low, high = frame.quantile(0.05), frame.quantile(0.99)
    assert np.array_equal(release.frame["wage"], frame["wage"].clip(low["wage"], high["wage"]))
    assert np.array_equal(release.frame["bonus"], frame["bonus"].clip(low["bonus"], 9000))
    assert release.limits.loc["bonus", "top"] == 9000
    assert release.n_replaced == (frame != release.frame).sum().sum()
    above = int((frame["bonus"] > 9000).sum())
    assert f"{above} of 1000 values of bonus lie above 9000" in release.summary()


@pytest.mark.parametrize("kind", ["int64", "float64"])
def test_bottom_coding_is_top_coding_of_the_negative(kind):
    values = pd.Series(np.random.default_rng(1).normal(0, 40, 300)).round().astype(kind)
    for replace_by in ("threshold", "mean"):
        top = Topcoding("x", threshold=31.5, replace_by=replace_by)
        bottom = Topcoding("x", side="bottom", bottom_threshold=-31.5, replace_by=replace_by)
        mirrored = bottom.protect(pd.DataFrame({"x": -values}))
        plain = top.protect(pd.DataFrame({"x": values}))
        assert mirrored.frame["x"].equals(-plain.frame["x"])
        assert (mirrored.threshold, mirrored.n_replaced) == (-31.5, plain.n_replaced)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bottom_threshold": 3}, "for the other side than side='top'"),
        ({"side": "bottom", "threshold": 3}, "for the other side than side='bottom'"),
        ({"thresholds": {"wages": 3}}, "for one of the columns"),
        ({"thresholds": {"wage": np.inf}}, "must be a finite number"),
        ({"side": "both", "threshold": 3, "bottom_threshold": 4}, "lies above the upper one"),
        ({"side": "left"}, "must be 'top', 'bottom' or 'both'"),
    ],
)
def test_thresholds_that_contradict_each_other(options, message):
    with pytest.raises(tc.InputError, match=message):
        Topcoding("wage", **options).protect(WAGES)


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
