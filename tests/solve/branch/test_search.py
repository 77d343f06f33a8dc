"""Branch and bound: the optimum, a proof of it, and an end in order."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from programs import knapsack
from tablecloak.budget import Budget
from tablecloak.solve.branch import BranchSearch, branch_and_bound
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.solve.solver import using_solver


@pytest.mark.parametrize("seed", range(5))
def test_branch_and_bound_proves_the_optimum_of_other_solvers(seed):
    program = knapsack(seed)
    result = branch_and_bound(program, step=1.0)
    assert result.is_complete
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


def test_a_stopped_budget_ends_the_search_with_what_is_proved():
    program, budget = knapsack(1), Budget.of()
    nodes = []

    def report(value, bound, open_nodes):
        nodes.append(open_nodes)
        if len(nodes) == 3:
            budget.stop()

    result = branch_and_bound(program, budget=budget, progress=report)
    assert not result.is_complete
    assert result.tree.verify(result.program) >= result.bound - 1e-9
    assert result.bound <= solve(program).value


def test_a_search_is_taken_up_where_it_ended():
    program = knapsack(2)
    whole = branch_and_bound(program)
    search = BranchSearch(program)
    for _ in range(1000):
        search.run(node_limit=search.processed + 1)
        if search.result().is_complete:
            break
    assert search.result().value == pytest.approx(whole.value)
    assert search.processed == whole.nodes


def test_an_empty_program_is_proved_empty():
    program = knapsack(0).with_bounds(np.zeros(12), np.zeros(12))
    result = branch_and_bound(program)
    assert result.is_complete
    assert not len(result.x)
    assert result.tree.verify(result.program) == np.inf
