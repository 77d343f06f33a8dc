"""Systems of relations: rows that imply the others, and whole points against all of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tablecloak.budget import Budget
from tablecloak.solve.branch import branch_and_bound
from tablecloak.solve.independent import independent_rows
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.solve.solver import SolveStatus


def margins(*sizes: int) -> csr_array:
    """Relations of a table with all its margins: one for each line of cells."""
    shape = tuple(size + 1 for size in sizes)
    cells = np.arange(np.prod(shape)).reshape(shape)
    rows = []
    for axis in range(len(sizes)):
        for line in np.moveaxis(cells, axis, -1).reshape(-1, shape[axis]):
            row = np.zeros(cells.size)
            row[line[:-1]], row[line[-1]] = 1, -1
            rows.append(row)
    return csr_array(np.array(rows))


@pytest.mark.parametrize("sizes", [(3,), (2, 3), (4, 4), (2, 2, 3), (3, 2, 2, 2)])
def test_margins_have_one_independent_relation_for_each_total(sizes):
    matrix = margins(*sizes)
    inner = int(np.prod(sizes))
    kept = independent_rows(matrix)
    assert len(kept) == np.prod([size + 1 for size in sizes]) - inner
    assert np.linalg.matrix_rank(matrix[kept, :].toarray()) == len(kept)


@given(seed=st.integers(0, 500))
def test_all_relations_hold_where_the_kept_ones_do(seed):
    random = np.random.default_rng(seed)
    matrix = random.integers(-1, 2, (6, 8)).astype(float)
    matrix[3] = matrix[0] - matrix[1]
    matrix[5] = 0
    relations = csr_array(matrix)
    kept = independent_rows(relations)
    assert np.linalg.matrix_rank(matrix) == np.linalg.matrix_rank(matrix[kept])
    assert 5 not in kept.tolist()


def whole_program(seed: int) -> Program:
    random = np.random.default_rng(seed)
    matrix = random.integers(-2, 5, (3, 5)).astype(float)
    low = matrix @ random.integers(0, 3, 5) - random.integers(0, 4, 3)
    return Program(
        random.integers(-3, 9, 5).astype(float), csr_array(matrix), low, low + 4,
        np.zeros(5), np.full(5, 3.0), np.ones(5, dtype=bool),
    )  # fmt: skip


def least(program: Program) -> float:
    """Over all whole points."""
    points = np.array(list(itertools.product(range(4), repeat=5)), dtype=float)
    activity = points @ program.matrix.toarray().T
    fits = np.all((activity >= program.row_lower) & (activity <= program.row_upper), axis=1)
    return float((points[fits] @ program.cost).min()) if fits.any() else np.inf


def test_of_these_programs_some_have_a_whole_point():
    assert sum(np.isfinite(least(whole_program(seed))) for seed in range(8)) >= 3


@pytest.mark.parametrize("seed", range(8))
def test_branch_and_bound_finds_and_proves_the_best_whole_point(seed):
    program = whole_program(seed)
    expected = least(program)
    result = branch_and_bound(program, value=np.inf, budget=Budget.of(600))
    if np.isinf(expected):
        assert not len(result.x)
        assert result.tree.verify(program) == np.inf
    else:
        assert program.objective(np.rint(result.x)) == pytest.approx(expected)
        assert result.tree.verify(program) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_a_mixed_integer_solver_agrees_and_claims_no_more(seed):
    program = whole_program(seed)
    expected = least(program)
    found = solve(program)
    if np.isinf(expected):
        assert found.status is not SolveStatus.OPTIMAL
    else:
        assert found.value == pytest.approx(expected)
        assert found.bound <= expected + 1e-6


@pytest.mark.parametrize("seed", range(2))
def test_a_known_value_cuts_the_search_and_leaves_its_proof(seed):
    program = whole_program(seed)
    expected = least(program)
    if np.isinf(expected):
        expected = 0.0
    result = branch_and_bound(program, value=expected, budget=Budget.of(600))
    assert result.tree.verify(program) >= expected - 1e-5
