"""Methods for records: all that are registered keep the contract, and wrong ones are told why."""

from __future__ import annotations

import random as unseeded
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from people import SOME, people
from tablecloak.contracts import check_microdata_method
from tablecloak.errors import InputError
from tablecloak.microdata import OrderWarning
from tablecloak.microdata.methods.method import METHODS, Columns, Method


@dataclass(frozen=True)
class Rounding(Method):
    """Round wages to hundreds."""

    name = "rounding"

    def uses(self, known):
        return Columns(changed=["wage"], numbers=["wage", "hours"])

    def apply(self, frame, random):
        if "wage" not in frame:
            raise InputError("There is no column 'wage'.")
        released = self.change(frame, random)
        return SimpleNamespace(frame=released, summary=lambda: self.words)

    words = "rounding: to hundreds"

    def change(self, frame, random):
        return frame.assign(wage=frame["wage"].round(-2))


class InPlace(Rounding):
    """Round wages where they stand."""

    def change(self, frame, random):
        frame["wage"] = frame["wage"].round(-2)
        return frame


class Shuffled(Rounding):
    """Round and sort."""

    def change(self, frame, random):
        return super().change(frame, random).sort_values("wage")


class Dropped(Rounding):
    """Round and leave hours out."""

    def change(self, frame, random):
        return super().change(frame, random)[["wage"]]


class Wider(Rounding):
    """Round hours as well."""

    def change(self, frame, random):
        return super().change(frame, random).assign(hours=frame["hours"].round())


class Idle(Rounding):
    """Change nothing."""

    def change(self, frame, random):
        return frame.copy()


class Seedless(Rounding):
    """Add noise that nobody can repeat."""

    def change(self, frame, random):
        return frame.assign(wage=frame["wage"] + unseeded.random())


class Global(Rounding):
    """Add noise of numpy's global generator."""

    def change(self, frame, random):
        np.random.seed(random.integers(99))  # noqa: NPY002
        return frame.assign(wage=frame["wage"] + np.random.normal(size=len(frame)))  # noqa: NPY002


class Talkative(Rounding):
    """Round and tell a story."""

    words = "rounding\nto hundreds"


class Careless(Rounding):
    """Round whatever is there."""

    def apply(self, frame, random):
        return SimpleNamespace(frame=self.change(frame, random), summary=lambda: self.words)


class Filler(Rounding):
    """Round, and take 0 for what is missing."""

    def change(self, frame, random):
        return super().change(frame.fillna({"wage": 0.0}), random)


class Numbered(Rounding):
    """Round records that are labelled from 0."""

    def change(self, frame, random):
        return super().change(frame, random).sort_index()


class Timid(Rounding):
    """Fail where all wages are equal."""

    def change(self, frame, random):
        average = int(frame["wage"].sum()) // (frame["wage"].nunique() - 1)
        return frame.assign(wage=frame["wage"].round(-2).clip(upper=abs(average)))


class Surprised(Rounding):
    """Change what it does not read."""

    def uses(self, known):
        return Columns(changed=["wage"], numbers=["hours"])


WRONG = {
    InPlace: "The frame that was passed has changed",
    Shuffled: "The index differs",
    Dropped: "Columns are .'wage'.",
    Wider: r"\['hours'\] changed, which `uses` does not name",
    Idle: "Nothing changed",
    Seedless: "The second release with the same seed differs",
    Global: "Global random numbers were drawn",
    Talkative: "The summary has more than one line",
    Filler: "Missing values of 'wage' became numbers",
    Numbered: "With other labels the release differs|labels .* are not kept",
    Timid: "It raised ZeroDivisionError",
    Careless: "A frame without a column .* It raised KeyError",
    Surprised: "without reading them",
}


@pytest.mark.parametrize("name", METHODS.names)
@pytest.mark.filterwarnings(f"ignore::{OrderWarning.__module__}.OrderWarning")
def test_every_registered_method_keeps_the_contract(name):
    check_microdata_method(METHODS.build(name, **SOME[name]), people())


def test_a_method_that_is_not_registered_keeps_it_too():
    check_microdata_method(Rounding(), people())


@pytest.mark.parametrize("method", WRONG, ids=lambda kind: kind.__name__)
def test_a_wrong_method_is_told_which_fact_it_breaks(method):
    with pytest.raises(AssertionError, match="The method 'rounding' breaks its contract: "
                       f".*{WRONG[method]}"):  # fmt: skip
        check_microdata_method(method(), people())


def test_records_of_the_caller_are_never_written_to():
    given = people()
    before = given.copy()
    with pytest.raises(AssertionError):
        check_microdata_method(InPlace(), given)
    pd.testing.assert_frame_equal(given, before)
