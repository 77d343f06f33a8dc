"""The tight form: points and changes, values and losses, bounds and enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import tablecloak as tc
from hand_tables import one_row
from random_tables import optimum_by_enumeration, random_problem
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.model.tight import TightForm
from tablecloak.solve.program import Program


def model_of(problem: tc.ProtectionProblem, weights=None, rows=()) -> AdjustmentModel:
    weights = np.ones(problem.table.n_cells) if weights is None else np.asarray(weights, float)
    return AdjustmentSpace.of(problem, weights=weights, limit=None, preserved=rows).model


def solved(program: Program):
    """By scipy, without the solver of the package."""
    low, high = np.isfinite(program.row_lower), np.isfinite(program.row_upper)
    return linprog(
        program.cost,
        A_ub=np.vstack([program.matrix.toarray()[high], -program.matrix.toarray()[low]]),
        b_ub=np.concatenate([program.row_upper[high], -program.row_lower[low]]),
        bounds=np.column_stack([program.lower, program.upper]),
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("maximum", [False, True])
def test_value_of_a_point_is_the_loss_of_its_changes(seed, maximum):
    problem = random_problem(seed)
    weights = tc.WeightRule.RELATIVE.of(problem)
    form = TightForm.of(model_of(problem, weights), maximum=maximum)
    found = solved(form.directed(np.ones(3)))
    z = form.changes(found.x)
    loss = np.max(weights * np.abs(z)) if maximum else weights @ np.abs(z)
    assert form.loss(found.fun) == pytest.approx(loss)
    assert np.abs(problem.table.relations @ z).max() < 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_the_best_directions_of_the_program_are_those_of_enumeration(seed):
    problem = random_problem(seed)
    weights = tc.WeightRule.RELATIVE.of(problem)
    form = TightForm.of(model_of(problem, weights))
    low, high = form.model.allowed
    best = np.inf
    for y in itertools.product([0.0, 1.0], repeat=len(low)):
        if np.all((low <= y) & (np.array(y) <= high)):
            found = solved(form.directed(np.array(y)))
            best = min(best, form.loss(found.fun) if found.status == 0 else np.inf)
    assert best == pytest.approx(optimum_by_enumeration(problem, weights), rel=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_rows_left_out_for_given_directions_say_nothing(seed):
    form = TightForm.of(model_of(random_problem(seed)))
    light = form.directed_only()
    assert light.program.n_rows < form.program.n_rows
    assert light.directed_only() is light
    for y in (np.ones(3), np.array([1.0, 0, 1])):
        both = [solved(one.directed(y)) for one in (form, light)]
        assert both[0].status == both[1].status
        if both[0].status == 0:
            assert form.loss(both[0].fun) == pytest.approx(light.loss(both[1].fun))


@pytest.mark.parametrize("seed", range(6))
def test_discrepancy_rows_raise_the_relaxation_and_cut_no_table_off(seed):
    problem = random_problem(seed, (3, 3), 4)
    weights = np.ones(problem.table.n_cells)
    form = TightForm.of(model_of(problem))
    kept = form.program.n_rows - len(form.discrepancy)
    plain = Program(
        form.program.cost, form.program.matrix[:kept, :], form.program.row_lower[:kept],
        form.program.row_upper[:kept], form.program.lower, form.program.upper,
    )  # fmt: skip
    bounds = [form.loss(solved(one).fun) for one in (plain, form.program.relaxed())]
    assert bounds[0] <= bounds[1] + 1e-6
    assert bounds[1] <= optimum_by_enumeration(problem, weights) * (1 + 1e-9)


def test_without_discrepancy_rows_the_relaxation_is_the_cost_of_the_levels_alone():
    """Directions of one half make up for equal levels without a net change."""
    problem = one_row([50, 60], {"a": (4, 4)})
    form = TightForm.of(model_of(problem))
    assert form.loss(solved(form.program.relaxed()).fun) == pytest.approx(8)
    program = form.program
    plain = Program(
        program.cost, program.matrix[:-1, :], program.row_lower[:-1], program.row_upper[:-1],
        program.lower, program.upper,
    )  # fmt: skip
    assert form.loss(solved(plain).fun) == pytest.approx(4)


def test_objective_0_stands_for_all_lower_levels():
    form = TightForm.of(model_of(one_row([50, 60], {"a": (3, 5)}), weights=None))
    assert form.offset == 3
    assert form.loss(0.0) == 3
    assert TightForm.of(form.model, maximum=True).offset == 0


def test_given_directions_close_the_room_on_the_other_side():
    form = TightForm.of(model_of(one_row([50, 60], {"a": (3, 5)})))
    up, down = 0, form.model.n_groups
    for y in (0.0, 1.0):
        columns, low, high = form.direction_bounds(np.array([y]))
        ends = dict(
            zip(columns.tolist(), zip(low.tolist(), high.tolist(), strict=True), strict=True)
        )
        assert ends[form.direction_columns[0]] == (y, y)
        assert (ends[up][1] > 0, ends[down][1] > 0) == (y == 1, y == 0)


def test_elastic_statistics_make_every_direction_possible():
    problem = one_row([50, 60], {"a": (3, 5)})
    rows = tc.Mean("sensitive").rows(problem)
    form = TightForm.of(model_of(problem, rows=rows))
    assert solved(form.directed(np.ones(1))).status == 2
    elastic = form.elastic()
    found = solved(elastic.directed(np.ones(1)))
    assert found.status == 0
    # The mean of the only sensitive cell is missed by its level.
    assert found.x[-2:].sum() * elastic.scaling.column[-1] == pytest.approx(5)
    assert elastic.is_elastic


def test_directions_of_a_point_are_rounded():
    form = TightForm.of(model_of(one_row([50, 60], {"a": (3, 5)})))
    x = np.zeros(form.program.n_columns)
    x[form.direction_columns] = 1 - 1e-9
    assert form.directions(x).tolist() == [1]
