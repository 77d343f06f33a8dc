"""What is asked of a search, in the unit in which it is solved."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import by_code, one_row, two_rows
from tablecloak.cta.model.question import Question


def asked(problem: tc.ProtectionProblem, decimals=None, limit=None) -> Question:
    return Question.of(
        problem, decimals=decimals, weights=np.ones(problem.table.n_cells), limit=limit
    )


def test_a_table_with_decimals_is_asked_about_in_its_last_digit():
    problem = one_row([1.25, 2.5], {"a": (0.031, 0.05)}, bounds=(0.001, 10.009))
    question = asked(problem, decimals=2)
    work = question.problem
    assert work.table.values.tolist() == [125, 250, 375]
    # Levels are rounded up, bounds inwards.
    assert (work.lower_protection[0], work.upper_protection[0]) == (4, 5)
    assert (work.lower_bound[0], work.upper_bound[0]) == (1, 1000)
    assert question.room.up[0] == 875


def test_values_that_are_no_multiples_of_the_last_digit_are_refused():
    with pytest.raises(tc.InputError, match="not multiples of 0.1"):
        asked(one_row([1.25, 2.5], {"a": (1, 1)}), decimals=1)


def test_the_limit_is_rounded_down_to_the_last_digit():
    problem = one_row([1.25, 2.5], {"a": (0.03, 0.05)}, bounds=(0, 10))
    assert asked(problem, decimals=2, limit=1.5).room.up[0] == 7
    assert asked(problem, limit=1.5).room.up[0] == pytest.approx(0.075)


def test_parts_are_numbered_and_what_cannot_move_has_none():
    problem = two_rows([5, 6], [8, 9], {"a": (1, 1), "A": (1, 1)}, frozen=["B"])
    part = by_code(problem, asked(problem).parts)
    assert part["a"] == part["b"] == part["T"] != part["A"] == part["S"]
    assert part["B"] == -1


def test_the_question_of_a_part_freezes_all_other_cells():
    problem = two_rows([5, 6], [8, 9], {"a": (1, 2), "A": (3, 4)})
    question = asked(problem)
    alone = question.part(question.parts == question.parts[0])
    assert alone.problem.status.tolist() == ["u", "s", "s", "z", "z", "z"]
    assert alone.problem.n_sensitive == 1
    assert by_code(problem, alone.room.up)["A"] == 0
    assert alone.model().n_groups == 3
    assert alone.weights is question.weights


def test_any_selection_of_relations_may_be_used():
    problem = two_rows([5, 6], [8, 9], {"a": (1, 2), "A": (3, 4)})
    question = asked(problem)
    assert question.model().independent.tolist() == [0, 1]
    assert question.model(np.array([1])).rows.matrix.shape[0] == 1
