"""Groups of cells whose changes are equal up to sign, and the relations that say so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from random_tables import random_problem
from tablecloak.tables.coupling import CoupledCells, whole_rows


def found_in(rows, movable=None, sensitive=None) -> CoupledCells:
    relations = csr_array(np.atleast_2d(np.array(rows, dtype=float)))
    every = np.ones(relations.shape[1], dtype=bool)
    movable = every if movable is None else np.array(movable, dtype=bool)
    sensitive = ~every if sensitive is None else np.array(sensitive, dtype=bool)
    return CoupledCells.find(relations, movable, sensitive)


def dependent(coupled: CoupledCells, movable: np.ndarray) -> np.ndarray:
    """Cells that can move, less the first of each group."""
    first = {group: cell for cell, group in reversed(list(enumerate(coupled.group))) if group >= 0}
    return np.setdiff1d(np.flatnonzero(movable), list(first.values()))


def test_a_total_and_its_single_child_move_by_the_same_amount():
    coupled = found_in([-1, 1])
    assert coupled.group.tolist() == [0, 0]
    assert coupled.sign.tolist() == [1, 1]
    assert coupled.rows.tolist() == [0]


def test_two_parts_of_a_known_total_move_against_each_other():
    coupled = found_in([-1, 1, 1], movable=[False, True, True])
    assert coupled.group.tolist() == [-1, 0, 0]
    assert coupled.sign[1] == -coupled.sign[2]


def test_a_cell_that_is_alone_in_a_relation_cannot_move_whatever_its_coefficient():
    coupled = found_in([[5, 0, 0], [1, -1, 0], [0, 1, 1]])
    assert coupled.group.tolist() == [-1, -1, -1]
    assert sorted(coupled.rows.tolist()) == [0, 1, 2]


def test_a_coupling_that_turns_up_once_others_are_merged_is_found():
    # The first two relations say a = b and c = d, so that the third says a = c.
    coupled = found_in([[1, -1, 0, 0], [0, 0, 1, -1], [2, -1, -2, 1]])
    assert coupled.group.tolist() == [0, 0, 0, 0]
    assert coupled.n_groups == 1


def test_the_first_sensitive_cell_of_a_group_has_sign_one():
    coupled = found_in([[1, 1, 0], [0, 1, 1]], sensitive=[False, True, False])
    assert coupled.sign.tolist() == [-1, 1, -1]


def test_relations_that_repeat_a_coupling_are_not_needed_twice():
    coupled = found_in([[1, -1, 0], [-1, 1, 0], [0, 1, -1], [1, 0, -1]])
    assert coupled.n_groups == 1
    assert len(coupled.rows) == 2


def test_rooms_up_and_down_are_exchanged_where_the_sign_is_minus_one():
    coupled = found_in([1, 1], sensitive=[True, False])
    up, down = np.array([5.0, 3.0]), np.array([1.0, 2.0])
    assert [side.tolist() for side in coupled.least(up, down)] == [[2], [1]]
    assert [side.tolist() for side in coupled.largest(up, down)] == [[5], [3]]
    holds = coupled.everywhere(np.array([True, False]), np.array([True, True]))
    assert [side.tolist() for side in holds] == [[True], [False]]


def test_relations_between_groups_are_empty_where_all_their_cells_cancel():
    rows = csr_array(np.array([[1.0, -1, 0], [1, 1, -2], [0, 2, -1]]))
    coupled = CoupledCells.find(rows[[0], :], np.ones(3, dtype=bool), np.zeros(3, dtype=bool))
    assert coupled.relations(rows).toarray().tolist() == [[0, 0], [2, -2], [2, -1]]


def test_what_rounding_leaves_of_a_sum_of_fractions_counts_as_nothing():
    rows = csr_array(np.array([[1.0, -1, 0, 0], [0, 1, -1, 0], [0.1, 0.2, -0.3, 1]]))
    coupled = CoupledCells.find(rows, np.ones(4, dtype=bool), np.zeros(4, dtype=bool))
    # 0.1 + 0.2 - 0.3 is 5e-17 in binary: the last relation says that the last cell stays.
    assert coupled.group.tolist() == [0, 0, 0, -1]


@pytest.mark.parametrize(
    ("row", "whole"),
    [([1, -1, 3], True), ([0.5, 1, 0], False), ([2.0**31, 1, 0], True), ([2.0**32, 1, 0], False)],
)
def test_rows_of_whole_coefficients_are_those_whose_sums_are_exact(row, whole):
    rows = csr_array(np.array([row, [0, 0, 0], [1, 1, 1]], dtype=float))
    assert whole_rows(rows).tolist() == [whole, True, True]


@given(st.integers(0, 10**6))
def test_coupling_relations_determine_all_cells_but_one_of_each_group(seed):
    random = np.random.default_rng(seed)
    rows = np.zeros((12, 9))
    for row in rows:
        chosen = random.choice(9, random.integers(1, 4), replace=False)
        row[chosen] = random.choice([-1, 1], len(chosen))
    every = np.ones(9, dtype=bool)
    coupled = CoupledCells.find(csr_array(rows), every, ~every)
    others = dependent(coupled, every)
    assert len(coupled.rows) == len(others)
    square = rows[np.ix_(coupled.rows, others)]
    assert abs(np.linalg.det(square)) > 0.5
    # They say nothing of the cells that are left: these move freely, and the others with them.
    assert np.abs(rows[coupled.rows] @ coupled.spread.toarray()).max(initial=0) == 0


@given(st.integers(0, 10**6))
def test_coupling_relations_of_tables_are_as_many_as_cells_left_out(seed):
    problem = random_problem(seed, kind="coupled")
    movable = ~problem.frozen & (np.random.default_rng(seed).random(problem.table.n_cells) < 0.7)
    coupled = CoupledCells.find(problem.table.relations, movable, problem.sensitive)
    others = dependent(coupled, movable)
    square = problem.table.relations.toarray()[np.ix_(coupled.rows, others)]
    assert square.shape == (len(others), len(others))
    assert not len(others) or np.linalg.matrix_rank(square) == len(others)
