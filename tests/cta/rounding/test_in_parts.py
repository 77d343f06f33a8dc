"""Rounding slab by slab."""

from __future__ import annotations

import numpy as np
import pytest

from cubes import NESTED, cube
from tablecloak.budget import Budget
from tablecloak.cta.rounding.in_parts import SlabSearch, StepCosts, rounded_in_parts
from tablecloak.cta.rounding.slabs import Slabs
from tight_forms import ENOUGH


def prepared(trees, seed, *, base=5, steps=3, zeros=0.0, frozen=None):
    problem = cube(trees, seed, zeros=zeros)
    if frozen is not None:
        status = np.where(frozen(problem.table), "z", "s")
        problem = problem.with_changes(status=status)
    costs = StepCosts.of(problem, base, steps, np.ones(problem.table.n_cells))
    start = np.rint(problem.table.values / base).astype(np.int64)
    return problem, Slabs.of(problem.table), costs, start


def test_steps_cost_their_distance_and_an_exception_more_than_any_of_them():
    problem, _, costs, _ = prepared((3, 3, 3), 1)
    cells = np.arange(problem.table.n_cells)
    assert np.allclose(costs(cells, costs.low), np.abs(costs.low - problem.table.values / 5))
    dear = costs(cells, costs.high + 1) - costs(cells, costs.high)
    assert np.all(dear > 20)
    second = np.diff([costs(cells, costs.low + k) for k in range(-4, 6)], n=2, axis=0)
    assert np.all(second >= -1e-9)


@pytest.mark.parametrize("trees", [(3, 4, 3), NESTED, (2, 3, 2, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_a_rounding_adds_up_and_is_never_worse_than_its_start(trees, seed):
    problem, slabs, costs, start = prepared(trees, seed, zeros=0.2)
    search = SlabSearch(slabs, costs, start)
    cells, before = np.arange(len(start)), search.cost
    search.improve(Budget.of(ENOUGH), np.random.default_rng(seed))
    assert not np.any(problem.table.relations @ search.t)
    assert search.cost <= before
    assert search.cost == pytest.approx(costs(cells, search.t).sum())
    assert np.all(search.t >= 0)


def test_a_search_that_is_stopped_at_once_has_an_additive_table():
    problem, slabs, costs, start = prepared((4, 4, 4), 2)
    budget = Budget.of(ENOUGH)
    budget.stop()
    search = SlabSearch(slabs, costs, start)
    search.improve(budget, np.random.default_rng(0))
    assert not np.any(problem.table.relations @ search.t)


def test_frozen_cells_that_are_multiples_stay():
    problem, slabs, costs, start = prepared(
        (4, 3, 3), 1, frozen=lambda table: table.values % 5 == 0
    )
    t = rounded_in_parts(slabs, costs, start, Budget.of(ENOUGH))
    frozen = problem.frozen
    assert frozen.any()
    assert np.array_equal(5 * t[frozen], problem.table.values[frozen])


def test_what_limits_forbid_is_not_called_a_rounding():
    _, slabs, costs, start = prepared((3, 3, 3), 1, steps=1)
    budget = Budget.of(ENOUGH)
    budget.stop()
    assert rounded_in_parts(slabs, costs, start + 9, budget) is None
