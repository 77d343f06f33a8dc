"""Rounded sums: whole patterns keep them, fractional ones break them, forgers gain nothing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

import tablecloak as tc
from random_tables import random_problem
from tablecloak.certificates.claim import arrays_of
from tablecloak.certificates.verifier import RefusedError, proved
from tablecloak.suppression.rows.bridges import BridgeRow
from tablecloak.suppression.rows.master import Master
from tablecloak.suppression.rows.rounding import rounded_rows

NONE = BridgeRow(0, np.zeros(0, dtype=np.int64), np.zeros(0))


@pytest.fixture(scope="module")
def master() -> Master:
    problem = random_problem(3)
    free = np.flatnonzero(~problem.sensitive)
    status = problem.status.copy()
    status[free[9:]] = "z"
    return Master(problem.with_changes(status=status), tc.Requirement.TWO_SIDED)


@pytest.mark.parametrize("seed", range(6))
def test_sums_of_sums_hold_for_every_whole_point_that_keeps_the_rows(master, seed):
    random = np.random.default_rng(seed)
    n = len(master.free)
    points = np.array(list(itertools.product([0.0, 1.0], repeat=n)))
    rows = csr_array(np.minimum(random.random((8, n)) * (random.random((8, n)) < 0.6) * 1.5, 1.0))
    sides = np.ones(8)
    wanted = points[np.all(points @ rows.toarray().T >= sides - 1e-9, axis=1)]
    cost, proofs, n_found = random.random(n) + 0.1, [NONE] * 8, 0
    for _ in range(4):
        bounds = [(0, 1)] * n
        solved = linprog(cost, A_ub=-rows.toarray(), b_ub=-sides, bounds=bounds)
        assert (solved.x is None) == (not len(wanted))
        if solved.x is None:
            n_found += 1  # Nothing is left to round.
            break
        found = rounded_rows(master, proofs, rows, sides, solved.x)
        for row in found:
            coefficients = row.coefficients.toarray()[0]
            assert coefficients @ solved.x < row.side
            assert np.all(wanted @ coefficients >= row.side - 1e-7)
        n_found += len(found)
        proofs += found
        rows = csr_array(vstack([rows, *(row.coefficients for row in found)]))
        sides = np.append(sides, [row.side for row in found])
    assert n_found or np.allclose(solved.x, np.rint(solved.x))


@pytest.fixture(scope="module")
def certified() -> tuple[float, dict]:
    problem = random_problem(0)
    pattern = tc.suppress(problem, method="exact")
    assert pattern.is_optimal
    arrays = dict(arrays_of(pattern.certificates, problem))
    assert np.any(arrays["cut_kind"] == 4)
    return pattern.loss, arrays


@pytest.mark.parametrize("seed", range(6))
def test_forged_sums_prove_no_more_than_the_optimum(certified, seed):
    loss, arrays = certified
    random = np.random.default_rng(seed)
    forged = dict(arrays)
    data = arrays["sum_data"]
    forged["sum_data"] = data * random.choice([-1, 0.5, 1, 1, 1, 1, 2, 3], len(data))
    if seed % 2:
        turned = [
            np.flatnonzero(random.random(len(arrays["values"])) < 0.3)
            if kind == 4
            else np.zeros(0, dtype=np.int64)
            for kind in arrays["cut_kind"]
        ]
        forged["turned_cells"] = np.concatenate(turned)
        forged["turned_starts"] = np.cumsum([0, *map(len, turned)])
    if seed % 3 == 0:
        forged["proof_data"] = arrays["proof_data"] * random.choice(
            [0.5, 1, 2], len(arrays["proof_data"])
        )
    assert proved(forged) <= loss + 1e-6


def test_a_sum_that_rests_on_itself_is_refused(certified):
    _, arrays = certified
    cuts, ends = arrays["sum_cuts"].copy(), arrays["sum_starts"][1:]
    sums = np.flatnonzero(arrays["cut_kind"] == 4)
    cuts[ends[sums] - 1] = sums
    with pytest.raises(RefusedError, match="come after it"):
        proved({**arrays, "sum_cuts": cuts})


def test_sums_without_their_arrays_are_refused(certified):
    _, arrays = certified
    names = ("sum_starts", "sum_cuts", "sum_data", "turned_starts", "turned_cells")
    with pytest.raises(RefusedError, match="without summands"):
        proved({name: array for name, array in arrays.items() if name not in names})
