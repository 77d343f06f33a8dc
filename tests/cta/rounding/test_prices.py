"""Multipliers by a first-order method."""

from __future__ import annotations

import numpy as np
import pytest

from cubes import cube
from tablecloak.budget import Budget
from tablecloak.cta.rounding.prices import driven, priced
from tablecloak.cta.rounding.steps import RoundingModel
from tablecloak.cta.rounding.task import RoundingTask
from tablecloak.solve.bounds import dual_bound
from tablecloak.solve.linear import LinearSolver
from tight_forms import ENOUGH


def program_of(seed, steps=1):
    problem = cube((4, 3, 3), seed)
    return RoundingModel(
        RoundingTask(problem, 5, steps, np.ones(problem.table.n_cells)), steps
    ).program


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("seed", range(2))
def test_prices_come_near_the_optimum_of_the_relaxation_and_never_above_it(seed, steps):
    program = program_of(seed, steps)
    prices = priced(program, Budget.of(ENOUGH))
    best = LinearSolver(program).solve(ENOUGH).bound
    assert best - 1e-2 <= prices.bound <= best + 1e-9
    assert dual_bound(program, prices.duals) == pytest.approx(prices.bound)


def test_prices_of_a_budget_that_is_over_still_prove_something():
    program = program_of(1)
    prices = priced(program, Budget.of(0))
    assert np.all((prices.x >= program.lower) & (prices.x <= program.upper))
    assert dual_bound(program, prices.duals) >= np.minimum(program.cost, 0).sum()


@pytest.mark.parametrize("seed", range(2))
def test_a_driven_point_is_nearer_to_whole_numbers_and_costs_little_more(seed):
    problem = cube((6, 5, 4), seed)
    model = RoundingModel(RoundingTask(problem, 5, 1, np.ones(problem.table.n_cells)), 1)
    program = model.program
    prices = priced(program, Budget.of(ENOUGH))
    x = driven(program, prices, model.up_cost, Budget.of(ENOUGH))
    rows = [np.abs(program.matrix @ np.rint(p) - program.row_lower).sum() for p in (prices.x, x)]
    off = [np.abs(p - np.rint(p)).mean() for p in (prices.x, x)]
    assert off[1] < 0.3 * off[0]
    assert rows[1] < rows[0]
    assert model.loss(program.cost @ x) < 1.2 * model.loss(prices.bound)


def test_a_point_is_not_driven_anywhere_once_the_search_is_stopped():
    program, budget = program_of(2), Budget.of(ENOUGH)
    prices = priced(program, budget)
    budget.stop()
    assert np.array_equal(driven(program, prices, np.ones(program.n_columns), budget), prices.x)
