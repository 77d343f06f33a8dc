"""Filters that keep groups pass, but for groups that were chosen by what all of them have."""

import numpy as np
import pandas as pd
import pytest

from tablecloak.safe import Project


def survey(seed, n=2000, n_wards=30):
    """Persons of wards, each with a sector and a number of beds."""
    random = np.random.default_rng(seed)
    wards = [f"W{number:02d}" for number in random.permutation(n_wards)]
    share = random.dirichlet(np.full(n_wards, 3.0))
    data = pd.DataFrame(
        {
            "ward": random.choice(wards, n, p=share),
            "region": random.choice(list("ABCDEFGH"), n),
            "sex": random.choice(["f", "m"], n),
            "age": random.integers(16, 90, n),
            "income": random.lognormal(10, 0.6, n).round(-1),
            "hours": random.normal(36, 9, n).clip(0, 70).round(),
            "ill": (random.random(n) < 0.1).astype(int),
        }
    )
    data["sector"] = data.ward.map(
        dict(zip(wards, random.choice(["a", "b", "c"], n_wards), strict=True))
    )
    data["beds"] = data.ward.map(dict(zip(wards, random.integers(10, 500, n_wards), strict=True)))
    data.loc[random.random(n) < 0.03, "hours"] = np.nan
    return data


def listed(data, n, seed=1):
    return data.ward.isin(np.random.default_rng(seed).permutation(data.ward.unique())[:n])


HONEST = {
    "five wards": lambda d: listed(d, 5),
    "half of the wards": lambda d: listed(d, 15),
    "all wards but three": lambda d: ~listed(d, 3),
    "women of ten wards": lambda d: listed(d, 10) & (d.sex == "f"),
    "a range of wards": lambda d: d.ward <= "W11",
    "one ward": lambda d: d.ward == "W07",
    "two regions": lambda d: d.region.isin(["A", "C"]),
    "a sector": lambda d: d.sector != "a",
    "large wards": lambda d: d.beds > 100,
    "adults": lambda d: d.age >= 18,
    "the oldest": lambda d: d.age >= 86,
    "the ill": lambda d: d.ill == 1,
    "old and ill": lambda d: (d.ill == 1) & (d.age > 80),
    "with hours": lambda d: d.hours.notna(),
    "the rich": lambda d: d.income > 60_000,
}

BY_RESULTS = {
    "cases": lambda d: d.groupby("ward").ill.transform("sum") >= 5,
    "cases of women": lambda d: (
        (d.sex == "f") & (d.ill.where(d.sex == "f", 0).groupby(d.ward).transform("sum") >= 3)
    ),
    "size": lambda d: d.groupby("ward").ill.transform("count") >= 50,
    "share of cases": lambda d: d.groupby("ward").ill.transform("mean") > 0.1,
    "mean income": lambda d: d.groupby("ward").income.transform("mean") > d.income.mean(),
    "largest income": lambda d: d.groupby("ward").income.transform("max") > 90_000,
}


def is_doubted(data, kept):
    some = data[kept]
    output = Project({"zeros_are_disclosive": False}, data=data).crosstab(some.sex, some.ill)
    assert kept.sum() not in (0, len(data))
    return any("codes of ward" in reason.text for reason in output.outcome.reasons)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", HONEST)
def test_filters_by_lists_and_by_columns_of_the_data_pass(name, seed):
    data = survey(seed)
    assert not is_doubted(data, HONEST[name](data))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", BY_RESULTS)
def test_groups_that_were_chosen_by_what_all_of_them_have_go_to_review(name, seed):
    data = survey(seed)
    assert is_doubted(data, BY_RESULTS[name](data))
