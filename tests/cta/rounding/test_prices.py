"""Multipliers by a first-order method."""

from __future__ import annotations

import numpy as np
import pytest

from cubes import cube
from tablecloak.budget import Budget
from tablecloak.cta.rounding.model import RoundingModel
from tablecloak.cta.rounding.prices import priced
from tablecloak.solve.bounds import dual_bound
from tablecloak.solve.linear import LinearSolver
from tight_forms import ENOUGH


def program_of(seed, steps=1):
    problem = cube((4, 3, 3), seed)
    return RoundingModel(problem, 5, steps, np.ones(problem.table.n_cells)).program


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("seed", range(4))
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
