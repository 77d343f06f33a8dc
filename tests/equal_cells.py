"""Small problems in which single children and frozen totals couple cells; no code under test."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

import tablecloak as tc
from margins import with_margins

TREES = (
    ({"A": {"A1": {}}, "B": {}}, {"x": {}, "y": {}}),
    ({"A": {}, "B": {}}, {"x": {"x1": {}}, "y": {}}),
)


def coupled_problem(seed: int) -> tc.ProtectionProblem:
    """A table of few cells: single children, frozen cells, uneven levels, bounds and weights."""
    random = np.random.default_rng(seed)
    trees = [tc.Hierarchy.from_dict(tree) for tree in TREES[seed % 2]]
    leaves = itertools.product(*(tree.leaves for tree in trees))
    frame = pd.DataFrame(leaves, columns=["r", "c"])
    frame = frame.assign(v=random.integers(1, 60, len(frame)).astype(float))
    table = with_margins(frame, dict(zip("rc", trees, strict=True)), "v")
    n, values = table.n_cells, table.values
    status = np.full(n, "s")
    status[random.random(n) < 0.15] = "u"
    status[random.random(n) < 0.12] = "z"
    status[random.random(n) < 0.04] = "m"
    if not np.any(status == "u"):
        status[random.integers(n)] = "u"
    sensitive = status == "u"
    below = np.minimum(random.integers(1, 60, n), values)
    above = random.integers(8, 60, n)
    lower = np.minimum(random.integers(0, 5, n), below)
    return tc.ProtectionProblem(
        table=table,
        status=status,
        lower_protection=np.where(sensitive, lower, 0),
        upper_protection=np.where(sensitive, random.integers(1, 6, n), 0),
        sliding_protection=np.where(sensitive, random.integers(0, 8, n), 0),
        lower_bound=values - below,
        upper_bound=values + above,
        weights=random.integers(0, 30, n).astype(float),
    )


def least_loss(problem: tc.ProtectionProblem, is_safe, below: float) -> float:
    """Least loss of all patterns that are safe, if any is less than a given one."""
    must = problem.sensitive | problem.forced
    free = np.flatnonzero(~must & ~problem.frozen)
    fixed = float(problem.weights[must].sum())
    losses = np.zeros(1)
    for cell in free:
        losses = np.concatenate([losses, losses + problem.weights[cell]])
    for number in np.argsort(losses, kind="stable").tolist():
        if fixed + losses[number] >= below:
            break
        pattern = must.copy()
        pattern[free[(number >> np.arange(len(free))) & 1 > 0]] = True
        if is_safe(problem, pattern):
            return float(fixed + losses[number])
    return below
