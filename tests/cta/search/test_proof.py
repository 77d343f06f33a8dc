"""The best proof that a search has, and what a certificate keeps of it."""

from __future__ import annotations

import numpy as np
import pytest

from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.cta.model.question import Question
from tablecloak.cta.search.directions import search_directions
from tablecloak.cta.search.proof import search_bound
from tablecloak.cta.search.state import given
from tight_forms import ENOUGH, form_of, state_of


def question_of(problem) -> Question:
    return Question.of(problem, decimals=None, weights=np.ones(problem.table.n_cells), limit=None)


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_is_the_proof_where_there_is_one(seed):
    problem = random_problem(seed, (3, 4), 4)
    state = search_directions(form_of(problem), Budget.of(ENOUGH))
    proof = search_bound(state, None)
    assert proof.tree is state.tree is not None
    assert proof.directions is None
    collected = proof.collected(question_of(problem), state.form.changes(state.best.x))
    assert len(collected.trees) == 1
    assert not collected.direction.any()
    assert np.all(collected.part == 0)


def test_multipliers_of_given_directions_refer_to_them():
    problem = random_problem(1)
    state, y = state_of(problem), np.array([1.0, 0.0, 1.0])
    given(state, y)
    proof = search_bound(state, y)
    assert proof.tree is None
    assert proof.directions is y
    collected = proof.collected(question_of(problem), state.form.changes(state.best.x))
    assert collected.direction[problem.sensitive].tolist() == [1, -1, 1]
    assert not collected.direction[~problem.sensitive].any()


def test_without_any_multipliers_the_relaxation_is_solved_for_them():
    problem = random_problem(1)
    proof = search_bound(state_of(problem), None)
    assert len(proof.duals) == form_of(problem).program.n_rows


def test_the_program_of_a_proof_is_built_anew_from_the_question():
    problem = random_problem(2, (3, 4), 4)
    state = search_directions(form_of(problem), Budget.of(ENOUGH))
    rebuilt = search_bound(state, None).form(question_of(problem)).program
    kept = state.proved.program
    assert np.array_equal(rebuilt.matrix.toarray(), kept.matrix.toarray())
    assert np.array_equal(rebuilt.row_lower, kept.row_lower)
    assert np.array_equal(rebuilt.cost, kept.cost)
