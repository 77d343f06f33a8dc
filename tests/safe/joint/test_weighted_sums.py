"""Sums of several columns over the same records, taken as one column times known factors."""

import numpy as np
import pandas as pd
import pytest

from tablecloak.safe import Project
from tablecloak.safe.joint.search_work import SearchWork
from tablecloak.safe.joint.weighted_sums import tells_of_few

RNG = np.random.default_rng(2)
INCOME = RNG.lognormal(3, 0.5, 40).round(1)
EVERYBODY = np.arange(40)


@pytest.mark.parametrize(("n", "is_told"), [(12, True), (13, False)])
def test_each_sum_beyond_the_first_takes_off_one_contributor(n, is_told):
    # Of 12 people four equations leave 9, of 13 they leave 10.
    factors = RNG.uniform(1, 2, (4, n))
    assert tells_of_few(factors * INCOME[:n], EVERYBODY[:n], threshold=10) == is_told
    left = np.linalg.svd(factors[:, :3].T)[2][-1] @ factors
    assert np.count_nonzero(np.abs(left) > 1e-9) == n - 3


def test_powers_of_a_code_tell_of_those_that_have_it():
    code = np.where(EVERYBODY < 3, 4, EVERYBODY % 3 + 1)
    powers = np.array([code**k for k in range(4)])
    assert tells_of_few(powers * INCOME, EVERYBODY, threshold=10)
    # Three of these columns cannot single out one of four codes.
    assert not tells_of_few(powers[:1] * INCOME, EVERYBODY, threshold=10)


def test_columns_that_are_mostly_zero_tell_no_more_together_than_alone():
    sparse = RNG.permuted(np.repeat([[1.0] * 12 + [0.0] * 28], 2, axis=0), axis=1)
    assert not tells_of_few(np.vstack([sparse * INCOME, INCOME]), EVERYBODY, threshold=10)


@pytest.mark.parametrize("leaves_out", [False, True])
def test_twelve_sums_of_incomes_times_known_factors_solve_for_all_twelve(leaves_out):
    people = pd.DataFrame({"area": "A", "income": INCOME[:12]})
    factors = RNG.integers(1, 30, (12, 12))
    if leaves_out:
        np.fill_diagonal(factors, 0)
    sums = factors @ people.income
    np.testing.assert_allclose(np.linalg.solve(factors, sums), people.income)
    project = Project()
    for row in factors:
        some = people.assign(x=people.income * row)[row > 0]
        frame = project.pivot_table(some, values="x", index="area", aggfunc="sum")
    assert frame.outcome.status == "review" or frame.isna().all(axis=None)


def area_and_incomes(n=1000):
    factors = np.random.default_rng(5).uniform(1, 3, (12, n)).round(2)
    area = np.random.default_rng(6).choice(list("ABCDE"), n)
    return pd.DataFrame(
        {"area": area, "income": np.resize(INCOME, n) + np.arange(n) / 100}
    ), factors


def asked(project, people, values):
    return project.pivot_table(people.assign(x=values), values="x", index="area", aggfunc="sum")


@pytest.mark.parametrize("n_columns", [3, 4, 5, 7])
def test_a_column_that_others_add_up_in_one_area_but_for_three(n_columns):
    people, factors = area_and_incomes()
    project = Project()
    columns = factors[: n_columns - 1] * people.income.to_numpy()
    for column in columns:
        assert asked(project, people, column).outcome.status == "pass"
    agrees = (people.area == "A").to_numpy(copy=True)
    agrees[np.flatnonzero(agrees)[:3]] = False
    weighted = np.arange(1, n_columns) @ columns
    frame = asked(project, people, np.where(agrees, weighted, factors[11] * people.income))
    assert frame.outcome.status != "pass" or np.isnan(frame.loc["A", "x"])
    assert not frame.loc[list("BCDE"), "x"].isna().any()


@pytest.mark.parametrize("noise", [1e-6, 1e-4, 1e-3])
def test_noise_of_a_column_hides_no_difference(noise):
    people, factors = area_and_incomes()
    project = Project()
    columns = factors[:3] * people.income.to_numpy()
    for column in columns:
        asked(project, people, column)
    is_in = (people.area == "A").to_numpy()
    agrees = is_in & (np.cumsum(is_in) > 3)
    made = np.where(agrees, columns[0] + columns[1], factors[11] * people.income)
    noisy = made * (1 + noise * np.random.default_rng(8).standard_normal(1000))
    true = (made - columns[0] - columns[1])[is_in & ~agrees].sum()
    told = (noisy - columns[0] - columns[1])[is_in].sum()
    assert told == pytest.approx(true, rel=0.05)
    frame = asked(project, people, noisy)
    assert frame.outcome.status != "pass" or np.isnan(frame.loc["A", "x"])


