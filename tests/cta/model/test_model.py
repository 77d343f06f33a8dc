"""One model of an adjustment, and the way back from its columns to cells."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from random_tables import random_problem
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.model.squares import SquaresForm
from tablecloak.cta.model.tight import TightForm


def model_of(problem: tc.ProtectionProblem, preserve=()) -> AdjustmentModel:
    weights = tc.WeightRule.RELATIVE.of(problem)
    rows = [row for each in preserve for row in each.rows(problem)]
    space = AdjustmentSpace.of(problem, weights=weights, limit=None, preserved=rows)
    return space.model


@pytest.mark.parametrize("seed", range(2))
def test_changes_of_groups_and_of_cells_go_there_and_back(seed):
    model = model_of(random_problem(seed))
    changes = np.random.default_rng(seed).integers(-9, 9, model.n_groups).astype(np.longdouble)
    assert np.array_equal(model.groups(model.cells(changes)), changes)
    assert model.cells(changes).dtype == np.longdouble


def test_rows_are_relations_and_then_statistics():
    problem = random_problem(1)
    model = model_of(problem, [tc.Mean("all"), tc.Slope("all")])
    assert model.rows.matrix.shape[0] == len(model.independent) + 2
    additive = tc.adjust(problem, preserve=["mean:all"], integer=False).changes
    activity = model.rows.matrix @ model.groups(additive)
    off = np.maximum(model.rows.low - activity, activity - model.rows.high)[:-1]
    assert off.max() <= 1e-6
    assert model.preserving(model.preserved[:1]).rows.matrix.shape[0] == len(model.rows.low) + 1


def test_every_form_has_its_way_back_to_the_same_cells():
    problem = random_problem(2)
    model = model_of(problem)
    adjusted = tc.adjust(problem, directions="up", integer=False)
    squares = SquaresForm(model, adjusted.weights @ adjusted.changes**2 * 2)
    point = squares.solve(np.ones(len(model.sensitive)), 10.0)
    form = TightForm.of(model)
    y = form.directions(np.where(form.program.upper > 0, form.program.upper, 0.0))
    assert point is not None
    assert np.array_equal(model.directions_of(point.changes), y)
    assert np.abs(problem.table.relations @ point.changes).max() < 1e-6
    assert np.all(point.changes[problem.sensitive] >= adjusted.problem.upper_protection[
        problem.sensitive] - 1e-6)  # fmt: skip


def test_cells_laid_out_apart_are_columns_of_their_own():
    problem = random_problem(3)
    room = tc.adjust(problem).room
    model = AdjustmentModel.apart(problem, room)
    assert model.n_groups == np.count_nonzero(~problem.frozen)
    assert len(model.independent) == problem.table.n_relations
