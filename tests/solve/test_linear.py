"""A kept program: answers are checked, and false ones are not believed."""

from __future__ import annotations

import numpy as np
import pytest

from mock_solver import MockSolver, infeasible, optimal, out_of_time
from programs import knapsack, small
from tablecloak.budget import Budget
from tablecloak.solve.bounds import dual_bound
from tablecloak.solve.conformance import two_columns
from tablecloak.solve.linear import LinearSolver, dual_program
from tablecloak.solve.program import Program, Scaling
from tablecloak.solve.solver import Capability, Claim, Solution, SolveStatus

TRUE = np.array([2.0, 1.5])
"""The optimum of `two_columns`, of value 5; its multiplier is 2."""


def answered(*answers: Claim | None, once: bool = False) -> Solution:
    return LinearSolver(two_columns(), solver=MockSolver(answers), once=once).solve()


def test_a_true_answer_is_optimal():
    solution = answered(optimal(TRUE, np.array([2.0])))
    assert solution.status is SolveStatus.OPTIMAL
    assert solution.value == solution.bound == 5.0


def test_a_point_that_breaks_a_row_is_not_returned():
    solution = answered(optimal(np.array([2.0, 1.4]), np.array([2.0])))
    assert solution.status is SolveStatus.UNKNOWN
    assert not len(solution.x)
    assert solution.bound == pytest.approx(5.0)


@pytest.mark.parametrize("x", [[np.nan, 1.5], [np.inf, 0.0], [2.0], [2.0, 1.5, 0.0]])
def test_a_point_that_is_none_is_not_returned(x):
    assert answered(optimal(np.array(x), np.array([2.0]))).status is SolveStatus.UNKNOWN


def test_a_worse_point_called_optimal_is_only_feasible():
    solution = answered(optimal(np.array([2.0, 2.0]), np.array([2.0])))
    assert solution.status is SolveStatus.FEASIBLE
    assert solution.bound == pytest.approx(5.0)


@pytest.mark.parametrize("multiplier", [-2.0, 0.0, 1.0, 7.0])
def test_wrong_multipliers_prove_less_and_never_more(multiplier):
    solution = answered(optimal(TRUE, np.array([multiplier])))
    assert solution.status is SolveStatus.FEASIBLE
    assert solution.bound < 5.0 - 1e-3


def test_the_bound_is_ours_and_not_the_solvers():
    assert answered(optimal(TRUE, np.array([1.0]), bound=100.0)).bound < 5.0


def test_out_of_time_without_a_point_is_unknown():
    assert answered(out_of_time()).status is SolveStatus.UNKNOWN


def test_out_of_time_with_a_point_is_feasible():
    assert answered(out_of_time(np.array([2.0, 3.0]))).status is SolveStatus.FEASIBLE


def test_a_solver_that_breaks_off_is_unknown():
    assert answered(None).status is SolveStatus.UNKNOWN


def test_infeasible_is_passed_on_as_said():
    assert answered(infeasible()).status is SolveStatus.INFEASIBLE


def test_without_multipliers_the_dual_program_is_asked():
    """The dual of min x + 2 y: columns y+, r+ of x and y, r- of x and y; the optimum has y+ = 2."""
    mock = MockSolver(
        [optimal(TRUE), optimal(np.array([2.0, 0.0, 0.0, 1.0, 0.0]))], {Capability.INTEGERS}
    )
    solution = LinearSolver(two_columns(), solver=mock).solve()
    assert solution.status is SolveStatus.OPTIMAL
    assert solution.duals.tolist() == [2.0]
    dual, _ = mock.asked[1]
    assert dual.objective(np.array([2.0, 0.0, 0.0, 1.0, 0.0])) == -5.0


def test_without_any_multipliers_a_point_is_feasible_only():
    mock = MockSolver([optimal(TRUE), None], {Capability.INTEGERS})
    solution = LinearSolver(two_columns(), solver=mock).solve()
    assert solution.status is SolveStatus.FEASIBLE
    assert solution.bound == pytest.approx(0.0, abs=1e-12)


