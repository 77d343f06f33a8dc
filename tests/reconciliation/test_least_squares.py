"""Newton's method on the dual, and the bound that any multipliers prove."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, hstack, vstack

import tablecloak as tc
from tablecloak.budget import Budget
from tablecloak.reconciliation.least_squares import least_squares, least_squares_bound
from tablecloak.reconciliation.problem import ReconciliationProblem


def _three_way(n: int, seed: int) -> tuple[ReconciliationProblem, np.ndarray]:
    """A cube with all margins, and a true table."""
    random = np.random.default_rng(seed)
    size = n + 1
    full = np.zeros((size, size, size))
    full[1:, 1:, 1:] = random.poisson(2, (n, n, n))
    for axis in range(3):
        np.moveaxis(full, axis, 0)[0] = np.moveaxis(full, axis, 0)[1:].sum(axis=0)
    place = np.arange(size**3).reshape(full.shape)
    blocks = []
    for axis in range(3):
        lines = np.moveaxis(place, axis, 0).reshape(size, -1)
        row = np.tile(np.arange(lines.shape[1]), size)
        sign = np.repeat(np.r_[-1.0, np.ones(n)], lines.shape[1])
        blocks.append(csr_array((sign, (row, lines.ravel())), shape=(lines.shape[1], place.size)))
    relations = csr_array(vstack(blocks, format="csr"))
    true = full.ravel()
    noisy = true + random.normal(0, 2, true.size)
    unbounded = np.full(true.size, np.inf)
    problem = ReconciliationProblem(
        noisy, random.uniform(0.1, 10, true.size), relations, np.zeros(relations.shape[0]),
        np.zeros(true.size), unbounded,
    )  # fmt: skip
    return problem, true


def test_a_cube_with_dependent_relations_is_solved_to_the_last_digits():
    for seed in range(3):
        problem, true = _three_way(7, seed)
        found = least_squares(problem, Budget.of(60))
        loss = float(np.sum(problem.weights * (found.x - problem.values) ** 2))
        assert found.residual < 1e-12 and (found.x >= 0).all()
        assert loss - least_squares_bound(problem, found.multipliers) < 1e-9 * loss
        assert loss <= np.sum(problem.weights * (true - problem.values) ** 2)


@given(st.integers(0, 10**6))
def test_any_multipliers_prove_a_bound_below_the_distance_of_a_true_table(seed):
    problem, true = _three_way(2, seed)
    multipliers = np.random.default_rng(seed).normal(0, 3, len(problem.sides))
    distance = float(np.sum(problem.weights * (true - problem.values) ** 2))
    assert least_squares_bound(problem, multipliers) <= distance


def test_fixed_cells_do_not_move():
    problem, true = _three_way(3, 1)
    kept = np.arange(len(true)) % 4 == 0
    found = least_squares(problem.fixed_at(kept, true), Budget.of(60))
    assert found.residual < 1e-12
    assert np.array_equal(found.x[kept], true[kept])


def test_a_contradiction_leaves_a_residual():
    row = csr_array(np.array([[1.0, -1.0]]))
    one = np.ones(2)
    problem = ReconciliationProblem(
        np.zeros(2), one, row, np.zeros(1), np.array([2.0, 0]), np.array([3.0, 1])
    )
    assert least_squares(problem, Budget.of(10)).residual > 0.1


def test_relations_that_say_the_same_twice_change_nothing():
    problem, _ = _three_way(3, 2)
    twice = replace(
        problem,
        relations=csr_array(vstack([problem.relations, problem.relations], format="csr")),
        sides=np.zeros(2 * len(problem.sides)),
    )
    one, other = (least_squares(each, Budget.of(60)).x for each in (problem, twice))
    np.testing.assert_allclose(one, other, atol=1e-8)


def test_cells_outside_all_relations_keep_their_values():
    problem, _ = _three_way(2, 3)
    wider = replace(
        problem,
        values=np.append(problem.values, 4.5),
        weights=np.append(problem.weights, 1.0),
        relations=csr_array(hstack([problem.relations, csr_array((len(problem.sides), 1))])),
        lower=np.append(problem.lower, 0.0),
        upper=np.append(problem.upper, np.inf),
    )
    assert least_squares(wider, Budget.of(10)).x[-1] == 4.5


def test_narrow_bounds_around_a_table_that_adds_up_never_hide_it():
    for seed in range(6):
        random = np.random.default_rng(seed)
        inner = random.integers(0, 20, (3, 4))
        full = np.zeros((4, 5))
        full[1:, 1:], full[0, 1:], full[1:, 0] = inner, inner.sum(0), inner.sum(1)
        full[0, 0] = inner.sum()
        true = full.ravel()
        codes = [(a, b) for a in ["Total", *"xyz"] for b in ["Total", *"pqrs"]]
        noisy = pd.DataFrame(codes, columns=["a", "b"]).assign(
            value=true + random.normal(0, 30, 20),
            low=true - random.integers(0, 3, 20),
            high=true + random.integers(0, 3, 20),
            spread=random.choice([0.01, 1, 100], 20),
        )
        found = tc.reconcile(noisy, ["a", "b"], lower="low", upper="high", variance="spread")
        assert found.gap < 1e-6


def test_a_lower_bound_above_all_given_values_moves_every_cell_to_it():
    noisy = pd.DataFrame({"a": ["Total", "x", "y"], "value": [12, 4, 5]})
    found = tc.reconcile(noisy, ["a"], lower=50)
    np.testing.assert_allclose(found.values, [100, 50, 50])
