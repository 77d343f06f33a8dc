"""Adjusted tables: what they keep, what they refuse, and what proves them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import ks_2samp

import tablecloak as tc
from hand_tables import problem_of
from random_tables import optimum_by_enumeration, random_problem


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rule", ["unit", "relative"])
def test_optimum_equals_enumeration_of_all_directions(seed, rule):
    problem = random_problem(seed)
    adjusted = tc.adjust(problem, weights=rule, integer=False)
    expected = optimum_by_enumeration(problem, tc.WeightRule(rule).of(problem))
    assert adjusted.loss == pytest.approx(expected, rel=1e-6)
    assert adjusted.is_optimal


@pytest.mark.parametrize("seed", range(2))
def test_whole_tables_stay_whole_and_add_up_without_any_error(seed):
    problem = random_problem(seed, (2, 3, 3), 4)
    adjusted = tc.adjust(problem, weights="unit", time_limit=10)
    assert adjusted.integer
    measured = adjusted.verify()
    assert measured.exact
    assert not (problem.table.relations @ adjusted.values).any()
    shifted = adjusted.changes[problem.sensitive]
    levels = (problem.lower_protection, problem.upper_protection)
    lower, upper = (level[problem.sensitive] for level in levels)
    assert np.all((shifted >= upper) | (shifted <= -lower))


def adjusted_ones(subset, statistics, seeds) -> Iterator[tc.Adjustment]:
    """Random tables that keep statistics of a subset, where some table does."""
    preserve = [statistic(subset) for statistic in statistics]
    for seed in seeds:
        problem = random_problem(seed, n_sensitive=4)
        with suppress(tc.ModelError, tc.SolverError):
            yield tc.adjust(problem, preserve=preserve, integer=False, time_limit=10)


@pytest.mark.parametrize("subset", ["sensitive", "all"])
def test_preserved_regression_means_slope_1_and_intercept_0(subset):
    every = list(adjusted_ones(subset, [tc.Regression], range(7)))
    assert len(every) >= 3
    for adjusted in every:
        assert_regression_is_kept(adjusted, subset)


def assert_regression_is_kept(adjusted, subset) -> None:
    problem = adjusted.problem
    found = adjusted.moments(subset)
    assert found.slope == pytest.approx(1, abs=1e-6)
    assert found.mean_shift == pytest.approx(0, abs=1e-5)
    # With L(z) = 0 the correlation is 1 / sqrt(1 + Var(z) / Var(a)).
    cells = problem.sensitive if subset == "sensitive" else np.ones(len(adjusted.values), bool)
    ratio = np.var(adjusted.changes[cells]) / np.var(problem.table.values[cells])
    assert found.correlation == pytest.approx(1 / np.sqrt(1 + ratio), abs=1e-6)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_moments_obey_their_identities(seed):
    adjusted = tc.adjust(random_problem(seed), time_limit=5)
    a, z = adjusted.problem.table.values, adjusted.changes
    slope_of_changes = np.cov(a, z, bias=True)[0, 1] / np.var(a)
    found = adjusted.moments("all")
    ratio = 1 + 2 * slope_of_changes + np.var(z) / np.var(a)
    assert found.slope == pytest.approx(1 + slope_of_changes)
    assert found.variance_ratio == pytest.approx(ratio)
    assert found.correlation == pytest.approx((1 + slope_of_changes) / np.sqrt(ratio))


@pytest.mark.parametrize("subset", ["sensitive", "all"])
def test_preserved_variance_stays_and_the_bound_still_holds(subset):
    every = list(adjusted_ones(subset, [tc.Mean, tc.Variance], range(4)))
    assert len(every) >= 2
    for adjusted in every:
        found = adjusted.moments(subset)
        assert found.variance_ratio == pytest.approx(1, abs=1.01e-4)
        assert found.mean_shift == pytest.approx(0, abs=1e-5)
        preserve = [tc.Mean(subset)]
        free = tc.adjust(adjusted.problem, preserve=preserve, integer=False, time_limit=10)
        assert adjusted.bound <= free.loss * (1 + 1e-9)


def test_a_start_is_found_exactly_where_some_directions_keep_the_statistics():
    started = [starts_as_some_directions_do(seed) for seed in range(8)]
    assert sum(started) >= 3


def starts_as_some_directions_do(seed: int) -> bool:
    """Whether any directions keep the statistics; the search then finds the best of them."""
    problem = random_problem(seed, n_sensitive=4)
    request = {"preserve": ["mean", "slope"], "integer": False, "sensitive_limit": 2}
    losses = []
    for signs in itertools.product((1, -1), repeat=problem.n_sensitive):
        try:
            losses.append(tc.adjust(problem, directions=signs, **request).loss)
        except tc.ModelError:
            continue
    if not losses:
        with pytest.raises(tc.ModelError):
            tc.adjust(problem, **request)
        return False
    assert tc.adjust(problem, **request).loss == pytest.approx(min(losses), rel=1e-5)
    return True


def test_preserved_variance_of_coxs_table():
    problem = tc.examples.cox()
    adjusted = tc.adjust(problem, preserve=["mean", "variance"], weights="unit")
    found = adjusted.moments()
    assert found.variance_ratio == pytest.approx(1, abs=1.01e-4)
    assert found.slope < 1 < found.slope / found.correlation**2
    plain = tc.adjust(problem, weights="unit").moments()
    assert abs(plain.variance_ratio - 1) > 0.2
    with pytest.raises(tc.InputError, match="whole numbers"):
        tc.adjust(problem, preserve=["variance"], integer=True)


def test_distance_of_distributions_is_that_of_kolmogorov_and_smirnov():
    adjusted = tc.adjust(tc.examples.cox(), weights="unit")
    a, x = adjusted.problem.table.values, adjusted.values
    sensitive = adjusted.problem.sensitive
    expected = ks_2samp(a[sensitive], x[sensitive], method="asymp").statistic
    assert adjusted.moments().distribution_distance == pytest.approx(expected)


def test_mean_of_every_row_stays():
    problem = random_problem(3, (3, 4), 3)
    adjusted = tc.adjust(problem, preserve=["mean:each d0"], integer=False)
    for code in problem.table.keys.d0.unique():
        row = (problem.table.keys.d0 == code).to_numpy()
        assert adjusted.changes[row].sum() == pytest.approx(0, abs=1e-6)
    assert len(tc.each(problem, "d0", tc.Mean, within="sensitive")) == len(
        set(problem.table.keys.d0[problem.sensitive])
    )
    with pytest.raises(tc.InputError, match="`dimension` is 'd2'"):
        tc.adjust(problem, preserve=["mean:each d2"])


@pytest.mark.parametrize("seed", range(2))
def test_covariance_of_two_variables_stays_when_both_are_adjusted(seed):
    one = random_problem(seed, (4, 4), 3)
    other = random_problem(seed + 50, (4, 4), 3)
    x, v = tc.adjust_together([one, other], preserve=["slope:all"], integer=False)
    a, b = one.table.values, other.table.values
    assert np.abs(v.changes).sum() > 0
    assert np.abs(x.changes).sum() > 0
    before, after = np.cov(a, b)[0, 1], np.cov(x.values, v.values)[0, 1]
    assert after == pytest.approx(before, rel=1e-7)
    shorter = random_problem(1, (3, 4), 2)
    with pytest.raises(tc.InputError, match="Table 2 does not have the cells"):
        tc.adjust_together([one, shorter])


def test_mean_over_one_region_stays():
    problem = random_problem(3)
    subset = {"d0": "01"}
    adjusted = tc.adjust(problem, preserve=[tc.Mean(subset)], integer=False)
    assert adjusted.moments(subset).mean_shift == pytest.approx(0, abs=1e-6)


def test_capacities_and_the_limit_on_sensitive_changes_are_kept():
    problem = random_problem(1).with_changes(capacity_up=60.0, capacity_down=50.0)
    adjusted = tc.adjust(problem, sensitive_limit=2, integer=False)
    safe = ~problem.sensitive
    assert adjusted.changes[safe].max() <= 60 + 1e-6
    assert adjusted.changes[safe].min() >= -50 - 1e-6
    level = np.maximum(problem.lower_protection, problem.upper_protection)
    assert np.all(np.abs(adjusted.changes)[~safe] <= 2 * level[~safe] + 1e-6)


def test_frozen_cells_and_fixed_directions_are_kept():
    problem = random_problem(2)
    status = problem.status.copy()
    status[0] = "z"
    problem = problem.with_changes(status=status)
    adjusted = tc.adjust(problem)
    assert adjusted.changes[0] == 0
    up = tc.adjust(random_problem(2), directions="up")
    assert np.all(up.changes[problem.sensitive] >= problem.upper_protection[problem.sensitive])


def test_impossible_capacities_are_an_error_that_names_cells():
    problem = random_problem(0).with_changes(capacity_up=1.0, capacity_down=1.0)
    with pytest.raises(tc.ModelError, match="No choice of directions satisfies all levels"):
        tc.adjust(problem)
    with pytest.raises(tc.ModelError, match="The conflict involves") as caught:
        tc.adjust(problem, directions="up")
    assert set(caught.value.cells) <= set(np.flatnonzero(problem.sensitive))


def test_an_adjustment_with_one_altered_number_is_refused():
    adjusted = tc.adjust(random_problem(0))
    for cell in (0, int(np.flatnonzero(adjusted.problem.sensitive)[0])):
        values = adjusted.values.copy()
        values[cell] += 1
        with pytest.raises(tc.VerificationError):
            replace(adjusted, values=values).verify()
    with pytest.raises(tc.VerificationError, match="is claimed, but only"):
        replace(adjusted, bound=adjusted.bound * 1.01).verify()


def test_truth_itself_is_refused_as_too_near_to_the_truth():
    adjusted = tc.adjust(random_problem(0))
    with pytest.raises(tc.VerificationError, match="too near to their true values"):
        replace(adjusted, values=adjusted.problem.table.values).verify()


def test_release_holds_adjusted_values_only():
    adjusted = tc.adjust(random_problem(4))
    released = adjusted.release()
    assert list(released.columns) == ["d0", "d1", "v"]
    assert np.array_equal(released["v"], adjusted.values)


@pytest.mark.parametrize("name", ["table1", "table6"])
def test_plain_solver_on_raw_units_is_wrong_where_we_prove_the_optimum(instances, name):
    """The all-up program with weights 1/|a|: costs of 1e-9 pass every tolerance unseen."""
    problem = tc.read_jj(instances / f"castro-cta-jj/{name}.jj.gz")
    values, n = problem.table.values, problem.table.n_cells
    cost = np.tile(tc.WeightRule.RELATIVE.of(problem), 2)
    up = np.where(problem.frozen, 0, problem.upper_bound - values)
    down = np.where(problem.frozen | problem.sensitive, 0, values - problem.lower_bound)
    at_least = np.concatenate(
        [np.where(problem.sensitive, problem.upper_protection, 0), np.zeros(n)]
    )
    relations = problem.table.relations
    from scipy.sparse import hstack

    plain = linprog(
        cost,
        A_eq=hstack([relations, -relations]),
        b_eq=np.zeros(problem.table.n_relations),
        bounds=np.column_stack([at_least, np.concatenate([up, down])]),
        method="highs",
    )
    adjusted = tc.adjust(problem, directions="up", integer=False)
    assert adjusted.proved_bound() == pytest.approx(9.000572, abs=1e-6)
    assert adjusted.loss == pytest.approx(9.000572, abs=1e-6)
    assert plain.status == 0
    assert plain.fun > 1.01 * adjusted.loss


@pytest.mark.slow
def test_search_beats_what_a_solver_called_optimal_in_raw_units(instances):
    """On raw units HiGHS ends table6 with 17.2392 / 2, "gap 0"; better tables exist."""

    def stop(stage: str, loss: float, bound: float, open_: int) -> None:
        # By what is proved and not by the clock: it takes longer on a busy machine.
        if loss < 17.2392 / 2 and bound > 0.95 * loss:
            raise KeyboardInterrupt

    adjusted = tc.adjust(
        tc.read_jj(instances / "castro-cta-jj/table6.jj.gz"),
        integer=False, time_limit=30, progress=stop,
    )  # fmt: skip
    adjusted.verify()
    assert adjusted.loss < 17.2392 / 2
    assert 8.0 < adjusted.proved_bound() <= adjusted.loss
    assert adjusted.gap < 0.05


def test_a_limit_on_sensitive_cells_holds_for_levels_as_given_where_values_get_more_digits():
    # b may move by 0.175, which is no multiple of its last digit; and 7 c + 3 d cannot be kept by
    # whole changes of which d has to move by 1 exactly.
    problem = problem_of(
        ["b", "c", "d"],
        [41000.0, -1508.0, 21601.0],
        [[0, -7, -3]],
        {"b": (0.1167, 0.0), "d": (1.0, 0.0)},
        bounds=(-1e5, 1e5),
        sides=[-54247.0],
    )
    found = tc.adjust(problem, sensitive_limit=1.5, time_limit=10)
    found.verify()
    assert found.decimals is None
    assert -found.changes[0] * (1 + 1e-9) >= 0.1167
    assert -found.changes[0] <= 1.5 * 0.1167 + 1e-9


def test_a_slope_holds_to_more_than_half_a_digit_where_values_get_more_digits():
    # In whole numbers a slope is kept to half a unit; here no table of whole numbers is found.
    problem = problem_of(
        list("abcdefgh"),
        [-36.0, 1.0, 1.0, 1.0, -38.0, -2.0, 15.0, -51.0],
        [
            [0, 0, -1, 1, 0, 0, 0, 0],
            [0, 0, 0, 0, -1, 1, 1, 1],
            [-1, 1, 1, 0, 1, 0, 0, 0],
        ],
        {"b": (1, 13), "c": (1, 0), "e": (4, 0.687), "g": (3, 1)},
        bounds=(-200, 200),
    )
    values = problem.table.values
    problem = problem.with_changes(
        lower_bound=np.minimum(0, 2 * values), upper_bound=np.maximum(0, 2 * values)
    )
    found = tc.adjust(problem, preserve=[tc.Regression("all")], time_limit=10)
    found.verify()
    centred = values - values.mean()
    slack = 0.0 if found.decimals is None else 0.5 * np.abs(centred).max()
    assert abs(centred @ found.changes) <= slack + 1e-9