def test_sums_of_other_columns_in_between_hide_no_difference():
    people, factors = area_and_incomes()
    project = Project()
    asked(project, people, people.income)
    asked(project, people, people.income * factors[0])
    for factor in factors[1:10]:
        # Columns of their own, that no income is in.
        assert asked(project, people, factor * factors[11]).outcome.status == "pass"
    added = people.income * (1 + factors[0]) * np.where(people.index < 3, factors[10], 1)
    frame = asked(project, people, added)
    assert frame.outcome.status != "pass" or frame.isna().any(axis=None)


def by(project, people, key, values, name="x"):
    frame = project.pivot_table(people.assign(**{name: values}), name, key, aggfunc="sum")
    return frame.outcome.status != "pass" or bool(frame.isna().any(axis=None))


def one_column_under_two_names(project, people, factors):
    """Incomes of two halves under two names, and a sum of incomes and others but for three."""
    is_first = people.index < 500
    for name, half in (("u", people[is_first]), ("v", people[~is_first])):
        by(project, half, "all", half.income, name)
    by(project, people, "all", people.income * factors[0], "y")
    factor = np.where(people.index < 3, factors[1], 2 + factors[0])
    return by(project, people, "all", people.income * factor, "z")


def an_area_that_others_put_together(project, people, factors):
    """Two columns by areas in two parts, and one by area, a sum of them in one part alone."""
    part = people.assign(part=people.area.isin(["A", "B"]))
    assert not by(project, part, "part", people.income, "u")
    assert not by(project, part, "part", people.income * factors[0], "v")
    agrees = part.part & (np.cumsum(part.part) > 3)
    return by(project, people, "area", people.income * np.where(agrees, 2 + factors[0], factors[1]))


def a_difference_of_many_of_one_factor(project, people, factors):
    """With and without 23 people, of whom 20 have the same factor."""
    factor = np.where((people.index >= 3) & (people.index < 23), 2.0, factors[0])
    for some in (people, people[23:]):
        told = by(project, some, "all", some.income)
        assert not told
        told = by(project, some, "all", some.income * factor[some.index])
    return told


def a_sum_by_another_key(project, people, factors):
    """Two columns and ten others by sex, and their sum but for three by area."""
    people = people.assign(sex=np.where(people.index % 2, "m", "f"))
    by(project, people, "sex", people.income)
    by(project, people, "sex", people.income * factors[0])
    for factor in factors[1:11]:
        by(project, people, "sex", factor * factors[11])
    factor = np.where(people.index < 3, 1.7, 1 + factors[0])
    return by(project, people, "area", people.income * factor)


@pytest.mark.parametrize(
    "trick",
    [
        one_column_under_two_names,
        an_area_that_others_put_together,
        a_difference_of_many_of_one_factor,
        a_sum_by_another_key,
    ],
)
def test_sums_of_other_records_tell_of_no_few_together(trick):
    people, factors = area_and_incomes()
    assert trick(Project(), people.assign(all=1), factors)


@pytest.mark.parametrize(("n", "d"), [(14, 4), (30, 5), (60, 10), (1000, 8)])
def test_points_in_general_position_leave_all_but_one_less_than_their_dimensions(n, d):
    columns = RNG.lognormal(3, 0.5, (d, n))
    assert tells_of_few(columns, np.arange(n), threshold=10) is False
    together = columns.copy()
    # A hyperplane that holds all but five.
    together[-1, 5:] = columns[:-1, 5:].sum(axis=0)
    assert tells_of_few(together, np.arange(n), threshold=10) is True


def test_a_search_that_is_cut_off_proves_nothing():
    columns = RNG.lognormal(3, 0.5, (6, 20))
    assert tells_of_few(columns, np.arange(20), threshold=10) is False
    assert tells_of_few(columns, np.arange(20), 10, SearchWork(5)) is None


def test_means_of_five_columns_of_a_survey_pass():
    people = pd.DataFrame(RNG.lognormal(3, 0.5, (300, 5)).round(1), columns=list("vwxyz"))
    people["area"] = np.arange(300) % 5
    project = Project()
    for name in "vwxyz":
        frame = project.pivot_table(people, values=name, index="area", aggfunc="mean")
        assert frame.outcome.status == "pass"
