"""One program solved once: integers, and solvers without them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from mock_solver import MockSolver, infeasible, optimal, out_of_time
from tablecloak.solve.bounds import violation
from tablecloak.solve.conformance import two_columns
from tablecloak.solve.mixed import solve, solve_quadratic
from tablecloak.solve.program import Program
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


DATA = Path(__file__).resolve().parents[1] / "data"


def test_a_program_on_which_the_active_set_method_circles_comes_to_an_end_without_a_limit():
    data = json.loads((DATA / "cycling_quadratic.json").read_text())
    matrix = csr_array((data["data"], (data["rows"], data["columns"])), shape=data["shape"])
    ends = (np.array(data[name]) for name in ("row_lower", "row_upper", "lower", "upper"))
    program = Program(np.zeros(matrix.shape[1]), matrix, *ends)
    x, _ = solve_quadratic(program, np.array(data["curvature"]))
    assert violation(program, x).worst <= 1e-6


@pytest.mark.parametrize(
    ("curvature", "x", "multiplier"),
    [
        # min x^2 + y^2 over x + y = 3, 0 <= x <= 1: x at its bound.
        ((2.0, 2.0), (1.0, 2.0), 4.0),
        # min 4 x^2 + y^2: 8 x = 2 y.
        ((8.0, 2.0), (0.6, 2.4), 4.8),
        # Without curvature of x it goes to its bound.
        ((0.0, 2.0), (1.0, 2.0), 4.0),
    ],
)
def test_least_squares_by_hand_with_their_multiplier(curvature, x, multiplier):
    program = Program(
        np.zeros(2), csr_array([[1.0, 1.0]]), np.array([3.0]), np.array([3.0]), np.zeros(2),
        np.array([1.0, 9.0]),
    )  # fmt: skip
    found, duals = solve_quadratic(program, np.array(curvature))
    assert found == pytest.approx(x, abs=1e-6)
    assert duals == pytest.approx([multiplier], abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_points_inside_their_bounds_have_no_reduced_gradient(seed):
    """Stationarity: c + q x = A'y wherever x lies between its bounds, and complementary signs."""
    random = np.random.default_rng(seed)
    matrix = random.integers(-2, 3, (3, 6)).astype(float)
    side = matrix @ random.uniform(1, 3, 6)
    program = Program(
        random.normal(size=6), csr_array(matrix), side, side, np.zeros(6), np.full(6, 4.0)
    )
    curvature = random.uniform(0.5, 3, 6)
    x, duals = solve_quadratic(program, curvature)
    assert violation(program, x).worst <= 1e-6
    reduced = program.cost + curvature * x - matrix.T @ duals
    inside = (x > 1e-5) & (x < 4 - 1e-5)
    assert np.abs(reduced[inside]).max(initial=0) <= 1e-5
    assert np.all(reduced[x <= 1e-5] >= -1e-5)
    assert np.all(reduced[x >= 4 - 1e-5] <= 1e-5)


def test_a_program_without_a_point_has_no_answer():
    empty = Program(
        np.zeros(1), csr_array([[1.0]]), np.array([3.0]), np.array([3.0]), np.zeros(1), np.ones(1)
    )
    x, duals = solve_quadratic(empty, np.ones(1))
    assert not len(x)
    assert not len(duals)
