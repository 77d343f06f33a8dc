"""Bridges: cells that cannot move, and rows that rule them out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import tablecloak as tc
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.suppression.rows.bridges import BridgeFinder, BridgeRow
from tablecloak.suppression.rows.master import Master
from tablecloak.suppression.system.needs import needs_of
from tablecloak.suppression.system.system import System


def movable(problem: tc.ProtectionProblem, hidden: np.ndarray, cell: int) -> bool:
    """Whether a hidden cell can take another value, by scipy alone."""
    relations = problem.table.relations
    room = (problem.upper_bound - problem.lower_bound > 0) & hidden
    cost = np.zeros(problem.table.n_cells)
    cost[cell] = -1.0
    bounds = [(-1, 1) if free else (0, 0) for free in room]
    found = linprog(
        cost, A_eq=relations.toarray(), b_eq=np.zeros(relations.shape[0]), bounds=bounds
    )
    return -found.fun > 1e-7


@pytest.mark.parametrize("seed", range(3))
def test_rows_hold_for_patterns_without_bridges_and_are_violated_by_the_others(seed):
    problem = random_problem(seed, kind="nested", n_codes=3)
    needs = needs_of(problem, tc.Requirement.TWO_SIDED)
    system = System.of(problem, needs, ~problem.frozen)
    master = Master(problem, tc.Requirement.TWO_SIDED)
    finder = BridgeFinder(system, master.fixed[system.cells])
    random = np.random.default_rng(seed)
    rows, clean, n_bridges = [], [], 0
    for _ in range(12):
        hidden = problem.sensitive | (random.random(problem.table.n_cells) < 0.4)
        share = hidden[system.cells].astype(float)
        found = finder.in_relations(share) + finder.in_combinations(share, Budget.of())
        for bridge in found:
            row = master.row(needs, bridge)
            if row.nnz:
                assert (row @ hidden[master.free].astype(float))[0] <= -1
                assert not movable(problem, hidden, bridge.cell)
                rows.append(row)
        n_bridges += len(found)
        while True:
            stuck = [
                int(cell)
                for cell in np.flatnonzero(hidden & ~problem.sensitive)
                if not movable(problem, hidden, cell)
            ]
            if not stuck:
                break
            assert found, "a bridge was overlooked"
            hidden[stuck] = False
        clean.append(hidden[master.free].astype(float))
    assert n_bridges
    for row in rows:
        assert all((row @ pattern)[0] >= 0 for pattern in clean)


def test_a_row_says_nothing_of_a_cell_that_its_relations_leave_out():
    problem = tc.examples.cox_rounded()
    master = Master(problem, tc.Requirement.TWO_SIDED)
    relation = problem.table.relations[[0]]
    outside = next(int(cell) for cell in master.free if cell not in set(relation.indices))
    row = master.row(master.needs, BridgeRow(outside, np.array([0]), np.ones(1)))
    assert row.nnz == 0
