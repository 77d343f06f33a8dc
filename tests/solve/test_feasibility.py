"""Infeasibility is confirmed by multipliers or not at all."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from mock_solver import MockSolver, infeasible, optimal
from programs import small
from tablecloak.errors import SolverError
from tablecloak.solve.bounds import proves_infeasible
from tablecloak.solve.feasibility import find_infeasibility
from tablecloak.solve.program import Program
from tablecloak.solve.solver import using_solver

NARROW = small().with_bounds(np.zeros(2), np.ones(2))


def test_infeasible_is_confirmed_by_multipliers():
    outcome = find_infeasibility(NARROW)
    assert outcome.confirmed
    assert proves_infeasible(NARROW, outcome.duals)
    assert outcome.shortfall.sum() == pytest.approx(1.0)


def test_feasible_is_never_confirmed_as_infeasible():
    assert not find_infeasibility(small()).confirmed


@pytest.mark.parametrize("multiplier", [-1.0, 0.0])
def test_multipliers_that_prove_nothing_confirm_nothing(multiplier):
    with using_solver(
        MockSolver([optimal(np.array([1.0, 1.0, 1.0, 0.0]), np.array([multiplier]))])
    ):
        assert not find_infeasibility(NARROW).confirmed


def test_a_solver_that_lies_about_a_feasible_program_is_not_believed():
    with using_solver(MockSolver([optimal(np.array([0.0, 0.0, 3.0, 0.0]), np.array([1.0]))])):
        assert not find_infeasibility(small()).confirmed


def test_an_elastic_program_called_infeasible_is_an_error():
    with using_solver(MockSolver([infeasible()])), pytest.raises(SolverError, match="always has"):
        find_infeasibility(NARROW)


def test_columns_without_bounds_keep_no_infeasibility_from_being_confirmed():
    """Three rows leave only 0 to three cells, and the last one asks for 1."""
    matrix = csr_array([[7.0, -1.0, -0.2], [-3.0, -1.5, 1.0], [0.0, -0.2, 12.0], [0.0, 1.0, 0.0]])
    side, ends = np.array([0.0, 0.0, 0.0, 1.0]), np.full(3, np.inf)
    program = Program(np.zeros(3), matrix, side, side, -ends, ends)
    outcome = find_infeasibility(program)
    assert outcome.confirmed
    assert proves_infeasible(program, outcome.duals)
