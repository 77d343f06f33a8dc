"""Codes are followed by what they are called, and nothing else in a text changes."""

from __future__ import annotations

import pytest

import tablecloak as tc
from tablecloak.budget import Budget
from tablecloak.explaining.explanation import trial_search, with_labels

TEXT = "at most 47 (branch=47, region=N) - 3 (branch=471, region=N, at least 3) = 44"


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({}, TEXT),
        ({"branch": {}}, TEXT),
        ({"branch": {"4": "None"}}, TEXT),
        ({"ranch": {"47": "Cattle"}}, TEXT),
        ({"branch": {"47": "Retail"}}, TEXT.replace("branch=47,", "branch=47 Retail,")),
        ({"branch": {"47": "", "471": r"Shops \1"}},
         TEXT.replace("branch=471,", r"branch=471 Shops \1,")),
        ({"region": {"N": "North"}}, TEXT.replace("region=N", "region=N North")),
    ],
)  # fmt: skip
def test_a_label_stands_behind_its_code_and_no_other(labels, expected):
    assert with_labels(TEXT, labels) == expected


def test_codes_that_hold_marks_of_patterns_are_taken_as_they_are():
    text = "(size=10+ (big), region=N)"
    assert with_labels(text, {"size": {"10+ (big)": "large firms"}}) == (
        "(size=10+ (big) large firms, region=N)"
    )


def test_an_explanation_calls_codes_by_their_labels_where_they_are_given():
    problem = tc.examples.cox_rounded()
    found = tc.explain(problem, problem.sensitive, "r4, c9")
    labelled = found.text({"row": {"r4": "Islands"}, "column": {"c9": "Fishing"}})
    assert "(row=r4 Islands, column=c9 Fishing) = 140" in labelled
    assert labelled.replace(" Islands", "").replace(" Fishing", "") == found.text()


@pytest.mark.parametrize("error", [tc.ModelError("no pattern"), tc.SolverError("none in time")])
def test_a_search_that_fails_gives_nothing_and_leaves_the_time_that_is_left(error):
    def failing(own: Budget) -> None:
        own.stop()
        raise error

    budget = Budget.of(100)
    assert trial_search(budget, 0.5, failing) is None
    assert not budget.is_over


def test_a_search_that_a_person_stopped_ends_what_follows():
    budget = Budget.of(100)
    assert trial_search(budget, 0.5, lambda own: own.stop() or "best so far") == "best so far"
    assert budget.is_over
    assert trial_search(budget, 0.5, lambda own: "another") is None


def test_a_search_gets_its_share_and_the_settings_of_the_caller():
    heard = []
    budget = Budget.of(100, threads=3, seed=7, progress=lambda *told: heard.append(told))

    def search(own: Budget) -> float:
        own.report("stage", 1.0)
        assert (own.threads, own.seed) == (3, 7)
        return own.left

    assert 20 < trial_search(budget, 0.25, search) <= 25
    assert heard


def test_a_fault_in_a_search_is_not_hidden():
    def broken(own: Budget) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        trial_search(Budget.of(1), 0.5, broken)
