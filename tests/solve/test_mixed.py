"""One program solved once: integers, and solvers without them."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak.solve.conformance import two_columns
from tablecloak.solve.mixed import solve
from tablecloak.solve.mock import MockSolver, infeasible, optimal, out_of_time
from tablecloak.solve.solver import Capability, SolveStatus, using_solver

MIXED = two_columns(integral=True)
"""Its optimum is 6 at (2, 2)."""


def answered(*answers):
    with using_solver(MockSolver(answers)):
        return solve(MIXED)


def test_a_point_is_rounded_and_its_value_computed():
    solution = answered(optimal(np.array([2.0, 2.0 + 1e-9]), bound=6.0))
    assert solution.x.tolist() == [2.0, 2.0]
    assert solution.value == 6.0


@pytest.mark.parametrize("x", [[2.0, 1.0], [3.0, 1.0], [np.nan, 2.0], [2.0]])
def test_a_point_that_breaks_the_program_is_not_returned(x):
    solution = answered(optimal(np.array(x)))
    assert solution.status is SolveStatus.UNKNOWN
    assert not len(solution.x)


def test_a_fraction_called_optimal_is_not():
    assert answered(optimal(np.array([2.0, 1.5]))).status is SolveStatus.FEASIBLE


def test_a_bound_above_a_point_is_not_believed():
    solution = answered(optimal(np.array([2.0, 3.0]), bound=9.0))
    assert solution.status is SolveStatus.FEASIBLE
    assert solution.bound == -np.inf


def test_out_of_time_without_a_point_is_unknown():
    assert answered(out_of_time()).status is SolveStatus.UNKNOWN


def test_infeasible_has_no_point():
    assert answered(infeasible()).value == np.inf


def test_a_solver_of_linear_programs_gets_branch_and_bound():
    class LinearHighs(type(_highs())):
        capabilities = frozenset(Capability) - {Capability.INTEGERS}

    with using_solver(LinearHighs()):
        solution = solve(MIXED)
        assert solution.status is SolveStatus.OPTIMAL
        assert solution.value == pytest.approx(6.0)
        started = solve(MIXED, start=np.array([2.0, 2.0]))
        assert started.x.tolist() == [2.0, 2.0]
        narrow = MIXED.with_bounds(np.zeros(2), np.ones(2))
        assert solve(narrow).status is SolveStatus.INFEASIBLE


def _highs():
    from tablecloak.solve.solver import chosen_solver

    return chosen_solver()


def test_limits_are_passed_on():
    mock = MockSolver([optimal(np.array([2.0, 2.0]))])
    with using_solver(mock):
        solve(MIXED, time_limit=7.0, gap=0.01, target=3.0, nodes=11)
    request = mock.asked[0][1]
    assert (request.seconds, request.gap, request.target, request.nodes) == (7.0, 0.01, 3.0, 11)
