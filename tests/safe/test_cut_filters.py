"""Filters that end at somebody's amount tell its rank; those at round numbers tell nobody's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tablecloak.safe import Project
from tablecloak.safe.formula_search import is_cut_at_an_amount

N = 600


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    random = np.random.default_rng(8)
    return pd.DataFrame(
        {"region": random.choice(list("ABC"), N), "sex": random.choice(["f", "m"], N),
         "age": random.integers(15, 90, N), "founded": random.integers(1950, 2025, N),
         "industry": random.choice([4711, 4799, 6201], N),
         "income": np.round(random.lognormal(10, 0.7, N))}
    )  # fmt: skip


OF_ONE = {
    "above a person's income": lambda d: d.income > d.income[17],
    "within half a deviation of the mean": lambda d: (
        d.income < d.income.mean() + d.income.std() / 2
    ),
    "above a share of the largest": lambda d: d.income > 0.1 * d.income.max(),
    "between two persons": lambda d: d.income.between(d.income[3], d.income[5] + d.income[3]),
}

OF_NOBODY = {
    "round": lambda d: d.income > 20_000,
    "grown up": lambda d: d.age >= 18,
    "working age": lambda d: d.age.between(20, 64),
    "industry": lambda d: d.industry == 4799,
    "region": lambda d: d.region == "A",
    "without the upper percentile": lambda d: d.income < d.income.quantile(0.95),
    "drawn": lambda d: np.random.default_rng(0).random(len(d)) < 0.5,
}


@pytest.mark.parametrize("chosen", OF_ONE.values(), ids=OF_ONE)
def test_a_filter_at_the_amount_of_one_goes_to_review(data, chosen):
    some = data[chosen(data)]
    table = Project(data=data).crosstab(some.region, some.sex)
    assert [reason.rule for reason in table.outcome.reasons] == ["data"]
    assert "income of one of them" in table.outcome.reasons[0].text


@pytest.mark.parametrize("chosen", OF_NOBODY.values(), ids=OF_NOBODY)
def test_other_filters_pass(data, chosen):
    some = data[chosen(data)]
    assert Project(data=data).crosstab(some.region, some.sex).outcome.status == "pass"


def test_an_end_that_many_have_is_nobodys():
    years = np.repeat(np.arange(2001.0, 2021.0), 10)
    assert not is_cut_at_an_amount(years > 2013, years)
    assert is_cut_at_an_amount(years[5::10] > 2013, years[5::10])


def test_missing_amounts_and_all_records_say_nothing():
    amounts = np.array([1013.0, np.nan, 2047.0, 3089.0])
    assert not is_cut_at_an_amount(~np.isnan(amounts), amounts)
    assert not is_cut_at_an_amount(np.ones(4, dtype=bool), amounts)
