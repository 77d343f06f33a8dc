"""Patterns of random problems under naive attacks, with every method and requirement."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import naive_attacks as naive
import tablecloak as tc
from random_tables import random_problem

METHODS = ["sequential", "exact", "auto"]
REQUIREMENTS = ["two-sided", "width", "upper"]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "require"), itertools.product(METHODS, REQUIREMENTS))
def test_random_patterns_protect_and_hide_nothing_for_nothing(method, require):
    found = 0
    for seed in range(1000, 1004):
        problem = random_problem(seed, kind="awkward")
        try:
            pattern = tc.suppress(problem, method=method, require=require, time_limit=0.1)
        except tc.ModelError:
            assert naive.exposed_any(problem, ~problem.frozen, require), seed
            continue
        found += 1
        assert not naive.exposed_any(problem, pattern.suppressed, require), seed
        assert not naive.determined(problem, pattern.suppressed), seed
        assert pattern.bound <= pattern.loss * (1 + 1e-9), seed
    assert found > 1


@pytest.mark.slow
@pytest.mark.parametrize("require", REQUIREMENTS)
def test_claimed_optima_and_bounds_of_tiny_tables_are_those_of_brute_force(require):
    optimal = 0
    for seed in range(5):
        problem = random_problem(seed, kind="awkward", tiny=True)
        if np.sum(~problem.sensitive & ~problem.forced) > 9:
            continue
        best = naive.least_loss(problem, require)
        try:
            pattern = tc.suppress(problem, method="exact", require=require, time_limit=5)
        except tc.ModelError:
            assert best == np.inf, seed
            continue
        slack = 1e-6 * max(1.0, best)
        assert pattern.bound <= best + slack, seed
        assert pattern.loss >= best - slack, seed
        assert not pattern.is_optimal or pattern.loss <= best + slack, seed
        optimal += pattern.is_optimal
    assert optimal
