"""Null spaces of patterns, their classes, what they prove, and what deletion leaves hidden."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg as dense
from hypothesis import given
from hypothesis import strategies as st

import tablecloak as tc
from naive_programs import Reach
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.search import schedule
from tablecloak.suppression.search.deletion_phases import delete_from_all_hidden
from tablecloak.suppression.search.nullspace.proposal import proved_candidate
from tablecloak.suppression.search.nullspace.search import Found, NullSpaceSearch, null_vectors
from tablecloak.suppression.search.nullspace.space import Capacity, Space, space_of
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.system.requirement import Requirement

SEEDS = st.integers(0, 10_000)


def state_of(problem: tc.ProtectionProblem) -> SearchState:
    return SearchState.of(problem, Requirement.TWO_SIDED, "test")


def search_of(state: SearchState) -> NullSpaceSearch:
    cells = state.system.cells
    weights, size = state.problem.weights[cells], np.abs(state.problem.table.values[cells])
    search = NullSpaceSearch.of(state.system, weights, state.must, size, 0)
    assert search is not None
    return search


def space_with(problem: tc.ProtectionProblem, hidden: np.ndarray) -> tuple[SearchState, Space]:
    state = state_of(problem)
    search = search_of(state)
    vectors = null_vectors(search.basis, hidden)
    weights = problem.weights[state.system.cells]
    random = np.random.default_rng(1)
    return state, space_of(state.system, weights, state.must, hidden, vectors, random)


def from_all_hidden(state: SearchState) -> Found | None:
    hidden = np.ones(state.system.n_unknown, dtype=bool)
    return search_of(state).deleted(hidden, Budget.of())


def can_move(problem: tc.ProtectionProblem, hidden: np.ndarray) -> bool:
    """Whether all sensitive cells can move as far as they must, by linear programs."""
    low = np.where(hidden, problem.lower_bound - problem.table.values, 0)
    high = np.where(hidden, problem.upper_bound - problem.table.values, 0)
    reach = Reach(problem.table.relations, low, high)
    return all(
        reach.farthest(cell, 1) >= problem.upper_protection[cell] - 1e-6
        and reach.farthest(cell, -1) >= problem.lower_protection[cell] - 1e-6
        for cell in np.flatnonzero(problem.sensitive)
    )


@given(SEEDS, st.floats(0.2, 1))
def test_null_space_of_a_pattern_is_the_one_of_its_columns(seed, share):
    problem = random_problem(seed, (3, 4, 3))
    hidden = np.random.default_rng(seed).random(problem.table.n_cells) < share
    hidden |= problem.sensitive
    found = null_vectors(search_of(state_of(problem)).basis, hidden)
    expected = dense.null_space(problem.table.relations.toarray()[:, hidden])
    assert found.shape == expected.shape
    assert np.allclose(found.T @ found, np.eye(found.shape[1]), atol=1e-9)
    assert np.allclose(expected @ (expected.T @ found), found, atol=1e-9)


@given(SEEDS)
def test_publishing_one_cell_of_a_class_tells_all_of_it_and_nothing_else(seed):
    problem = random_problem(seed)
    _, space = space_with(problem, np.ones(problem.table.n_cells, dtype=bool))
    for number in range(3):
        if space.rank <= 1:
            break
        chosen = number % len(space.rows)
        gone = np.flatnonzero(space.class_of == chosen)
        smaller = space.without(np.array([chosen]), np.random.default_rng(2))
        hidden = space.alive.copy()
        hidden[gone[:1]] = False
        left = null_vectors(search_of(state_of(problem)).basis, hidden)
        moving = np.zeros_like(hidden)
        moving[hidden] = np.linalg.norm(left, axis=1) > 1e-6
        assert not np.any(smaller.alive[gone])
        assert smaller.rank == left.shape[1] == space.rank - 1
        assert np.array_equal(smaller.alive, moving)
        space = smaller


def test_cells_in_a_class_move_in_proportion():
    problem = random_problem(3, (3, 4, 3))
    hidden = np.random.default_rng(5).random(problem.table.n_cells) < 0.6
    state, space = space_with(problem, hidden | problem.sensitive)
    deviations = space.deviations(np.eye(space.rank))
    assert len(space.rows) < int(space.alive.sum())
    assert np.allclose(state.system.matrix @ deviations, 0, atol=1e-9)
    for number in range(len(space.rows)):
        assert np.linalg.matrix_rank(deviations[space.class_of == number], tol=1e-9) == 1


@given(SEEDS)
def test_what_capacity_proves_is_a_witness(seed):
    problem = random_problem(seed, (3, 3, 3), n_sensitive=6)
    state, space = space_with(problem, np.ones(problem.table.n_cells, dtype=bool))
    found = Capacity(space).verdicts(np.random.default_rng(0), Budget.of(), every=True)
    system = state.system
    deviations = system.unit * space.deviations(found.points)
    assert np.allclose(system.matrix @ deviations, 0, atol=1e-6)
    reached = {True: np.zeros(system.n_unknown), False: np.zeros(system.n_unknown)}
    for deviation, up in itertools.product(deviations.T, (True, False)):
        for sign in (1, -1):
            moves = sign * deviation
            room = np.where(moves > 0, system.high, system.low)
            with np.errstate(divide="ignore", invalid="ignore"):
                farthest = np.nanmin(np.where(moves != 0, room / moves, np.inf))
            side = np.maximum(moves if up else -moves, 0)
            reached[up] = np.maximum(reached[up], farthest * side)
    proved = ~np.isin(space.class_of[system.needs.cells], found.open)
    cells = system.needs.cells[proved]
    assert np.all(reached[True][cells] >= system.needs.upper[proved] * (1 - 1e-6))
    assert np.all(reached[False][cells] >= system.needs.lower[proved] * (1 - 1e-6))


def test_cell_whose_direction_has_no_room_is_rejected():
    problem = random_problem(11)
    cell = np.flatnonzero(problem.sensitive)[0]
    everything = np.ones(problem.table.n_cells, dtype=bool)
    _, space = space_with(problem, everything)
    own = space.class_of[cell]
    assert not len(Capacity(space).verdicts(np.random.default_rng(0), Budget.of(), every=True).open)
    blocked = space.high.copy()
    blocked[own] = space.upper[own] / 2
    tight = replace(space, high=blocked)
    assert own in Capacity(tight).verdicts(np.random.default_rng(0), Budget.of(), every=True).open


def test_class_with_room_on_one_side_serves_needs_on_that_side_only():
    problem = random_problem(0, (2, 2), n_sensitive=1)
    inner = (problem.table.keys != "Total").all(axis=1).to_numpy()
    _, space = space_with(problem, inner)
    assert (space.rank, len(space.rows)) == (1, 1)
    level = space.upper
    upwards = replace(space, high=10 * level, low=0 * level, lower=0 * level)
    assert not len(
        Capacity(upwards).verdicts(np.random.default_rng(0), Budget.of(), every=True).open
    )
    both = replace(upwards, lower=level)
    random = np.random.default_rng(0)
    assert len(Capacity(both).verdicts(random, Budget.of(), every=True).open) == 1


@given(SEEDS)
def test_deletion_leaves_a_safe_pattern_with_all_that_must_be_hidden(seed):
    problem = random_problem(seed, (3, 4, 3), n_sensitive=4)
    status = problem.status.copy()
    status[np.flatnonzero(~problem.sensitive)[seed % 20]] = "m"
    problem = problem.with_changes(status=status, weights=problem.table.values)
    state = state_of(problem)
    found = from_all_hidden(state)
    assert found is not None
    assert np.all(found.hidden[state.must])
    if found.n_open == 0:
        assert can_move(problem, found.hidden)
    weights = problem.weights[state.system.cells]
    candidate = proved_candidate(
        state.system, weights, state.must, found.hidden, found.deviations, Budget.of()
    )
    assert candidate.is_proved
    assert can_move(problem, candidate.hidden)


@pytest.mark.parametrize("seed", range(4))
def test_deletion_is_never_below_the_optimum(seed):
    problem = random_problem(seed, (2, 3), n_sensitive=2)
    others = np.flatnonzero(~problem.sensitive)
    losses = []
    for number in range(2 ** len(others)):
        hidden = problem.sensitive.copy()
        hidden[others[(number >> np.arange(len(others))) & 1 == 1]] = True
        if can_move(problem, hidden):
            losses.append(int(hidden.sum()))
    found = from_all_hidden(state_of(problem))
    assert found is not None
    assert found.loss >= min(losses)


def test_the_same_seed_gives_the_same_pattern_for_any_number_of_threads():
    problem = random_problem(2, (2, 3, 3), n_sensitive=4)
    problem = problem.with_changes(weights=problem.table.values)
    patterns = [
        tc.suppress(problem, method="sequential", time_limit=1e6, threads=threads, seed=3)
        for threads in (1, 3)
    ]
    assert np.array_equal(patterns[0].suppressed, patterns[1].suppressed)
    assert can_move(problem, patterns[0].suppressed)


def test_a_proof_ends_with_its_budget(monkeypatch):
    state = state_of(random_problem(4, (4, 4, 4), n_sensitive=8))
    found = from_all_hidden(state)
    assert found is not None
    assert found.deviations.shape[1] > 1
    weights = state.problem.weights[state.system.cells]
    added = []
    keep = WitnessPool.add_exact
    monkeypatch.setattr(
        WitnessPool, "add_exact", lambda *given: added.append(given) or keep(*given)
    )
    ended = Budget.of(0.0)
    candidate = proved_candidate(
        state.system, weights, state.must, found.hidden, found.deviations, ended
    )
    assert not candidate.is_proved
    # At most the first deviation, on both sides.
    assert len(added) <= 2


def test_a_deletion_that_published_nothing_in_time_is_no_pattern_of_a_small_table(monkeypatch):
    # Its proof takes longer than programs take for a far better pattern.
    state = state_of(random_problem(4, (4, 4, 4), n_sensitive=8))
    found = from_all_hidden(state)
    everything = replace(found, hidden=np.ones_like(found.hidden), rank=found.rank_before)
    monkeypatch.setattr(
        NullSpaceSearch, "opened", lambda *given: replace(everything, n_open=0, is_cut_short=True)
    )
    assert delete_from_all_hidden(state, Budget.of()).best is None


def test_classes_that_there_is_no_time_for_stay_open():
    state = state_of(random_problem(4, (4, 4, 4), n_sensitive=8))
    hidden = np.ones(state.system.n_unknown, dtype=bool)
    space = space_with(state.problem, hidden)[1]
    tight = replace(space, upper=space.upper * 1e3, lower=space.lower * 1e3)
    n_needed = len(tight.needed)
    found = Capacity(tight).verdicts(np.random.default_rng(0), Budget.of(0.0), every=True)
    assert len(found.open) == n_needed


@pytest.mark.parametrize("seed", [4, 10, 11, 12])
def test_every_sensitive_cell_can_move_once_the_heaviest_cells_are_published(seed, monkeypatch):
    # What stands in a relation with one that cannot is not enough here: it cannot move either.
    state = state_of(random_problem(seed, (4, 4, 4, 3), n_sensitive=15))
    monkeypatch.setattr("tablecloak.suppression.search.nullspace.search.START_RANKS", (2,))
    found = search_of(state).opened(Budget.of())
    assert found is not None
    assert found.n_open or can_move(state.problem, found.hidden)


def test_a_search_of_few_cells_gives_up_sooner_than_one_of_many():
    patience = [
        search_of(state_of(random_problem(0, shape=shape))).patience
        for shape in ((2, 2), (3, 4), (8, 8))
    ]
    # 9, 20 and 81 cells.
    assert patience == [60, 100, 300]


def test_the_exact_method_searches_in_null_spaces_only_where_there_are_many_cells(monkeypatch):
    budget = Budget.of(60.0)
    state = schedule.delete_from_all_hidden(state_of(random_problem(1)), budget)
    assert schedule.is_roomy(state, budget)
    assert not schedule.is_roomy_and_large(state, budget)
    monkeypatch.setattr(schedule, "PREPARED_CELLS", state.n_free)
    assert schedule.is_roomy_and_large(state, budget)
