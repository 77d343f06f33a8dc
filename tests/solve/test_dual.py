"""The dual program has the value of the primal one."""

from __future__ import annotations

import numpy as np
import pytest

from programs import knapsack, small
from tablecloak.solve.bounds import dual_bound
from tablecloak.solve.dual import dual_program
from tablecloak.solve.linear import LinearSolver


@pytest.mark.parametrize("seed", range(4))
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
