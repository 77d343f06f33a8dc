"""Eight digits become sixteen, and nothing gets worse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from programs import knapsack
from tablecloak.solve.bounds import dual_bound, violation
from tablecloak.solve.conformance import thirds
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.polish import polished, settled_duals
from tablecloak.solve.program import Program


def written(values: np.ndarray) -> np.ndarray:
    """Return numbers as a solution file has them."""
    return np.array([float(f"{value:.8g}") for value in values])


@pytest.mark.parametrize("seed", range(3))
def test_a_written_vertex_is_restored(seed):
    program = knapsack(seed).relaxed()
    stretched = program.with_columns(program.cost / 3, program.lower, program.upper)
    solution = LinearSolver(stretched).solve()
    x, duals = polished(stretched, written(solution.x), written(solution.duals))
    assert violation(stretched, x).worst < 1e-14
    assert dual_bound(stretched, duals) == pytest.approx(solution.value, abs=1e-12)


def test_thirds_are_restored():
    x, _ = polished(thirds(), np.array([333.33333, 0.0, 333.0]), np.empty(0))
    assert x[0] == pytest.approx(1000 / 3, abs=1e-12)


def test_a_point_that_breaks_the_program_stays_what_it_is():
    broken = np.array([0.5, 0.0, 100.0])
    x, _ = polished(thirds(), broken, np.empty(0))
    assert violation(thirds(), x).worst > 1.0


def test_dust_of_a_solver_is_no_price_of_a_column_without_bounds():
    """Row 2 is not needed: a multiplier of 1e-80 there would be all of the price of b."""
    matrix = csr_array([[0.1, 0.0], [1.0, -3.0]])
    rows, ends = np.zeros(2), np.full(2, np.inf)
    program = Program(np.array([-1.0, 0.0]), matrix, rows, rows, -ends, ends)
    dusty = np.array([-10.0, 1e-80])
    assert dual_bound(program, dusty) == -np.inf
    assert dual_bound(program, settled_duals(program, dusty)) == 0
