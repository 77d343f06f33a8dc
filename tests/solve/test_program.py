"""Programs as arrays, and their scaling."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from programs import knapsack, small
from tablecloak.errors import InputError
from tablecloak.solve.bounds import dual_bound, violation
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program, Scaling, power_of_two


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(
        InputError, match=r"2 costs and 1 lower sides needs a matrix of shape \(1, 2"
    ):
        Program(np.ones(2), csr_array(np.ones((1, 3))), np.zeros(1), np.ones(1), *np.ones((2, 2)))


def test_scaling_returns_to_the_same_point_and_value():
    program = knapsack(1).relaxed()
    scaling = Scaling.by_units(program, np.full(12, 1000.0))
    solution = solve(scaling.apply(program))
    x = scaling.point(solution.x)
    assert violation(program, x).worst < 1e-6
    assert program.objective(x) == pytest.approx(solve(program).value)
    assert dual_bound(program, scaling.duals(solution.duals)) == pytest.approx(solve(program).value)


def test_factors_are_powers_of_two_and_change_no_digit():
    assert power_of_two(np.array([1.0, 3.0, 1000.0, 0.3])).tolist() == [1.0, 2.0, 512.0, 0.25]


def test_sorting_the_matrix_leaves_the_extended_one_as_it_was():
    """Converted sparse matrices share their indices with the original."""
    matrix = csr_array(
        (np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), np.array([0, 3])), shape=(1, 3)
    )
    program = Program(np.zeros(3), matrix, np.zeros(1), np.ones(1), np.zeros(3), np.ones(3))
    before = program.extended[0].toarray()
    program.matrix.sort_indices()
    assert np.array_equal(program.extended[0].toarray(), before)
    assert before.tolist() == [[2.0, 3.0, 1.0]]


def test_rows_can_be_added_dropped_and_given_other_sides():
    program = small().with_rows(csr_array([[0.0, 1.0]]), np.array([1.0]), np.array([2.0]))
    assert program.n_rows == 2
    assert program.only_rows(np.array([1])).row_upper.tolist() == [2.0]
    changed = program.with_sides(np.array([1]), np.array([0.0]), np.array([9.0]))
    assert changed.row_upper.tolist() == [np.inf, 9.0]
    assert program.row_upper.tolist() == [np.inf, 2.0]
