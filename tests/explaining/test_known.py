"""What somebody knows: components, ends, and the fewest relations that prove them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import tablecloak as tc
from confirmed import end_of
from random_tables import random_problem
from tablecloak.explaining.derivation import derived
from tablecloak.explaining.known import Known


def known_of(problem: tc.ProtectionProblem, hidden: np.ndarray, upper: float = np.inf) -> Known:
    values = problem.table.values
    low, high = np.where(hidden, 0.0, values), np.where(hidden, upper, values)
    return Known(problem.table, low, high, values, problem.unit)


def table_of(rows: list[list[float]], values: list[float]) -> tc.Table:
    keys = pd.DataFrame({"c": [f"c{i}" for i in range(len(values))]})
    matrix = csr_array(np.array(rows))
    return tc.Table(keys, np.array(values), matrix, matrix @ np.array(values))


@pytest.mark.parametrize("seed", range(5))
def test_ends_are_those_of_a_linear_program_for_every_hidden_cell(seed):
    problem = random_problem(seed, (2, 3))
    random = np.random.default_rng(seed)
    hidden = random.random(problem.table.n_cells) < 0.6
    known = known_of(problem, hidden, 5000.0)
    for cell in np.flatnonzero(hidden).tolist():
        for sign in (1, -1):
            expected = end_of(problem.table, known.lower, known.upper, cell, sign)
            assert known.limit(cell, sign).end == pytest.approx(expected, abs=1e-6)
            assert float(derived(known, cell, sign).limit) == pytest.approx(expected, abs=1e-6)


def test_cells_that_no_relation_of_unknown_ones_connects_are_in_different_components():
    table = table_of([[1, 1, -1, 0, 0, 0], [0, 0, 0, 1, 1, -1]], [1, 2, 3, 4, 5, 9])
    upper = np.array([9.0, 9, 3, 9, 9, 9])
    known = Known(table, np.array([0.0, 0, 3, 0, 0, 9]), upper, table.values, 1.0)
    assert known.component(0).tolist() == [0, 1]
    assert known.component(4).tolist() == [3, 4]
    assert known.component(2).tolist() == []


def test_a_known_cell_lies_where_it_is():
    table = table_of([[1, 1, -1]], [1, 2, 3])
    known = Known(table, np.array([0.0, 0, 3]), np.array([9.0, 9, 3]), table.values, 1.0)
    assert (known.limit(2, 1).end, known.limit(2, -1).end) == (3, 3)


def test_other_ends_are_those_of_another_intruder():
    table = table_of([[1, 1, -1]], [1, 2, 3])
    known = Known(table, np.array([0.0, 0, 3]), np.array([9.0, 9, 3]), table.values, 1.0)
    insider = known.with_ends(np.array([1]), np.array([1.5]), np.array([2.5]))
    assert (insider.limit(0, 1).end, insider.limit(0, -1).end) == (1.5, 0.5)
    assert (known.limit(0, 1).end, known.limit(0, -1).end) == (3, 0)


def test_changes_add_up_to_0_whatever_the_values_add_up_to():
    """A relation with a constant, as of a table with a part that is not shown."""
    table = table_of([[1, 1, -1]], [1, 2, 10])
    assert table.right_hand_side.tolist() == [-7]
    low, high = np.array([2.0, -1.0, -50.0]), np.array([9.0, 4.0, 50.0])
    changes = Known(table, low, high, np.array([2.0, 0.0, 2.0]), 1.0, are_changes=True)
    found = derived(changes, 2, -1)
    assert found.limit == 1
    assert found.constant == 0
    values = Known(table, np.zeros(3), np.array([9.0, 2.0, 10.0]), table.values, 1.0)
    values = values.with_ends(np.array([1, 2]), table.values[1:], table.values[1:])
    told = derived(values, 0, 1)
    assert told.limit == 1
    assert told.constant == -7
    assert told.sum_text() == "10 (c=c2) - 2 (c=c1) - 7 (constant) = 1"


def test_of_two_ways_to_the_same_end_the_one_with_fewer_relations_is_told():
    """The first cell follows from one relation, or from the sum of three others."""
    rows = [[1, 0, 0, 0, -1, 0, 0], [1, 1, 0, 0, 0, -1, 0], [0, 1, 1, 0, 0, 0, -1],
            [0, 0, 1, 0, 0, 0, 0]]  # fmt: skip
    table = table_of(rows, [5, 6, 7, 1, 5, 11, 13])
    hidden = np.array([True, True, True, False, False, False, False])
    low, high = np.where(hidden, 0.0, table.values), np.where(hidden, 99.0, table.values)
    known = Known(table, low, high, table.values, 1.0)
    for sign in (1, -1):
        assert [relation for relation, _ in derived(known, 0, sign).relations] == [0]


def test_without_time_a_sum_holds_but_does_not_claim_to_be_the_closest():
    problem = random_problem(2, (3, 3))
    known = known_of(problem, np.ones(problem.table.n_cells, dtype=bool), 5000.0)
    for cell in range(problem.table.n_cells):
        found = derived(known, cell, 1, seconds=0.0)
        assert float(found.limit) >= problem.table.values[cell]
        if not found.is_exact:
            assert found.to_dict()["is_exact"] is False


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_the_scale_of_a_table_changes_no_sum(scale):
    rows, values = [[1, 1, 1, -1]], np.array([3.0, 5.0, 7.0, 15.0]) * scale
    table = table_of(rows, values.tolist())
    low, high = np.array([0.0, 0.0, *table.values[2:]]), table.values.copy()
    high[:2] = np.inf
    found = derived(Known(table, low, high, table.values, scale), 0, 1)
    assert float(found.limit) == pytest.approx(8 * scale, rel=1e-9)
    assert len(found.terms) == 3
