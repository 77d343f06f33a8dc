"""What needs lose with a class, and how many classes a deletion publishes at once."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as dense

from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.suppression.search.nullspace import deletion as module
from tablecloak.suppression.search.nullspace.deletion import LEAST_BLOCK, Blocks, Strain
from tablecloak.suppression.search.nullspace.search import NullSpaceSearch, null_vectors
from tablecloak.suppression.search.nullspace.space import Capacity, Space, space_of
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.system.requirement import Requirement


def search_of(seed: int) -> tuple[SearchState, NullSpaceSearch]:
    state = SearchState.of(random_problem(seed, (4, 4, 3)), Requirement.TWO_SIDED, "test")
    cells = state.system.cells
    weights, size = state.problem.weights[cells], np.abs(state.problem.table.values[cells])
    search = NullSpaceSearch.of(state.system, weights, state.must, size, 0)
    assert search is not None
    return state, search


def whole_space(seed: int) -> Space:
    state, search = search_of(seed)
    everything = np.ones(state.system.n_unknown, dtype=bool)
    vectors = null_vectors(search.basis, everything)
    random = np.random.default_rng(1)
    return space_of(state.system, search.weights, state.must, everything, vectors, random)


@pytest.mark.parametrize("seed", range(2))
def test_strain_is_the_capacity_that_a_need_loses_with_a_class(seed):
    space = whole_space(seed)
    strain = Strain.of(space)
    assert strain is not None
    weighted = Capacity(space).weighted
    metric = weighted.T @ weighted
    for at, need in enumerate(space.needed.tolist()):
        row = space.rows[need]
        before = row @ np.linalg.solve(metric, row)
        for each in range(0, len(space.rows), 5):
            # All points of the null space that do not move this class.
            left = dense.null_space(space.rows[[each]])
            fewer = row @ left
            after = fewer @ np.linalg.solve(left.T @ metric @ left, fewer)
            assert strain.shares[at, each] == pytest.approx(1 - after / before, abs=1e-6)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_no_need_loses_more_with_a_block_than_its_share_and_heavier_classes_come_first(share):
    space = whole_space(1)
    strain = Strain.of(space)
    assert strain is not None
    order = np.argsort(-space.weight)
    block = strain.block(order, share, most=len(order))
    used = strain.shares[:, block].sum(axis=1)
    assert np.all(used <= share * strain.spare * (1 + 1e-12))
    # Whatever was left out would have taken too much when its turn came.
    for place, each in enumerate(order.tolist()):
        if each not in block:
            earlier = [other for other in order[:place].tolist() if other in block]
            taken = strain.shares[:, [*earlier, each]].sum(axis=1)
            assert np.any(taken > share * strain.spare)
    assert len(strain.block(order, 1.0, most=2)) <= 2


def test_a_class_that_no_need_could_do_without_is_never_in_a_block():
    space = whole_space(2)
    strain = Strain.of(space)
    assert strain is not None
    block = strain.block(np.arange(len(space.rows)), 1.0, most=len(space.rows))
    assert not set(block.tolist()) & set(space.needed.tolist())


def test_blocks_are_careful_after_a_refusal_at_a_high_rank_only(monkeypatch):
    monkeypatch.setattr(module, "EACH_RANK", 2)
    space = whole_space(3)
    order = np.argsort(-space.weight)
    strain = Strain.of(space)
    assert strain is not None
    for threshold, is_careful in ((2, True), (10_000, False)):
        monkeypatch.setattr(module, "CAREFUL_RANK", threshold)
        blocks = Blocks(space.rank)
        first = blocks.next(space, order)
        assert first.tolist() == order[: len(first)].tolist()
        assert len(first) >= min(LEAST_BLOCK, space.rank - 1)
        blocks.refuse(len(first), space.rank)
        second = blocks.next(space, order)
        if is_careful:
            careful = strain.block(order, module.FIRST_SHARE, most=len(order))
            expected = careful if len(careful) > 1 else order[:1]
            assert second.tolist() == expected[: len(second)].tolist()
        else:
            assert second.tolist() == order[: len(first) // 3].tolist()


@pytest.mark.parametrize("seed", range(2))
def test_careful_deletion_leaves_a_pattern_in_which_all_needs_hold(seed, monkeypatch):
    monkeypatch.setattr(module, "EACH_RANK", 1)
    monkeypatch.setattr(module, "CAREFUL_RANK", 1)
    state, search = search_of(seed)
    found = search.deleted(np.ones(state.system.n_unknown, dtype=bool), Budget.of())
    assert found is not None
    relations, needs = state.system.matrix, state.system.needs
    assert np.abs(relations @ found.deviations).max(initial=0.0) < 1e-6
    assert not np.any(np.abs(found.deviations[~found.hidden]) > 1e-9)
    if not found.n_open:
        moved = np.abs(found.deviations[needs.cells]).max(axis=1) * state.system.unit
        assert np.all(moved >= np.maximum(needs.upper, needs.lower) * (1 - 1e-6))
    assert found.hidden.sum() < state.system.n_unknown
