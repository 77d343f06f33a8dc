"""Columns that are another one times a code of few values: their sums are equations of both."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tablecloak.safe import Project
from tablecloak.safe.joint.copies import factors_of

N = 300
FACTORS = {"f": 3.0, "m": 1.0}


@pytest.fixture
def data() -> pd.DataFrame:
    random = np.random.default_rng(2)
    frame = pd.DataFrame(
        {"area": random.choice(list("AB"), N), "sex": random.choice(["f", "m"], N),
         "income": np.round(random.lognormal(7, 0.8, N))}
    )  # fmt: skip
    frame["local"] = np.round(frame.income * frame.sex.map(FACTORS), 1)
    return frame


@pytest.mark.parametrize("is_last", [True, False])
def test_amounts_in_two_currencies_do_not_tell_the_one_who_is_left_out(data, is_last):
    one = data.index[data.area == "A"][0]
    project = Project(data=data)

    def all_by_sex():
        return project.pivot_table(
            data, values="income", index="area", columns="sex", aggfunc="sum"
        )

    def others_in_local():
        return project.pivot_table(
            data.drop(index=one), values="local", index="area", aggfunc="sum"
        )

    calls = (all_by_sex, others_in_local) if is_last else (others_in_local, all_by_sex)
    first, second = [call() for call in calls]
    assert first.notna().all(axis=None)
    by_sex, local = (first, second) if is_last else (second, first)
    told = (by_sex.loc["A"] * pd.Series(FACTORS)).sum(skipna=False)
    assert "A" not in local.index or np.isnan(told - local.loc["A"].item())


def test_the_same_people_in_two_currencies_pass(data):
    project = Project(data=data)
    for name in ("income", "local"):
        table = project.pivot_table(
            data, values=name, index="area", columns="sex", aggfunc=["sum", "count"]
        )
        assert table.notna().all(axis=None)
        assert table.outcome.status == "pass"


def test_factors_are_read_through_rounding(data):
    factors, code = factors_of(data.income.to_numpy(), np.round(data.local.to_numpy()))
    np.testing.assert_allclose(factors[code], data.sex.map(FACTORS), rtol=2e-3)


def test_unrelated_columns_and_plain_multiples_have_no_factors(data):
    income = data.income.to_numpy()
    assert factors_of(income, 2 * income) is None
    assert factors_of(income, np.random.default_rng(0).lognormal(7, 0.8, N)) is None
    assert factors_of(income[:0], income[:0]) is None
    # Of few amounts anything is a multiple.
    assert factors_of(income[:6], income[6:12]) is None
