"""Least squares: by hand, and bounds by multipliers against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tablecloak as tc
from hand_tables import by_code, one_row
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.model.squares import SquaresForm


def form_of(problem: tc.ProtectionProblem, known: float = 1e9, weights=None) -> SquaresForm:
    weights = np.ones(problem.table.n_cells) if weights is None else np.asarray(weights, float)
    space = AdjustmentSpace.of(problem, weights=weights, limit=None)
    return SquaresForm(space.model, known)


def least(form: SquaresForm) -> float:
    """Over all directions, in scaled units."""
    points = [
        form.solve(np.array(y), 10.0)
        for y in itertools.product([0.0, 1.0], repeat=len(form.sensitive))
    ]
    return min(point.value for point in points if point is not None)


@pytest.mark.parametrize(
    ("levels", "frozen", "y", "changes", "loss"),
    [
        # The total is fixed: b takes up all of 4.
        ((4, 4), ["Total"], 1.0, (4, -4, 0), 32),
        # It is free: b and the total share it.
        ((4, 4), [], 1.0, (4, -2, 2), 24),
        ((6, 4), [], 0.0, (-6, 3, -3), 54),
    ],
)
def test_least_squares_by_hand(levels, frozen, y, changes, loss):
    problem = one_row([50, 60], {"a": levels}, frozen=frozen)
    form = form_of(problem)
    point = form.solve(np.array([y]), 10.0)
    assert point is not None
    assert point.changes == pytest.approx(changes, abs=1e-5)
    assert point.value * form.objective == pytest.approx(loss, rel=1e-5)
    # The multipliers prove the cheaper of both directions, and no more.
    assert form.bound(point.duals) <= least(form) * (1 + 1e-6)


def test_changes_are_shared_by_their_weights():
    """An ordinary cell of three times the weight moves a third as far."""
    problem = one_row([50, 60], {"a": (4, 4)})
    form = form_of(problem, weights=[1, 3, 1])
    point = form.solve(np.ones(1), 10.0)
    assert by_code(problem, point.changes) == pytest.approx({"a": 4, "b": -1, "Total": 3}, abs=1e-5)


def test_directions_without_room_have_no_point():
    problem = one_row([50, 60], {"a": (4, 4)})
    upper = problem.upper_bound.copy()
    upper[0] = 51
    form = form_of(problem.with_changes(upper_bound=upper))
    assert form.solve(np.ones(1), 10.0) is None
    assert form.solve(np.zeros(1), 10.0) is not None


def test_a_side_with_the_level_0_has_no_point():
    form = form_of(one_row([50, 60], {"a": (0, 4)}))
    assert form.solve(np.zeros(1), 10.0) is None


def test_a_known_loss_cuts_rooms_to_its_root():
    form = form_of(one_row([50, 60], {"a": (4, 4)}), known=100.0, weights=[1, 4, 25])
    reach = form.up * form.length
    assert reach == pytest.approx([10, 5, 2], rel=1e-5)


@given(seed=st.integers(0, 5), noise=st.integers(0, 1000))
def test_no_multipliers_prove_more_than_the_best_table(seed, noise):
    form = form_of(random_problem(seed))
    random = np.random.default_rng(noise)
    gamma = random.normal(0, 10 ** random.uniform(-2, 2), len(form.row_lower))
    assert form.bound(gamma) <= least(form) * (1 + 1e-7)


@pytest.mark.parametrize("seed", range(2))
def test_climbing_never_loses_what_was_proved(seed):
    form = form_of(random_problem(seed))
    start = form.solve(np.ones(len(form.sensitive)), 10.0)
    assert start is not None
    for duals in (start.duals, np.zeros(len(form.row_lower)), form.relaxed(10.0)):
        climbed = form.climb(duals, Budget.of(10.0))
        assert form.bound(duals) <= form.bound(climbed) + 1e-9
        assert form.bound(climbed) <= least(form) * (1 + 1e-7)


@pytest.mark.parametrize("seed", range(2))
def test_the_relaxation_proves_at_least_what_every_cell_costs_alone(seed):
    form = form_of(random_problem(seed))
    alone = form.bound(np.zeros(len(form.row_lower)))
    levels = np.minimum(form.up_level, form.down_level)[form.sensitive]
    assert alone == pytest.approx(float(form.weights[form.sensitive] @ levels**2))
    assert form.bound(form.relaxed(10.0)) >= alone * (1 - 1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_turning_a_direction_brings_at_least_what_it_promises(seed):
    """The promise bounds the change from below."""
    form = form_of(random_problem(seed))
    y = np.ones(len(form.sensitive))
    start = form.solve(y, 10.0)
    promise = form.promise(start.duals, y)
    for i in range(len(y)):
        turned = y.copy()
        turned[i] = 0
        other = form.solve(turned, 10.0)
        change = np.inf if other is None else other.value - start.value
        assert change >= promise[i] - 1e-6 * max(1.0, start.value)


def test_a_climb_that_has_no_time_returns_where_it_began():
    form = form_of(random_problem(1))
    duals = np.zeros(len(form.row_lower))
    assert np.array_equal(form.climb(duals, Budget.of(0.0)), duals)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("size", [0.1, 1.0, 10.0])
def test_multipliers_of_a_statistic_with_room_prove_no_more_either(seed, size):
    """Whichever side of its row a multiplier leans on, the nearest side counts."""
    problem = random_problem(seed)
    rows = tc.Mean("all", tolerance=0.05).rows(problem)
    space = AdjustmentSpace.of(
        problem, weights=np.ones(problem.table.n_cells), limit=None, preserved=rows
    )
    form = SquaresForm(space.model, 1e9)
    best = least(form)
    random = np.random.default_rng(seed)
    for _ in range(20):
        gamma = random.normal(0, size, len(form.row_lower))
        assert form.bound(gamma) <= best * (1 + 1e-7)


@pytest.mark.parametrize("weights", [[0, 0, 1], [0, 1, 0], [0, 0, 0]])
def test_what_costs_nothing_may_move_anywhere_although_nothing_else_may_move(weights):
    """A table without a loss cuts the rooms of cells with a weight to 0, and no others."""
    problem = one_row([50, 60], {"a": (4, 4)})
    form = form_of(problem, known=0.0, weights=weights)
    assert np.array_equal(form.up > 0, np.array(weights) == 0)
    adjusted = tc.adjust(problem, distance="L2", weights=np.array(weights, dtype=float))
    adjusted.verify()
    assert adjusted.loss == adjusted.bound == 0
