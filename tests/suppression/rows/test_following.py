"""Cells that follow from others: rows that hold for the best pattern, and what they prove."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.suppression.rows import following
from tablecloak.suppression.rows.bridges import BridgeRow
from tablecloak.suppression.rows.following import FollowingFinder, is_spacious
from tablecloak.suppression.rows.master import Master, side
from tablecloak.suppression.search import schedule
from tablecloak.suppression.search.exploration import Exploration
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.system.requirement import Requirement

SHAPES = [(3, 3), (2, 2, 2), (4, 3)]


@pytest.fixture(autouse=True)
def without_null_spaces(monkeypatch):
    """Leave out the heuristic, which tables of twenty cells do not need; let few needs count."""
    phases = schedule.Phase(schedule.try_strategies), schedule.Phase(schedule.PROVE)
    monkeypatch.setattr(schedule, "EXACT_SMALL", phases)
    monkeypatch.setattr(following, "FEW_NEEDS", 0)


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


@pytest.mark.parametrize("seed", range(4))
def test_a_lighter_row_still_follows_from_relations_and_has_no_heavier_cells(seed):
    problem = spacious(seed)
    system = SearchState.of(problem, Requirement.TWO_SIDED, "x").system
    random = np.random.default_rng(seed)
    share = random.random(system.n_unknown)
    basis = following._Followed.of(system.matrix, np.argsort(share))
    before = following._Sums.of(basis, basis.followed, system.matrix)
    after = before.lightened(system.matrix, share)
    assert np.all(after.others @ share <= before.others @ share + 1e-9)
    total = (after.multipliers @ system.matrix).toarray()
    assert np.allclose(total[np.arange(len(total)), after.cells], 1.0)
    total[np.arange(len(total)), after.cells] = 0.0
    assert np.allclose(total, after.coefficients.toarray())


def test_free_cells_are_those_that_are_hidden_least_as_far_as_relations_allow():
    system = SearchState.of(spacious(0), Requirement.TWO_SIDED, "x").system
    basis = following._Followed.of(system.matrix, np.arange(system.n_unknown))
    rank = np.linalg.matrix_rank(system.matrix.toarray())
    assert len(basis.free) == system.n_unknown - rank
    assert sorted([*basis.free, *basis.followed]) == list(range(system.n_unknown))
    assert basis.free[0] == 0


def test_many_bridge_rows_laid_at_once_are_those_laid_one_by_one():
    problem = weighed(0)
    state = SearchState.of(problem, Requirement.TWO_SIDED, "x")
    master = Master(problem, Requirement.TWO_SIDED)
    finder = FollowingFinder(state.system, master.fixed[state.system.cells], seed=0)
    share = np.where(finder.fixed, 1.0, 0.2)
    proofs = [*finder.in_relations(), *finder.rows(share)]
    proofs = [proof for proof in proofs if isinstance(proof, BridgeRow)]
    inside = int(master.free[0])
    proofs.append(BridgeRow(inside, np.array([0, 0]), np.array([1.0, -1.0])))
    together = master.bridge_rows(proofs).toarray()
    alone = np.vstack([master.row(master.needs, proof).toarray() for proof in proofs])
    assert np.array_equal(together, alone)
    assert not together[-1].any()
    for row, proof in zip(together[:-1], proofs, strict=False):
        assert row[master.position[proof.cell]] == -1
        assert set(row) <= {-1.0, 0.0, 1.0}


def test_attacks_break_rows_that_no_basis_breaks():
    problem = spacious(2)
    state = schedule.try_strategies(
        SearchState.of(problem, Requirement.TWO_SIDED, "x"), Budget.of(5.0)
    )
    separator = Exploration.of(problem, Requirement.TWO_SIDED, state.best, Budget.of(5.0)).separator
    y = np.full(len(separator.master.free), 0.5)
    separator.follow(y)
    separator.following.rows = lambda share: []
    lonely = np.zeros(len(y))
    lonely[0] = 1.0
    assert separator._from_pool(lonely) is not None
    separator.pool, separator.pooled = [], separator.pooled[:0]
    separator.pooled_sides = np.zeros(0)
    separator.following.in_relations = lambda: []
    assert separator.follow(lonely) is None
    found = separator.follow(lonely, is_attacked=True)
    assert found is not None and np.all(found[0] @ lonely < found[1])


def test_only_tables_of_many_cells_are_left_to_such_rows(monkeypatch):
    state = SearchState.of(spacious(0), Requirement.TWO_SIDED, "x")
    assert 0 < state.n_free < schedule.PREPARED_CELLS
    assert not schedule.is_left_to_relations(state, Budget.of())
    monkeypatch.setattr(schedule, "PREPARED_CELLS", state.n_free)
    assert schedule.is_left_to_relations(state, Budget.of())
    assert not schedule.is_left_to_relations(state, Budget.of(0.0))


def test_few_needs_are_left_to_programs_however_large_the_rooms(monkeypatch):
    system = SearchState.of(spacious(0), Requirement.TWO_SIDED, "exact").system
    monkeypatch.setattr(following, "FEW_NEEDS", len(system.needs.cells) - 1)
    assert is_spacious(system)
    monkeypatch.setattr(following, "FEW_NEEDS", len(system.needs.cells))
    assert not is_spacious(system)
