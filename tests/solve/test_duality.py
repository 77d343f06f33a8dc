"""Weak duality, Farkas and elastic programs on random programs, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array

from tablecloak.solve.bounds import dual_bound, is_proved, proves_infeasible, violation
from tablecloak.solve.feasibility import elastic, find_infeasibility
from tablecloak.solve.linear import dual_program
from tablecloak.solve.program import Program, Scaling, power_of_two


def random_program(seed: int, *, n: int = 5, m: int = 4) -> Program:
    """Bounded, with rows of one and of two sides around a feasible point or far from it."""
    random = np.random.default_rng(seed)
    matrix = random.integers(-3, 4, (m, n)).astype(float)
    activity = matrix @ random.integers(0, 5, n) + (20 * (seed % 4 == 0))
    low = np.where(random.random(m) < 0.3, -np.inf, activity - random.integers(0, 3, m))
    high = np.where(random.random(m) < 0.3, np.inf, activity + random.integers(0, 3, m))
    return Program(
        random.integers(-5, 6, n).astype(float), csr_array(matrix), low, high,
        np.zeros(n), np.full(n, 6.0),
    )  # fmt: skip


def solved(program: Program):
    matrix = program.matrix.toarray()
    low, high = np.isfinite(program.row_lower), np.isfinite(program.row_upper)
    return linprog(
        program.cost,
        A_ub=np.vstack([matrix[high], -matrix[low]]),
        b_ub=np.concatenate([program.row_upper[high], -program.row_lower[low]]),
        bounds=np.column_stack([program.lower, program.upper]),
    )


SEEDS = st.integers(0, 400)


@given(seed=SEEDS, noise=st.floats(0.01, 100))
def test_no_multipliers_whatever_bound_more_than_the_optimum(seed, noise):
    program = random_program(seed)
    found = solved(program)
    duals = np.random.default_rng(seed).normal(0, noise, program.n_rows)
    if found.status == 0:
        assert dual_bound(program, duals) <= found.fun + 1e-9
        assert not proves_infeasible(program, duals)


def test_the_dual_program_gives_multipliers_that_prove_the_optimum():
    proved = 0
    for program in map(random_program, range(25)):
        found = solved(program)
        if found.status != 0:
            continue
        dual, multipliers = dual_program(program)
        answer = solved(dual)
        assert answer.fun == pytest.approx(-found.fun, abs=1e-7)
        assert dual_bound(program, multipliers(answer.x)) == pytest.approx(found.fun, abs=1e-7)
        proof = multipliers(answer.x)
        bound = dual_bound(program, proof)
        assert is_proved(program, found.x, proof, found.fun, bound)
        proved += 1
    assert proved >= 5


@given(seed=SEEDS)
def test_infeasible_is_confirmed_exactly_where_scipy_finds_no_point(seed):
    program = random_program(seed)
    conflict = find_infeasibility(program)
    is_empty = solved(program).status == 2
    assert conflict.confirmed == is_empty
    assert (conflict.shortfall.sum() > 1e-6) == is_empty
    if not is_empty:
        assert violation(program, conflict.x).worst <= 1e-6


@given(seed=SEEDS)
def test_the_elastic_program_costs_exactly_what_rows_must_give_way(seed):
    program = random_program(seed)
    soft = elastic(program)
    found = solved(soft)
    assert found.status == 0
    activity = program.matrix @ found.x[: program.n_columns]
    off = np.maximum(program.row_lower - activity, activity - program.row_upper)
    assert found.fun == pytest.approx(np.maximum(off, 0).sum(), abs=1e-6)


def test_a_narrower_box_never_lowers_the_bound():
    program = random_program(3)
    duals = np.linspace(-1, 1, program.n_rows)
    whole = dual_bound(program, duals)
    for column in range(program.n_columns):
        lower, upper = program.lower.copy(), program.upper.copy()
        upper[column] = 2.0
        assert dual_bound(program, duals, lower=lower, upper=upper) >= whole - 1e-9


@given(seed=SEEDS, powers=st.lists(st.integers(-20, 20), min_size=5, max_size=5))
def test_scaling_rounds_neither_objective_nor_rows_nor_what_multipliers_prove(seed, powers):
    program = random_program(seed)
    scaling = Scaling.by_units(program, np.ldexp(1.0, powers))
    scaled = scaling.apply(program)
    random = np.random.default_rng(seed)
    x = random.integers(-4, 5, program.n_columns).astype(float)
    raw = scaling.point(x)
    assert scaled.objective(x) * scaling.objective == program.objective(raw)
    assert np.array_equal(scaled.matrix @ x, scaling.row * (program.matrix @ raw))
    finite = np.isfinite(program.row_lower)
    assert np.array_equal(scaled.row_lower[finite], (scaling.row * program.row_lower)[finite])
    duals = random.integers(-3, 4, program.n_rows).astype(float)
    proved = dual_bound(scaled, duals) * scaling.objective
    assert proved == pytest.approx(dual_bound(program, scaling.duals(duals)), rel=1e-12, abs=1e-9)


@given(st.floats(1e-30, 1e30))
def test_a_power_of_two_is_the_nearest_below_or_above_and_rounds_nothing(number):
    power = float(power_of_two(np.asarray(number)))
    assert np.frexp(power)[0] == 0.5
    assert 0.25 <= number / power <= 4
    assert (number / power) * power == number


@pytest.mark.parametrize(
    ("x", "rows", "bounds", "integrality"),
    [((1, 2), 0, 0, 0), ((1, 1), 1, 0, 0), ((3, 0), 0, 1, 0), ((-0.5, 3.5), 0, 0.5, 0.5),
     ((np.nan, 0), np.inf, np.inf, np.inf)],
)  # fmt: skip
def test_violations_by_hand(x, rows, bounds, integrality):
    """x + y = 3 with 0 <= x <= 2, 0 <= y <= 5, and y whole."""
    program = Program(
        np.ones(2), csr_array([[1.0, 1.0]]), np.array([3.0]), np.array([3.0]), np.zeros(2),
        np.array([2.0, 5.0]), np.array([False, True]),
    )  # fmt: skip
    found = violation(program, np.array(x, dtype=float))
    assert (found.rows, found.bounds, found.integrality) == (rows, bounds, integrality)
    assert found.worst == max(rows, bounds, integrality)
