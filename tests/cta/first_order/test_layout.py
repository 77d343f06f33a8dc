"""Prices of relations: whatever they are, they are lowered until they prove a bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
from random_tables import random_problem
from tablecloak.cta.first_order.layout import FirstOrderLayout
from tablecloak.cta.first_order.primal_dual import PrimalDual
from tablecloak.cta.search.task import AdjustmentTask


def layout_of(problem: tc.ProtectionProblem) -> FirstOrderLayout:
    task = AdjustmentTask.of(
        problem, weights="relative", distance="L1", preserve=(), sensitive_limit=None,
        directions="up", integer=None,
    )  # fmt: skip
    return FirstOrderLayout.of(
        replace(task.space().model, selected=np.arange(problem.table.n_relations))
    )


@pytest.mark.parametrize("seed", range(3))
def test_any_prices_once_lowered_prove_at_most_the_optimum_and_no_group_gains(seed):
    problem = random_problem(seed, (4, 5), 4)
    layout, random = layout_of(problem), np.random.default_rng(seed)
    is_up = np.ones(len(layout.model.sensitive), dtype=bool)
    prices = layout.affordable(random.normal(0, 3, len(layout.rows)), is_up)
    paid, cost = layout.transposed @ prices, layout.model.cost
    others = np.delete(np.arange(len(cost)), layout.model.sensitive)
    assert np.all(np.abs(paid[others]) <= cost[others] * (1 + 1e-12))
    optimum = tc.adjust(problem, directions="up", integer=False, time_limit=1000).loss
    assert layout.bound(prices, is_up) <= optimum * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_steps_with_given_directions_converge_to_the_optimum_of_the_simplex_method(seed):
    problem = random_problem(seed, (4, 5), 4)
    layout = layout_of(problem)
    is_up = np.ones(len(layout.model.sensitive), dtype=bool)
    method = PrimalDual(layout)
    for _ in range(3000):
        method.step(1.0, lambda above, below: is_up)
    optimum = tc.adjust(problem, directions="up", integer=False, time_limit=1000).loss
    assert np.dot(layout.model.cost, np.abs(method.changes)) == pytest.approx(optimum, rel=1e-3)
    assert np.abs(layout.matrix @ method.changes).max() <= 1e-2
    prices = layout.affordable(method.multipliers, is_up)
    assert layout.bound(prices, is_up) == pytest.approx(optimum, rel=1e-3)