def test_a_heuristic_takes_its_first_answer_within_the_bounds():
    solution = answered(optimal(np.array([2.5, 1.5])), once=True)
    assert solution.status is SolveStatus.FEASIBLE
    assert solution.x.tolist() == [2.0, 1.5]


def test_without_hot_start_a_cold_solve_takes_its_place():
    mock = MockSolver([optimal(TRUE, np.array([2.0])), optimal(TRUE, np.array([2.0]))])
    solver = LinearSolver(two_columns(), solver=mock, interior="always")
    solver.solve()
    assert solver.basis is None
    assert solver.solve_from(solver.basis, 100.0).value == 5.0
    assert len(mock.asked) == 2


def test_above_the_cutoff_nothing_is_said():
    mock = MockSolver([optimal(TRUE, np.array([2.0]))])
    solution = LinearSolver(two_columns(), solver=mock).solve_from(None, 4.0)
    assert solution.status is SolveStatus.UNKNOWN
    assert not len(solution.x)


def test_a_probe_that_cannot_be_stopped_says_nothing():
    assert LinearSolver(two_columns(), solver=MockSolver()).probe(0, 0.0, 1.0, 50) == -np.inf


def test_whole_number_conditions_are_left_out():
    mock = MockSolver([optimal(TRUE, np.array([2.0]))])
    assert LinearSolver(two_columns(integral=True), solver=mock).solve().value == 5.0
    assert not mock.asked[0][0].is_mixed_integer


def test_a_false_answer_of_highs_is_corrected_by_its_other_methods(monkeypatch):
    """The first run is made to return another point; the next one from scratch is right."""
    from tablecloak.solve.highs import HighsProgram

    run, methods = HighsProgram.run, []

    def lying(self, seconds, method, **options):
        claim = run(self, seconds, method, **options)
        methods.append(method)
        return claim if len(methods) > 1 else Claim(claim.status, claim.x + 0.1, claim.duals)

    monkeypatch.setattr(HighsProgram, "run", lying)
    assert LinearSolver(two_columns()).solve().status is SolveStatus.OPTIMAL
    assert len(methods) == 2


def test_no_other_method_is_tried_once_the_search_is_stopped():
    def attempts(*, is_stopped_before: bool) -> int:
        with Budget.of().interruptible() as search:
            solver = LinearSolver(two_columns())
            run = solver._loaded.run
            if is_stopped_before:
                search.stop()

            def broken_off(*given, **options):
                run(*given, **options)
                search.stop()
                return Claim(SolveStatus.UNKNOWN)

            solver._loaded.run = broken_off
            solver.solve()
            return solver.runs

    assert attempts(is_stopped_before=False) == 1
    # What is solved after a stop is needed to end in order.
    assert attempts(is_stopped_before=True) > 1


def test_scaling_does_not_change_what_multipliers_prove():
    program: Program = two_columns()
    scaling = Scaling.by_units(program, np.full(2, 1000.0))
    solution = LinearSolver(scaling.apply(program)).solve()
    assert program.objective(scaling.point(solution.x)) == pytest.approx(5.0)


@pytest.mark.parametrize("seed", range(2))
def test_its_optimum_gives_multipliers_that_prove_the_optimum(seed):
    program = knapsack(seed).relaxed()
    sides = np.where(np.arange(6) % 2, np.inf, program.row_lower + 1)
    program = program.with_sides(np.arange(6), program.row_lower, sides)
    value = LinearSolver(program).solve().value
    dual, multipliers = dual_program(program)
    solution = LinearSolver(dual).solve()
    assert -solution.value == pytest.approx(value)
    assert dual_bound(program, multipliers(solution.x)) == pytest.approx(value)


def test_infinite_sides_and_bounds_have_no_column():
    assert dual_program(small())[0].n_columns == 5
    free = small().with_bounds(np.full(2, -np.inf), np.full(2, np.inf))
    assert dual_program(free)[0].n_columns == 1
