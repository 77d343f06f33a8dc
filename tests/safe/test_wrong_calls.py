"""Calls that cannot be answered say why, and leave no output behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.regression.rolling import RollingOLS

from tablecloak.errors import InputError
from tablecloak.safe import Project

PEOPLE = pd.DataFrame(
    {
        "area": np.tile(["N", "S", "E", "W"], 100),
        "age": np.random.default_rng(1).integers(18, 90, 400),
        "income": np.random.default_rng(2).lognormal(8, 0.5, 400).round(),
    }
)
NOBODY = PEOPLE[:0]
ROLLING = RollingOLS(PEOPLE.income, sm.add_constant(PEOPLE.age), window=60)


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda p: p.histogram(PEOPLE, "area"), "area: a histogram needs finite numbers"),
        (lambda p: p.quantile(PEOPLE.area), "area: quantiles need finite numbers"),
        (lambda p: p.quantile(PEOPLE.age, "half"), "shares of quantiles must be finite numbers"),
        (lambda p: p.surv_func(PEOPLE.age, PEOPLE.area), "area: events of a survival table"),
        (lambda p: p.surv_func(-PEOPLE.income, PEOPLE.age % 2), "times of 0 or more"),
        (lambda p: p.histogram(PEOPLE.age, bins="auto"), "bins is 'auto'; give a number of bins"),
        (lambda p: p.histogram(PEOPLE.age, bins=["a", "b"]), "or their edges as numbers"),
        (lambda p: p.histogram(PEOPLE.age, filename="age.html"), "age.html: a picture is drawn"),
        (lambda p: p.olsr("income ~ age", NOBODY), "no records: look at the filter"),
        (lambda p: p.corr(NOBODY[["age", "income"]]), "no records: look at the filter"),
        (lambda p: p.regression(ROLLING.fit()), "coefficients of each record"),
        (lambda p: p.crosstab(None, PEOPLE.area), "needs columns of a frame as `index`"),
        (lambda p: p.pivot_table(PEOPLE.groupby("area"), "age", "area"), "takes a frame"),
        (
            lambda p: p.pivot_table(
                PEOPLE, index="area", aggfunc={"age": ["mean", "sum"], "income": "sum"},
                margins=True,
            ),
            "one statistic a column",
        ),
        (
            lambda p: p.crosstab(
                PEOPLE.area, PEOPLE.age > 50, values=PEOPLE.income, aggfunc={"a": "sum"}
            ),
            "is no statistic",
        ),
    ],
)  # fmt: skip
def test_it_says_why_and_records_nothing(ask: Callable[[Project], Any], why: str) -> None:
    project = Project(data=PEOPLE)
    with pytest.raises(InputError, match=why):
        ask(project)
    assert not project.outputs


def test_whole_numbers_of_any_type_are_numbers_of_bins() -> None:
    numbers: tuple[Any, ...] = (8, np.int64(8), 8.0)
    counts = [Project(data=PEOPLE).histogram(PEOPLE, "age", n) for n in numbers]
    assert counts[0].equals(counts[1]) and counts[0].equals(counts[2])
