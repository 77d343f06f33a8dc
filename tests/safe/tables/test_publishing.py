"""Figures that leave are those that are judged, beside all that follows from them."""

import numpy as np
import pandas as pd
import pytest

from tablecloak.safe import Project


def people(seed=3, n=400):
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "person": np.arange(n),
            "region": random.choice(list("NSEW"), n),
            "sex": random.choice(["f", "m"], n),
            "income": random.gamma(4, 10, n).round(1),
            "wealth": random.gamma(2, 50, n).round(1),
            "born": pd.Timestamp("1990-01-01")
            + pd.to_timedelta(365 * random.integers(0, 3, n), "D"),
        }
    )


LIMITS = {"safe_threshold": 10, "zeros_are_disclosive": False}


@pytest.mark.parametrize(
    "statistic", ["count", "sum", "mean", "std", "var", "median", "min", "max"]
)
@pytest.mark.parametrize("columns", [None, "sex"])
def test_margins_are_of_all_records_that_have_the_value(statistic, columns):
    data = people()
    data.loc[data.income.nlargest(30).index, "wealth"] = np.nan
    data.loc[data.income.idxmin(), "wealth"] = np.nan
    shown = Project(LIMITS, data=data).pivot_table(
        data, ["income", "wealth"], "region", columns, statistic, margins=True, protect=None
    )
    # The statistic of one column of values has no other that could be missing.
    alone = data.pivot_table("income", "region", columns, statistic, margins=True)
    of_income = shown["income"] if columns else shown[["income"]]
    assert np.allclose(of_income.to_numpy(float), alone.to_numpy(float))
    assert any("pandas leaves some out" in note for note in shown.outcome.notes)


def test_latest_dates_of_margins_are_of_all_records():
    data = people()
    data["seen"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(len(data)), "D")
    data.loc[len(data) - 1, "wealth"] = np.nan
    shown = Project(LIMITS, data=data).pivot_table(
        data, index="region", aggfunc={"seen": "max", "wealth": "sum"}, margins=True
    )
    assert shown.loc["All", "seen"] == data.seen.max()


def test_of_a_key_of_categories_shares_count_those_without_one():
    data = people()
    data["region"] = pd.Categorical(data.region)
    data.loc[:30, "region"] = np.nan
    shown = Project(LIMITS, data=data).crosstab(
        data.sex, data.region, dropna=False, normalize="all"
    )
    counts = pd.crosstab(data.sex, data.region.astype(object).fillna("none"))
    regions = list("NSEW")
    assert np.allclose(shown.loc[["f", "m"], regions], counts.loc[["f", "m"], regions] / 400)


def elderly(seed=4, n=600):
    """Two persons of region N and one of S are older than 95."""
    random = np.random.default_rng(seed)
    data = pd.DataFrame(
        {
            "region": random.choice(list("NSE"), n),
            "sector": random.choice(["farm", "shop", "office"], n),
            "age": random.integers(18, 89, n),
        }
    )
    data.loc[[5, 6, 7], "age"] = 96
    data.loc[[5, 6], "region"] = "N"
    data.loc[7, "region"] = "S"
    # Too few of each region, so that shares have gaps.
    data.loc[data.sample(14, random_state=1).index, "sector"] = "mine"
    return data


@pytest.mark.parametrize("normalize", ["index", "columns", "all"])
def test_what_shares_are_of_is_published_with_them(normalize):
    """Two shares with exact digits tell the count that they are shares of."""
    data = elderly()
    project = Project({"safe_threshold": 10}, data=data)
    young = data[data.age < 95]
    project.pie(young, "region" if normalize != "columns" else "sector")
    sides = (data.region, data.sector)
    shown = project.crosstab(*sides, normalize=normalize)
    share_of_region = (shown.isna().sum(axis=1) < 3).to_dict()
    if normalize == "index":
        assert share_of_region == {"E": True, "N": False, "S": False}
    if normalize == "all":
        assert shown.isna().all().all()
    if normalize == "columns":
        olds = data.sector[data.age > 95].unique()
        assert shown[olds].isna().all().all()
        assert shown.notna().any().any()
    alone = Project({"safe_threshold": 10}, data=data).crosstab(*sides, normalize=normalize)
    assert alone.notna().sum().sum() >= 6


def test_shares_of_lines_that_are_all_hidden_leave_the_others():
    data = people()
    data.loc[[1, 2, 3], "region"] = "X"
    shown = Project(LIMITS, data=data).crosstab(data.region, data.sex, normalize="index")
    assert shown.loc["X"].isna().all()
    assert shown.drop(index="X").notna().all().all()


@pytest.mark.parametrize("dtype", ["Int64", "boolean"])
def test_missing_keys_of_a_nullable_column_are_a_line_of_their_own(dtype):
    data = people()
    data["group"] = pd.array(np.arange(len(data)) % 2, dtype=dtype)
    data.loc[:40, "group"] = pd.NA
    shown = Project(LIMITS, data=data).pivot_table(
        data, "income", "group", "sex", "count", margins=True, dropna=False
    )
    assert shown.loc["All", "All"] == 400
    assert shown.loc[1].notna().all()


@pytest.mark.parametrize("values", ["income", ["income", "wealth"]])
def test_totals_beside_dates_are_those_of_texts(values):
    data = people()
    texts = data.assign(born=data.born.dt.strftime("%Y"))
    shown, expected = (
        Project(LIMITS, data=frame).pivot_table(
            frame, values, "region", ["sex", "born"], "mean", margins=True
        )
        for frame in (data, texts)
    )
    assert np.array_equal(shown, expected, equal_nan=True)
    assert shown.outcome.status == "pass"


@pytest.mark.parametrize("normalize", [False, "index", "columns", "all"])
def test_totals_of_a_crosstab_beside_dates_are_those_of_texts(normalize):
    data = people()
    shown, expected = (
        Project(LIMITS, data=data).crosstab(
            data.region, [data.sex, born], margins=True, normalize=normalize
        )
        for born in (data.born, data.born.dt.strftime("%Y"))
    )
    assert np.array_equal(shown, expected, equal_nan=True)
