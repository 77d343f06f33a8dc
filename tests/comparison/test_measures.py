"""Measures and ways to protect are registered: one class, found by `compare` and its page."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.comparison.figures import compared, notes, risk, utility
from tablecloak.comparison.measure import RISKS, UTILITIES, RiskMeasure, UtilityMeasure
from tablecloak.protection import PROTECTIONS


class Biggest(UtilityMeasure):
    """Largest change."""

    name: ClassVar[str] = "biggest"
    place: ClassVar[int] = 9
    note: ClassVar[str] = "biggest: largest change of a cell."

    def figures(self, seen):
        return {"biggest": float(np.max(np.abs(seen.shown - seen.truth)))}


class Attempts(RiskMeasure):
    """Number of guesses."""

    name: ClassVar[str] = "attempts"
    place: ClassVar[int] = 0
    note: ClassVar[str] = "attempts: number of guesses."

    def figures(self, guesses):
        return {"attempts": float(len(guesses.guesses))}


class Doubled(PROTECTIONS["adjustment"]):
    """A table of twice the values, as if somebody made one."""

    name: ClassVar[str] = "doubled"
    place: ClassVar[int] = 0
    releases: ClassVar[tuple[type, ...]] = (tc.ProtectionProblem,)
    makers: ClassVar[str] = "problems"

    @classmethod
    def methods(cls, time_limit):
        return {"doubling": lambda problem: problem}


def test_measures_added_at_run_time_are_columns_of_a_comparison_and_explained():
    problem = tc.examples.cox_rounded()
    release = tc.adjust(problem, time_limit=5)
    with UTILITIES.including(Biggest), RISKS.including(Attempts):
        found = tc.compare(problem, {"one": release}, time_limit=5)
        moved = np.abs(release.values - problem.table.values).max()
        assert found.table.loc["one", "biggest"] == pytest.approx(moved)
        assert found.table.loc["one", "attempts"] == problem.sensitive.sum()
        assert "biggest: largest change of a cell." in notes()
    assert "biggest" not in utility(release)
    assert notes()[0].startswith("safe:")


def test_measures_stand_in_the_order_of_their_places():
    release = tc.adjust(tc.examples.cox_rounded(), time_limit=5)
    assert list(utility(release))[:4] == ["exact", "value_lost", "mean_change", "median_change"]
    problem = release.problem
    guesses = compared(release).guesses(release, release.values, knows="levels", time_limit=5)
    assert list(risk(guesses)) == ["guessed", "worst_error", "mean_error"]
    assert len(guesses.guesses) == problem.sensitive.sum()


def test_a_way_to_protect_added_at_run_time_is_compared_by_default():
    names = [name for way in PROTECTIONS for name in way.methods(1.0)]
    made = ["adjustment", "adjustment with statistics", "adjustment by chance"]
    assert names == ["suppression", *made]
    with pytest.raises(tc.InputError, match="`suppress`, adjustments of `adjust`, intervals of"):
        compared(tc.examples.cox_rounded())
    with PROTECTIONS.including(Doubled):
        assert compared(tc.examples.cox_rounded()).name == "doubled"
        assert list(next(iter(PROTECTIONS)).methods(1.0)) == ["doubling"]
