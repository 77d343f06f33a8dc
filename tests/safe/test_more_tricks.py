"""A hundred more tricks, of careless and malicious researchers: none ends in "pass", all shown.

Each trick asks for outputs one after the other. The last one, shown whole beside those that passed
before it, would tell of fewer people than the threshold, or of somebody's amount.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tablecloak.errors import InputError
from tablecloak.safe import Project
from tablecloak.safe.values import may_be_amounts

LIMITS = {"safe_threshold": 10, "zeros_are_disclosive": False}
FEW = [3, 17, 101]


def people():
    rng = np.random.default_rng(4)
    n = 600
    data = pd.DataFrame(
        {
            "area": rng.choice(list("ABCD"), n),
            "trade": rng.choice(["farm", "shop", "office"], n),
            "sex": rng.choice(["m", "f"], n),
            "age": rng.integers(16, 90, n),
            "income": rng.lognormal(3, 0.6, n).round(1),
            "cost": rng.gamma(3, 10, n).round(1),
            "ill": (rng.random(n) < 0.3).astype(int),
            "score": rng.integers(1, 6, n),
        }
    )
    data.loc[FEW, "sex"] = "m"
    data.loc[FEW, "age"] = 40
    return data


def count(p, d, **options):
    return p.crosstab(d.area, d.sex, margins=True, **options)


def total(p, d, column="income", **options):
    return p.pivot_table(d, values=column, index="sex", aggfunc="sum", margins=True, **options)


def rest(d, few=FEW):
    return d.drop(index=few)


def of(d, **columns):
    return d.assign(**columns)


def flag(d, few=FEW):
    return d.index.isin(few).astype(int)


def with_wealth(d):
    return d.assign(wealth=np.random.default_rng(9).lognormal(10.2, 0.2, len(d)).round(0))


def highest(d):
    """The largest wealth of each area, five digits each."""
    return with_wealth(d).groupby("area").wealth.transform("max").astype(int)


def cut(d):
    """Wealth, of the ten richest no more than that of the eleventh."""
    wealth = with_wealth(d).wealth
    return of(d, x=wealth.clip(upper=wealth.nlargest(11).iloc[-1]))


def shared(d, value, few, others):
    """Amounts of which all of area A but few have one value."""
    amounts = d.income.where(d.area != "A", value)
    amounts[d.index[d.area == "A"][:few]] = others
    return amounts


def by_area(p, d, values):
    return p.pivot_table(of(d, x=values), values="x", index="area", aggfunc="mean")


TRICKS = {
    # Small groups and flags.
    "a flag of three, summed": lambda p, d: total(p, of(d, x=flag(d)), "x"),
    "a flag of all but three": lambda p, d: total(p, of(d, x=1 - flag(d)), "x"),
    "a flag as text": lambda p, d: p.crosstab(d.area, pd.Series(np.where(flag(d), "y", "n"))),
    "a flag in percent": lambda p, d: total(p, of(d, x=flag(d) * 100.0), "x"),
    "a flag with noise far below": lambda p, d: total(p, of(d, x=flag(d) + 5), "x"),
    "a flag as booleans": lambda p, d: total(p, of(d, x=flag(d) == 1), "x"),
    "the mean of a flag": lambda p, d: p.pivot_table(
        of(d, x=flag(d)), values="x", index="sex", aggfunc="mean"
    ),
    "the variance of a flag": lambda p, d: p.pivot_table(
        of(d, x=flag(d)), values="x", index="sex", aggfunc="var"
    ),
    "a flag in a correlation": lambda p, d: p.corr(of(d, x=flag(d))[["x", "income"]]),
    "a rank correlation": lambda p, d: p.corr(of(d, x=flag(d))[["x", "income"]], "spearman"),
    "a flag as weight": lambda p, d: p.crosstab(d.area, d.sex, weights=pd.Series(flag(d) * 1.0)),
    "a flag and a weight": lambda p, d: p.crosstab(
        d.area, d.sex, values=pd.Series(flag(d)), aggfunc="sum", weights=pd.Series(d.cost + 1)
    ),
    "missing but for three": lambda p, d: total(p, of(d, x=d.income.where(flag(d) == 1)), "x"),
    "zero but for three": lambda p, d: total(p, of(d, x=d.income * flag(d)), "x"),
    "one but for three": lambda p, d: total(p, of(d, x=d.income.where(flag(d) == 1, 1.0)), "x"),
    "far below but for three": lambda p, d: total(
        p, of(d, x=d.income.where(flag(d) == 1, -1e6)), "x"
    ),
    "tiny noise but for three": lambda p, d: total(
        p, of(d, x=d.income.where(flag(d) == 1, np.linspace(1e-9, 1e-8, len(d)))), "x"
    ),
    "one person a thousandfold": lambda p, d: total(
        p, of(d, x=d.income * np.where(d.index == 3, 1e6, 1)), "x"
    ),
    "a pie of few": lambda p, d: p.pie(of(d, x=np.where(flag(d), "y", "n")), "x"),
    "shares of few": lambda p, d: p.crosstab(d.area, pd.Series(flag(d)), normalize="index"),
    "a histogram around one": lambda p, d: p.histogram(d, "age", bins=[0, 16.5, 17.5, 200]),
    # With and without a few.
    "counts without three": lambda p, d: (count(p, d), count(p, rest(d))),
    "counts without three, thrice": lambda p, d: (
        count(p, d), count(p, rest(d), protect=None), count(p, rest(d), protect=None),
        count(p, rest(d), protect=None),
    ),
    "sums without three": lambda p, d: (total(p, d), total(p, rest(d))),
    "sums without one, another name": lambda p, d: (
        total(p, d), total(p, rest(d, [3]).rename(columns={"income": "y"}), "y"),
    ),
    "in thousands": lambda p, d: (total(p, d), total(p, rest(of(d, income=d.income / 1000)))),
    "renumbered": lambda p, d: (count(p, d), count(p, rest(d).reset_index(drop=True))),
    "renumbered and sorted": lambda p, d: (
        count(p, d), count(p, rest(d).sort_values("age").reset_index(drop=True)),
    ),
    "renumbered in part": lambda p, d: (
        count(p, d),
        count(p, rest(d).rename(index=lambda i: i + 5000 if i % 2 else i)),
    ),
    "arrays": lambda p, d: (
        count(p, d),
        p.crosstab(rest(d).area.to_numpy(), rest(d).sex.to_numpy(), margins=True),
    ),
    "other words for codes": lambda p, d: (
        count(p, d),
        count(p, of(rest(d), sex=rest(d).sex.map({"m": "man", "f": "woman"}))),
    ),
    "missing values for three": lambda p, d: (
        count(p, d), count(p, of(d, sex=d.sex.where(flag(d) == 0))),
    ),
    "a category that is not shown": lambda p, d: (
        count(p, d),
        count(p, of(d, sex=pd.Categorical(d.sex.where(flag(d) == 0), ["m", "f", "x"]))),
    ),
    "moved to another cell": lambda p, d: (
        count(p, d), count(p, of(d, sex=d.sex.where(flag(d) == 0, "f"))),
    ),
    "two thresholds of age": lambda p, d: (
        count(p, d[d.age >= 30]), count(p, d[(d.age >= 30) & (flag(d) == 0)]),
    ),
    "two bins of a histogram": lambda p, d: (
        p.histogram(d, "age", bins=[0, 50, 120]), p.histogram(rest(d), "age", bins=[0, 50, 120]),
    ),
    "a table and a histogram": lambda p, d: (
        count(p, d), p.histogram(rest(d), "income", bins=[0, 1e6]),
    ),
    "a table and a pie": lambda p, d: (count(p, d), p.pie(rest(d), "area")),
    "a table and a mean": lambda p, d: (
        count(p, d), p.pivot_table(rest(d), values="cost", index="sex", aggfunc="mean"),
    ),
    "a table and a regression": lambda p, d: (
        count(p, d), p.olsr("income ~ age", rest(d)),
    ),
    "two regressions": lambda p, d: (
        p.olsr("income ~ age", d), p.olsr("income ~ age", rest(d)),
    ),
    "a regression and the mean": lambda p, d: (
        p.olsr("income ~ age", rest(d)), total(p, d, margins_name="Total"),
    ),
    "a table and a survival table": lambda p, d: (
        count(p, d), p.surv_func(rest(d).age, rest(d).ill),
    ),
    "means of 0 and 1 without three": lambda p, d: (
        p.pivot_table(d, values="ill", index="sex", aggfunc="mean"),
        p.pivot_table(rest(d), values="ill", index="sex", aggfunc="mean"),
    ),
    "scores without three": lambda p, d: (
        p.pivot_table(d, values="score", index="sex", aggfunc="sum"),
        p.pivot_table(rest(d), values="score", index="sex", aggfunc="mean"),
    ),
    "everybody, men, women but three": lambda p, d: (
        p.pie(d, "trade"), p.histogram(d[d.sex == "f"], "age", bins=[0, 200]),
        p.histogram(rest(d[d.sex == "m"], FEW), "age", bins=[0, 200]),
    ),
    "four areas but for three": lambda p, d: (
        *(p.histogram(d[d.area == a], "cost", bins=[0, 1e4]) for a in "ABCD"),
        p.histogram(rest(d), "cost", bins=[0, 1e4]),
    ),
    "rows and columns": lambda p, d: (
        p.crosstab(d.area, d.trade), p.crosstab(rest(d).area, rest(d).trade),
    ),
    "shares without three": lambda p, d: (
        count(p, d), p.crosstab(rest(d).area, rest(d).sex, normalize="all", margins=True),
    ),
    # Changed copies.
    "clipped": lambda p, d: (total(p, d), total(p, of(d, x=d.income.clip(upper=95)), "x")),
    "clipped below": lambda p, d: (total(p, d), total(p, of(d, x=d.income.clip(lower=4.5)), "x")),
    "one changed": lambda p, d: (
        total(p, d), total(p, of(d, x=d.income.where(d.index != 3, 0.0)), "x"),
    ),
    "one missing": lambda p, d: (
        total(p, d), total(p, of(d, x=d.income.where(d.index != 3)), "x"),
    ),
    "one doubled": lambda p, d: (
        total(p, d), total(p, of(d, x=d.income * (1 + (d.index == 3))), "x"),
    ),
    "three exchanged": lambda p, d: (
        total(p, d), total(p, of(d, x=d.income.where(flag(d) == 0, d.cost)), "x"),
    ),
    "logged, without three": lambda p, d: (
        total(p, d), total(p, of(rest(d), x=np.log(rest(d).income)), "x"),
    ),
    "rounded, without three": lambda p, d: (
        total(p, d), total(p, of(rest(d), x=rest(d).income.round()), "x"),
    ),
    "turned, without three": lambda p, d: (
        total(p, d), total(p, of(rest(d), x=500 - rest(d).income), "x"),
    ),
    "a constant of somebody": lambda p, d: total(p, of(d, x=float(d.income.max())), "x"),
    "somebody's amount by area": lambda p, d: p.pivot_table(
        of(d, x=d.groupby("area").income.transform("max")), values="x", index="area"
    ),
    "the largest as key": lambda p, d: p.crosstab(
        d.groupby("area").income.transform("max"), d.sex
    ),
    "extremes": lambda p, d: p.extremes(d.income),
    "medians of a table": lambda p, d: p.pivot_table(
        d, values="income", index="area", aggfunc="median"
    ),
    "percentiles": lambda p, d: p.quantile(d.income, [0.5, 0.9, 0.99]),
    "edges at the largest": lambda p, d: p.histogram(
        d, "income", bins=[0, 20, float(d.income.max())]
    ),
    "a column of one person in a regression": lambda p, d: p.olsr(
        "income ~ age + x", of(d, x=(d.index == 3) * 1.0)
    ),
    "three times a far value": lambda p, d: p.olsr(
        "income ~ age + x", of(d, x=(d.index == 3) * 1e6 + d.score)
    ),
    "keys that name records": lambda p, d: p.crosstab(d.index.astype(str) + d.area, d.sex),
    "one amount in a label": lambda p, d: p.crosstab(
        d.area.where(d.index != 3, "A earns 99"), d.sex
    ),
    "edges of quartiles as labels": lambda p, d: p.crosstab(pd.qcut(d.income, 4), d.sex),
    "edges of quartiles in texts": lambda p, d: p.crosstab(pd.qcut(d.cost, 4).astype(str), d.sex),
    "the largest of each fifth in a label": lambda p, d: p.crosstab(
        (d.income**3).groupby(pd.qcut(d.income, 5, labels=False)).transform("max").astype(int),
        d.sex),
    "the largest of each area as a mean": lambda p, d: p.pivot_table(
        of(d, top=d.groupby("area").income.transform("max").round()), "top", "area"),
    "an amount in decimals that nobody else has": lambda p, d: total(
        p, of(d, income=d.income.round() + flag(d, [3]) * d.cost / 1e4)),
    "three who are coded 2": lambda p, d: p.olsr("income ~ g", of(d, g=1 + flag(d))),
    "a code and its square": lambda p, d: p.olsr(
        "income ~ g + I(g ** 2)", of(d, g=np.where(flag(d), 2, d.age < 40))),
    "a slope of three": lambda p, d: p.olsr("income ~ g", of(d, g=flag(d) * d.cost)),
    "arrays without labels": lambda p, d: (
        p.ols(d.income.to_numpy(), d[["age"]].to_numpy()),
        p.ols(rest(d).income.to_numpy(), rest(d)[["age"]].to_numpy())),
    "balances of two in one area": lambda p, d: (
        p.olsr("b ~ C(area)", of(d, b=d.income - 30)),
        p.olsr("b ~ C(area)", of(rest(d, [*d.index[d.area == "B"][:2],
                                          *d.index[d.area == "C"][:12]]), b=d.income - 30))),
    "a correlation without one": lambda p, d: (
        count(p, d), p.corr(rest(d, [3])[["age", "income"]])),
    "survival at the day of the last": lambda p, d: p.surv_func(d.cost + 0.25, d.ill),
    "amounts moved far from zero": lambda p, d: p.pivot_table(
        of(d.head(15), far=d.income.where(d.index != 3, 9000) + 1e6, all=1), "far", "all"),
    "a copy with noise": lambda p, d: (
        total(p, of(d, income=d.income.where(d.index != 3, 9e5))),
        total(p, of(rest(d, [3, *d.index[20:31]]), noisy=d.income * (1 + np.sin(d.index) / 20)),
              "noisy")),
    "a sum of two columns": lambda p, d: (
        total(p, of(d, both=d.income + d.cost), "both"), total(p, d, "cost"),
        total(p, rest(d, d.index[:12]))),
    "a sum of two columns but at one": lambda p, d: (
        total(p, d, "cost"), total(p, d),
        total(p, of(d, both=d.income + d.cost.where(d.index != 3, 0)), "both")),
    "every record twice": lambda p, d: p.pivot_table(
        pd.concat([d, d], ignore_index=True), "income", "area", aggfunc="count"),
    "an edge next to the largest": lambda p, d: p.histogram(
        d, "income", bins=[0, 20, 40, d.income.max() + 1e-3]),
    # What texts, types and repetitions carry.
    "the largest by one digit": lambda p, d: by_area(p, d, highest(d) // 1000 % 10),
    "the largest by one bit": lambda p, d: by_area(p, d, highest(d) // 4 % 2),
    "a digit for all": lambda p, d: by_area(p, d, highest(d).max() // 100 % 10),
    "the largest as codes of one length": lambda p, d: p.crosstab(highest(d), d.sex),
    "the largest behind a word": lambda p, d: p.crosstab("area " + highest(d).astype(str), d.sex),
    "slices called by the largest": lambda p, d: p.pie(of(d, x=highest(d).astype(str)), "x"),
    "a factor of the largest": lambda p, d: p.olsr("age ~ C(x)", of(d, x=highest(d))),
    "a factor of texts": lambda p, d: p.olsr("age ~ x", of(d, x="is " + highest(d).astype(str))),
    "a category that nobody has": lambda p, d: p.crosstab(
        pd.Categorical(d.sex, ["m", "f", str(highest(d).max())]), d.area.to_numpy(), dropna=False),
    "margins called by an amount": lambda p, d: p.crosstab(
        d.area, d.sex, margins=True, margins_name=str(highest(d).max())),
    "a column called by an amount": lambda p, d: p.pivot_table(
        d.rename(columns={"age": f"x{highest(d).max()}"}), f"x{highest(d).max()}", "area"),
    "rows called by an amount": lambda p, d: p.crosstab(
        d.area, d.sex, rownames=[str(highest(d).max())]),
    "gaps filled with an amount": lambda p, d: p.pivot_table(
        d[(d.area != "A") | (d.sex != "m")], "age", "area", "sex", fill_value=highest(d).max()),
    "clipped at somebody, the maximum": lambda p, d: p.extremes(cut(d).x, ("max",)),
    "clipped at somebody, an edge": lambda p, d: p.histogram(
        cut(d), "x", bins=[0, 20_000, cut(d).x.max()]),
    "imaginary parts": lambda p, d: by_area(p, d, d.age + 1j * d.income * flag(d)),
    "texts added up": lambda p, d: p.pivot_table(
        of(d, x=d.income.astype(str)), "x", "area", aggfunc="sum"),
    "whole numbers of thirty digits": lambda p, d: by_area(
        p, d, pd.Series([10**25 + int(x) for x in with_wealth(d).wealth], dtype=object)),
    "five waves": lambda p, d: p.crosstab(
        pd.concat([d.sex] * 5, ignore_index=True), pd.Series(list(flag(d)) * 5)),
    "rare ones in the decimals": lambda p, d: by_area(
        p, d.head(200), d.income + 0.001 * (d.index % 25 == 0)),
    "rare ones in the last digits": lambda p, d: by_area(
        p, d.head(200), d.income.round() * 1000 + (d.index % 25 == 0)),
    "amounts of few in the last digits": lambda p, d: by_area(
        p, d.head(200), d.cost.round() * 1e4 + d.income.round() * (d.index % 25 == 0)),
    # A value that most of a group share.
    "all at a cap but one": lambda p, d: by_area(p, d, shared(d, 97.3, 1, 61.2)),
    "all at a cap but three": lambda p, d: by_area(p, d, shared(d, 97.3, 3, [61.2, 50.1, 7.4])),
    "a pension of all but one": lambda p, d: total(
        p, of(d, x=shared(d, 1487.0, 1, 1127.0).round(), sex=d.area), "x"),
    "the spread of a pension of all but two": lambda p, d: p.pivot_table(
        of(d, x=shared(d, 1487.0, 2, [1127.0, 1644.0]).round()), "x", "area", aggfunc="std"),
    "two children of all but one": lambda p, d: by_area(
        p, d, d.score.where(d.area != "A", 3).where(d.index != d.index[d.area == "A"][0], 5)),
    "a cap with weights": lambda p, d: p.pivot_table(
        of(d, x=shared(d, 97.3, 1, 61.2)), "x", "area", weights=d.age / 10),
    "a regression on areas, all at a cap but one": lambda p, d: p.olsr(
        "x ~ C(area)", of(d, x=shared(d, 97.3, 1, 61.2))),
    "a regression on areas, the first of which is at a cap": lambda p, d: p.olsr(
        "x ~ C(area, Treatment('B'))", of(d, x=shared(d, 97.3, 1, 61.2))),
    # What regressions tell for whoever knows their columns.
    "two slopes and their sum but for three": lambda p, d: (
        p.olsr("income ~ age + cost", d),
        p.olsr("income ~ x", of(d, x=np.where(flag(d), d.score, 2 * d.age + d.cost)))),
    "two flags that differ at three": lambda p, d: (
        p.olsr("income ~ age + x", of(d, x=(d.sex == "m") * 1)),
        p.olsr("income ~ age + x", of(d, x=(d.sex == "m") * 1 - flag(d)))),
    "a flag and a table of all of it but three": lambda p, d: (
        p.olsr("income ~ age + x", of(d, x=(d.sex == "m") * 1)),
        p.pivot_table(of(d, x=(d.sex == "m") * 1 - flag(d)), "income", "x", aggfunc="sum")),
    "slopes and a sum of products": lambda p, d: (
        p.olsr("income ~ age + cost", d),
        total(p, of(d, x=d.income * np.where(flag(d), 7, 2 * d.age + d.cost)), "x")),
    "correlations with two columns and their sum but for three": lambda p, d: (
        p.corr(d[["income", "age"]]), p.corr(d[["income", "cost"]]),
        p.corr(of(d, x=np.where(flag(d), d.score, 2 * d.age + d.cost))[["income", "x"]])),
    "two slopes of one regression that differ at three": lambda p, d: p.olsr(
        "income ~ a + b", of(d, a=d.cost * (d.sex == "m"),
                             b=d.cost * ((d.sex == "m") & (flag(d) == 0)))),
    "the extreme of somebody's amount": lambda p, d: p.extremes(
        pd.Series(float(d.income.max()), d.index, name="x")),
    "extremes of largest ones": lambda p, d: p.extremes(
        d.groupby("area").income.transform("max")),
    "quantiles of largest ones": lambda p, d: p.quantile(
        d.groupby("area").income.transform("max"), [0.1, 0.5, 0.9], base=0.1),
    "a quantile of somebody's amount": lambda p, d: p.quantile(
        pd.Series(np.where(d.sex == "m", d.income.max(), 0.0), d.index, name="x"), [0.75],
        base=0.1),
    "a subset of a formula": lambda p, d: (
        p.olsr("income ~ age", d), p.olsr("income ~ age", d, subset=~d.index.isin(FEW))),
}  # fmt: skip

SHARED_BY_ALL = {
    "all of an area are ill": lambda p, d: p.olsr(
        "ill ~ C(area)", of(d, ill=d.ill.where(d.area != "B", 1))),
    "nobody of the first area is ill": lambda p, d: p.olsr(
        "ill ~ C(area)", of(d, ill=d.ill.where(d.area != "A", 0))),
    "all ill, a logit": lambda p, d: p.logitr(
        "ill ~ C(area)", of(d, ill=d.ill.where(d.area != "B", 1))),
    "all ill, in other units": lambda p, d: p.olsr(
        "ill ~ C(area)", of(d, ill=2000 * d.ill.where(d.area != "B", 1) + 500)),
    "all ill, with ages": lambda p, d: p.olsr(
        "ill ~ C(area) + age", of(d, ill=d.ill.where(d.area != "B", 1))),
    "all of the first area ill, two factors": lambda p, d: p.olsr(
        "ill ~ C(area) + C(trade)", of(d, ill=d.ill.where(d.area != "A", 1))),
    "all of a cell ill, an interaction": lambda p, d: p.olsr(
        "ill ~ C(area) * C(sex)",
        of(d, ill=d.ill.where((d.area != "A") | (d.sex != "m"), 1))),
}  # fmt: skip
"""Regressions that tell what all of a group have, where full cells of tables are hidden."""


def is_found(trick, limits=LIMITS):
    """Whether a trick is refused, reviewed, or met by hiding something of its last output."""
    project = Project(limits)
    try:
        trick(project, people())
    except InputError:
        return True
    last = list(project.outputs.values())[-1]
    is_hidden = any(frame.isna().to_numpy().any() for frame in last.frames)
    return last.outcome.status != "pass" or is_hidden


@pytest.mark.parametrize("name", TRICKS)
def test_a_trick_is_found(name):
    assert is_found(TRICKS[name])


@pytest.mark.filterwarnings("ignore:Maximum Likelihood")
@pytest.mark.parametrize("name", SHARED_BY_ALL)
def test_what_all_of_a_group_have_is_told_by_no_regression_that_passes(name):
    assert is_found(SHARED_BY_ALL[name], LIMITS | {"zeros_are_disclosive": True})


def test_there_are_a_hundred_tricks():
    assert len(TRICKS) >= 100


EVERYBODY = {
    "a mean": lambda p, d: p.pivot_table(d, values="ill", index="area", aggfunc="mean"),
    "a table": lambda p, d: p.crosstab(d.area, d.ill),
    "a pie": lambda p, d: p.pie(d, "ill"),
    "extremes": lambda p, d: p.extremes(d.ill),
    "a histogram": lambda p, d: p.histogram(d, "ill", bins=2),
    "a median": lambda p, d: p.quantile(d.ill, 0.5, base=1),
    "a survival table": lambda p, d: p.surv_func(d.age, d.ill),
}
"""What is told of a group all of whom are ill, in a project that only has this group."""


@pytest.mark.parametrize("name", EVERYBODY)
@pytest.mark.parametrize("value", [0, 1])
def test_what_all_records_have_does_not_pass(name, value):
    some = people()[lambda d: d.area == "A"].assign(ill=value)
    assert is_found(lambda p, d: EVERYBODY[name](p, some), LIMITS | {"zeros_are_disclosive": True})


def test_a_statistic_is_what_its_name_says_whatever_a_function_does():
    def std(values):
        return values.max()

    data = people()
    shown = Project(LIMITS).pivot_table(data, "income", "area", aggfunc=std)
    pd.testing.assert_series_equal(shown["income"], data.groupby("area").income.std())


def test_labels_that_are_codes_pass_and_amounts_do_not():
    for codes in ([2019, 2024], [10115, 10116, 10117], ["62.0", "01.1"], ["(15, 24]", "(24, 34]"]):
        assert not may_be_amounts(codes)
    for amounts in (
        [0.5, 27.3],
        [8412, 15377],
        [18412, 15377],
        ["18412", "15377"],
        ["(15.999, 33.0]", "(33.0, 52.0]"],
        ["up to 91817", "x"],
    ):
        assert may_be_amounts(amounts)
