"""Least squares over directions, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from hand_tables import one_row
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.cta.model.squares import SquaresForm
from tablecloak.cta.search.distances.l2 import minimise_squares
from tablecloak.cta.search.turns import ENUMERATED
from tight_forms import ENOUGH, all_directions, form_of


def squares(problem, known: float = 1e9) -> tuple[SquaresForm, dict]:
    form = form_of(problem)
    least = SquaresForm(form.model, known)
    values = {}
    for y in all_directions(form):
        point = least.solve(y, 10.0)
        values[tuple(y.tolist())] = np.inf if point is None else point.value
    return least, values


@pytest.mark.parametrize("seed", range(2))
def test_few_directions_are_all_tried(seed):
    form, values = squares(random_problem(seed))
    assert len(form.sensitive) <= ENUMERATED
    found = minimise_squares(form, [np.ones(3)], Budget.of(ENOUGH), free=True)
    value = float(form.model.weights @ found.changes**2) / form.objective
    assert value == pytest.approx(min(values.values()), rel=1e-5)
    assert form.bound(found.duals) <= min(values.values()) * (1 + 1e-7)
    assert "directions of 3 cells" in found.note


@pytest.mark.parametrize("seed", range(2))
def test_given_directions_are_kept(seed):
    form, values = squares(random_problem(seed))
    y = np.array([1.0, 0.0, 1.0])
    found = minimise_squares(form, [y], Budget.of(ENOUGH), free=False)
    value = float(form.model.weights @ found.changes**2) / form.objective
    assert value == pytest.approx(values[tuple(y.tolist())], rel=1e-6)
    assert found.note == "least squares"


def test_without_feasible_directions_there_is_no_answer():
    problem = one_row([50, 60, 70], {"a": (3, 5)}, frozen=["Total"]).with_capacity(2)
    form, _ = squares(problem)
    assert minimise_squares(form, [np.ones(1)], Budget.of(ENOUGH), free=False) is None
    assert minimise_squares(form, [np.ones(1)], Budget.of(ENOUGH), free=True) is not None


def test_the_first_start_is_solved_even_when_time_is_over():
    form, _ = squares(random_problem(1))
    found = minimise_squares(form, [np.ones(3), np.zeros(3)], Budget.of(0.0), free=False)
    assert found is not None
    assert np.all(found.changes[form.model.problem.sensitive] > 0)
