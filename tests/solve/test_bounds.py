"""Checks that trust no solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from programs import knapsack, small
from tablecloak.errors import VerificationError
from tablecloak.solve.bounds import check_claim, dual_bound, is_proved, proves_infeasible, violation
from tablecloak.solve.feasibility import elastic
from tablecloak.solve.program import Program


@pytest.mark.parametrize("duals", [[0.0], [1.0], [2.0], [7.5], [-3.0]])
def test_weak_duality_bound_never_exceeds_the_optimum(duals):
    assert dual_bound(small(), np.array(duals)) <= 4.0


def test_weak_duality_bound_is_tight_at_the_optimal_multipliers():
    assert dual_bound(small(), np.array([2.0])) == pytest.approx(4.0)


def test_multipliers_of_the_first_rows_only_are_enough():
    program = small().with_rows(small().matrix, np.array([0.0]), np.array([9.0]))
    assert dual_bound(program, np.array([2.0])) == pytest.approx(4.0)


def test_a_reduced_cost_against_an_infinite_bound_proves_nothing():
    program = small().with_bounds(np.zeros(2), np.array([2.0, np.inf]))
    assert dual_bound(program, np.array([2.0])) == pytest.approx(4.0)
    assert dual_bound(program, np.array([2.1])) == -np.inf


def test_violations_are_told_apart_and_measured():
    program = knapsack(0)
    inside = violation(program, np.ones(12))
    assert inside.worst == 0.0
    assert violation(program, np.full(12, 1.25)).bounds == 0.25
    assert violation(program, np.full(12, 0.75)).integrality == 0.25
    assert violation(small(), np.array([1.0, 1.0])).rows == 1.0
    assert violation(small(), np.array([np.nan, 1.0])).worst == np.inf


def test_infeasible_is_proved_by_multipliers_and_feasible_never():
    narrow = small().with_bounds(np.zeros(2), np.ones(2))
    assert proves_infeasible(narrow, np.array([1.0]))
    assert not proves_infeasible(narrow, np.array([-1.0]))
    assert not proves_infeasible(small(), np.array([1.0]))


def test_the_elastic_program_lets_every_row_give_way():
    program = elastic(small())
    assert program.n_columns == 4
    assert violation(program, np.array([0.0, 0.0, 3.0, 0.0])).worst == 0.0


def test_value_and_bound_that_do_not_meet_prove_nothing():
    x = np.array([2.0, 1.0])
    assert is_proved(small(), x, np.array([2.0]), 4.0, 4.0 - 1e-7)
    assert not is_proved(small(), x, np.array([1.0]), 4.0, 3.0)


def test_a_rounding_error_on_an_infinite_bound_is_no_false_answer():
    program = small().with_bounds(np.zeros(2), np.array([2.0, np.inf]))
    x = np.array([2.0, 1.0])
    assert is_proved(program, x, np.array([2.0 + 1e-10]), 4.0, -np.inf)
    assert not is_proved(program, x, np.array([2.0 + 1e-5]), 4.0, -np.inf)


def test_more_than_is_proved_cannot_be_claimed():
    check_claim(4.0, 4.0)
    with pytest.raises(VerificationError, match="4 is claimed, but only 3.9"):
        check_claim(4.0, 3.9)


@pytest.mark.parametrize(("x", "rows", "bounds"), [(0, 1, 0), (1, 0, 0), (3, 1, 0), (5, 3, 1)])
def test_a_point_is_off_by_what_it_lacks_or_exceeds_of_a_side_or_bound(x, rows, bounds):
    """One column from 0 to 4, and a row of it from 1 to 2."""
    program = Program(
        np.ones(1), csr_array([[1.0]]), np.array([1.0]), np.array([2.0]),
        np.zeros(1), np.array([4.0]),
    )  # fmt: skip
    found = violation(program, np.array([float(x)]))
    assert (found.rows, found.bounds, found.worst) == (rows, bounds, max(rows, bounds))
