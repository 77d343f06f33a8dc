"""Codes are followed by what they are called, and nothing else in a text changes."""

from __future__ import annotations

import pytest

import tablecloak as tc
from tablecloak.explaining.explanation import with_labels

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
