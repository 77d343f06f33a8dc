"""Measures and ways to protect are registered: one class, found by `compare` and its page."""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from hand_tables import one_row
from tablecloak.comparison.figures import compared, notes, risk, utility
from tablecloak.comparison.measures import (
    RISKS,
    UTILITIES,
    AnalystView,
    Measure,
)
from tablecloak.cta.risk.risk import TruthGuesses
from tablecloak.protection import PROTECTIONS


class Biggest(Measure[AnalystView]):
    """Largest change."""

    name: ClassVar[str] = "biggest"
    place: ClassVar[int] = 9
    note: ClassVar[str] = "biggest: largest change of a cell."

    def figures(self, seen):
        return {"biggest": float(np.max(np.abs(seen.shown - seen.truth)))}


class Attempts(Measure[TruthGuesses]):
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


PROBLEM = one_row([50, 60, 70], {"a": (4, 8), "c": (10, 10)})


def figures(truth, shown, *, exact=None, lost=None, sensitive=()) -> dict[str, float]:
    truth, shown = np.asarray(truth, float), np.asarray(shown, float)
    mask = np.zeros(len(truth), dtype=bool)
    mask[list(sensitive)] = True
    change = np.abs(shown - truth)
    view = AnalystView(
        truth,
        shown,
        mask,
        change == 0 if exact is None else exact,
        change if lost is None else lost,
    )
    found: dict[str, float] = {}
    for measure in UTILITIES:
        found |= measure().figures(view)
    return found


def test_shares_of_cells_and_of_value():
    found = figures([10, 20, 30, 40], [10, 25, 30, 35])
    assert found["exact"] == 0.5
    assert found["value_lost"] == pytest.approx(10 / 100)


def test_relative_changes_leave_out_true_zeros():
    found = figures([0, 20, 40], [5, 25, 40])
    assert found["mean_change"] == pytest.approx(0.125)
    assert found["median_change"] == pytest.approx(0.125)


def test_a_table_of_zeros_loses_nothing():
    found = figures([0, 0], [0, 0])
    assert (found["value_lost"], found["mean_change"], found["median_change"]) == (0, 0, 0)
    assert np.isnan(found["slope"])


def test_negative_values_count_by_their_size():
    assert figures([-10, 10], [-5, 10])["value_lost"] == pytest.approx(5 / 20)


def test_moments_are_taken_over_all_and_over_sensitive_cells():
    truth = np.array([1.0, 2, 3, 10])
    found = figures(truth, [2, 4, 6, 10], sensitive=[0, 1, 2])
    assert found["sensitive_slope"] == pytest.approx(2)
    assert found["sensitive_correlation"] == pytest.approx(1)
    assert found["slope"] < 1


@pytest.mark.parametrize(
    ("guesses", "guessed", "worst", "mean"),
    [
        ([50, 70], 1.0, 0.0, 0.0),
        # 2 of 4 below, 5 of 10 above.
        ([48, 75], 1.0, 0.5, 0.5),
        # 4 of 8 above; 20 of 10 below.
        ([54, 50], 0.5, 0.5, 1.25),
        ([46, 90], 0.0, 1.0, 1.5),
    ],
)
def test_errors_of_guesses_are_multiples_of_the_level_on_their_side(guesses, guessed, worst, mean):
    found = risk(TruthGuesses(PROBLEM, np.array(guesses, dtype=float)))
    assert found["guessed"] == guessed
    assert found["worst_error"] == pytest.approx(worst)
    assert found["mean_error"] == pytest.approx(mean)


def test_without_levels_errors_have_no_unit():
    none = PROBLEM.with_changes(lower_protection=0, upper_protection=0)
    found = risk(TruthGuesses(none, np.array([48.0, 75.0])))
    assert np.isnan([found["worst_error"], found["mean_error"]]).all()


def test_each_figure_of_a_comparison_is_explained():
    counts = pd.DataFrame({"r": list("aabbbbcccc"), "b": list("xyxxyyxxxy")})
    problem = tc.tabulate(counts, ["r", "b"]).protect(tc.MinimumFrequency(2))
    found = tc.compare(problem, time_limit=5)
    assert {"told_by_one", "mean_width", "sensitive_slope"} <= set(found.table.columns)
    told = re.split(r"\W+", " ".join(found.notes()))
    assert [name for name in found.table.columns if name not in told] == []
    assert set(found.notes()) < set(notes())


def test_what_is_compared_so_far_is_reported():
    said = []
    releases = {"plain": tc.suppress(PROBLEM), "moved": tc.adjust(PROBLEM)}
    tc.compare(PROBLEM, releases, progress=lambda stage, *_: said.append(stage))
    assert said == [
        "0 of 2 releases compared", "1 of 2 releases compared, last plain",
        "2 of 2 releases compared, last moved",
    ]  # fmt: skip
