"""False answers and traps of solvers that were really seen: each must be caught or avoided."""

from __future__ import annotations

from dataclasses import replace

import highspy
import numpy as np
import pytest
from scipy.sparse import csr_array

from tablecloak.errors import InputError
from tablecloak.solve.bounds import dual_bound, proves_infeasible, violation
from tablecloak.solve.branch import branch_and_bound
from tablecloak.solve.feasibility import find_infeasibility
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program, Scaling
from tablecloak.solve.solver import SolveStatus, using_solver


def small(upper: float = 2.0) -> Program:
    """min x + 2 y over x + y >= 3, 0 <= x <= 2, 0 <= y <= 5; the optimum is 4."""
    return Program(
        np.array([1.0, 2.0]),
        csr_array([[1.0, 1.0]]),
        np.array([3.0]),
        np.array([np.inf]),
        np.zeros(2),
        np.array([upper, 5.0]),
    )


def knapsack(seed: int) -> Program:
    random = np.random.default_rng(seed)
    matrix = csr_array(random.integers(0, 5, (6, 12)).astype(float))
    cost = random.integers(1, 50, 12).astype(float)
    low = np.asarray(matrix.sum(axis=1)).reshape(-1) * 0.4
    return Program(cost, matrix, low, np.full(6, np.inf), np.zeros(12), np.ones(12),
                   np.ones(12, dtype=bool))  # fmt: skip


@pytest.mark.parametrize("duals", [[0.0], [1.0], [2.0], [7.5], [-3.0]])
def test_weak_duality_bound_never_exceeds_the_optimum(duals):
    assert dual_bound(small(), np.array(duals)) <= 4.0


def test_weak_duality_bound_is_tight_at_the_optimal_multipliers():
    assert dual_bound(small(), np.array([2.0])) == pytest.approx(4.0)


def test_instances_with_other_threads_in_the_process_do_not_stop_us():
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    other.setOptionValue("threads", 2)
    other.addVar(0, 1)
    other.run()
    assert solve(small()).value == pytest.approx(4.0)
    assert solve(replace(small(), integral=np.ones(2, dtype=bool))).value == pytest.approx(4.0)


def test_time_limit_counts_from_each_run_and_not_from_the_first():
    solver = LinearSolver(small())
    for _ in range(50):
        assert solver.solve(time_limit=5.0).status is SolveStatus.OPTIMAL


def test_hot_started_answers_equal_cold_ones():
    random = np.random.default_rng(0)
    program = knapsack(0).relaxed()
    solver = LinearSolver(program, primal=True)
    columns = np.arange(program.n_columns)
    for _ in range(30):
        cost = random.normal(size=program.n_columns)
        solver.change_costs(columns, cost)
        hot = solver.solve()
        cold = solve(replace(program, cost=cost))
        assert hot.status is SolveStatus.OPTIMAL
        assert hot.value == pytest.approx(cold.value, abs=1e-7)


def test_infeasible_is_confirmed_by_multipliers():
    program = small().with_bounds(np.zeros(2), np.ones(2))
    found = find_infeasibility(program)
    assert found.confirmed
    assert proves_infeasible(program, found.duals)
    assert found.shortfall.sum() == pytest.approx(1.0)


def test_feasible_is_never_confirmed_as_infeasible():
    assert not find_infeasibility(small()).confirmed


def test_scaling_returns_to_the_same_point_and_value():
    program = knapsack(1).relaxed()
    scaling = Scaling.by_units(program, np.full(12, 1000.0))
    solution = solve(scaling.apply(program))
    x = scaling.point(solution.x)
    assert violation(program, x).worst < 1e-6
    assert program.objective(x) == pytest.approx(solve(program).value)
    assert dual_bound(program, scaling.duals(solution.duals)) == pytest.approx(solve(program).value)


@pytest.mark.parametrize("seed", range(5))
def test_branch_and_bound_proves_the_optimum_of_other_solvers(seed):
    program = knapsack(seed)
    result = branch_and_bound(program, step=1.0)
    assert result.value == pytest.approx(solve(program).value)
    with using_solver("cbc"):
        assert result.value == pytest.approx(solve(program).value)
    assert np.ceil(result.tree.verify(result.program) - 1e-6) == result.value


def test_what_rows_have_proved_at_the_root_survives_an_interruption():
    """min x + y over 0/1 with x + y >= 1.5 told in two steps; time is up at the third."""
    program = Program(
        np.ones(2),
        csr_array((0, 2)),
        np.zeros(0),
        np.zeros(0),
        np.zeros(2),
        np.ones(2),
        np.ones(2, dtype=bool),
    )
    sides = [1.0, 1.5]

    def separate(y, integral):
        if not sides:
            raise TimeoutError
        return csr_array(np.ones((1, 2))), np.array([sides.pop(0)]), np.array([np.inf])

    result = branch_and_bound(program, separate=separate)
    assert not result.is_complete
    assert result.bound == pytest.approx(1.5)
    assert result.tree.verify(result.program) == pytest.approx(1.5)


def test_unknown_solver_is_named():
    with pytest.raises(InputError, match="There is no solver 'cbcc'. Did you mean 'cbc'?"):
        using_solver("cbcc").__enter__()
