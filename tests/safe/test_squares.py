"""Sums of squares, in deviations, regressions and correlations, beside the amounts they tell."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tablecloak.safe import Project
from tablecloak.safe.squares import squares_tell

sm = pytest.importorskip("statsmodels.api")


def people(seed=0, n=400):
    """One wealth is most of all squares, but a tenth of the sum."""
    random = np.random.default_rng(seed)
    data = pd.DataFrame({
        "area": np.where(np.arange(n) % 2, "North", "South"),
        "age": random.integers(18, 90, n),
        "income": random.gamma(4, 500, n).round(),
        "wealth": random.gamma(2, 20_000, n).round(),
    })  # fmt: skip
    data.loc[7, "wealth"] = 1_500_000.0 + random.integers(0, 99_999)
    return data


def bound(values, known):
    """The most that one of some amounts may be, for whoever knows another, sum and squares."""
    left = np.delete(values, known)
    n = len(left)
    return left.mean() + np.sqrt((n - 1) * ((left - left.mean()) ** 2).sum() / n)


@pytest.mark.parametrize("seed", range(40))
def test_squares_tell_what_the_second_largest_bounds_within_the_ratio(seed):
    random = np.random.default_rng(seed)
    values = random.gamma(1, 100, 60)
    values[0] = values.max() * random.uniform(1, 6)
    values -= values.min()
    second = np.argsort(values)[-2]
    margin = bound(values, second) / values[0] - 1
    zeros = np.zeros(60, dtype=np.int64)
    for ratio in (0.9 * margin, 1.1 * margin):
        told = squares_tell(values, zeros, np.arange(60), 1, ratio)
        assert told[0] == (ratio > margin)


def test_around_nothing_the_ratio_of_squares_is_that_of_the_amount_squared():
    """Two halves of opposite signs have mean 0: (1.1^2 - 1) of the largest square is 0.21."""
    for rest, expected in ((0.2, True), (0.22, False)):
        small = np.sqrt(rest / 1000)
        values = np.r_[1.0, 0.0, np.tile([small, -small], 500)]
        zeros = np.zeros(len(values), dtype=np.int64)
        assert squares_tell(values, zeros, np.arange(len(values)), 1, 0.1)[0] == expected


def test_the_records_of_one_contributor_are_told_together():
    random = np.random.default_rng(1)
    values = np.r_[np.full(3, 500.0), random.gamma(4, 10, 200)]
    zeros = np.zeros(203, dtype=np.int64)
    assert not squares_tell(values, zeros, np.arange(203), 1, 0.1)[0]
    assert squares_tell(values, zeros, np.r_[0, 0, 0, 1:201], 1, 0.1)[0]


def test_a_deviation_that_tells_the_largest_amount_is_hidden_where_the_mean_is_not():
    data = people()
    means = Project().pivot_table(data, "wealth", "area", aggfunc="mean")
    deviations = Project().pivot_table(data, "wealth", "area", aggfunc="std")
    assert means.notna().all().all()
    assert deviations["wealth"].isna().to_dict() == {"North": True, "South": False}
    assert deviations.outcome.cells.loc["North"].str.contains("p-ratio").all()


@pytest.mark.parametrize(("y", "x"), [("wealth", "age"), ("income", "wealth")])
def test_a_regression_whose_squares_tell_an_amount_fails(y, x):
    data = people()
    for frame, expected in ((data, "fail"), (data.drop(index=7), "pass")):
        project = Project()
        project.regression(sm.OLS(frame[y], sm.add_constant(frame[[x]])).fit())
        outcome = project.output("output_0").outcome
        assert outcome.status == expected
        assert (expected == "fail") == any(one.rule == "p-ratio" for one in outcome.reasons)


def test_a_correlation_that_one_record_makes_is_hidden_and_that_of_ranks_is_not():
    columns = people()[["age", "income", "wealth"]]
    for method, hidden in (("pearson", True), ("spearman", False)):
        found = Project().corr(columns, method=method)
        assert pd.isna(found.loc["age", "wealth"]) == hidden
        assert pd.notna(found.loc["age", "income"])


def test_a_fit_that_leaves_nearly_nothing_over_tells_all_values_within_the_ratio():
    data = people().drop(index=7)
    random = np.random.default_rng(2)
    for noise, expected in ((0.2, "pass"), (0.003, "review")):
        y = (data.income + random.normal(0, noise * data.income.std(), len(data))).rename("paid")
        output = Project().regression(sm.OLS(y, sm.add_constant(data[["income"]])).fit())
        assert output.outcome.status == expected, noise


def test_a_record_of_less_leverage_is_told_where_its_amount_is_much_larger_than_all_others():
    data = people(n=40).drop(index=7).reset_index(drop=True)
    random = np.random.default_rng(3)
    data["size"] = random.gamma(9, 1, len(data))
    data.loc[0, "size"] = 50.0
    for income, is_told in ((2_000.0, False), (2_000_000.0, True)):
        data.loc[0, "income"] = income
        result = sm.OLS(data.income, sm.add_constant(data[["size"]])).fit()
        assert 0.3 < result.get_influence().hat_matrix_diag[0] < 0.9
        reasons = Project().regression(result).outcome.reasons
        assert ("leverage" in [reason.rule for reason in reasons]) == is_told


def test_records_of_weight_0_go_to_the_checker():
    """Degrees of freedom of statsmodels count them."""
    data = people().drop(index=7)
    for n_without in (0, 4):
        weights = pd.Series(np.where(np.arange(len(data)) < n_without, 0.0, 1.0), data.index)
        fit = sm.WLS(data.income, sm.add_constant(data[["age"]]), weights=weights).fit()
        assert fit.df_resid == len(data) - 2
        with np.errstate(divide="ignore"):
            assert np.isneginf(fit.llf) == (n_without > 0)
        assert (Project().regression(fit).outcome.status == "pass") == (n_without == 0)


def test_weights_that_differ_at_few_are_a_sum_that_tells_these():
    data = people().drop(index=7)
    for n_apart, expected in ((4, "fail"), (40, "pass")):
        weights = pd.Series(np.where(np.arange(len(data)) < n_apart, 0.5, 1.0), data.index)
        for model in (
            sm.WLS(data.income, sm.add_constant(data[["age"]]), weights=weights),
            sm.GLM(data.income, sm.add_constant(data[["age"]]), freq_weights=weights),
        ):
            assert Project().regression(model.fit()).outcome.status == expected


def powers(n=400):
    """A dozen wealths lie near the largest, and all others of its cell far below."""
    data = people(n=n).assign(person=np.arange(n))
    data.loc[[7, 9, 11], "wealth"] = [98_100.0, 91_700.0, 90_400.0]
    data["wealth"] = data.wealth.clip(upper=98_100)
    north = np.flatnonzero((data.area == "North") & ~data.index.isin([7, 9, 11]))
    data.loc[north, "wealth"] = (data.wealth[north] / 10).round()
    data.loc[north[:10], "wealth"] = np.arange(82_000.0, 83_000.0, 100)
    return data


def test_a_sum_of_powers_of_powers_is_judged_by_the_amounts():
    """Whoever is second computes the largest amount from the sum of their twentieth powers."""
    data = powers()
    project = Project(data=data, contributor="person")
    project.compute("fifth", "(wealth / 1000) ** 5")
    high = project.compute("high", "fifth ** 4")
    north = data.index[data.area == "North"]
    assert (high[north].sum() - high[9]) ** (1 / 20) < 1.1 * data.wealth[7] / 1000
    assert high[north].sum() - high[[7, 9]].sum() > 0.1 * high[7]
    shown = project.pivot_table(data.assign(high=high), "high", "area", aggfunc="sum")
    assert shown.high.isna()["North"]


@pytest.mark.parametrize(
    ("formula", "power"),
    [
        ("(wealth / 1000) ** 3", 3), ("wealth * wealth", 2), ("wealth / (age / 100) ** 2", 2),
        ("sqrt(wealth)", 1), ("wealth / age", 1), ("where(age >= 65, wealth, income)", 1),
        ("round(wealth / 1000)", 1), ("where(area == 'North', wealth, income) ** 2", 2),
    ],
)  # fmt: skip
def test_how_fast_a_formula_grows_is_the_power_of_its_amounts(formula, power):
    data = powers()
    project = Project(data=data)
    assert project.declared.power(project.compute("y", formula), np.arange(400)) == pytest.approx(
        power, rel=0.01
    )


def test_how_fast_a_copy_grows_is_the_power_of_the_nearest_column():
    data = powers()
    project = Project(data=data.assign(logarithm=np.log(data.wealth)))
    for power in (1, 2, 5):
        column = (data.wealth**power).rename("y")
        assert project.declared.power(column, np.arange(400)) == pytest.approx(power)
    mixed = (data.wealth**3 / data.age).rename("y")
    assert project.declared.power(mixed, np.arange(400)) == 1
