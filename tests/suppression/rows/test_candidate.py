"""Candidates: what is hidden so far, what it costs, and whether all needs are proved."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.candidate import Candidate, costliest_first
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.system.requirement import Requirement


@pytest.fixture
def state():
    return SearchState.of(tc.examples.cox_rounded(), Requirement.TWO_SIDED, "exact")


def test_costliest_cells_come_first_and_those_without_weight_never():
    chosen = np.array([True, True, False, True, True])
    weights = np.array([2.0, 5.0, 9.0, 0.0, 3.0])
    assert costliest_first(chosen, weights).tolist() == [1, 4, 0]


def test_of_equal_weights_the_first_cell_comes_first():
    assert costliest_first(np.ones(4, dtype=bool), np.ones(4)).tolist() == [0, 1, 2, 3]


def test_loss_is_the_weight_of_all_hidden_cells(state):
    weights = state.problem.weights[state.system.cells]
    candidate = Candidate(state.must, WitnessPool(state.system), weights)
    assert candidate.loss == weights[state.must].sum()
    everything = Candidate(np.ones_like(state.must), candidate.pool, weights)
    assert everything.loss == weights.sum()


def test_candidate_without_witnesses_is_not_proved(state):
    weights = state.problem.weights[state.system.cells]
    assert not Candidate(state.must, WitnessPool(state.system), weights).is_proved
