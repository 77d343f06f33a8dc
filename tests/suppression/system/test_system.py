"""Cells that can only move together are one column; what programs say of it holds for the cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from random_tables import random_problem
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.system.needs import asked_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.suppression.system.system import CoupledSystem, System
from tablecloak.tables.coupling import CoupledCells

SEEDS = st.integers(0, 10**6)


def hidden_system(seed: int) -> System:
    """The unknown cells of a small table of which some cells are published."""
    problem = random_problem(seed, kind="coupled")
    random = np.random.default_rng(seed)
    hidden = problem.sensitive | (~problem.frozen & (random.random(problem.table.n_cells) < 0.8))
    needs = asked_of(problem, Requirement.TWO_SIDED)
    return System.of(problem, needs, hidden)


def uncoupled(system: System) -> CoupledSystem:
    every = np.arange(system.n_unknown)
    cells = CoupledCells(every, np.ones(len(every)))
    return CoupledSystem(system, cells, system.matrix, np.arange(len(system.rows)))


def proved_limit(system: System, cell: int, sign: int, duals: np.ndarray) -> float:
    """The bound that multipliers prove, by the definition of a disclosure proof."""
    left = -(system.matrix.T @ duals)
    left[cell] += sign
    return float(np.maximum(left * system.low, left * system.high).sum())


@given(SEEDS)
def test_cells_move_as_far_with_coupled_columns_as_without(seed):
    system = hidden_system(seed)
    attack = Attack(system)
    plain = Attack(system, coupled=uncoupled(system))
    for cell in range(system.n_unknown):
        for sign in (1, -1):
            ours, theirs = attack.extreme(cell, sign), plain.extreme(cell, sign)
            assert ours.reach == pytest.approx(theirs.reach, abs=1e-7)
            assert ours.limit == pytest.approx(theirs.limit, abs=1e-7)
    assert attack.programs <= plain.programs


@given(SEEDS)
def test_multipliers_carried_back_prove_the_limit_by_the_relations_of_the_table(seed):
    system = hidden_system(seed)
    attack = Attack(system)
    for cell in range(system.n_unknown):
        for sign in (1, -1):
            extreme = attack.extreme(cell, sign)
            proved = proved_limit(system, cell, sign, extreme.duals)
            assert proved == pytest.approx(extreme.limit, abs=1e-7)


@given(SEEDS)
def test_a_solution_moves_all_cells_of_a_group_and_keeps_relations_and_rooms(seed):
    system = hidden_system(seed)
    attack = Attack(system)
    pushed = attack.push(np.arange(system.n_unknown), np.full(system.n_unknown, 3.0))
    found = [attack.extreme(cell, 1).deviation for cell in range(system.n_unknown)]
    for deviation in (each for each in (pushed, *found) if len(each)):
        assert np.abs(system.matrix @ deviation).max(initial=0) < 1e-7
        assert np.all(deviation >= system.low - 1e-7)
        assert np.all(deviation <= system.high + 1e-7)


def test_a_relation_with_two_hidden_cells_leaves_one_column_and_no_row():
    seeds = (seed for seed in range(50) if CoupledSystem.of(hidden_system(seed)).is_smaller)
    for _, seed in zip(range(5), seeds, strict=False):
        system = hidden_system(seed)
        coupled = CoupledSystem.of(system)
        assert coupled.matrix.shape[1] == coupled.cells.n_groups < system.n_unknown
        assert np.all(np.diff(coupled.matrix.indptr) > 1)
        assert len(coupled.cells.rows) == system.n_unknown - coupled.cells.n_groups


def test_a_cell_alone_in_a_relation_cannot_move_and_the_relation_proves_it():
    problem = random_problem(0, kind="coupled")
    cell = problem.table.cell
    hidden = np.zeros(problem.table.n_cells, dtype=bool)
    hidden[[cell(r="A1", c="x"), cell(r="A", c="x")]] = True
    status = np.where(hidden, "u", "s")
    levels = np.where(hidden, 1.0, 0.0)
    problem = problem.with_changes(
        status=status, upper_protection=levels, lower_protection=0, sliding_protection=0
    )
    system = System.of(problem, asked_of(problem, Requirement.TWO_SIDED), hidden)
    attack = Attack(system)
    extreme = attack.extreme(0, 1)
    assert (extreme.reach, extreme.limit, len(extreme.deviation)) == (0.0, 0.0, 0)
    assert proved_limit(system, 0, 1, extreme.duals) == 0.0
    assert attack.programs == 0


def test_rooms_that_change_move_the_proof_to_the_nearest_cell_of_the_group():
    system = next(
        each
        for each in map(hidden_system, range(100))
        if np.any(np.bincount(CoupledSystem.of(each).cells.group + 1)[1:] > 1)
    )
    coupled = CoupledSystem.of(system)
    group = int(np.argmax(np.bincount(coupled.cells.group + 1)[1:]))
    cells = np.flatnonzero(coupled.cells.group == group)
    attack = Attack(system)
    before = attack.extreme(int(cells[0]), 1)
    assert before.limit >= 0
    for known in cells:
        attack.know(system.narrowed(np.array([known]), np.zeros(1), np.zeros(1)))
        extreme = attack.extreme(int(cells[0]), 1)
        assert extreme.limit == 0.0
        left = -(system.matrix.T @ extreme.duals)
        left[cells[0]] += 1
        others = cells[cells != known]
        assert np.abs(left[others]).max(initial=0) < 1e-9
    attack.know(system)
    assert attack.extreme(int(cells[0]), 1).limit == pytest.approx(before.limit)
