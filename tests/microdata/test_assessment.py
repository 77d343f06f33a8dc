"""An assessment has the measures that make sense, and says why the others are missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tablecloak as tc
from people import SOME, people
from tablecloak.microdata import (
    MEASURES,
    METHODS,
    LocalSuppression,
    OrderWarning,
    Recoding,
    assess,
    group_diversity,
    group_likeness,
    key_risk,
    record_linkage,
)
from tablecloak.microdata.measures.measure import Figure, Measure


def survey(n: int = 300, seed: int = 3) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "region": random.choice(list("abcd"), n),
            "age": random.integers(20, 60, n),
            "illness": random.choice(["flu", "cold", "none"], n),
            "home": random.integers(0, n // 3, n),
            "wage": random.lognormal(8, 0.5, n),
            "hours": random.normal(38, 5, n),
            "weight": random.uniform(1, 50, n),
        }
    )


ROLES = {
    "keys": ["region", "age"],
    "sensitive": "illness",
    "weight": "weight",
    "household": "home",
}


def test_a_file_that_is_released_as_it_is_has_the_same_risk_and_loses_nothing():
    found = assess(survey(), survey(), **ROLES).table
    assert found["after"].notna().all()
    assert np.allclose(found["before"], found["after"])
    assert set(found["kind"]) == {"risk", "utility"}
    assert found["measure"].is_unique
    assert found["meaning"].str.endswith(".").all()


def test_figures_are_those_of_the_measures_themselves():
    original = survey()
    released = original.assign(age=original["age"] // 10, wage=original["wage"] * 1.1)
    found = assess(original, released, **ROLES)
    before, after = (key_risk(f, ["region", "age"], weight="weight") for f in (original, released))
    assert found.value("sample uniques") == (before.violations(2), after.violations(2))
    assert found.value("expected re-identifications") == pytest.approx(
        (before.expected, after.expected)
    )
    linked = record_linkage(original, released, ["wage", "hours"])
    named = assess(original, released, numbers=["wage", "hours"])
    assert named.value("nearest record is the right one") == (1, pytest.approx(linked))


@pytest.mark.parametrize("name", METHODS.names)
@pytest.mark.filterwarnings(f"ignore::{OrderWarning.__module__}.OrderWarning")
def test_releases_of_all_methods_can_be_assessed(name):
    frame = people()
    released = METHODS.build(name, **SOME[name]).protect(frame, seed=1).frame
    found = assess(frame, released, keys=["state", "job"], numbers=["wage", "hours"])
    assert found.value("sample uniques")[1] <= len(frame)
    assert 0 <= found.value("nearest record is the right one")[1] <= 1
    assert "\n" not in found.summary()
    assert "sample uniques" in found._repr_html_()


def test_a_suppressed_key_is_a_value_of_its_own_and_fits_every_person():
    """The record without an age is alone in the file; the other persons of a have three records."""
    original = pd.DataFrame({"region": list("aaabb"), "age": [20.0, 20, 40, 20, 20]})
    released = original.assign(age=[20, 20, np.nan, 20, 20])
    found = assess(original, released, keys=["region", "age"])
    assert found.value("sample uniques") == (1, 1)
    assert found.value("persons whom one record fits") == (1, 1)
    assert found.value("persons whom fewer than 3 fit") == (5, 3)


def test_measures_that_make_no_sense_say_why():
    found = assess(survey(), survey()).table.set_index("measure")
    assert "no keys are named" in found.loc["sample uniques", "meaning"]
    assert np.isnan(found.loc["sample uniques", "after"])
    texts = survey()[["region", "illness"]]
    found = assess(texts, texts, keys=["region"]).table.set_index("measure")
    assert "no columns of numbers" in found.loc["nearest record is the right one", "meaning"]
    short = assess(survey(), survey().head(40), **ROLES).table.set_index("measure")
    assert "different numbers of records" in short.loc["nearest record is the right one", "meaning"]
    assert short.loc["sample uniques", "after"] <= 40
    same = survey().assign(wage=1.0)
    found = assess(same, same, numbers=["wage"]).table.set_index("measure")
    assert "constant" in found.loc["mean absolute change (IL1s)", "meaning"]
    low = survey().assign(weight=0.5)
    found = assess(low, low, **ROLES).table.set_index("measure")
    assert "weight in row 0" in found.loc["expected re-identifications", "meaning"]
    assert found.loc["sample uniques", "after"] > 0


def test_an_attribute_that_is_the_only_key_tells_why_it_is_left_out():
    found = assess(survey(), survey(), keys=["age"], sensitive="age").table.set_index("measure")
    assert "only key is the sensitive attribute 'age'" in found.loc["diversity", "meaning"]


def test_groups_are_those_of_the_measures_of_groups():
    original, released = survey(), survey().assign(region="a")
    found = assess(original, released, **ROLES)
    one, other = (
        group_diversity(frame, ["region", "age"], "illness") for frame in (original, released)
    )
    assert found.value("distinct l of illness") == (one.distinct_l, other.distinct_l)
    assert found.value("t of illness") == pytest.approx((one.t, other.t))
    like = group_likeness(released, ["region", "age"], "illness")
    assert found.value("beta of illness")[1] == pytest.approx(like.beta)


def test_missing_values_anywhere_do_no_harm():
    random = np.random.default_rng(0)
    original = survey()
    holes = original.copy()
    for name in ("region", "age", "illness", "home", "wage", "hours"):
        holes[name] = holes[name].where(random.random(len(holes)) > 0.2)
    for one, other in ((original, holes), (holes, original), (holes, holes)):
        assert assess(one, other, **ROLES).table["after"].notna().all()
    empty = original.assign(wage=np.nan)
    assert assess(original, empty, **ROLES).table["after"].notna().sum() > 10


@pytest.mark.parametrize("n", [1, 2])
def test_a_file_of_one_or_two_records_is_assessed(n):
    found = assess(survey().head(n), survey().head(n), **ROLES)
    assert found.value("sample uniques") == (n, n)


def test_frames_of_other_libraries_are_taken():
    table = pa.Table.from_pandas(survey())
    found = assess(table, survey(), **ROLES)
    assert found.value("sample uniques")[0] == found.value("sample uniques")[1]


def test_records_in_another_order_are_matched_by_their_labels():
    original = survey()
    found = assess(original, original.sample(frac=1, random_state=1), numbers=["wage"])
    assert found.value("mean absolute change (IL1s)") == (0, 0)


def test_wrong_names_are_refused():
    with pytest.raises(tc.InputError, match="no column 'regio' in both files.*region"):
        assess(survey(), survey(), keys=["regio"])
    with pytest.raises(tc.InputError, match="The release has no records"):
        assess(survey(), survey().head(0))
    with pytest.raises(tc.InputError, match="no measure 'risk'"):
        assess(survey(), survey()).value("risk")


@pytest.mark.parametrize("anonymity", ["k", "1-k"])
def test_groups_are_counted_in_the_released_file_alone(anonymity):
    given = people().assign(band=lambda frame: frame["home"] % 6)
    method = LocalSuppression(["state", "job", "band"], 3, anonymity=anonymity, time_limit=5)
    release = method.protect(given)
    shown = release.frame[list(method.keys)].astype(object).fillna("lost")
    size = shown.groupby(list(method.keys))["band"].transform("size")
    found = assess(given, release.frame, keys=method.keys)
    assert (
        found.value("records below k = 3")[1] == (size < 3).sum() == (release.group_sizes < 3).sum()
    )
    assert (size.min() >= 3) == (anonymity == "k")
    fits = release.fitting(given)
    assert found.value("persons whom one record fits")[1] == (fits == 1).sum()
    assert found.value("persons whom fewer than 3 fit")[1] == (fits < 3).sum()


def test_a_recoded_key_need_not_fit_its_person():
    given = people()
    released = Recoding(["home"], {"home": [4]}, k=9).protect(given).frame
    told = assess(given, released, keys=["home"]).table.set_index("measure")
    assert "not only suppressed" in told.loc["persons whom one record fits", "meaning"]


def test_a_measure_of_ones_own_is_a_row_of_the_table(monkeypatch):
    def records(measure, case):
        yield Figure(measure, len(case.original), len(case.released), "Number of records.")

    own = Measure("records", "utility", ("keys",), records)
    monkeypatch.setattr("tablecloak.microdata.assessment.MEASURES", [*MEASURES, own])
    people = pd.DataFrame({"age": [20, 30, 40]})
    assert assess(people, people[:2], keys=["age"]).value("records") == (3.0, 2.0)
    without_keys = assess(people, people).table.set_index("measure").loc["records"]
    assert without_keys["meaning"] == "Not measured: no keys are named."
