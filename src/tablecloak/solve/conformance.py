"""Checks that every solver must pass before it is used.

Run them on a solver of your own::

    for check in CHECKS:
        check(MySolver())

Each check is a function of a solver. It raises AssertionError if the solver does not keep to the
interface of `tablecloak.solve.solver`, and returns without a check if the solver does not claim
the capability in question. The programs are small, and their optima are known by hand.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from tablecloak.errors import SolverError
from tablecloak.solve.bounds import dual_bound, violation
from tablecloak.solve.feasibility import find_infeasibility
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve, solve_quadratic
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Capability, Request, Solver, SolveStatus, using_solver

SMALL = 1e-7
"""Difference up to which two objectives near 1 count as equal."""


def two_columns(*, integral: bool = False) -> Program:
    """Min x + 2 y over x + y >= 3.5, 0 <= x <= 2, 0 <= y <= 5.

    The optimum is 5 at (2, 1.5), and 6 at (2, 2) in whole numbers.
    """
    return Program(
        cost=np.array([1.0, 2.0]),
        matrix=csr_array(np.array([[1.0, 1.0]])),
        row_lower=np.array([3.5]),
        row_upper=np.array([np.inf]),
        lower=np.zeros(2),
        upper=np.array([2.0, 5.0]),
        integral=np.full(2, integral),
    )


def thirds() -> Program:
    """Min -x + 10 y + z over 3 x + y = 1,000, 7 y + z >= 333; the optimum is (1000 / 3, 0, 333)."""
    return Program(
        cost=np.array([-1.0, 10.0, 1.0]),
        matrix=csr_array(np.array([[3.0, 1.0, 0.0], [0.0, 7.0, 1.0]])),
        row_lower=np.array([1000.0, 333.0]),
        row_upper=np.array([1000.0, np.inf]),
        lower=np.zeros(3),
        upper=np.full(3, np.inf),
    )


def a_program_is_solved_and_proved(solver: Solver) -> None:
    """Point, value and bound of a linear program are correct."""
    solution = LinearSolver(two_columns(), solver=solver).solve()
    assert solution.status is SolveStatus.OPTIMAL, solution
    assert np.allclose(solution.x, [2.0, 1.5], atol=SMALL), solution.x
    assert abs(solution.value - 5.0) <= SMALL and abs(solution.bound - 5.0) <= SMALL, solution


def points_are_exact_beyond_eight_digits(solver: Solver) -> None:
    """A point with thirds in it satisfies its rows as exactly as one of whole numbers."""
    program = thirds()
    solution = LinearSolver(program, solver=solver).solve()
    assert solution.status is SolveStatus.OPTIMAL, solution
    assert abs(solution.x[0] - 1000 / 3) <= SMALL, solution.x
    assert violation(program, solution.x).worst <= SMALL


def multipliers_have_our_sign(solver: Solver) -> None:
    """A binding lower side has a positive multiplier, a binding upper side a negative one."""
    program = two_columns()
    solution = LinearSolver(program, solver=solver).solve()
    assert np.allclose(solution.duals, [2.0], atol=SMALL), solution.duals
    turned = Program(
        program.cost,
        -program.matrix,
        -program.row_upper,
        -program.row_lower,
        program.lower,
        program.upper,
    )
    solution = LinearSolver(turned, solver=solver).solve()
    assert np.allclose(solution.duals, [-2.0], atol=SMALL), solution.duals
    assert abs(dual_bound(turned, solution.duals) - 5.0) <= SMALL


def changes_are_taken_over(solver: Solver) -> None:
    """Changes of costs, bounds, sides and rows all take effect."""
    changed = LinearSolver(two_columns(), solver=solver)
    one, two = np.array([0]), np.array([1])
    values = [changed.solve().value]
    changed.change_costs(two, np.array([3.0]))
    values.append(changed.solve().value)
    changed.change_bounds(one, np.zeros(1), np.ones(1))
    values.append(changed.solve().value)
    changed.change_sides(one, np.array([4.0]), np.array([np.inf]))
    values.append(changed.solve().value)
    changed.add_rows(csr_array(np.array([[0.0, 1.0]])), np.array([3.5]), np.array([np.inf]))
    values.append(changed.solve().value)
    changed.keep_rows(np.array([0]))
    values.append(changed.solve().value)
    assert np.allclose(values, [5.0, 6.5, 8.5, 10.0, 11.0, 10.0], atol=SMALL), values


def a_solve_goes_on_from_a_basis(solver: Solver) -> None:
    """`solve_from` returns the answer of a cold solve, or no point above the cutoff."""
    warm = LinearSolver(two_columns(), solver=solver)
    warm.solve()
    basis = warm.basis
    warm.change_bounds(np.array([0]), np.zeros(1), np.ones(1))
    solution = warm.solve_from(basis, 7.0)
    assert solution.status is SolveStatus.OPTIMAL, solution
    assert abs(solution.value - 6.0) <= SMALL, solution
    solution = warm.solve_from(basis, 5.5)
    assert not len(solution.x) or solution.value >= 5.5, solution


def a_probe_leaves_no_trace(solver: Solver) -> None:
    """A probe returns a valid bound, and leaves program and answer as they were."""
    probed = LinearSolver(two_columns(), solver=solver)
    probed.solve()
    assert probed.probe(0, 0.0, 1.0, 50) <= 6.0 + SMALL
    solution = probed.solve()
    assert abs(solution.value - 5.0) <= SMALL, solution


def infeasible_programs_are_recognised(solver: Solver) -> None:
    """A program without a feasible point is called infeasible, with a proof by multipliers."""
    program = two_columns().with_bounds(np.zeros(2), np.ones(2))
    assert LinearSolver(program, solver=solver).solve().status is SolveStatus.INFEASIBLE
    with using_solver(solver):
        outcome = find_infeasibility(program)
        assert outcome.confirmed
        assert abs(outcome.shortfall.sum() - 1.5) <= SMALL, outcome
        assert not find_infeasibility(two_columns()).confirmed


def unbounded_programs_are_recognised(solver: Solver) -> None:
    """A program without a finite minimum is called neither optimal nor feasible."""
    program = two_columns().with_columns(np.array([-1.0, 0.0]), np.zeros(2), np.full(2, np.inf))
    status = LinearSolver(program, solver=solver).solve().status
    assert status not in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE), status


def whole_numbers_are_whole(solver: Solver) -> None:
    """A mixed-integer program is solved, by the solver or by our own branch and bound."""
    with using_solver(solver):
        solution = solve(two_columns(integral=True))
    assert solution.status is SolveStatus.OPTIMAL, solution
    assert solution.x.tolist() == [2.0, 2.0], solution.x
    assert solution.bound <= 6.0 + SMALL, solution


def least_squares_are_least(solver: Solver) -> None:
    """Min x^2 + y^2 over x + y >= 3.5 is at (1.75, 1.75); checked if QUADRATIC is claimed."""
    if not solver.can(Capability.QUADRATIC):
        return
    program = two_columns()
    flat = program.with_columns(np.zeros(2), program.lower, program.upper)
    with using_solver(solver):
        x, _ = solve_quadratic(flat, np.full(2, 2.0))
    assert np.allclose(x, [1.75, 1.75], atol=1e-5), x


def empty_programs_are_answered(solver: Solver) -> None:
    """A program without rows is solved."""
    program = Program(
        np.array([1.0, -1.0]),
        csr_array((0, 2)),
        np.zeros(0),
        np.zeros(0),
        np.array([-1.0, 0.0]),
        np.array([5.0, 2.0]),
    )
    solution = LinearSolver(program, solver=solver).solve()
    assert solution.status is SolveStatus.OPTIMAL, solution
    assert solution.x.tolist() == [-1.0, 2.0], solution.x


def no_time_is_no_error(solver: Solver) -> None:
    """With a time limit of 0 a solver may give up, but neither hang nor claim anything false."""
    try:
        claim = solver.run(two_columns(), Request(seconds=0.0))
    except SolverError:
        return
    assert claim.status is not SolveStatus.INFEASIBLE
    if claim.status is SolveStatus.OPTIMAL:
        assert claim.x is not None
        assert abs(two_columns().objective(claim.x) - 5.0) <= SMALL, claim


CHECKS: tuple[Callable[[Solver], None], ...] = (
    a_program_is_solved_and_proved,
    points_are_exact_beyond_eight_digits,
    multipliers_have_our_sign,
    changes_are_taken_over,
    a_solve_goes_on_from_a_basis,
    a_probe_leaves_no_trace,
    infeasible_programs_are_recognised,
    unbounded_programs_are_recognised,
    whole_numbers_are_whole,
    least_squares_are_least,
    empty_programs_are_answered,
    no_time_is_no_error,
)
"""All checks, each a function of a solver."""


def conforms(solver: Solver) -> None:
    """Run all checks.

    Raises
    ------
    AssertionError
        If a check fails.
    """
    for check in CHECKS:
        check(solver)
