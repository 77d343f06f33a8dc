"""Adjustments under every kind of restriction, against all directions with scipy.

The program is written here once more from the definition: changes up and down of each cell,
relations, rooms and statistics; for each choice of directions the levels are bounds.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import tablecloak as tc
from hand_tables import one_row
from random_tables import random_problem


def best(
    problem: tc.ProtectionProblem, weights: np.ndarray, rows=(), *, limit: float | None = None,
    maximum: bool = False,
) -> float:  # fmt: skip
    """Least loss over all directions; infinite if there is no table."""
    _n, a = problem.table.n_cells, problem.table.values
    cells = np.flatnonzero(problem.sensitive)
    up, down = problem.upper_bound - a, a - problem.lower_bound
    ordinary = ~problem.sensitive
    up[ordinary] = np.minimum(up, problem.capacity_up)[ordinary]
    down[ordinary] = np.minimum(down, problem.capacity_down)[ordinary]
    up[problem.frozen] = down[problem.frozen] = 0
    if limit is not None:
        up[cells] = np.minimum(up, limit * problem.upper_protection)[cells]
        down[cells] = np.minimum(down, limit * problem.lower_protection)[cells]
    relations = problem.table.relations.toarray()
    found = np.inf
    for signs in itertools.product([1, -1], repeat=len(cells)):
        low, high = -down, up.copy()
        for cell, sign in zip(cells, signs, strict=True):
            level = (problem.upper_protection if sign > 0 else problem.lower_protection)[cell]
            if level <= 0:
                low[cell], high[cell] = 1, 0
            elif sign > 0:
                low[cell] = level
            else:
                high[cell] = -level
        if np.all(low <= high):
            found = min(found, _least(relations, rows, weights, low, high, maximum=maximum))
    return found


def _least(relations, rows, weights, low, high, *, maximum: bool) -> float:
    n = len(weights)
    extra = 1 if maximum else 0

    def both(matrix: np.ndarray) -> np.ndarray:
        return np.hstack([matrix, -matrix, np.zeros((len(matrix), extra))])

    cost = np.append(np.zeros(2 * n), 1.0) if maximum else np.tile(weights, 2)
    matrix, side = [], []
    for row in rows:
        for sign in (1, -1):
            matrix.append(both(sign * row.coefficients[None, :])[0])
            side.append(row.slack + sign * row.target)
    if maximum:
        for cell in range(n):
            line = np.zeros(2 * n + 1)
            line[[cell, n + cell]], line[-1] = weights[cell], -1
            matrix.append(line)
            side.append(0.0)
    bounds = [*zip(np.maximum(low, 0), np.maximum(high, 0), strict=True),
              *zip(np.maximum(-high, 0), np.maximum(-low, 0), strict=True)]  # fmt: skip
    answer = linprog(
        cost,
        A_ub=np.array(matrix) if matrix else None,
        b_ub=np.array(side) if side else None,
        A_eq=both(relations),
        b_eq=np.zeros(len(relations)),
        bounds=[*bounds, *[(0, None)] * extra],
    )
    return float(answer.fun) if answer.status == 0 else np.inf


def assert_optimal(problem: tc.ProtectionProblem, expected: float, **options) -> None:
    if np.isinf(expected):
        with pytest.raises(tc.ModelError):
            tc.adjust(problem, integer=False, **options)
        return
    adjusted = tc.adjust(problem, integer=False, **options)
    assert adjusted.loss == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert adjusted.bound <= expected * (1 + 1e-6) + 1e-9
    assert adjusted.is_optimal


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("limit", [1.0, 1.5, 3.0])
def test_limits_on_sensitive_cells(seed, limit):
    problem = random_problem(seed, (3, 3), 3)
    weights = tc.WeightRule.UNIT.of(problem)
    assert_optimal(problem, best(problem, weights, limit=limit), weights="unit",
                   sensitive_limit=limit)  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("percent", [5, 15, 40])
def test_capacities_in_per_cent(seed, percent):
    problem = random_problem(seed, (3, 3), 3).with_capacity(percent=percent)
    weights = tc.WeightRule.RELATIVE.of(problem)
    assert_optimal(problem, best(problem, weights))


@pytest.mark.parametrize("seed", range(2))
def test_frozen_margins(seed):
    problem = random_problem(seed, (3, 4), 3)
    totals = (problem.table.keys == "Total").any(axis=1).to_numpy()
    frozen = problem.with_changes(status=np.where(totals, "z", problem.status))
    weights = tc.WeightRule.UNIT.of(frozen)
    assert_optimal(frozen, best(frozen, weights), weights="unit")


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "name", ["mean:all", "mean:sensitive", "slope:all", "regression:sensitive"]
)
def test_statistics_without_and_with_a_tolerance(seed, name):
    problem = random_problem(seed, (3, 3), 4)
    kind, _, subset = name.partition(":")
    cost = tc.WeightRule.UNIT.of(problem)
    for tolerance in (0.0, 0.05):
        statistic = {"mean": tc.Mean, "slope": tc.Slope, "regression": tc.Regression}[kind](
            subset, tolerance
        )
        expected = best(problem, cost, statistic.rows(problem))
        assert_optimal(problem, expected, weights="unit", preserve=[statistic])


@pytest.mark.parametrize("seed", range(2))
def test_the_least_maximum_under_a_statistic(seed):
    problem = random_problem(seed, (3, 3), 3)
    weights = tc.WeightRule.RELATIVE.of(problem)
    statistic = tc.Mean("all")
    expected = best(problem, weights, statistic.rows(problem), maximum=True)
    assert_optimal(problem, expected, preserve=[statistic], distance="Linf")


@pytest.mark.parametrize("seed", range(2))
def test_cells_that_cost_nothing_move_for_nothing(seed):
    problem = random_problem(seed, (3, 3), 3)
    random = np.random.default_rng(seed)
    weights = np.where(random.random(problem.table.n_cells) < 0.3, 0.0, 1.0)
    assert_optimal(problem, best(problem, weights), weights=weights)


@pytest.mark.parametrize("seed", range(2))
def test_one_sided_levels(seed):
    problem = random_problem(seed, (3, 3), 4)
    random = np.random.default_rng(seed)
    side = random.random(problem.table.n_cells) < 0.5
    one = problem.with_changes(
        lower_protection=np.where(side, problem.lower_protection, 0.0),
        upper_protection=np.where(side & (random.random(len(side)) < 0.5), 0.0,
                                  problem.upper_protection),
    )  # fmt: skip
    weights = tc.WeightRule.UNIT.of(one)
    assert_optimal(one, best(one, weights), weights="unit")


@pytest.mark.parametrize("seed", range(2))
def test_whole_numbers_cost_no_less_than_real_ones_and_little_more_in_two_dimensions(seed):
    """With levels in whole numbers the relations of two dimensions give whole numbers freely."""
    problem = random_problem(seed, (3, 3), 3)
    weights = tc.WeightRule.UNIT.of(problem)
    whole = tc.adjust(problem, weights="unit", integer=True)
    assert whole.loss == pytest.approx(best(problem, weights), rel=1e-9)
    assert np.array_equal(whole.values, np.rint(whole.values))


def test_the_worked_row_by_hand_is_the_one_by_enumeration():
    problem = one_row([50, 60, 70], {"a": (3, 5), "c": (4, 4)})
    assert best(problem, np.ones(4)) == pytest.approx(3 + 4 + 1)
