"""What changes of the adjustment side promise: adjusted tables come back as adjusted tables.

Programs of scipy find tables of the changed problem, far from the truth in many ways. What else
every change promises is in tests/tables/changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import tablecloak as tc
from hand_tables import two_rows
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.precision import LastDigits, shortfall
from tablecloak.cta.model.repair import find_repair
from tablecloak.cta.model.room import first_reach, room_of
from tablecloak.cta.model.space import SeparatePart, parts_of
from tablecloak.cta.model.spread import Spread
from tablecloak.tables.changes.change import Change

SEEDS = range(3)


def digits_of(seed: int) -> Change:
    problem = random_problem(seed)
    table = replace(problem.table, values=problem.table.values / 10, integer=False, decimals=1)
    levels = [level / 10 for level in (problem.lower_protection, problem.upper_protection)]
    lower, upper = (np.where(level > 0, level - 0.04, 0.0) for level in levels)
    return LastDigits.of(
        problem.with_changes(table=table, lower_protection=lower, upper_protection=upper), 1
    )


def distances_of(seed: int) -> Change:
    return next(Spread.of(random_problem(seed), 0.3).draws(seed))


def repair_of(seed: int) -> Change:
    """Capacities leave no room for some levels."""
    problem = random_problem(seed).with_capacity(2)
    room = room_of(problem, limit=None, strict=False)
    model = AdjustmentModel.apart(problem, room.within(first_reach(problem, room)))
    return find_repair(model, room, Budget.of(100.0))


def part_of(seed: int) -> Change:
    """One of two rows that no relation connects."""
    random = np.random.default_rng(seed)
    first, second = random.integers(20, 90, (2, 3)).tolist()
    problem = two_rows(first, second, {"a": (3, 5), "A": (4, 2)})
    part = parts_of(problem, room_of(problem, limit=None))
    assert len(np.unique(part[part >= 0])) == 2
    return SeparatePart.of(problem, part == seed % 2)


CHANGES: dict[str, Callable[[int], Change]] = {
    "last digits": digits_of,
    "random distances": distances_of,
    "repair": repair_of,
    "part": part_of,
}


@pytest.fixture(params=[(name, seed) for name in CHANGES for seed in SEEDS], ids=str)
def change(request) -> Change:
    name, seed = request.param
    return CHANGES[name](seed)


def tables_of(problem: tc.ProtectionProblem) -> Iterator[np.ndarray]:
    """Adjusted tables of a problem: for random directions and costs, where there are any."""
    random, values, sensitive = np.random.default_rng(1), problem.table.values, problem.sensitive
    for _ in range(30):
        up = random.random(len(values)) < 0.5
        up = (problem.upper_protection > 0) & (up | (problem.lower_protection <= 0))
        low = np.maximum(problem.lower_bound - values, -problem.capacity_down)
        high = np.minimum(problem.upper_bound - values, problem.capacity_up)
        low = np.where(sensitive, problem.lower_bound - values, low)
        high = np.where(sensitive, problem.upper_bound - values, high)
        low = np.where(sensitive & up, problem.upper_protection, low)
        high = np.where(sensitive & ~up, -problem.lower_protection, high)
        low, high = np.where(problem.frozen, 0, low), np.where(problem.frozen, 0, high)
        if np.any(low > high):
            continue
        solved = linprog(
            random.normal(size=len(values)),
            A_eq=problem.table.relations,
            b_eq=np.zeros(problem.table.n_relations),
            bounds=np.column_stack([low, high]),
        )
        if solved.status == 0:
            yield values + solved.x


def test_adjusted_tables_come_back_as_additive_tables_within_bounds(change):
    given, count = change.given, 0
    for table in tables_of(change.problem):
        values = change.values(table)
        tolerance = 1e-7 * (1 + np.abs(given.table.values).max())
        sums = given.table.relations @ values - given.table.right_hand_side
        assert np.abs(sums).max() <= tolerance
        assert np.all(values >= given.lower_bound - tolerance)
        assert np.all(values <= given.upper_bound + tolerance)
        moved = values - given.table.values
        assert np.abs(moved[given.frozen]).max(initial=0) <= tolerance
        assert np.allclose(moved, change.deviation(table - change.problem.table.values))
        count += 1
    assert count


@pytest.mark.parametrize("name", ["last digits", "random distances"])
@pytest.mark.parametrize("seed", SEEDS)
def test_levels_that_are_kept_protect_the_given_problem(name, seed):
    change = CHANGES[name](seed)
    for table in tables_of(change.problem):
        moves = (change.values(table) - change.given.table.values).astype(np.longdouble)
        assert shortfall(change.given, moves).max() <= 1e-6


@pytest.mark.parametrize("seed", SEEDS)
def test_a_repair_protects_all_but_the_cells_that_it_names(seed):
    change = repair_of(seed)
    for table in tables_of(change.problem):
        moves = (change.values(table) - change.given.table.values).astype(np.longdouble)
        missed = np.flatnonzero(shortfall(change.given, moves) > 1e-6)
        assert set(missed) <= set(change.levels)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_moves_of_all_parts_together_protect_the_given_problem(seed):
    given = part_of(seed).given
    part = parts_of(given, room_of(given, limit=None))
    parts = [SeparatePart.of(given, part == number) for number in range(2)]
    moves = [
        change.deviation(next(tables_of(change.problem)) - given.table.values) for change in parts
    ]
    assert not np.any((moves[0] != 0) & (moves[1] != 0))
    assert shortfall(given, (moves[0] + moves[1]).astype(np.longdouble)).max() <= 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_a_limit_that_multipliers_prove_of_a_part_holds_for_the_whole(seed):
    change = part_of(seed)
    problem, given = change.problem, change.given
    free = ~problem.frozen
    low, high = problem.lower_bound - problem.table.values, problem.upper_bound - given.table.values
    cell = int(np.flatnonzero(problem.sensitive)[0])
    cost = -np.eye(1, problem.table.n_cells, cell)[0]
    ends = np.column_stack([np.where(free, low, 0.0), np.where(free, high, 0.0)])
    none = np.zeros(problem.table.n_relations)
    solved = linprog(cost, A_eq=problem.table.relations, b_eq=none, bounds=ends)
    multipliers = change.multipliers(-solved.eqlin.marginals)
    left = -given.table.relations.T @ multipliers
    left[cell] += 1
    limit = np.maximum(left, 0) @ high - np.maximum(-left, 0) @ low
    assert limit == pytest.approx(-solved.fun)
