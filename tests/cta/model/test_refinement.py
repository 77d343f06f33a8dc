"""From the point of a solver to a table that is additive exactly."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import tablecloak as tc
from hand_tables import one_row
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.cta.model import refinement
from tablecloak.cta.model.precision import LastDigits
from tablecloak.cta.model.refinement import (
    additive_changes,
    group_changes,
    published_values,
    refined,
)
from tablecloak.solve.linear import LinearSolver
from tight_forms import ENOUGH, form_of


def model_of(problem):
    return form_of(problem).model


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("noise", [1e-9, 1e-6, 1e-3])
def test_what_a_solver_leaves_is_removed_to_the_last_binary_digit(seed, noise):
    problem = random_problem(seed)
    exact = tc.adjust(problem, directions="up", integer=False).changes
    random = np.random.default_rng(seed)
    noisy = exact + random.uniform(-noise, noise, len(exact))
    z = additive_changes(model_of(problem), noisy, Budget.of(ENOUGH))
    off = problem.table.relations.astype(np.longdouble) @ z
    assert np.abs(off).max() <= 1e-12
    assert np.abs(z - noisy).max() <= 100 * noise * len(z)
    assert np.all(z[problem.sensitive] >= problem.upper_protection[problem.sensitive])


@pytest.mark.parametrize("is_large", [False, True])
def test_large_tables_are_corrected_by_the_interior_point_method(is_large, monkeypatch):
    problem = random_problem(3)
    exact = tc.adjust(problem, directions="up", integer=False).changes
    model = model_of(problem)
    size = len(model.independent)
    monkeypatch.setattr(refinement, "INTERIOR_ROWS", size - 1 if is_large else size)
    task = []

    class Noted(LinearSolver):
        def __init__(self, program, **options):
            super().__init__(program, **options)
            task.append(options["interior"])

    monkeypatch.setattr(refinement, "LinearSolver", Noted)
    noisy = exact + np.random.default_rng(0).uniform(-1e-6, 1e-6, len(exact))
    g = refined(model, group_changes(model, noisy), Budget.of(ENOUGH))
    off = problem.table.relations.astype(np.longdouble) @ model.cells(g)
    assert np.abs(off).max() <= 1e-12
    assert set(task) == {"first" if is_large else "never"}


def test_an_additive_table_is_left_as_it_is():
    problem = random_problem(1)
    exact = tc.adjust(problem, directions="up").changes
    z = additive_changes(model_of(problem), exact, Budget.of(ENOUGH))
    assert np.array_equal(z.astype(float), exact)


def test_changes_next_to_a_bound_are_at_it():
    problem = one_row([50, 60], {"a": (3, 5)}, bounds=(0, 200))
    model = model_of(problem)
    g = group_changes(model, [5 + 1e-12, 1e-12, 90 - 1e-12])
    assert g.astype(float).tolist() == [5, 0, 90]


def test_changes_beyond_the_level_are_taken_back_inside():
    model = model_of(one_row([50, 60], {"a": (3, 5)}, bounds=(0, 200)))
    g = group_changes(model, [4.0, -70.0, 100.0])
    # Up at least the level; b at most down to 0; the total at most up to its bound.
    assert g.astype(float).tolist() == [5, -60, 90]


def test_a_table_that_bounds_forbid_is_not_made_additive():
    problem = one_row([50, 60, 70], {"a": (5, 5)}, frozen=["Total"]).with_capacity(2)
    model = model_of(problem)
    g = group_changes(model, [5, -2, -2, 0])
    with pytest.raises(tc.SolverError, match="not made additive exactly"):
        refined(model, g, Budget.of(ENOUGH))


def test_rounding_to_doubles_takes_no_cell_nearer_than_its_level():
    # Doubles around 1e16 are 2 apart: a level of 3 above lies between two of them.
    problem = one_row([1e16, 2e16], {"a": (3, 3)}, bounds=(0, 1e18))
    for sign in (1, -1):
        changes = np.array([3 * sign, -3 * sign, 0], dtype=np.longdouble)
        values = published_values(problem, changes)
        assert abs(values[0] - 1e16) >= 3


def test_whole_changes_are_published_in_the_last_digit():
    problem = one_row([1.25, 2.5], {"a": (0.5, 0.5)}, bounds=(0, 10))
    change = LastDigits.of(problem, 2)
    multiples = change.problem.table.values + np.array([50.0, -50.0, 0.0])
    assert change.values(multiples).tolist() == [1.75, 2.0, 3.75]
    moves = np.array([50.5, -50.5, 0], dtype=np.longdouble) * change.unit
    assert published_values(problem, moves) == pytest.approx([1.755, 1.995, 3.75])


@pytest.mark.parametrize(
    ("relations", "status", "level", "weights", "distance"),
    [
        (
            [[0.001, -1000, -0.001], [0, -10, 100], [1e-4, 1e4, -1e4]],
            "ssu", 0.1, [1e-6, 1e-3, 0.1], "Linf",
        ),
        ([[0, 10, -0.1], [-0.001, -1e4, 100]], "usu", 0.01, [0.1, 1e-4, 1e-4], "L1"),
    ],
)  # fmt: skip
def test_a_point_that_only_a_solver_takes_for_a_table_is_none(
    relations, status, level, weights, distance
):
    """No table keeps these relations and levels; some miss them by less than a tolerance."""
    levels = np.where(np.array(list(status)) == "u", level, 0.0)
    table = tc.Table(
        keys=pd.DataFrame({"cell": list("abc")}),
        values=np.zeros(3),
        relations=csr_array(np.array(relations, dtype=float)),
        right_hand_side=np.zeros(len(relations)),
        name="value",
    )
    problem = tc.ProtectionProblem(
        table,
        np.array(list(status)),
        lower_bound=np.full(3, -np.inf),
        upper_bound=np.full(3, np.inf),
        lower_protection=levels,
        upper_protection=levels,
        sliding_protection=np.zeros(3),
        weights=np.ones(3),
    )
    with pytest.raises((tc.ModelError, tc.SolverError)) as told:
        tc.adjust(problem, weights=np.array(weights), distance=distance, integer=False)
    assert "result was not changed" not in str(told.value)
