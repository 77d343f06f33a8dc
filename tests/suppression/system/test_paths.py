"""Shortest paths: the cheapest single cycle of a network, against integer programs of scipy."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

import tablecloak as tc
from margins import with_levels, with_margins
from tablecloak.suppression.system.needs import needs_of
from tablecloak.suppression.system.paths import Paths
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.suppression.system.system import System

FLAT = {code: [] for code in "abcd"}
NESTED = {"x": ["x1", "x2", "x3"], "y": ["y1", "y2"], "z": []}


def table_of(seed: int, *trees: dict) -> System:
    random = np.random.default_rng(seed)
    hierarchies = {f"d{i}": tc.Hierarchy.from_dict(tree) for i, tree in enumerate(trees)}
    leaves = list(itertools.product(*(tree.leaves for tree in hierarchies.values())))
    frame = pd.DataFrame(leaves, columns=list(hierarchies))
    frame = frame.assign(v=np.ceil(random.lognormal(4, 1, len(leaves))))
    frame = frame[random.random(len(frame)) > 0.1]
    table = with_margins(frame, hierarchies, "v", decimals=0)
    level = np.where(random.random(table.n_cells) < 0.3, np.ceil(0.15 * table.values), 0)
    problem = with_levels(table, level)
    return System.of(problem, needs_of(problem, Requirement.TWO_SIDED), ~problem.frozen)


def cheapest_by_integers(system: System, cell: int, target: float, cost: np.ndarray) -> float:
    """min cost of cells that move by exactly the target, up or down, with all relations kept."""
    n, wanted = system.n_unknown, abs(target)
    up, down = system.high >= wanted, -system.low >= wanted
    upper = np.concatenate([up, down]).astype(float)
    lower = np.zeros(2 * n)
    ahead, behind = (cell, cell + n) if target > 0 else (cell + n, cell)
    lower[ahead], upper[behind] = 1, 0
    matrix = np.hstack([system.matrix.toarray(), -system.matrix.toarray()])
    if upper[ahead] == 0:
        return np.inf
    zero = np.zeros(len(matrix))
    found = milp(
        np.tile(cost, 2),
        constraints=LinearConstraint(matrix, zero, zero),
        bounds=Bounds(lower, upper),
        integrality=np.ones(2 * n),
    )
    return found.fun if found.success else np.inf


@pytest.mark.parametrize("trees", [(FLAT, FLAT), (NESTED, FLAT)])
@pytest.mark.parametrize("seed", range(2))
def test_path_is_the_cheapest_cycle(seed, trees):
    system = table_of(seed, *trees)
    paths = Paths.of(system)
    assert paths is not None
    cost = np.random.default_rng(seed).uniform(1, 9, system.n_unknown)
    compared = 0
    for index, cell in enumerate(system.needs.cells.tolist()):
        for target in (system.needs.upper[index], -system.needs.lower[index]):
            found = paths.cheapest(cell, target, cost, symmetric=False)
            best = cheapest_by_integers(system, cell, target, cost)
            if found is None:
                assert np.isinf(best)
                continue
            cells, moves = found
            deviation = np.zeros(system.n_unknown)
            deviation[cells] = moves
            assert not (system.matrix @ deviation).any()
            assert (system.low <= deviation).all() and (deviation <= system.high).all()
            assert deviation[cell] == target
            assert cost[cells].sum() == pytest.approx(best)
            compared += 1
    assert compared > 4


def test_mirror_image_of_a_symmetric_path_keeps_to_the_bounds():
    system, mirrored = table_of(5, FLAT, FLAT), 0
    paths = Paths.of(system)
    for index, cell in enumerate(system.needs.cells.tolist()):
        target = float(system.needs.upper[index])
        found = paths.cheapest(cell, target, np.ones(system.n_unknown), symmetric=True)
        if found is not None:
            cells, moves = found
            assert (np.minimum(system.high, -system.low)[cells] >= np.abs(moves)).all()
            mirrored += 1
    assert mirrored > 0


def test_three_dimensions_are_no_network():
    assert Paths.of(table_of(1, FLAT, FLAT, FLAT)) is None


def test_forbidden_cells_are_not_used():
    system = table_of(2, FLAT, FLAT)
    cell = int(system.needs.cells[0])
    cost = np.full(system.n_unknown, np.inf)
    assert Paths.of(system).cheapest(cell, 1.0, cost, symmetric=False) is None
