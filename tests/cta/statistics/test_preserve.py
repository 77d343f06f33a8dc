"""Statistics from objects and names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

import tablecloak as tc
from tablecloak.cta.statistics.preserve import named_statistics, parse
from tablecloak.cta.statistics.statistic import STATISTICS


def test_names_come_from_the_registry():
    assert set(STATISTICS.names) >= {"mean", "slope", "regression", "variance", "covariance"}
    assert set(named_statistics()) == set(STATISTICS.names) - {"covariance"}


def test_a_name_may_have_a_subset():
    assert parse(["mean:all", "slope"]) == [tc.Mean("all"), tc.Slope("sensitive")]


def test_one_statistic_for_each_code():
    problem = tc.examples.cox()
    codes = dict.fromkeys(problem.table.keys["row"])
    assert len(parse(["mean:each row"], problem)) == len(codes)


def test_a_statistic_that_a_name_cannot_describe_is_refused():
    with pytest.raises(tc.InputError, match="Pass an object of the class Covariance"):
        parse(["covariance:all"])


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(tc.InputError, match="Did you mean 'regression'"):
        parse(["regresion"])


def test_a_guest_is_found_by_its_name():
    @dataclass(frozen=True)
    class Total(tc.Mean):
        name: ClassVar[str] = "total"

    with STATISTICS.including(Total):
        (found,) = parse(["total:all"])
        adjusted = tc.adjust(tc.examples.cox(), preserve=["total:all"], integer=False)
    assert found == Total("all")
    assert adjusted.moments("all").mean_shift == pytest.approx(0, abs=1e-6)
    with pytest.raises(tc.InputError):
        parse(["total"])
