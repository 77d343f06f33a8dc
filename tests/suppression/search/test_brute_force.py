"""Patterns attacked by an audit that shares no code with ours: two linear programs per cell."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tablecloak as tc
from naive_attacks import naive_audit
from random_tables import random_problem
from tablecloak.suppression.search import exact


@pytest.mark.slow
def test_random_patterns_survive_an_independent_attack():
    protected = 0
    for seed in range(40):
        problem = random_problem(seed, kind="nested")
        try:
            pattern = tc.suppress(
                problem, time_limit=0.05, method="auto" if seed % 5 else "sequential"
            )
        except tc.ModelError:
            assert not naive_audit(problem, np.ones(problem.table.n_cells, dtype=bool)), seed
            continue
        assert naive_audit(problem, pattern.suppressed), seed
        protected += 1
    assert protected > 20


def awkward(seed: int) -> tc.ProtectionProblem:
    """Uneven levels, infinite bounds, widths, cells that must be published or suppressed."""
    problem, random = random_problem(seed, kind="nested"), np.random.default_rng(seed)
    values, n = problem.table.values, problem.table.n_cells
    low = np.where(random.random(n) < 0.2, -np.inf, problem.lower_bound - random.uniform(0, 5))
    high = np.where(random.random(n) < 0.3, np.inf, problem.upper_bound)
    lower = np.minimum(problem.lower_protection * random.uniform(0, 1.2, n), values - low)
    upper = np.minimum(problem.upper_protection * random.uniform(0, 3, n), high - values)
    status = problem.status.copy()
    status[(random.random(n) < 0.05) & (status == "s")] = "z"
    status[(random.random(n) < 0.03) & (status == "s")] = "m"
    wide = (status == "u") & (random.random() < 0.5)
    return problem.with_changes(
        status=status,
        lower_protection=lower,
        upper_protection=upper,
        sliding_protection=np.where(wide, 1.3 * (lower + upper), 0),
        lower_bound=low,
        upper_bound=high,
    )


def test_awkward_problems_are_protected_or_truly_impossible():
    protected = 0
    for seed in range(7000, 7012):
        problem = awkward(seed)
        try:
            pattern = tc.suppress(problem, time_limit=0.2)
        except tc.ModelError:
            assert not naive_audit(problem, problem.status != "z"), seed
            continue
        assert naive_audit(problem, pattern.suppressed), seed
        assert not (pattern.suppressed & (problem.status == "z")).any()
        assert pattern.suppressed[problem.status == "m"].all()
        protected += 1
    assert protected >= 4


def least_loss(problem: tc.ProtectionProblem) -> float:
    """Of all patterns that an independent attack leaves standing, the least loss."""
    free = np.flatnonzero(~problem.sensitive)
    best = np.inf
    for size in range(len(free) + 1):
        for chosen in itertools.combinations(free, size):
            hidden = problem.sensitive.copy()
            hidden[list(chosen)] = True
            loss = problem.weights[hidden].sum()
            if loss < best and naive_audit(problem, hidden):
                best = loss
    return best


def test_exact_method_equals_full_enumeration():
    optima = 0
    for seed in range(12):
        problem = random_problem(seed, kind="nested", n_codes=2)
        best = least_loss(problem)
        if np.isinf(best):
            with pytest.raises(tc.ModelError):
                tc.suppress(problem)
        else:
            pattern = tc.suppress(problem, method="exact")
            assert pattern.loss == best, seed
            assert pattern.is_optimal, seed
            optima += problem.n_sensitive > 0
    assert optima >= 4


@pytest.mark.parametrize("seed", range(200, 203))
def test_bound_of_the_exact_method_is_proved_whatever_search_comes_last(seed, monkeypatch):
    problem = random_problem(seed, kind="nested", n_codes=5)
    whole = tc.suppress(problem, method="exact")
    assert whole.is_optimal
    monkeypatch.setattr(exact, "FIRST_NODES", 1)
    parts = tc.suppress(problem, method="exact")
    assert parts.loss == whole.loss
    assert parts.is_optimal
