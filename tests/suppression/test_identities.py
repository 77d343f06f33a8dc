"""What must not change the optimum of a suppression, and what can only raise or lower it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, vstack

import tablecloak as tc
from random_tables import random_problem

SEEDS = range(2)


def optimum(problem: tc.ProtectionProblem, **options) -> float:
    """The least loss, proved; infinite if no pattern protects."""
    try:
        pattern = tc.suppress(problem, method="exact", time_limit=30, threads=1, **options)
    except tc.ModelError:
        return np.inf
    assert pattern.is_optimal
    assert pattern.bound <= pattern.loss
    return pattern.loss


@pytest.fixture(scope="module", params=SEEDS)
def problem(request) -> tc.ProtectionProblem:
    """Whole numbers, with weights that differ, so that few patterns lose the same."""
    given = random_problem(request.param)
    random = np.random.default_rng(request.param)
    return given.with_changes(weights=random.integers(1, 50, given.table.n_cells).astype(float))


@pytest.fixture(scope="module")
def best(problem) -> float:
    return optimum(problem)


def with_table(problem: tc.ProtectionProblem, **table) -> tc.ProtectionProblem:
    return replace(problem, table=replace(problem.table, **table))


LEVELS = ("lower_protection", "upper_protection", "sliding_protection")
ARRAYS = ("status", *LEVELS, "lower_bound", "upper_bound", "weights")


def times(problem: tc.ProtectionProblem, factor: float) -> tc.ProtectionProblem:
    """The same table in another unit."""
    table = replace(
        problem.table,
        values=factor * problem.table.values,
        right_hand_side=factor * problem.table.right_hand_side,
        integer=None,
    )
    names = (*LEVELS, "lower_bound", "upper_bound")
    scaled = {name: factor * getattr(problem, name) for name in names}
    return replace(problem, table=table, **scaled)


@pytest.mark.parametrize("factor", [7.0, 1000.0, 2.0**-10])
def test_the_unit_of_a_table_does_not_matter(problem, best, factor):
    assert optimum(times(problem, factor)) == best


def test_the_unit_of_the_weights_is_the_unit_of_the_loss(problem, best):
    assert optimum(problem.with_changes(weights=8 * problem.weights)) == 8 * best


def test_the_order_of_cells_does_not_matter(problem, best):
    order = np.random.default_rng(1).permutation(problem.table.n_cells)
    table = replace(
        problem.table,
        keys=problem.table.keys.iloc[order].reset_index(drop=True),
        values=problem.table.values[order],
        relations=csr_array(problem.table.relations[:, order]),
    )
    arrays = {name: getattr(problem, name)[order] for name in ARRAYS}
    assert optimum(tc.ProtectionProblem(table=table, **arrays)) == best


def test_a_relation_that_follows_from_others_says_nothing_new(problem, best):
    relations = problem.table.relations
    both = csr_array(relations[[0], :] + 3 * relations[[1], :])
    repeated = csr_array(vstack([relations, both, -2 * relations[[2], :]]))
    side = np.append(problem.table.right_hand_side, [0.0, 0.0])
    assert optimum(with_table(problem, relations=repeated, right_hand_side=side)) == best


def test_levels_that_are_raised_never_lower_the_loss(problem, best):
    lower, upper = problem.lower_protection, problem.upper_protection
    losses = [
        optimum(problem.with_changes(lower_protection=k * lower, upper_protection=k * upper))
        for k in (0.25, 1.0, 1.5)
    ]
    assert losses[0] <= losses[1] == best <= losses[2]


def test_bounds_that_are_narrowed_never_lower_the_loss(problem, best):
    values = problem.table.values
    narrow = problem.with_changes(
        lower_bound=np.maximum(problem.lower_bound, values - problem.lower_protection - 3),
        upper_bound=np.minimum(problem.upper_bound, values + problem.upper_protection + 3),
    )
    assert optimum(narrow) >= best


def test_both_sides_ask_for_more_than_one_side_or_a_width(problem, best):
    assert optimum(problem, require="upper") <= best
    assert optimum(problem, require="width") <= best


def test_a_cell_of_the_optimum_that_is_frozen_costs_something_or_nothing_is_gained(problem, best):
    """Whoever may not hide what is hidden best pays at least as much; other cells cost nothing."""
    pattern = tc.suppress(problem, method="exact", time_limit=30)
    hidden = np.flatnonzero(pattern.suppressed & ~problem.sensitive)
    status = problem.status.copy()
    status[hidden[0]] = "z"
    assert optimum(problem.with_changes(status=status)) >= best
    status = np.where(pattern.suppressed, problem.status, "z")
    assert optimum(problem.with_changes(status=status)) == best


def test_hidden_cells_that_are_declared_to_be_hidden_change_no_optimum(problem, best):
    pattern = tc.suppress(problem, method="exact", time_limit=30)
    status = np.where(pattern.suppressed & ~problem.sensitive, "m", problem.status)
    forced = problem.with_changes(status=status)
    assert optimum(forced) == best
    free = problem.with_changes(status=status, weights=np.where(status == "m", 0, problem.weights))
    assert optimum(free) == problem.weights[problem.sensitive].sum()


def test_one_sensitive_cell_less_never_raises_the_loss_beyond_its_own_weight(problem, best):
    """The old pattern still protects the others, and may hide the cell as a secondary one."""
    cell = int(np.flatnonzero(problem.sensitive)[0])
    status = problem.status.copy()
    status[cell] = "s"
    assert optimum(problem.with_changes(status=status)) <= best


def test_the_loss_of_a_table_beside_another_one_is_the_sum_of_both(problem, best):
    """No relation connects them, so that neither pattern matters to the other one."""
    other = random_problem(11, shape=(2, 3), n_sensitive=2)
    tables = problem.table, other.table
    keys = tables[0].keys.astype(str)
    renamed = tables[1].keys.astype(str).map(lambda code: f"other {code}")
    both = tc.Table(
        keys=pd.concat([keys, renamed], ignore_index=True),
        values=np.concatenate([table.values for table in tables]),
        relations=csr_array(
            vstack(
                [
                    csr_array(
                        (part.data, part.indices + shift, part.indptr),
                        shape=(part.shape[0], tables[0].n_cells + tables[1].n_cells),
                    )
                    for part, shift in (
                        (tables[0].relations, 0),
                        (tables[1].relations, tables[0].n_cells),
                    )
                ]
            )
        ),
        right_hand_side=np.concatenate([table.right_hand_side for table in tables]),
    )
    arrays = {
        name: np.concatenate([getattr(problem, name), getattr(other, name)]) for name in ARRAYS
    }
    assert optimum(tc.ProtectionProblem(table=both, **arrays)) == best + optimum(other)
