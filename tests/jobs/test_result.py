"""A job is safe only if each release is, and none was withheld."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tablecloak.jobs.result import JobResult


@dataclass
class Judged:
    is_safe: bool
    text: str = ""

    def summary(self) -> str:
        return self.text


def result(first: bool | None, second: bool | None, **options) -> JobResult:
    audits = [None if safe is None else Judged(safe) for safe in (first, second)]
    parts = [
        None if audit is None else Judged(True, text)
        for audit, text in zip(audits, "ab", strict=True)
    ]
    return JobResult(None, (), parts[0], audits[0], parts[1], audits[1], [], {}, {}, **options)


@pytest.mark.parametrize(
    ("first", "second", "safe"),
    [
        (True, True, True),
        (True, False, False),
        (False, None, False),
        (None, True, True),
        (True, None, True),
    ],
)
def test_a_job_is_as_safe_as_its_least_safe_release(first, second, safe):
    assert result(first, second).is_safe is safe


def test_a_release_that_was_withheld_makes_a_job_unsafe_and_is_told():
    found = result(True, True, withheld={"suppression": "a hidden value stands in it"})
    assert not found.is_safe
    assert found.summary() == (
        "a; b; release of the suppression withheld: a hidden value stands in it"
    )


def test_a_method_without_a_release_is_told_and_does_not_make_the_other_unsafe():
    found = result(True, None)
    found.failures["adjustment"] = "no table satisfies it"
    assert found.is_safe
    assert found.summary() == "a; no adjustment: no table satisfies it"
