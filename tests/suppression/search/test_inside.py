"""A search among the cells of patterns finds the best pattern of these cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import tablecloak as tc
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.search.inside import searched_inside
from tablecloak.suppression.search.moves import improve_by_moves
from tablecloak.suppression.search.opening_phases import open_by_prices
from tablecloak.suppression.search.prices import opened_by_prices
from tablecloak.suppression.search.schedule import INSIDE
from tablecloak.suppression.search.state import SearchState

TWO_SIDED = tc.Requirement.TWO_SIDED


def begun(problem: tc.ProtectionProblem, seed: int) -> SearchState:
    """A state whose best pattern is an opening that hides more than it needs."""
    state = SearchState.of(problem, TWO_SIDED, "sequential")
    weights = problem.weights[state.system.cells]
    random = np.random.default_rng(seed)
    bare = Candidate(state.must, WitnessPool(state.system), weights)
    return replace(state, best=opened_by_prices(bare, random, Budget.of()))


def test_the_best_pattern_among_some_cells_is_that_of_the_problem_with_all_others_frozen():
    better = 0
    for seed in range(6):
        problem = random_problem(seed, (4, 5), 4, kind="crossed")
        weights = np.random.default_rng(seed).integers(1, 99, problem.table.n_cells).astype(float)
        problem = problem.with_changes(weights=weights)
        state = begun(problem, seed)
        other = begun(problem, seed + 100)
        among = state.best.hidden | other.best.hidden
        found = searched_inside(state, among, state.must, INSIDE, Budget.of(5.0))
        frozen = np.ones(problem.table.n_cells, dtype=bool)
        frozen[state.system.cells[among]] = False
        status = np.where(frozen & ~problem.sensitive, "z", problem.status)
        least = tc.suppress(problem.with_changes(status=status), time_limit=20)
        assert least.is_optimal
        loss = found.loss if found else state.best.loss
        assert np.isclose(loss, least.loss), f"seed {seed}"
        if found is not None:
            better += 1
            assert found.is_proved
            assert not np.any(found.hidden & ~among)
    assert better >= 2


def test_a_search_in_which_some_cells_stay_hidden_gives_a_proved_and_cheaper_pattern():
    counted = 0
    for seed in range(4):
        problem = random_problem(seed, (4, 5), 4)
        state = begun(problem, seed)
        secondaries = np.flatnonzero(state.best.hidden & ~state.must)
        agreed = np.zeros(len(state.must), dtype=bool)
        agreed[secondaries[:2]] = True
        among = np.ones(len(agreed), dtype=bool)
        found = searched_inside(state, among, agreed, INSIDE, Budget.of(2.0))
        if found is not None:
            counted += 1
            assert found.is_proved
            assert found.loss < state.best.loss
    assert counted


def test_openings_never_make_a_pattern_worse_and_end_by_themselves():
    improved = 0
    for seed in range(2):
        problem = random_problem(seed, (4, 5), 4)
        state = SearchState.of(problem, TWO_SIDED, "sequential")
        state = open_by_prices(state, Budget.of())
        assert state.best is not None
        found = improve_by_moves(INSIDE)(state, Budget.of(3.0))
        assert found.best.is_proved
        assert found.best.loss <= state.best.loss
        improved += found.best.loss < state.best.loss
    assert improved
