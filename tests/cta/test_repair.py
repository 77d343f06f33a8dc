"""Impossible problems: the fewest cells that must give way, against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import tablecloak as tc
from random_tables import random_problem


def tight(seed: int) -> tc.ProtectionProblem:
    """Few cells may move, and not far."""
    random = np.random.default_rng(seed)
    problem = random_problem(seed, (3, 3), 3)
    n = problem.table.n_cells
    room = np.where(random.random(n) < 0.5, 0.0, random.integers(0, 60, n))
    return problem.with_changes(capacity_up=room, capacity_down=room)


def is_possible(problem: tc.ProtectionProblem, excused: set[int]) -> bool:
    values = problem.table.values
    low, high = problem.lower_bound - values, problem.upper_bound - values
    cells = [cell for cell in np.flatnonzero(problem.sensitive) if cell not in excused]
    for cell in np.flatnonzero(~problem.sensitive):
        if cell not in excused:
            low[cell] = max(low[cell], -problem.capacity_down[cell])
            high[cell] = min(high[cell], problem.capacity_up[cell])
    for signs in itertools.product([1, -1], repeat=len(cells)):
        least, most = low.copy(), high.copy()
        for cell, sign in zip(cells, signs, strict=True):
            if sign > 0:
                least[cell] = problem.upper_protection[cell]
            else:
                most[cell] = -problem.lower_protection[cell]
        if np.any(least > most):
            continue
        found = linprog(
            np.zeros(len(values)),
            A_eq=problem.table.relations.toarray(),
            b_eq=np.zeros(problem.table.n_relations),
            bounds=np.column_stack([least, most]),
        )
        if found.status == 0:
            return True
    return False


def fewest(problem: tc.ProtectionProblem) -> int:
    for size in range(4):
        for chosen in itertools.combinations(range(problem.table.n_cells), size):
            if is_possible(problem, set(chosen)):
                return size
    raise AssertionError("more than three cells")


def test_as_few_cells_give_way_as_enumeration_finds():
    relaxed = [relaxes_the_fewest(tight(seed)) for seed in range(6)]
    assert sum(number > 0 for number in relaxed) >= 2


def relaxes_the_fewest(problem: tc.ProtectionProblem) -> int:
    """How many cells give way; none where all can be kept."""
    number = fewest(problem)
    if not number:
        assert not any("relaxed" in note for note in tc.adjust(problem, repair=True).notes)
        return 0
    with pytest.raises(tc.ModelError, match=f"relaxed {number}: .*no fewer suffice"):
        tc.adjust(problem, integer=False, time_limit=1000)
    adjusted = tc.adjust(problem, repair=True, integer=False, time_limit=1000)
    adjusted.verify()
    assert f"relaxed {number}: " in adjusted.notes[-1]
    changed = {
        name: np.flatnonzero(getattr(adjusted.problem, name) != getattr(problem, name))
        for name in ("upper_protection", "lower_protection", "capacity_up", "capacity_down")
    }
    touched = set(np.concatenate(list(changed.values())).tolist())
    assert len(touched) == number
    # What was asked for at first is not met, and the audit says where.
    found = tc.audit(problem, adjusted.values)
    levels = set(changed["upper_protection"]) | set(changed["lower_protection"])
    assert int((found.shortfall > found.tolerance).sum()) <= len(levels)
    return number


def test_cell_that_can_move_neither_way_is_repaired():
    problem = random_problem(1, (3, 3), 2)
    cell = int(np.flatnonzero(problem.sensitive)[0])
    values = problem.table.values
    low, high = problem.lower_bound.copy(), problem.upper_bound.copy()
    low[cell], high[cell] = values[cell] - 1, values[cell] + 2
    narrow = problem.with_changes(lower_bound=low, upper_bound=high)
    with pytest.raises(tc.ModelError, match="neither up nor down"):
        tc.adjust(narrow)
    adjusted = tc.adjust(narrow, repair=True, integer=False)
    assert adjusted.changes[cell] != 0
    assert -1 - 1e-6 <= adjusted.changes[cell] <= 2 + 1e-6
    assert "levels of" in adjusted.notes[-1]


def test_repair_does_not_take_given_directions():
    with pytest.raises(tc.InputError, match="leave out `directions`"):
        tc.adjust(tc.examples.cox(), repair=True, directions="up")
