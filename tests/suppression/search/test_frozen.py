"""Frozen cells that expose sensitive ones: the fewest to unfreeze, beside enumeration."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

import tablecloak as tc
from naive_programs import Reach
from random_tables import random_problem


def protects(problem: tc.ProtectionProblem, frozen: np.ndarray) -> bool:
    """Whether every sensitive cell is protected if all cells but the frozen ones are hidden."""
    a, relations = problem.table.values, problem.table.relations
    low = np.where(frozen, a, problem.lower_bound)
    high = np.where(frozen, a, problem.upper_bound)
    programs = Reach(relations, low, high, side=relations @ a)
    for cell in np.flatnonzero(problem.sensitive).tolist():
        up, down = programs.farthest(cell, 1) - a[cell], programs.farthest(cell, -1) + a[cell]
        slack = 1e-6 * max(1.0, problem.unit)
        if up < problem.upper_protection[cell] - slack:
            return False
        if down < problem.lower_protection[cell] - slack:
            return False
        # A sensitive cell must not follow exactly, even one without levels.
        if up + down < max(problem.sliding_protection[cell] - slack, slack):
            return False
    return True


def fewest(problem: tc.ProtectionProblem) -> int | None:
    """The fewest frozen cells to unfreeze, by trying all choices; None if nothing helps."""
    cells = np.flatnonzero(problem.frozen)
    if not protects(problem, np.zeros(len(problem.frozen), dtype=bool)):
        return None
    for number in range(len(cells) + 1):
        for chosen in itertools.combinations(cells, number):
            frozen = problem.frozen.copy()
            frozen[list(chosen)] = False
            if protects(problem, frozen):
                return number
    raise AssertionError


def frozen_problem(seed: int) -> tc.ProtectionProblem:
    """A small table of which up to nine cells are frozen."""
    problem = random_problem(seed, kind="awkward", tiny=True)
    random = np.random.default_rng([seed, 5])
    others = np.flatnonzero(~problem.sensitive & ~problem.forced)
    chosen = random.permutation(others)[: random.integers(3, 10)]
    status = np.where(problem.frozen, "s", problem.status)
    status[chosen] = "z"
    return problem.with_changes(status=status)


def compared(seeds: range) -> tuple[int, int, int]:
    """How many tables needed unfreezing, with how many proofs, and how many nothing helps."""
    needed = proved = hopeless = 0
    for seed in seeds:
        problem = frozen_problem(seed)
        try:
            found = tc.fewest_to_unfreeze(problem, time_limit=1000)
        except tc.ModelError:
            assert fewest(problem) is None, seed
            hopeless += 1
            continue
        assert found.fewest <= len(found.cells) == fewest(problem), seed
        assert problem.frozen[found.cells].all()
        if not found.fewest:
            continue
        needed += 1
        # No row of a bound says that a cell without levels must not follow exactly, and infinite
        # external bounds leave rows that say little.
        levels = problem.lower_protection + problem.upper_protection
        finite = np.isfinite(problem.lower_bound) & np.isfinite(problem.upper_bound)
        if np.all(levels[problem.sensitive] > 0) and np.all(finite):
            assert found.is_optimal, seed
        proved += found.is_optimal
        with pytest.raises(tc.ModelError, match="Frozen cells prevent it: .* to unfreeze"):
            tc.suppress(problem, time_limit=1000)
        pattern = tc.suppress(problem, unfreeze=True, time_limit=1000)
        pattern.verify()
        assert protects(problem, ~pattern.suppressed), seed
        assert set(np.flatnonzero(pattern.suppressed & problem.frozen)) <= set(found.cells)
        assert "to unfreeze (" in pattern.summary()
    return needed, proved, hopeless


def test_as_few_cells_are_unfrozen_as_enumeration_finds():
    needed, proved, _ = compared(range(6))
    assert needed >= proved >= 1


def test_nothing_is_unfrozen_where_a_pattern_exists_without():
    problem = tc.examples.cox_rounded()
    found = tc.fewest_to_unfreeze(problem)
    assert not len(found.cells) and "no frozen cell" in found.summary()
    pattern = tc.suppress(problem, unfreeze=True)
    assert pattern.unfrozen is None and pattern.loss == 3076


def test_of_as_few_cells_those_of_least_weight_are_taken():
    problem = tc.examples.cox_rounded()
    inner = (problem.table.keys != "Total").all(axis=1).to_numpy() & ~problem.sensitive
    frozen = problem.with_changes(status=np.where(inner, "z", problem.status))
    found = tc.fewest_to_unfreeze(frozen)
    assert found.is_optimal
    dear = frozen.with_changes(
        weights=np.where(np.isin(np.arange(len(inner)), found.cells), 1e6, frozen.weights)
    )
    other = tc.fewest_to_unfreeze(dear)
    assert other.fewest == found.fewest
    assert dear.weights[other.cells].sum() < dear.weights[found.cells].sum() or set(
        other.cells
    ) == set(found.cells)


def main() -> None:
    needed, proved, hopeless = compared(range(150))
    print(f"150 tables: {needed} need cells to be unfrozen, as few as enumeration finds, "
          f"{proved} of them proved; "
          f"{hopeless} cannot be protected whatever is unfrozen")  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
