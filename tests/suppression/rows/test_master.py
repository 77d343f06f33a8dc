"""Rows of the master problem beside their definition, on tables whose patterns are enumerated."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import cross, one_row, place
from naive_attacks import naive_audit
from random_tables import random_problem
from tablecloak.suppression.rows.bridges import BridgeRow
from tablecloak.suppression.rows.master import CapacityRow, Master, joined, side

TWO_SIDED = tc.Requirement.TWO_SIDED
NONE = np.zeros(0, dtype=np.int64)


@pytest.fixture(scope="module")
def problem() -> tc.ProtectionProblem:
    """Nine free cells, and two sensitive ones."""
    return random_problem(2, shape=(2, 2), n_sensitive=2)


@pytest.fixture(scope="module")
def master(problem) -> Master:
    return Master(problem, TWO_SIDED)


@pytest.fixture(scope="module")
def patterns(problem, master) -> tuple[np.ndarray, np.ndarray]:
    """All patterns over the free cells, and which of them protect, by two programs a cell."""
    points = np.array(list(itertools.product([False, True], repeat=len(master.free))))
    safe = np.zeros(len(points), dtype=bool)
    for number, point in enumerate(points):
        hidden = master.fixed.copy()
        hidden[master.free] = point
        safe[number] = naive_audit(problem, hidden)
    assert 0 < safe.sum() < len(points)
    return points, safe


@pytest.mark.parametrize("sides", ["up", "down"])
def test_a_capacity_row_holds_for_every_protected_pattern_whatever_proves_it(
    problem, master, patterns, sides
):
    """Any multipliers give a row that no protected pattern breaks, and some rows exclude others."""
    points, safe = patterns
    random = np.random.default_rng(5)
    excluded = np.zeros(len(points), dtype=bool)
    for _ in range(60):
        gamma = np.arange(problem.table.n_relations), random.integers(-2, 3, 6).astype(float)
        up, down = (gamma, None) if sides == "up" else (None, gamma)
        proof = CapacityRow(int(random.integers(2)), up, down)
        row = master.row(master.needs, proof)
        reached = points @ row.toarray()[0]
        least = side(row.nnz, proof)
        assert np.all(reached[safe] >= least - 1e-9)
        excluded |= reached < least - 1e-6
    assert excluded.any()
    assert not np.any(excluded & safe)


def test_a_row_of_single_relations_excludes_a_cell_that_is_alone_in_its_relation():
    problem = one_row([5.0, 7.0, 9.0], {"a": (2.0, 2.0)})
    master = Master(problem, TWO_SIDED)
    gamma = np.array([0]), np.array([1.0])
    for proof in (CapacityRow(0, gamma, None), CapacityRow(0, None, (gamma[0], -gamma[1]))):
        row = master.row(master.needs, proof)
        assert row.shape == (1, 3)
        assert side(row.nnz, proof) == 1.0
        # Hiding any one of the others gives more room than the level of 2 asks for.
        assert row.toarray().tolist() == [[1.0, 1.0, 1.0]]


def test_a_coefficient_is_the_share_of_the_level_for_which_a_cell_has_room():
    """b can fall by 1 only, so that it leaves a half of the 2 that a must rise by."""
    problem = one_row([5.0, 1.0, 9.0], {"a": (2.0, 2.0)})
    master = Master(problem, TWO_SIDED)
    up = CapacityRow(0, (np.array([0]), np.array([1.0])), None)
    row = master.row(master.needs, up).toarray()[0]
    assert dict(zip(["b", "c", "Total"], row.tolist(), strict=True)) == pytest.approx(
        {"b": 0.5, "c": 1.0, "Total": 1.0}
    )


def test_a_cell_that_every_pattern_hides_lowers_what_others_must_give():
    problem = one_row([5.0, 1.0, 9.0], {"a": (2.0, 2.0)})
    status = problem.status.copy()
    status[place(problem, "b")] = "m"
    master = Master(problem.with_changes(status=status), TWO_SIDED)
    up = CapacityRow(0, (np.array([0]), np.array([1.0])), None)
    # b gives 1 of 2; with 1 left every other cell alone is enough.
    assert master.row(master.needs, up).toarray().tolist() == [[1.0, 1.0]]
    status[place(problem, "c")] = "m"
    enough = Master(problem.with_changes(status=status), TWO_SIDED)
    row = enough.row(enough.needs, up)
    assert row.nnz == 0
    assert side(row.nnz, up) == 0.0


def test_frozen_cells_are_no_columns_and_give_no_room():
    problem = one_row([5.0, 7.0, 9.0], {"a": (2.0, 2.0)}, frozen=["b", "Total"])
    master = Master(problem, TWO_SIDED)
    assert master.free.tolist() == [place(problem, "c")]
    up = CapacityRow(0, (np.array([0]), np.array([1.0])), None)
    assert master.row(master.needs, up).toarray().tolist() == [[1.0]]


def test_a_bridge_row_says_that_a_hidden_cell_needs_another_one_of_its_sum():
    problem = cross([[5.0, 7.0], [9.0, 4.0]], {})
    master = Master(problem, TWO_SIDED)
    relation = problem.table.relations[[0], :]
    cell = int(relation.indices[0])
    bridge = BridgeRow(cell, np.array([0]), np.array([1.0]))
    row = master.row(master.needs, bridge).toarray()[0]
    expected = np.zeros(problem.table.n_cells)
    expected[relation.indices] = 1.0
    expected[cell] = -1.0
    assert row.tolist() == expected[master.free].tolist()
    assert side(1, bridge) == 0.0


def test_a_bridge_row_says_nothing_where_a_partner_is_always_hidden():
    problem = one_row([5.0, 7.0, 9.0], {"a": (2.0, 2.0)})
    master = Master(problem, TWO_SIDED)
    bridge = BridgeRow(place(problem, "b"), np.array([0]), np.array([1.0]))
    assert master.row(master.needs, bridge).nnz == 0


def test_loss_of_a_pattern_is_that_of_its_objective(problem, master):
    random = np.random.default_rng(3)
    for _ in range(5):
        hidden = master.fixed.copy()
        hidden[master.free] = random.random(len(master.free)) < 0.5
        loss = float(problem.weights[hidden].sum())
        objective = master.program.cost @ hidden[master.free]
        assert master.objective(loss) == pytest.approx(objective)
        assert master.total_loss(objective, 0.0) == pytest.approx(loss)


def test_a_bound_between_two_possible_losses_is_the_next_of_them(master):
    """Losses are sums of whole weights, so that no pattern loses 2.3 beside what all of them do."""
    assert master.total_loss(2.3 / master.scale, 1.0) == master.fixed_loss + 3
    assert master.total_loss(3.0 / master.scale, 1.0) == master.fixed_loss + 3
    assert master.total_loss((3 + 1e-9) / master.scale, 1.0) == master.fixed_loss + 3
    assert master.total_loss(np.inf, 1.0) == np.inf


def test_rows_that_are_laid_together_keep_their_sides(master):
    capacity = CapacityRow(0, (np.array([0]), np.array([1.0])), None)
    bridge = BridgeRow(int(master.free[0]), np.array([0, 1]), np.array([1.0, -1.0]))
    nothing = CapacityRow(0, None, None)
    proofs = [capacity, bridge, nothing]
    built = [master.row(master.needs, proof) for proof in proofs]
    matrix, low, high = joined(built, proofs)
    assert matrix.shape == (3, len(master.free))
    assert low.tolist() == [float(built[0].nnz > 0), 0.0, 0.0]
    assert np.all(np.isinf(high))
    assert built[2].nnz == 0
