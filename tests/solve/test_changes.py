"""A kept program after any sequence of changes, against scipy on the program as it then stands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tablecloak.solve.conformance import two_columns
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.solve.solver import SolveStatus
from tight_forms import value_of


def begin(seed: int) -> Program:
    random = np.random.default_rng(seed)
    matrix = random.integers(-2, 4, (4, 6)).astype(float)
    activity = matrix @ random.integers(0, 4, 6)
    return Program(
        random.integers(-5, 6, 6).astype(float), csr_array(matrix),
        activity - random.integers(0, 4, 4), activity + random.integers(0, 4, 4),
        np.zeros(6), np.full(6, 5.0),
    )  # fmt: skip


def change(solver: LinearSolver, kind: str, random: np.random.Generator) -> None:
    column, row = np.array([random.integers(6)]), np.array([random.integers(4)])
    match kind:
        case "costs":
            solver.change_costs(column, random.integers(-9, 9, 1).astype(float))
        case "bounds":
            low = float(random.integers(0, 3))
            solver.change_bounds(column, np.array([low]), np.array([low + random.integers(0, 4)]))
        case "sides":
            low = float(random.integers(-5, 5))
            solver.change_sides(row, np.array([low]), np.array([low + random.integers(0, 9)]))
        case "rows":
            one = random.integers(-1, 3, (1, 6)).astype(float)
            solver.add_rows(csr_array(one), np.array([-np.inf]), np.array([12.0]))
        case "kept":
            solver.keep_rows(np.arange(4))


@given(
    seed=st.integers(0, 300),
    kinds=st.lists(st.sampled_from(["costs", "bounds", "sides", "rows", "kept"]), max_size=6),
)
def test_every_change_counts_and_every_answer_is_that_of_the_changed_program(seed, kinds):
    random = np.random.default_rng(seed)
    solver = LinearSolver(begin(seed))
    for kind in ["none", *kinds]:
        change(solver, kind, random)
        solution, expected = solver.solve(), value_of(solver.current)
        if np.isinf(expected):
            assert solution.status is SolveStatus.INFEASIBLE
        else:
            assert solution.status is SolveStatus.OPTIMAL
            assert solution.value == pytest.approx(expected, abs=1e-6)
            assert solution.bound == pytest.approx(expected, abs=1e-5)


@settings(max_examples=15)
@given(seed=st.integers(0, 300), column=st.integers(0, 5), low=st.integers(0, 4))
def test_a_probe_bounds_the_changed_program_and_leaves_it_as_it_was(seed, column, low):
    solver = LinearSolver(begin(seed))
    before = solver.solve()
    found = solver.probe(column, float(low), 5.0, 50)
    lower = solver.program.lower.copy()
    lower[column] = low
    assert found <= value_of(solver.program.with_bounds(lower, solver.program.upper)) + 1e-6
    assert np.array_equal(solver.lower, np.zeros(6))
    after = solver.solve()
    assert after.value == pytest.approx(before.value, abs=1e-7)


def test_above_a_cutoff_a_solve_says_nothing_and_below_it_everything():
    solver = LinearSolver(two_columns())
    assert solver.solve().value == pytest.approx(5)
    basis = solver.basis
    one = np.array([0])
    solver.change_bounds(one, np.zeros(1), np.ones(1))
    # With x up to 1 the optimum is 6.
    assert solver.solve_from(basis, 7.0).value == pytest.approx(6)
    assert solver.solve_from(basis, 5.5).status is SolveStatus.UNKNOWN


def test_the_given_program_is_not_changed():
    program = two_columns()
    solver = LinearSolver(program)
    solver.change_costs(np.array([0]), np.array([9.0]))
    solver.change_bounds(np.array([1]), np.array([1.0]), np.array([2.0]))
    assert program.cost.tolist() == [1, 2]
    assert program.upper.tolist() == [2, 5]
    assert solver.current.cost.tolist() == [9, 2]


@pytest.mark.parametrize("interior", ["never", "first", "always"])
def test_every_way_to_begin_gives_the_same_value_of(interior):
    for seed in (1, 2, 3):
        program = begin(seed)
        solution = LinearSolver(program, interior=interior).solve()
        assert solution.value == pytest.approx(value_of(program), abs=1e-6)


def test_an_unchecked_answer_claims_no_bound():
    solution = LinearSolver(two_columns(), checked=False).solve()
    assert solution.status is SolveStatus.FEASIBLE
    assert solution.bound == -np.inf
    assert solution.x == pytest.approx([2, 1.5])
