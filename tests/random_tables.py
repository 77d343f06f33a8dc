"""Small random tables for tests of adjustment."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
from scipy.optimize import linprog

import tablecloak as tc
from margins import with_margins


def random_problem(seed: int, shape=(3, 4), n_sensitive: int = 3) -> tc.ProtectionProblem:
    random = np.random.default_rng(seed)
    codes = [[f"{axis}{code}" for code in range(size)] for axis, size in enumerate(shape)]
    frame = pd.DataFrame(
        list(itertools.product(*codes)), columns=[f"d{axis}" for axis in range(len(shape))]
    ).assign(v=lambda f: random.integers(5, 200, len(f)).astype(float))
    table = with_margins(frame, list(frame.columns[:-1]), "v")
    sensitive = np.zeros(table.n_cells, dtype=bool)
    leaves = np.flatnonzero((table.keys != "Total").all(axis=1))
    sensitive[random.choice(leaves, n_sensitive, replace=False)] = True
    level = np.where(sensitive, np.ceil(table.values * 0.2), 0)
    return tc.ProtectionProblem(
        table=table,
        status=np.where(sensitive, "u", "s"),
        lower_protection=level,
        upper_protection=np.where(sensitive, level + random.integers(0, 5, len(level)), 0),
        sliding_protection=np.zeros(table.n_cells),
        lower_bound=np.zeros(table.n_cells),
        upper_bound=np.full(table.n_cells, 1000.0 * len(leaves)),
        weights=np.ones(table.n_cells),
    )


def optimum_by_enumeration(problem: tc.ProtectionProblem, weights: np.ndarray) -> float:
    """Least loss over all directions, one scipy program for each."""
    n, cells = problem.table.n_cells, np.flatnonzero(problem.sensitive)
    low = problem.lower_bound - problem.table.values
    high = problem.upper_bound - problem.table.values
    relations = problem.table.relations.toarray()
    best = np.inf
    for signs in itertools.product([1, -1], repeat=len(cells)):
        up, down = np.maximum(high, 0), np.maximum(-low, 0)
        at_least = np.zeros(2 * n)
        for cell, sign in zip(cells, signs, strict=True):
            if sign > 0:
                at_least[cell], down[cell] = problem.upper_protection[cell], 0
            else:
                at_least[n + cell], up[cell] = problem.lower_protection[cell], 0
        bounds = np.column_stack([at_least, np.concatenate([up, down])])
        levels = np.where(np.array(signs) > 0, *_levels(problem, cells))
        # A side on which the level is 0 is no way out.
        if np.any(bounds[:, 0] > bounds[:, 1]) or np.any(levels <= 0):
            continue
        found = linprog(
            np.tile(weights, 2), A_eq=np.hstack([relations, -relations]),
            b_eq=np.zeros(len(relations)), bounds=bounds,
        )  # fmt: skip
        if found.status == 0:
            best = min(best, found.fun)
    return best


def _levels(problem: tc.ProtectionProblem, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return problem.upper_protection[cells], problem.lower_protection[cells]
