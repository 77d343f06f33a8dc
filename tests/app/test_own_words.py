"""Messages on the pages name fields, and no flags of commands."""

from __future__ import annotations

import re

import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.app.own_words import FIELDS, in_own_words
from tablecloak.errors import TablecloakWarning
from tablecloak.protection import PROTECTIONS


@pytest.fixture(scope="module")
def guessed():
    """An adjustment whose distances are guessed, which the verdict says."""
    table = tc.tabulate(tc.examples.firms(), ["region", "industry"], "turnover", contributor="firm")
    problem = table.protect(tc.PPercent(10), tc.MinimumFrequency(3))
    return tc.adjust(problem, time_limit=5).verdict()


def test_a_setting_is_told_by_its_field_where_there_is_one(guessed):
    assert "--recovery" in guessed
    told = in_own_words(guessed, has_fields=True)
    assert "(0.1 in the field “recovery” of adjustment on the page Choose)" in told
    assert not re.search(r"--|`tablecloak|in \[", told)


def test_a_table_without_a_form_is_told_the_key_of_a_job(guessed):
    told = in_own_words(guessed, has_fields=False)
    assert "(`recovery = 0.1` in [adjustment] of a job)" in told
    assert "--" not in told and "`tablecloak" not in told


@pytest.fixture(scope="module")
def small():
    """Amounts of few units, with fractions."""
    records = pd.DataFrame({"r": list("abc") * 7, "v": [(n + 0.5) / 1e6 for n in range(21)]})
    return tc.tabulate(records, ["r"], "v")


def test_a_table_with_fractions_is_told_which_field_rounds_it(small):
    said = PROTECTIONS["rounding"].unfit(small.protect(tc.MinimumFrequency(3)))
    told = in_own_words(said, has_fields=True)
    assert told.endswith(f": 0 in the field “{FIELDS['decimals']}” on the page Choose.")


def test_a_floor_is_called_by_its_field(small):
    with pytest.warns(TablecloakWarning) as heard:
        small.protect(tc.MinimumFrequency(8), floor=1.0)
    (said,) = [str(one.message) for one in heard if "`floor`" in str(one.message)]
    told = in_own_words(said, has_fields=True)
    assert told.startswith("“Smallest protection level” = 1 is the smallest")
    assert told.endswith(", on the page Choose.")


def test_other_words_stay_as_they_are():
    for text in ("Row 3: `a` of `b` is [x] -- see there.", "5 % of [0, 1]", ""):
        assert in_own_words(text, has_fields=True) == text
