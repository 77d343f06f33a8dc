"""Branch and bound: the optimum, a proof of it, and an end in order."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from programs import knapsack
from tablecloak.budget import Budget
from tablecloak.errors import VerificationError
from tablecloak.solve.branch import (
    RELIABLE,
    BranchNode,
    BranchSearch,
    BranchTree,
    Pseudocosts,
    branch_and_bound,
)
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.solve.solver import using_solver


@pytest.mark.parametrize("seed", range(3))
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


@pytest.mark.parametrize("late", [2, 5, 9])
def test_a_program_cut_short_takes_nothing_from_what_its_parent_has_proved(late, monkeypatch):
    """A solver that runs out of time may return a point whose multipliers prove nothing."""
    search = BranchSearch(knapsack(1))
    solve_whole, runs = search.solver.solve, itertools.count(1)

    def solve_late(seconds):
        solution = solve_whole(seconds)
        if next(runs) < late:
            return solution
        return replace(solution, duals=np.zeros_like(solution.duals), bound=-np.inf)

    monkeypatch.setattr(search.solver, "solve", solve_late)
    search.run(node_limit=late)
    result = search.result()
    assert np.isfinite(result.bound)
    assert result.tree.verify(result.program) >= result.bound - 1e-9


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


def cover(seed: int, n: int = 9) -> tuple[Program, np.ndarray]:
    """Vertices with prices, and edges that come as rows when a point leaves them bare."""
    random = np.random.default_rng(seed)
    edges = np.argwhere(np.triu(random.random((n, n)) < 0.4, 1))
    cost = random.integers(1, 9, n).astype(float)
    free = Program(
        cost, csr_array((0, n)), np.zeros(0), np.zeros(0), np.zeros(n), np.ones(n),
        np.ones(n, dtype=bool),
    )  # fmt: skip
    return free, edges


def least_cover(program: Program, edges: np.ndarray) -> float:
    points = np.array(list(itertools.product([0, 1], repeat=program.n_columns)))
    fits = np.all(points[:, edges[:, 0]] + points[:, edges[:, 1]] >= 1, axis=1)
    return float((points[fits] @ program.cost).min())


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_come_as_they_are_violated_give_the_optimum_of_all_rows(seed):
    program, edges = cover(seed)
    added: list[tuple[int, int]] = []

    def separate(x, is_integral):
        bare = edges[x[edges[:, 0]] + x[edges[:, 1]] < 1 - 1e-6]
        if not len(bare):
            return None
        added.extend(map(tuple, bare[:2].tolist()))
        rows = np.zeros((len(bare[:2]), program.n_columns))
        for row, (one, other) in enumerate(bare[:2]):
            rows[row, [one, other]] = 1
        return csr_array(rows), np.ones(len(rows)), np.full(len(rows), np.inf)

    result = branch_and_bound(program, separate=separate)
    expected = least_cover(program, edges)
    assert result.is_complete
    assert result.value == pytest.approx(expected)
    # The proof needs only the rows that came.
    assert result.program.n_rows == len(added)
    assert result.tree.verify(result.program) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_a_step_closes_nodes_between_two_multiples(seed):
    covering = knapsack(seed)
    with_step = branch_and_bound(covering, step=1.0)
    without = branch_and_bound(covering)
    assert with_step.value == without.value
    assert with_step.nodes <= without.nodes


def test_a_known_value_that_cannot_be_beaten_leaves_no_point_but_a_proof():
    program = knapsack(3)
    best = branch_and_bound(program, step=1.0)
    again = branch_and_bound(program, value=best.value, step=1.0)
    assert not len(again.x)
    assert again.value == best.value
    assert again.nodes <= best.nodes
    assert np.ceil(again.tree.verify(again.program) - 1e-6) >= best.value


def test_a_better_value_may_come_from_outside_while_the_search_runs():
    program = knapsack(4)
    best = branch_and_bound(program, step=1.0)
    told = iter([np.inf, np.inf])
    result = branch_and_bound(program, value=lambda: next(told, best.value), step=1.0)
    assert result.value == best.value
    assert result.is_complete


def test_a_root_without_multipliers_proves_nothing():
    assert BranchTree([BranchNode.root()]).verify(knapsack(0)) == -np.inf


def test_a_split_covers_all_whole_numbers():
    tree = BranchTree.of_root(np.zeros(6))
    assert tree.split(0, 3, 0.0, 0.0) == (1, 2)
    for node in (1, 2):
        tree.inherit(node)
    assert tree.verify(knapsack(0)) == pytest.approx(0.0, abs=1e-9)
    assert tree.box(knapsack(0), 2)[0][3] == 1.0
    assert tree.box(knapsack(0), 1)[1][3] == 0.0


@pytest.mark.parametrize(
    "second",
    [
        BranchNode(0, 3, True, 2.0, 0.0, 1),
        BranchNode(0, 4, True, 1.0, 0.0, 1),
        BranchNode(0, 3, False, 1.0, 0.0, 1),
        None,
    ],
)
def test_leaves_that_leave_a_gap_are_refused(second):
    tree = BranchTree.of_root(np.zeros(6))
    tree.nodes.append(BranchNode(0, 3, False, 0.0, 0.0, 1))
    if second is not None:
        tree.nodes.append(second)
    with pytest.raises(VerificationError, match="does not cover"):
        tree.verify(knapsack(0))


def test_a_split_of_a_column_that_is_not_whole_is_refused():
    tree = BranchTree.of_root(np.zeros(6))
    tree.split(0, 3, 0.0, 0.0)
    with pytest.raises(VerificationError, match="does not cover"):
        tree.verify(knapsack(0).relaxed())


def test_gains_are_counted_for_each_unit_of_a_move():
    costs = Pseudocosts(3)
    costs.moved[7] = 0.5
    costs.learn(7, BranchNode(0, 1, True, 1.0, 10.0, 1), 12.0)
    assert costs.total[1, 1] == 4.0
    assert costs.count[1].tolist() == [0, 1, 0]
    costs.learn(7, BranchNode(0, 1, True, 1.0, 10.0, 1), 12.0)
    assert costs.count[1, 1] == 1


def test_a_column_is_reliable_once_both_sides_were_seen_often():
    costs = Pseudocosts(1)
    for _ in range(RELIABLE):
        costs.note(0, False, 1.0)
    assert not costs.is_reliable(0)
    for _ in range(RELIABLE):
        costs.note(0, True, 1.0)
    assert costs.is_reliable(0)
    costs.note(0, True, np.inf)
    assert costs.count[1, 0] == RELIABLE


def test_a_column_with_gains_on_both_sides_scores_best():
    costs = Pseudocosts(2)
    for column, gains in enumerate([(1.0, 1.0), (2.0, 0.0)]):
        costs.note(column, False, gains[0])
        costs.note(column, True, gains[1])
    half = np.full(2, 0.5)
    scores = costs.scores(np.arange(2), half, half)
    assert scores[0] > scores[1]


def test_unseen_columns_score_by_their_guess():
    guess = np.array([1.0, 3.0])
    assert Pseudocosts(2).scores(np.arange(2), np.full(2, 0.5), guess).tolist() == [1.0, 3.0]
