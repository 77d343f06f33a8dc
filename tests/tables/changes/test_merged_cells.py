"""Equal cells as one cell: what the merged problem asks for, and the way back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import null_space
from scipy.sparse import csr_array

import tablecloak as tc
from random_tables import random_problem
from tablecloak.suppression.proof.witness import Exactness
from tablecloak.suppression.system.needs import needs_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.suppression.system.system import System
from tablecloak.tables.changes.merged_cells import MergedCells


def problem_of(relations, values, status, **changes) -> tc.ProtectionProblem:
    """A problem over cells 0, 1, 2 and so on, with the bounds 0 and 100."""
    values, rows = np.array(values, float), csr_array(np.atleast_2d(np.array(relations, float)))
    n, sensitive = len(values), np.array(list(status)) == "u"
    table = tc.Table(
        keys=pd.DataFrame({"cell": [f"c{number}" for number in range(n)]}),
        values=values,
        relations=rows,
        right_hand_side=rows @ values,
    )
    given_ = {
        "lower_protection": 2.0 * sensitive,
        "upper_protection": 3.0 * sensitive,
        "sliding_protection": np.zeros(n),
        "lower_bound": np.zeros(n),
        "upper_bound": np.full(n, 100.0),
        "weights": values,
    }
    return tc.ProtectionProblem(table=table, status=np.array(list(status)), **{**given_, **changes})


def test_a_total_with_a_single_child_is_one_cell_with_both_weights():
    merged = MergedCells.of(problem_of([[-1, 1, 0], [0, -1, 1]], [7, 7, 7], "sus")).problem
    assert merged.table.n_cells == 1
    assert merged.weights.tolist() == [21]
    assert merged.status.tolist() == ["u"]
    # It is named by the cell that is sensitive, so that messages speak of that.
    assert merged.table.keys.cell.tolist() == ["c1"]
    assert (merged.lower_protection[0], merged.upper_protection[0]) == (2, 3)


def test_a_group_may_pass_its_bounds_by_no_more_than_its_most_exact_cell():
    # A total of millions with cents and its whole child of 10 move alike, beside a frozen child.
    problem = problem_of(
        [-1, 1, 1], [4e6 + 10.3, 10.0, 4e6 + 0.3], "usz", upper_bound=[8e6, 20.0, 8e6]
    )
    merged = MergedCells.of(problem)
    system = System.of(
        merged.problem,
        needs_of(merged.problem, Requirement.TWO_SIDED),
        ~merged.problem.frozen,
    )
    # Whole numbers are stored exactly: what passes the bound of 20 by an ulp of the total is
    # refused by the certificate, so that the search must not take it for a witness.
    exactness = Exactness(system, system.needs, whole_only=False)
    assert exactness.beyond(np.array([0]), np.array([10.0])) == 0
    assert exactness.beyond(np.array([0]), np.array([10.0 + np.spacing(4e6)])) > 0


def test_parts_of_a_frozen_total_move_against_each_other():
    problem = problem_of(
        [-1, 1, 1], [30, 10, 20], "zuu",
        lower_protection=[0, 2, 5], upper_protection=[0, 3, 1], upper_bound=[100, 90, 24],
        capacity_up=[9, 1, 7], capacity_down=[9, 2, 6],
    )  # fmt: skip
    merged = MergedCells.of(problem)
    assert merged.coupled.group.tolist() == [0, 1, 1]
    assert merged.coupled.sign.tolist() == [1, 1, -1]
    two = merged.problem
    # Up is down for the second part: its level 5 below counts above, and its room of 20 above.
    assert (two.upper_protection[1], two.lower_protection[1]) == (5, 2)
    assert (two.upper_bound[1], two.lower_bound[1]) == (30, 6)
    assert (two.capacity_up[1], two.capacity_down[1]) == (1, 2)


def test_cells_that_differ_by_a_frozen_one_keep_the_tightest_distances():
    problem = problem_of(
        [-1, 1, 1], [30, 10, 20], "sfs".replace("f", "z"), upper_bound=[32, 10, 29]
    )
    merged = MergedCells.of(problem).problem
    assert merged.table.values.tolist() == [30, 10]
    assert (merged.lower_bound[0], merged.upper_bound[0]) == (10, 32)


def test_a_relation_that_merging_makes_equal_to_another_is_empty_and_keeps_its_number():
    # Two totals of the same parts; the single child of the second total is not a third one.
    problem = problem_of(
        [[-1, 0, 1, 1], [-1, 1, 0, 0], [0, -1, 1, 1], [0, 2, -2, -2]], [30, 30, 10, 20], "suss"
    )
    relations = MergedCells.of(problem).problem.table.relations
    assert relations.toarray().tolist() == [[-1, 1, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]]


def test_what_cannot_move_is_frozen_unless_it_is_sensitive():
    frozen_beside = MergedCells.of(problem_of([-1, 1, 0], [7, 7, 9], "zss")).problem
    assert frozen_beside.status.tolist() == ["z", "z", "s"]
    sensitive_beside = MergedCells.of(problem_of([-1, 1, 0], [7, 7, 9], "zus")).problem
    assert sensitive_beside.status.tolist() == ["z", "u", "s"]


def test_a_cell_that_must_be_hidden_stays_apart_from_copies_that_need_not():
    alone = MergedCells.of(problem_of([[-1, 1, 0], [0, -1, 1]], [7, 7, 7], "sms")).problem
    assert alone.status.tolist() == ["s", "m"]
    assert alone.weights.tolist() == [14, 7]
    beside = MergedCells.of(problem_of([[-1, 1, 0], [0, -1, 1]], [7, 7, 7], "smu")).problem
    assert beside.status.tolist() == ["u"]


@pytest.mark.parametrize("relation", [[-2, 1, 0], [-0.1, 0.1, 0]])
def test_unequal_and_fractional_coefficients_merge_nothing(relation):
    values = [7, 14, 1] if relation[0] == -2 else [7, 7, 1]
    assert not MergedCells.of(problem_of(relation, values, "sus")).is_needed


def test_rounded_distances_never_reach_beyond_the_bounds_of_a_copy():
    values = [0.1 + 0.7, 0.1, 0.7]
    problem = problem_of([-1, 1, 1], values, "szs", upper_bound=[0.9, 0.1, 0.7 + 0.3])
    merged = MergedCells.of(problem).problem
    room = merged.upper_bound[0] - merged.table.values[0]
    assert np.all(room <= (problem.upper_bound - values)[[0, 2]])


@given(st.integers(0, 10**6))
def test_both_problems_have_the_same_deviations(seed):
    problem = random_problem(seed, kind="coupled")
    merged = MergedCells.of(problem)

    def directions(of: tc.ProtectionProblem) -> np.ndarray:
        unknown = np.flatnonzero(~of.frozen)
        found = np.zeros((of.table.n_cells, 0))
        if len(unknown):
            basis = null_space(of.table.relations.toarray()[:, unknown])
            found = np.zeros((of.table.n_cells, basis.shape[1]))
            found[unknown] = basis
        return found

    ours, theirs = merged.cells @ directions(merged.problem), directions(problem)
    together = np.hstack([ours, theirs])
    rank = np.linalg.matrix_rank(theirs, tol=1e-9) if theirs.size else 0
    assert ours.shape[1] == theirs.shape[1] == rank
    assert not together.size or np.linalg.matrix_rank(together, tol=1e-9) == rank
