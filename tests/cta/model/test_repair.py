"""Impossible problems: the fewest cells that must give way, against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import tablecloak as tc
from hand_tables import one_row
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.repair import Repair, find_repair
from tablecloak.cta.model.room import first_reach, room_of


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


def test_as_few_cells_give_way_as_enumeration_finds(monkeypatch):
    # The error names them within a few seconds; here it may take as long as it needs.
    monkeypatch.setattr("tablecloak.cta.nearest.NAMING_SECONDS", 1000.0)
    relaxed = [relaxes_the_fewest(tight(seed)) for seed in range(4)]
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
    with pytest.raises(tc.InputError, match="`repair` and `directions` exclude each other"):
        tc.adjust(tc.examples.cox(), repair=True, directions="up")


# -- what gives way, by hand --------------------------------------------------------------

STUCK = one_row([50, 60, 70], {"a": (5, 5)}, frozen=["Total"]).with_capacity(2)
"""a must move by 5, b and c give 4 together."""

NONE = np.empty(0, dtype=int)


def repair(problem: tc.ProtectionProblem) -> Repair:
    allowed = room_of(problem, limit=None, strict=False)
    near = allowed.within(first_reach(problem, allowed))
    return find_repair(AdjustmentModel.apart(problem, near), allowed, Budget.of(600.0))


def test_one_of_three_cells_gives_way_by_1():
    found = repair(STUCK)
    assert len(found.levels) + len(found.capacities) == 1
    assert found.is_smallest
    assert np.abs(found.moves[:3].sum()) < 1e-6
    eased = found.problem
    if len(found.levels):
        assert min(eased.upper_protection[0], eased.lower_protection[0]) == 4
    else:
        assert eased.capacity_up[found.capacities[0]] >= 3
    tc.adjust(eased, integer=False).verify()


def test_nothing_gives_way_where_a_table_exists():
    found = repair(one_row([50, 60, 70], {"a": (5, 5)}))
    assert found.summary() == "relaxed 0: nothing; no fewer suffice (proved)"
    problem = found.given
    eased = found.problem
    assert np.array_equal(eased.upper_protection, problem.upper_protection)
    assert np.array_equal(eased.status, problem.status)


@pytest.mark.parametrize(
    ("z", "levels", "status"),
    [(4.0, (5, 4), "u"), (-3.0, (3, 5), "u"), (0.0, (0, 0), "s")],
)
def test_a_level_is_lowered_to_what_the_change_reaches(z, levels, status):
    changes = np.array([z, -z, 0, 0])
    eased = Repair.of(STUCK, np.array([0]), NONE, changes, is_smallest=True).problem
    assert (eased.lower_protection[0], eased.upper_protection[0]) == levels
    assert eased.status[0] == status


def test_a_capacity_is_raised_to_what_the_change_needs():
    changes = np.array([5.0, -3, -2, 0])
    eased = Repair.of(STUCK, NONE, np.array([1]), changes, is_smallest=True).problem
    assert eased.capacity_down[1] == pytest.approx(3, abs=1e-5)
    assert eased.capacity_down[2] == 2
    assert eased.capacity_up[1] == 2


def test_the_summary_names_levels_and_capacities():
    both = Repair.of(STUCK, np.array([0]), np.array([1, 2]), np.zeros(4), is_smallest=False)
    assert both.summary() == (
        "relaxed 3: levels of (code=a) and capacities of (code=b), (code=c); fewer might do"
    )


def test_a_cell_between_frozen_ones_loses_its_level():
    found = repair(one_row([50, 60], {"a": (5, 5)}, frozen=["b", "Total"]))
    assert found.levels.tolist() == [0]
    assert found.problem.status[0] == "s"
