"""True certificates of random tables of all kinds are accepted, and prove what was claimed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import random_tables
import tablecloak as tc
from tablecloak.certificates.claim import arrays_of
from tablecloak.certificates.verifier import verify

SHAPES = [(3, 4), (2, 2, 3), (3, 3, 2), (5, 5)]
UNITS = [1.0, 0.01, np.pi, 1e6, 0.1]
"""Whole numbers, cents, real numbers, thousands, tenths."""


def random_problem(random: np.random.Generator, units: list[float]) -> tc.ProtectionProblem:
    """A table in some unit, perhaps with frozen cells, capacities or without upper bounds."""
    shape, unit = SHAPES[random.integers(4)], units[random.integers(len(units))]
    plain = random_tables.random_problem(
        int(random.integers(1000)), shape=shape, n_sensitive=int(random.integers(1, 6))
    )
    values = plain.table.values * unit
    values = np.round(values, 2) if unit < 1 else values
    problem = tc.ProtectionProblem(
        table=tc.Table(
            keys=plain.table.keys, values=values, relations=plain.table.relations,
            right_hand_side=plain.table.right_hand_side, hierarchies=plain.table.hierarchies,
            name=plain.table.name,
        ),
        status=plain.status, weights=plain.weights, sliding_protection=plain.sliding_protection,
        lower_protection=plain.lower_protection * unit,
        upper_protection=plain.upper_protection * unit,
        lower_bound=plain.lower_bound, upper_bound=plain.upper_bound * unit * 10,
    )  # fmt: skip
    if random.random() < 0.3:
        status = problem.status.copy()
        safe = np.flatnonzero(status == "s")
        status[random.choice(safe, len(safe) // 4, replace=False)] = "z"
        problem = problem.with_changes(status=status)
    if random.random() < 0.3:
        most = np.where(random.random(len(values)) < 0.5, np.inf, 0.3 * np.abs(values))
        problem = problem.with_changes(capacity_up=most)
    if random.random() < 0.2:
        problem = problem.with_changes(upper_bound=np.full(len(values), np.inf))
    return problem


def adjusted(problem: tc.ProtectionProblem, random: np.random.Generator) -> Any:
    distance = ["L1", "L2", "Linf"][random.integers(3)]
    last = "variance" if distance == "L1" else "mean"
    preserve = [[], ["mean:all"], ["slope"], [last]][random.integers(4)]
    return tc.adjust(
        problem,
        distance=distance,
        preserve=preserve,
        weights=["relative", "unit", "value"][random.integers(3)],
        sensitive_limit=[None, 2.0][random.integers(2)],
        repair=bool(random.random() < 0.3) and preserve != ["variance"],
        directions=["search", "up"][int(random.random() < 0.2)],
        time_limit=3,
    )


def suppressed(problem: tc.ProtectionProblem, random: np.random.Generator) -> Any:
    return tc.suppress(
        problem,
        require=["two-sided", "width", "upper"][random.integers(3)],
        protect_against=[[], ["zeros"]][random.integers(2)],
        weights=["value", "unit", "log"][random.integers(3)],
        time_limit=3,
    )


def intervals(problem: tc.ProtectionProblem, random: np.random.Generator) -> Any:
    require = ["two-sided", "width", "upper"][random.integers(3)]
    return tc.publish_intervals(problem, require=require, time_limit=3, seed=1)


def rounded(problem: tc.ProtectionProblem, random: np.random.Generator) -> Any:
    base = int(random.integers(2, 30))
    return tc.controlled_rounding(problem, base=base, time_limit=3, weights="relative")


def without_small_counts(problem: tc.ProtectionProblem, random: np.random.Generator) -> Any:
    return tc.small_count_rounding(problem, base=int(random.integers(10, 60)), time_limit=3)


@pytest.mark.parametrize(
    "release", [adjusted, suppressed, intervals, rounded, without_small_counts]
)
def test_true_certificates_of_random_tables_prove_what_was_claimed(release):
    proved = 0
    # Rounding is for whole numbers.
    units = [1.0, 1e6] if release in (rounded, without_small_counts) else UNITS
    for seed in range(8 if release is adjusted else 5):
        random = np.random.default_rng(seed)
        try:
            result = release(random_problem(random, units), random)
        except (tc.InputError, tc.ModelError, tc.SolverError):
            continue
        lines = verify(arrays_of(result.certificates, result.problem))
        assert lines[0].startswith("PROVED: "), seed
        claimed = getattr(result, "adjustment", result).bound
        last = result.certificates[-1]
        if last.kind == "bound":
            assert last.arrays["bound"] >= claimed * (1 - 1e-6), seed
        proved += 1
    assert proved >= 2


def test_linked_tables_and_parts_have_certificates():
    problem = random_tables.random_problem(4, shape=(3, 4, 4), n_sensitive=6)
    status = problem.status.copy()
    status[np.any((problem.table.keys == "Total").to_numpy(), axis=1)] = "z"
    problem = problem.with_changes(status=status, lower_bound=np.full(len(status), -1e4))
    result = tc.adjust(problem, time_limit=5)
    lines = verify(arrays_of(result.certificates, problem))
    assert lines[0].startswith("PROVED: ")
    for claim in result.certificates:
        claim.verify(problem)
