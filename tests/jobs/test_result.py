"""A job is safe only if each release is, and none was withheld."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tablecloak.jobs.result import JobResult
from tablecloak.protection import PROTECTIONS, Material, Product


@dataclass
class Judged:
    is_safe: bool
    text: str = ""

    def summary(self) -> str:
        return self.text


@pytest.fixture(autouse=True)
def ways(monkeypatch):
    """Releases of nobody in particular are summed up by themselves."""
    monkeypatch.setattr(Product, "way", PROTECTIONS["adjustment"])


def result(first: bool | None, second: bool | None, **options) -> JobResult:
    products = {
        name: Product(Judged(True, text), Judged(safe))
        for name, text, safe in (("suppression", "a", first), ("adjustment", "b", second))
        if safe is not None
    }
    return JobResult(Material.of(None), products, **options)


def test_a_job_is_as_safe_as_its_least_safe_release():
    for first, second, safe in [
        (True, True, True),
        (True, False, False),
        (False, None, False),
        (None, True, True),
        (True, None, True),
    ]:
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
