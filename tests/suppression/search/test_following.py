"""Cells that follow from others: rows that hold for the best pattern, and what they prove."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.suppression.requirement import Requirement
from tablecloak.suppression.search import schedule
from tablecloak.suppression.search.bridges import BridgeRow
from tablecloak.suppression.search.following import FollowingFinder, is_spacious
from tablecloak.suppression.search.master import Master, side
from tablecloak.suppression.search.state import SearchState

SHAPES = [(3, 3), (2, 2, 2), (4, 3)]


@pytest.fixture(autouse=True)
def without_null_spaces(monkeypatch):
    """Leave the heuristic out that tables of twenty cells do not need."""
    phases = schedule.Phase(schedule.try_strategies), schedule.Phase(schedule.PROVE)
    monkeypatch.setattr(schedule, "EXACT_SMALL", phases)


def weighed(seed: int) -> tc.ProtectionProblem:
    problem = random_problem(seed, SHAPES[seed % len(SHAPES)])
    return problem.with_changes(weights=problem.table.values)


def spacious(seed: int) -> tc.ProtectionProblem:
    """A random table whose cells may take next to any value."""
    problem = weighed(seed)
    far = 100 * problem.table.values.max() + 100
    values = problem.table.values
    return problem.with_changes(lower_bound=values - far, upper_bound=values + far)


@pytest.mark.parametrize("seed", range(6))
def test_rows_hold_for_an_optimal_pattern(seed):
    require = [Requirement.TWO_SIDED, Requirement.WIDTH][seed % 2]
    problem = [weighed, spacious][seed // 3](seed)
    best = tc.suppress(problem, method="exact", require=require)
    assert best.is_optimal
    state, master = SearchState.of(problem, require, "exact"), Master(problem, require)
    finder = FollowingFinder(state.system, master.fixed[state.system.cells], seed=seed)
    random = np.random.default_rng(seed)
    proofs = finder.in_relations()
    for _ in range(5):
        share = np.where(finder.fixed, 1.0, random.random(len(finder.fixed)) ** 3)
        proofs += finder.rows(share)
    hidden = best.suppressed[master.free].astype(float)
    assert any(isinstance(proof, BridgeRow) for proof in proofs)
    for proof in proofs:
        row = master.row(master.needs, proof)
        assert (row @ hidden)[0] >= side(row.nnz, proof) - 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_rows_are_broken_by_the_pattern_that_they_were_sought_for(seed):
    problem = spacious(seed)
    state = SearchState.of(problem, Requirement.TWO_SIDED, "x")
    master = Master(problem, Requirement.TWO_SIDED)
    finder = FollowingFinder(state.system, master.fixed[state.system.cells], seed=0)
    share = np.where(finder.fixed, 1.0, 0.0)
    everywhere = np.zeros(problem.table.n_cells)
    everywhere[state.system.cells] = share
    rows = [(master.row(master.needs, proof), proof) for proof in finder.rows(share)]
    assert rows or not problem.sensitive.any()
    for row, proof in rows:
        assert (row @ everywhere[master.free])[0] < side(row.nnz, proof)


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_of_these_rows_is_below_the_optimum_and_its_certificate_holds(monkeypatch, seed):
    problem = spacious(seed)
    optimum = tc.suppress(problem, method="exact")
    assert optimum.is_optimal
    monkeypatch.setattr(schedule, "EXACT_SMALL", only_following())
    bounded = tc.suppress(problem, method="exact")
    assert problem.weights[problem.sensitive].sum() < bounded.bound <= optimum.loss
    assert bounded.proved_bound() == bounded.bound
    bounded.verify()


def only_following():
    phase = schedule.Phase
    return (
        phase(schedule.try_strategies),
        phase(schedule.group(phase(schedule.follow_at_root))),
    )


def test_rooms_count_as_large_where_nearly_all_reach_the_largest_need():
    problem = spacious(0)
    system = SearchState.of(problem, Requirement.TWO_SIDED, "x").system
    assert is_spacious(system)
    assert not is_spacious(replace(system, high=np.minimum(system.high, 1e-3 * system.unit)))


def test_a_search_whose_time_is_over_still_ends_in_order():
    problem = spacious(1)
    state = SearchState.of(problem, Requirement.TWO_SIDED, "x")
    state = schedule.try_strategies(state, Budget.of(5.0))
    after = schedule.follow_at_root(state, Budget.of(0.0))
    assert after.bound_certificate is not None
