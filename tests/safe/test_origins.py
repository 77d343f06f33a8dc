"""Columns of a project that knows its data: those of each record alone, and those of others."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from tablecloak import InputError
from tablecloak.safe import Project


def survey(n=900, seed=3):
    random = np.random.default_rng(seed)
    data = pd.DataFrame(
        {
            "person": random.permutation(np.arange(10_000, 10_000 + n)),
            "home": np.sort(random.integers(0, n // 2, n)),
            "region": random.choice(["North", "South", "East"], n, p=[0.5, 0.3, 0.2]),
            "branch": random.choice(["A01", "A02", "B10", "C33"], n),
            "ward": random.integers(1, 17, n),
            "sex": random.choice(["f", "m"], n),
            "age": random.integers(16, 90, n),
            "income": random.lognormal(10, 0.7, n).round(2),
            "wealth": random.lognormal(11, 1.0, n).round(),
            "hours": random.normal(36, 7, n).round(1),
            "score": random.integers(101, 999, n),
            "persons": random.integers(1, 6, n),
            "ill": (random.random(n) < 0.2).astype(int),
            "moved": pd.Timestamp("2000-01-01") + pd.to_timedelta(random.integers(0, 7000, n), "D"),
        }
    )
    data.loc[random.random(n) < 0.04, "hours"] = np.nan
    return data


OF_ONE = {
    "in thousands": lambda d: d.income / 1000,
    "for a month": lambda d: d.income / 12,
    "logarithm": lambda d: np.log(d.income),
    "logarithm of thousands": lambda d: np.log(d.income / 1000),
    "one more, logarithm": lambda d: np.log1p(d.wealth),
    "square": lambda d: d.age**2,
    "root": lambda d: np.sqrt(d.wealth),
    "for each person": lambda d: d.income / d.persons,
    "of both": lambda d: d.income + d.wealth,
    "half of each": lambda d: (d.income + d.wealth) / 2,
    "hourly": lambda d: d.income / d.hours,
    "product": lambda d: d.age * d.persons,
    "clipped": lambda d: d.income.clip(upper=50_000),
    "rounded": lambda d: d.income.round(-2),
    "whole": lambda d: np.floor(d.hours),
    "filled": lambda d: d.hours.fillna(0),
    "of the old": lambda d: d.income.where(d.age >= 65, 0.0),
    "of women": lambda d: d.income.where(d.sex == "f"),
    "years from one": lambda d: d.age + 1,
    "tens of logarithms": lambda d: np.log10(d.income),
    "rounded thousands": lambda d: (d.income / 1000).round(),
    "cube": lambda d: d.age**3,
    "single precision": lambda d: (d.income / 12).astype("float32"),
    "year": lambda d: d.moved.dt.year,
    "month in words": lambda d: d.moved.dt.strftime("%B"),
    "year as a period": lambda d: d.moved.dt.to_period("Y"),
    "flag": lambda d: (d.income > 30_000).astype(int),
    "women of working age": lambda d: ((d.sex == "f") & (d.age < 65)).astype(int),
    "working age": lambda d: d.age.between(20, 64),
    "classes": lambda d: pd.cut(d.age, [0, 29, 64, 120]),
    "classes of income": lambda d: pd.cut(d.income, [0, 20_000, 50_000, np.inf]).astype(str),
    "middles of classes": lambda d: pd.cut(
        d.income, [0, 20_000, 50_000, np.inf], labels=[10_000.0, 35_000.0, 90_000.0]
    ).astype(float),
    "renamed": lambda d: d.sex.map({"f": "women", "m": "men"}),
    "joined": lambda d: d.branch.replace({"A02": "A01"}),
    "mines": lambda d: d.branch.map({"B10": "mine"}).fillna("others"),
    "first letter": lambda d: d.branch.str[0],
    "both codes": lambda d: d.region + " " + d.sex,
    "codes": lambda d: d.region.astype("category").cat.codes,
    "as text": lambda d: d.persons.map({1: "one", 2: "two"}).fillna("more"),
    "of age": lambda d: (d.age >= 18).astype(int),
    "school, work and pension": lambda d: pd.cut(d.age, [0, 20, 66, 120], labels=list("abc")),
    "three and more": lambda d: (d.persons >= 3).astype(int),
    "long hours": lambda d: (d.hours >= 42).astype(int),
    "high scores": lambda d: (d.score >= 140).astype(int),
    "filled with a round number": lambda d: d.hours.fillna(40),
    "for each square": lambda d: d.wealth / (d.age / 100) ** 2,
    "years of days": lambda d: (d.moved - pd.Timestamp("1970-01-01")).dt.days / 365.25,
    "hours missing": lambda d: d.hours.isna(),
    "one": lambda d: pd.Series(1, d.index),
}

OF_OTHERS = {
    "mean of the region": lambda d: d.groupby("region").income.transform("mean"),
    "rank": lambda d: d.income.rank(),
    "rank within regions": lambda d: d.groupby("region").income.rank(),
    "share of the total": lambda d: d.income / d.income.sum(),
    "deviation from the mean": lambda d: d.income - d.income.mean(),
    "standard score": lambda d: (d.age - d.age.mean()) / d.age.std(),
    "total of the household": lambda d: d.groupby("home").income.transform("sum"),
    "others of the household": lambda d: d.groupby("home").income.transform("sum") - d.income,
    "ill in the household": lambda d: d.groupby("home").ill.transform("sum"),
    "somebody ill at home": lambda d: d.groupby("home").ill.transform("max"),
    "eldest at home": lambda d: (d.age == d.groupby("home").age.transform("max")).astype(int),
    "size of the household": lambda d: d.groupby("home").ill.transform("count"),
    "size of the cell": lambda d: d.groupby(["region", "branch"]).ill.transform("count"),
    "next of the list": lambda d: d.income.shift(-1),
    "month of the next": lambda d: d.moved.shift(-1).dt.strftime("%B"),
    "half of the next": lambda d: (d.income + d.income.shift(-1)) / 2,
    "smoothed": lambda d: d.income.rolling(3, min_periods=1).mean(),
    "ill before": lambda d: d.ill.shift(1).fillna(0).astype(int),
    "sequence": lambda d: d.ill.map({0: "well", 1: "ill"}).shift(1).fillna("well"),
    "adding up": lambda d: d.income.cumsum(),
    "tenths of all": lambda d: pd.qcut(d.income, 10, labels=list("abcdefghij")).astype(str),
    "mean for the missing": lambda d: d.hours.fillna(d.hours.mean()),
    "without the mean of women": lambda d: d.income.where(
        d.sex == "m", d.income[d.sex == "f"].mean()
    ),
    "residuals": lambda d: d.income - np.polyval(np.polyfit(d.age, d.income, 1), d.age),
    "leave one out": lambda d: (d.income.sum() - d.income) / (len(d) - 1),
    "richest": lambda d: (d.income >= d.income.nlargest(3).min()).astype(int),
    "deflated by region": lambda d: d.income / d.groupby("region").income.transform("mean") * 1000,
    "of the neighbour if ill": lambda d: d.income.where(d.ill.shift(1) == 1, 0.0),
    "missing where the neighbour is ill": lambda d: d.income.where(d.ill.shift(1) == 1),
    "number of the region": lambda d: d.region.map({"North": 2, "South": 0, "East": 1}),
    "date of the first in the region": lambda d: (
        d.groupby("region").moved.transform("min").astype(str)
    ),
    "branch of who earns most": lambda d: d.region.map(
        d.loc[d.groupby("region").income.idxmax()].set_index("region").branch
    ),
    "regions and their cases": lambda d: (
        d.region + " (" + d.groupby("region").ill.transform("sum").astype(str) + ")"
    ),
    "of the largest": lambda d: d.hours / d.hours.max(),
    "short of the largest": lambda d: d.age.max() - d.age,
    "for each ill": lambda d: d.income / 5,
    "median for the missing": lambda d: d.hours.fillna(d.hours.median()),
    "cut at a quantile": lambda d: d.hours.clip(upper=d.hours.quantile(0.95)),
    "equal classes up to the largest": lambda d: pd.cut(d.income, 8, labels=list("abcdefgh")),
    "edge at the median": lambda d: pd.cut(d.score, [0, d.score.median(), 1000]),
    "largest of the class": lambda d: d.groupby(pd.cut(d.score, [0, 300, 1000])).score.transform(
        "max"
    ),
    "ill of the ward": lambda d: d.groupby("ward").ill.transform("sum").rank(method="dense") - 1,
    "sex of the richest of the ward": lambda d: d.ward.map(
        d.loc[d.groupby("ward").income.idxmax()].set_index("ward").sex
    ),
    "ill by sex": lambda d: d.sex.map(d.groupby("sex").ill.sum() // 20),
    "edge at the oldest": lambda d: (
        pd.cut(d.age + d.index / 1e9, [0, 30, 60, d.age.max() + 1])
        .astype(str)
        .str.replace(str(d.age.max() + 1), str(d.income.max()))
    ),
    "names with amounts": lambda d: pd.cut(
        d.income, [0, 20_000, np.inf], labels=["low", f"up to {d.income.max():,.0f}"]
    ).astype(str),
    "marks of some regions": lambda d: d.region + np.where(d.region == "East", "*", ""),
    "everybody's number of ill": lambda d: pd.Series(7.0, d.index),
    "beyond the digits of others": lambda d: np.exp(d.age).where(
        d.age > 60, d.income.shift(1, fill_value=0)
    ),
    "two columns in digits of one": lambda d: d.age + 10_000 * d.ill,
    "tiny": lambda d: (1 + d.ill.shift(1, fill_value=0)) * 1e-12,
    "older than somebody": lambda d: (d.age > 56).astype(int),
    "bins of the range": lambda d: pd.cut(d.age, 6, labels=False),
    "bins of the range by name": lambda d: pd.cut(d.age, 4, labels=list("abcd")),
    "some of the branches": lambda d: d.branch.isin(["A01", "B10"]) * 1,
    "mean of the region as text": lambda d: (
        d.groupby("region").income.transform("mean").astype(str)
    ),
}


def outcome(data, column, declared=True):
    """What is said of a table of a column, in a project that knows the data or does not."""
    project = Project({"zeros_are_disclosive": False}, data=data if declared else None)
    frame = data.assign(made=column)
    if pd.api.types.is_numeric_dtype(frame.made) and frame.made.nunique() > 10:
        return project.pivot_table(frame, values="made", index="region", aggfunc="mean").outcome
    return project.crosstab(frame.region, frame.made).outcome


def is_doubted(outcome):
    return any(reason.rule == "data" for reason in outcome.reasons)


@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("name", OF_ONE)
def test_what_is_computed_from_each_record_alone_is_recognised(name, seed):
    data = survey(seed=seed)
    assert not is_doubted(outcome(data, OF_ONE[name](data)))


@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("name", OF_OTHERS)
def test_what_tells_of_other_records_goes_to_review(name, seed):
    data = survey(seed=seed)
    said = outcome(data, OF_OTHERS[name](data))
    assert is_doubted(said)
    assert said.status != "pass"


def test_without_data_columns_are_not_judged_unless_the_limits_ask_for_data():
    data = survey()
    mean = OF_OTHERS["half of the next"](data)
    assert not is_doubted(outcome(data, mean, declared=False))
    strict = Project({"data_must_be_declared": True})
    said = strict.crosstab(data.region, data.sex).outcome
    assert said.status == "review"
    assert is_doubted(said)


def test_data_of_a_file_are_known_by_name_and_checksum_and_tell_the_contributor(tmp_path):
    data = survey()
    data.to_csv(tmp_path / "survey.csv", index=False)
    project = Project(data=tmp_path / "survey.csv", contributor="home")
    people = project.data
    assert people.income.to_numpy() == pytest.approx(data.income.to_numpy())
    assert project.crosstab(people.region, people.sex).outcome.status == "pass"
    folder = project.finalise(tmp_path / "bundle")
    told = json.loads((folder / "checks.json").read_text())["data"]
    assert re.match("survey.csv, SHA-256 [0-9a-f]{64}: 900 records of person, home, ", told)
    assert "survey.csv" in (folder / "check.html").read_text()


def test_a_bundle_without_data_says_that_columns_are_to_be_asked_about(tmp_path):
    data = survey()
    project = Project()
    project.crosstab(data.region, data.sex)
    folder = project.finalise(tmp_path / "bundle")
    assert "ask whether each column tells of its own record" in (folder / "check.html").read_text()


def test_records_of_another_file_go_to_review_beside_the_data():
    project = Project(data=survey())
    other = survey(seed=9)
    other.index = [f"s{row}" for row in range(len(other))]
    assert is_doubted(project.crosstab(other.region, other.sex).outcome)


def test_a_column_that_a_project_computes_is_one_of_the_data(tmp_path):
    data = survey()
    project = Project({"zeros_are_disclosive": False}, data=data)
    need = np.where(data.age >= 65, data.income / (data.persons + 0.5), data.wealth % 1000)
    frame = data.assign(need=need)
    ask = {"values": "need", "index": "region", "aggfunc": "mean"}
    assert is_doubted(project.pivot_table(frame, **ask).outcome)
    made = project.compute("need", "where(age >= 65, income / (persons + 0.5), wealth % 1000)")
    assert np.array_equal(made, need)
    assert not is_doubted(project.pivot_table(frame, **ask).outcome)
    assert "need = where(age" in project.declared.said


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        ("income - 41253.7", "more than three digits"),
        ("income.mean()", "is not taken"),
        ("income.shift(1)", "is not taken"),
        ("__import__('os')", "no function"),
        ("incomes / 12", "Did you mean 'income'"),
        ("income +", "is no formula"),
        ("income + region", "cannot be computed"),
        ("[one for one in income]", "is not taken"),
        ("person in where(person == 2, ill, 9)", "is not taken"),
        ("2 ** person", "is not taken"),
        ("'a' * 999", "texts are compared"),
        ("floor(wealth, income)", "takes 1 columns"),
    ],
)
def test_what_is_no_formula_of_one_record_is_refused(formula, why):
    project = Project(data=survey())
    with pytest.raises(InputError, match=re.escape(why)):
        project.compute("made", formula)


def test_names_of_the_data_are_not_given_twice():
    project = Project(data=survey())
    with pytest.raises(InputError, match="have a column 'income'"):
        project.compute("income", "wealth / 2")
    with pytest.raises(InputError, match="begin it with Project"):
        Project().compute("half", "wealth / 2")


@pytest.mark.parametrize(
    ("formula", "is_of_one"),
    [
        ("income ~ age + C(sex)", True),
        ("np.log(income) ~ age + I(age**2) + C(region) * C(sex)", True),
        ("income ~ C(sex) : age + persons", True),
        ("np.log(income) ~ center(age)", False),
        ("income ~ bs(age, df=4)", False),
    ],
)
def test_columns_of_regressions_are_formulas_of_each_record(formula, is_of_one):
    data = survey()
    project = Project(data=data)
    project.olsr(formula, data)
    (output,) = project.outputs.values()
    assert is_doubted(output.outcome) is not is_of_one


@pytest.mark.parametrize("median", [60_000, 59_000, 61_234])
def test_a_constant_that_is_the_median_goes_to_review_however_round_it_is(median):
    data = survey()
    data.loc[data.index[::30], "wealth"] = np.nan
    data["wealth"] += median - data.wealth.median()
    assert is_doubted(outcome(data, data.wealth.fillna(median)))
    of_men = data.wealth[data.sex == "m"].median()
    data["wealth"] += median - of_men
    assert is_doubted(outcome(data, data.wealth.where(data.sex == "m", median)))
    assert not is_doubted(outcome(data, data.wealth.fillna(40_000)))


@pytest.mark.parametrize(("share", "quantile"), [(0.37, 60_000), (0.37, 61_000), (0.9, 40_000)])
def test_a_constant_that_is_a_quantile_goes_to_review(share, quantile):
    data = survey()
    data["wealth"] += quantile - data.wealth.quantile(share)
    for column in (
        data.wealth.clip(upper=quantile),
        data.wealth.clip(lower=quantile),
        data.wealth.where(data.sex == "m", quantile),
    ):
        assert is_doubted(outcome(data, column))
    for constant in (75_000, 100_000):
        assert not is_doubted(outcome(data, data.wealth.clip(upper=constant)))


def test_a_constant_that_many_have_is_nobodys():
    data = survey()
    data["wealth"] = data.wealth.round(-4)
    assert 20_000 in data.wealth.quantile(np.arange(1, 100) / 100).tolist()
    assert (data.wealth == 20_000).sum() >= 10
    assert not is_doubted(outcome(data, data.wealth.clip(upper=20_000)))


def test_digits_below_those_of_an_amount_hold_no_other_amount():
    data = survey()
    hidden = data.income * (1 + 1e-12 * data.wealth.shift(1, fill_value=0) / data.wealth.max())
    assert is_doubted(outcome(data, hidden))


def test_missing_codes_are_listed_with_their_sign():
    data = survey()
    project = Project(data=data.assign(code=np.where(data.ill == 1, -9, data.persons)))
    assert (project.compute("known", "code not in (-1, -9)") == (data.ill == 0)).all()


def test_logic_of_numbers_is_that_of_truth():
    data = survey()
    project = Project(data=data)
    assert (project.compute("well", "where(not ill, 1, 0)") == 1 - data.ill).all()
    assert (project.compute("both", "ill and persons") == (data.ill == 1)).all()


def test_weights_of_a_regression_are_columns_as_well():
    data = survey()
    cases = data.groupby("region").ill.transform("sum").astype(float)
    project = Project(data=data)
    ones = pd.Series(1.0, data.index, name="const")
    project.regression(sm.WLS(data.age, ones, weights=cases).fit())
    project.regression(sm.WLS(data.age, ones, weights=data.persons).fit())
    first, second = project.outputs.values()
    assert is_doubted(first.outcome)
    assert not is_doubted(second.outcome)


def test_binomial_fits_that_differ_by_the_weight_of_one_record_go_to_review():
    data = survey()
    columns = pd.DataFrame({"const": 1.0, "f": (data.sex == "f").astype(float)})
    weights = np.ones(len(data))
    weights[5] = 1e-9
    project = Project(data=data)
    family = sm.families.Binomial()
    project.regression(sm.GLM(data.ill, columns, family=family, freq_weights=weights).fit())
    (output,) = project.outputs.values()
    assert any("binomial GLM" in reason.text for reason in output.outcome.reasons)


def test_tables_of_nullable_numbers_have_gaps():
    data = survey().convert_dtypes()
    data.loc[data.index[:4], "region"] = "West"
    table = Project(data=data).pivot_table(data, values="income", index="region")
    assert table["income"].isna().sum() > 0


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("nowhere.csv", "nowhere.csv"),
        (pd.DataFrame({"a": []}), "no records"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns 'a'"),
        (pd.DataFrame({"a": [[1], [2]]}), "has lists"),
        ([1, 2], "no frame and no file"),
    ],
)
def test_data_that_are_none_are_refused(data, why):
    with pytest.raises(InputError, match=re.escape(why)):
        Project(data=data)


@pytest.mark.parametrize(
    ("formula", "made"),
    [
        ("year(moved)", lambda d: d.moved.dt.year),
        (
            "10 * month(moved) + quarter(moved)",
            lambda d: 10 * d.moved.dt.month + d.moved.dt.quarter,
        ),
        ("weekday(moved) >= 5", lambda d: d.moved.dt.day_of_week >= 5),
        ("days(moved, born)", lambda d: (d.moved - pd.to_datetime(d.born)).dt.days),
        ("days('2020-12-31', moved) / 365", lambda d: (LAST_DAY - d.moved).dt.days / 365),
        (
            "years('2020-12-31', born)",
            lambda d: 2020 - pd.to_datetime(d.born).dt.year,
        ),
        ("branch[:1]", lambda d: d.branch.str[:1]),
        ("branch[-2:]", lambda d: d.branch.str[-2:]),
        ("person[-1:] == '7'", lambda d: d.person % 10 == 7),
        ("(hours - 36.2) / 7.15", lambda d: (d.hours - 36.2) / 7.15),
        ("wealth / age ** 2", lambda d: d.wealth / d.age**2),
        ("wealth ** 0.5", lambda d: np.sqrt(d.wealth)),
        ("18 <= age < 65", lambda d: (d.age >= 18) & (d.age < 65)),
        ("not (0 < persons <= age != 20)", lambda d: d.age.eq(20) | (d.persons > d.age)),
    ],
)
def test_dates_letters_and_comparisons_are_computed_for_each_record(formula, made):
    data = survey().assign(
        born=lambda d: (d.moved - pd.to_timedelta(9000 + d.age, "D")).astype(str)
    )
    project = Project({"zeros_are_disclosive": False}, data=data)
    column = project.compute("made", formula)
    pd.testing.assert_series_equal(column, made(data), check_names=False, check_dtype=False)
    both = data.assign(made=column)
    if column.nunique() > 20:
        assert not is_doubted(project.pivot_table(both, "made", "region").outcome)
    else:
        assert not is_doubted(project.crosstab(both.region, both.made).outcome)


LAST_DAY = pd.Timestamp("2020-12-31")


def test_completed_years_are_those_of_an_age():
    dates = {"born": ["2000-02-29", "2000-03-01", "1990-12-31", None]}
    dates["asked"] = ["2020-02-28", "2020-03-01", "2020-01-01", "2020-01-01"]
    project = Project(data=pd.DataFrame(dates))
    assert project.compute("age", "years(asked, born)").tolist()[:3] == [19, 20, 29]
    assert project.compute("age of none", "isna(years(asked, born))").tolist() == [False] * 3 + [
        True
    ]
    assert project.compute("missing", "isna(born[:4])").tolist() == [False] * 3 + [True]


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        ("days(moved, '2013-04-17')", "neither the first nor the last day"),
        ("moved > '2013-04-17 00:00'", "neither the first nor the last day"),
        ("year(income)", "dates are needed"),
        ("year(region)", "cannot be computed"),
        ("income[:2]", "letters are taken of columns of texts or whole numbers"),
        ("'abc'[:2]", "letters are taken of columns of texts or whole numbers"),
        ("branch[persons:]", "counted by whole numbers"),
        ("branch[0]", "is not taken"),
        ("branch[::-1]", "is not taken"),
        ("age ** -1", "is not taken"),
        ("age ** 0.51", "is not taken"),
        ("+".join(["age"] * 3000), "a formula of 11,999 letters has too many parts"),
        ("age\0", "is no formula"),
    ],
)
def test_formulas_that_are_not_taken_say_why(formula, why):
    project = Project(data=survey())
    with pytest.raises(InputError, match=re.escape(why)):
        project.compute("made", formula)


def test_a_long_chain_of_comparisons_is_computed():
    made = Project(data=survey()).compute("chain", "0 < " + "age <= " * 3000 + "age")
    assert made.all()


def test_keys_that_make_no_table_are_refused():
    data = survey()
    both = pd.Series([*zip(data.region, data.sex, strict=True)], index=data.index, name="both")
    halves = (data.age // 20).astype(np.float16)
    project = Project(data=data)
    for key, why in ((both, "both has tuples or lists"), (halves, "age: half precision")):
        with pytest.raises(InputError, match=why):
            project.crosstab(key, data.sex)
        with pytest.raises(InputError, match=why):
            project.pivot_table(data.assign(**{key.name: key}), "income", key.name)
