"""Filters that keep groups pass, but for groups that were chosen by what all of them have."""

import numpy as np
import pandas as pd
import pytest

from tablecloak.safe import Project
from tablecloak.safe.group_filters import DataGroups


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
    "at work": lambda d: d.age.between(20, 64) & (d.hours > 0),
    "women or ill": lambda d: (d.sex == "f") | (d.ill == 1),
    "women of A, men of B": lambda d: (
        ((d.sex == "f") & (d.region == "A")) | ((d.sex == "m") & (d.region == "B"))
    ),
    "all but ill women": lambda d: ~((d.sex == "f") & (d.ill == 1)),
    "large wards of a sector": lambda d: (d.sector == "a") & (d.beds > 100),
    "wards of a size": lambda d: d.beds.between(100, 300),
    "women of wards and regions": lambda d: (
        listed(d, 8) & (d.sex == "f") & d.region.isin(["A", "C", "F"])
    ),
    "wards or a region": lambda d: listed(d, 8) | (d.region == "B"),
    "the old of nine wards": lambda d: listed(d, 9) & (d.age >= 65),
    "adults with hours of ten wards": lambda d: listed(d, 10) & (d.age >= 18) & d.hours.notna(),
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
    "second largest income": lambda d: (
        d.income.groupby(d.ward).transform(lambda some: some.nlargest(2).iloc[-1]) > 60_000
    ),
    "women of wards with cases": lambda d: (
        (d.sex == "f") & (d.groupby("ward").ill.transform("sum") >= 6)
    ),
}


def number(flags, ward):
    return flags.astype(int).groupby(ward).transform("sum")


BY_RARE_RESULTS = {
    "no single case": lambda d: number(d.ill == 1, d.ward) != 1,
    "no case or more than three": lambda d: ~number(d.ill == 1, d.ward).between(1, 3),
    "an odd number of cases": lambda d: number(d.ill == 1, d.ward) % 2 == 1,
    "deviation of incomes": lambda d: d.groupby("ward").income.transform("std") > 15_000,
    "five rich": lambda d: number(d.income > 45_000, d.ward) >= 5,
    "none rich or more than two": lambda d: ~number(d.income > 60_000, d.ward).between(1, 2),
    "ill women": lambda d: number((d.ill == 1) & (d.sex == "f"), d.ward) >= 2,
    "income of women": lambda d: (
        d.income.where(d.sex == "f").groupby(d.ward).transform("mean") > 27_000
    ),
    "cases of wards and sexes": lambda d: number(d.ill == 1, [d.ward, d.sex]) >= 1,
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


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", BY_RARE_RESULTS)
def test_any_figure_of_many_groups_may_have_chosen_them(name, seed):
    """Whichever values of it are asked for: large ones, all but one, every other."""
    data = survey(seed, 3000, 45)
    data["ill"] = (np.random.default_rng(seed).random(3000) < 0.03).astype(int)
    assert is_doubted(data, BY_RARE_RESULTS[name](data))


@pytest.mark.parametrize("n_wards", [12, 30, 45])
def test_hardly_any_list_is_taken_for_a_result(n_wards):
    doubted = 0
    for seed in range(8):
        data = survey(seed, 1000, n_wards)
        doubted += sum(
            is_doubted(data, listed(data, n, seed)) for n in (3, n_wards // 3, n_wards - 3)
        )
    assert doubted <= 1


def test_a_list_passes_where_amounts_have_many_records_of_each_value():
    """Largest amounts are missing by chance from records that are kept, and cut no others off."""
    data = survey(0, 100_000, 40)
    assert not DataGroups(data).chosen_by(np.flatnonzero(listed(data, 10)))
