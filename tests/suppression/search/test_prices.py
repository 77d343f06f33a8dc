"""Openings by prices meet needs by true deviations, and leave heavy cells published."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from margins import with_margins
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.search import prices
from tablecloak.suppression.search.prices import opened_by_prices
from tablecloak.suppression.search.state import SearchState


def opened(problem: tc.ProtectionProblem, seed: int = 0) -> tuple[SearchState, Candidate]:
    state = SearchState.of(problem, tc.Requirement.TWO_SIDED, "opening")
    weights = problem.weights[state.system.cells]
    begun = Candidate(state.must, WitnessPool(state.system), weights)
    return state, opened_by_prices(begun, np.random.default_rng(seed), Budget.of())


def test_every_need_that_can_be_met_is_met_by_exact_deviations_of_hidden_cells():
    met = 0
    for seed in range(6):
        problem = random_problem(seed)
        state, found = opened(problem, seed)
        system = state.system
        for cells, moves in found.pool.rows.values():
            assert found.hidden[cells].all()
            deviation = np.zeros(system.n_unknown)
            deviation[cells] = moves
            assert np.allclose(system.matrix @ deviation, 0, atol=1e-9)
            slack = system.slack[cells]
            assert (moves <= system.high[cells] + slack).all()
            assert (moves >= system.low[cells] - slack).all()
        needs = system.needs
        proved = ~found.pool.open
        assert (found.pool.above[proved] >= needs.upper[proved] * (1 - 1e-9)).all()
        assert (found.pool.below[proved] >= needs.lower[proved] * (1 - 1e-9)).all()
        met += int(proved.sum())
        assert proved.all(), f"seed {seed}"
    assert met > 15


def test_a_pattern_by_prices_loses_no_less_than_the_optimum():
    for seed in range(6):
        problem = random_problem(seed)
        _, found = opened(problem, seed)
        assert found.is_proved
        assert found.loss >= tc.suppress(problem, time_limit=20).bound * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_a_heavy_cell_is_hidden_only_where_nothing_else_protects(seed):
    # A box over the light columns protects the cell; the third column is a million times as heavy.
    grid = pd.DataFrame(
        list(itertools.product("abc", "xyz")), columns=["row", "column"]
    ).assign(v=[10.0, 11.0, 9e6, 12.0, 10.0, 8e6, 19.0, 13.0, 7e6])  # fmt: skip
    table = with_margins(grid, ["row", "column"], "v")
    first = (table.keys["row"] == "a") & (table.keys["column"] == "x")
    level = np.where(first, 2.0, 0.0)
    n = table.n_cells
    problem = tc.ProtectionProblem(
        table, np.where(first, "u", "s"), level, level, np.zeros(n), np.zeros(n),
        np.full(n, 1e8), table.values,
    )  # fmt: skip
    _, found = opened(problem, seed)
    assert found.is_proved
    assert found.loss == 10 + 11 + 12 + 10


def test_time_that_is_over_leaves_needs_open_and_nothing_hidden():
    problem = random_problem(1)
    state = SearchState.of(problem, tc.Requirement.TWO_SIDED, "opening")
    weights = problem.weights[state.system.cells]
    begun = Candidate(state.must, WitnessPool(state.system), weights)
    found = opened_by_prices(begun, np.random.default_rng(0), Budget.of(0.0))
    assert np.array_equal(found.hidden, state.must)
    assert found.pool.open.all()


def many_needs(seed: int) -> tuple[SearchState, Candidate]:
    """A table in which far more needs are open than one group has."""
    problem = random_problem(seed, shape=(9, 8, 4), n_sensitive=160)
    state = SearchState.of(problem, tc.Requirement.TWO_SIDED, "opening")
    weights = problem.weights[state.system.cells]
    return state, Candidate(state.must, WitnessPool(state.system), weights)


@pytest.mark.parametrize("at_any_price", [False, True])
def test_many_needs_are_met_in_parts_of_a_table_as_in_the_whole(monkeypatch, at_any_price):
    monkeypatch.setattr(prices, "PART_CELLS", 60)
    monkeypatch.setattr(prices, "LEAST_PART", 20)
    began = 0
    for seed in range(3):
        state, begun = many_needs(seed)
        began += int(begun.pool.open.sum())
        found = opened_by_prices(
            begun, np.random.default_rng(seed), Budget.of(60.0), at_any_price=at_any_price
        )
        met = ~found.pool.open
        assert met.mean() > 0.9
        for cells, moves in found.pool.rows.values():
            deviation = np.zeros(state.system.n_unknown)
            deviation[cells] = moves
            assert np.allclose(state.system.matrix @ deviation, 0, atol=1e-9)
            assert found.hidden[cells].all()
    assert began > 200
