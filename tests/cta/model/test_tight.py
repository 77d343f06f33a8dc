"""The tight form: points and changes, values and losses, bounds and enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import tablecloak as tc
from hand_tables import one_row, place, problem_of
from random_tables import optimum_by_enumeration, random_problem
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.model.tight import (
    ENUMERATED_SIGNS,
    TightForm,
    discrepancies_of,
    plain_program,
    units_of,
    with_largest,
    with_misses,
)
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


@pytest.mark.parametrize("seed", range(2))
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


@pytest.mark.parametrize("seed", range(2))
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


@pytest.mark.parametrize("seed", range(2))
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


@pytest.mark.parametrize("seed", range(3))
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


@pytest.mark.parametrize(
    ("levels", "left_over"),
    [
        # a alone: 3 down is the least that something else must make up for.
        ({"a": (3, 5)}, 3),
        # 5 - 3 or 3 - 5 leave 2; the same way leaves 6 or 10.
        ({"a": (3, 5), "b": (3, 5)}, 2),
        # 4 up and 4 down cancel.
        ({"a": (4, 4), "b": (4, 4)}, None),
        # 1 + 2 against 3.
        ({"a": (1, 1), "b": (2, 2), "c": (3, 3)}, None),
        # 7 is more than the others together: 7 - 1 - 2.
        ({"a": (1, 1), "b": (2, 2), "c": (7, 7)}, 4),
        # The total counts with the other sign: 6 up on both sides cancels.
        ({"a": (9, 6), "Total": (8, 6)}, None),
        # Up only and down only: 5 and -2 are all that is left.
        ({"a": (0, 5), "b": (2, 0)}, 3),
    ],
)
def test_levels_that_cannot_cancel_leave_something_over(levels, left_over):
    model = model_of(one_row([50, 60, 70], levels))
    rows, deltas = discrepancies_of(model)
    if left_over is None:
        assert not len(rows)
    else:
        assert rows.tolist() == [0]
        assert deltas.tolist() == pytest.approx([left_over])


def test_directions_that_bounds_forbid_are_not_counted():
    problem = one_row([50, 60, 70], {"a": (4, 4), "b": (4, 4)})
    upper = problem.upper_bound.copy()
    upper[:2] = [51, 61]
    # Both must fall, so that 8 is left over instead of 0.
    rows, deltas = discrepancies_of(model_of(problem.with_changes(upper_bound=upper)))
    assert (rows.tolist(), deltas.tolist()) == ([0], [8])


def test_relations_of_too_many_sensitive_cells_are_not_enumerated():
    parts = list(range(50, 50 + ENUMERATED_SIGNS + 1))
    names = "abcdefghijklmnopqrstuvwxyz"[: len(parts)]
    few = dict.fromkeys(names[: ENUMERATED_SIGNS - 1], (5, 5))
    assert len(discrepancies_of(model_of(one_row(parts, few)))[0]) == 1
    all_of_them = dict.fromkeys(names, (5, 5))
    assert len(discrepancies_of(model_of(one_row(parts, all_of_them)))[0]) == 0


@pytest.mark.parametrize("seed", range(3))
def test_what_is_left_over_is_the_least_of_all_choices(seed):
    model = model_of(random_problem(seed, (3, 3), 5))
    rows, deltas = discrepancies_of(model)
    found = dict(zip(rows.tolist(), deltas.tolist(), strict=True))
    relations, compared = model.relations.toarray(), 0
    for row in range(len(relations)):
        signs = relations[row, model.sensitive]
        if not np.any(signs):
            continue
        sums = [
            abs(float(signs @ np.where(y, model.up_level, -model.down_level)))
            for y in itertools.product([True, False], repeat=len(signs))
        ]
        assert found.get(row, 0.0) == pytest.approx(min(sums), abs=1e-6)
        compared += 1
    assert compared > 0


def test_the_columns_are_rooms_beyond_the_levels():
    problem = one_row([50, 60], {"a": (3, 5)}, bounds=(0, 200))
    model = model_of(problem)
    program = plain_program(model, model.cost, discrepancies_of(model))
    # s+ of a, b, Total; s- of them; y.
    assert program.upper.tolist() == [150 - 5, 140, 90, 50 - 3, 60, 110, 1]
    assert program.integral.tolist() == [False] * 6 + [True]
    assert program.cost.tolist() == [1] * 6 + [2]


def test_given_directions_need_neither_direction_nor_discrepancy_rows():
    model = model_of(one_row([50, 60], {"a": (3, 5)}))
    free = plain_program(model, model.cost, discrepancies_of(model))
    given = plain_program(model, model.cost, None)
    assert (free.n_rows, given.n_rows) == (1 + 2 + 1, 1)


@pytest.mark.parametrize(("y", "z_a"), [(1, 5 + 2), (0, -3 - 4)])
def test_a_point_keeps_the_relation_exactly_when_its_changes_do(y, z_a):
    model = model_of(one_row([50, 60], {"a": (3, 5)}))
    program = plain_program(model, model.cost, None)
    beyond = (2, 0) if y else (0, 4)
    # b takes up what a moves, so that the total stays.
    rise, fall = max(-z_a, 0), max(z_a, 0)
    x = np.array([beyond[0], rise, 0, beyond[1], fall, 0, y], dtype=float)
    assert program.matrix @ x == pytest.approx(program.row_lower)
    assert program.row_lower == pytest.approx(program.row_upper)


def test_the_largest_change_bounds_every_weighted_change():
    problem = one_row([50, 60], {"a": (3, 5)})
    model = model_of(problem, weights=[1, 2, 4])
    raw = plain_program(model, model.cost, None)
    largest = with_largest(raw, model, model.cost)
    assert largest.n_columns == raw.n_columns + 1
    middle = 2.0
    assert largest.cost.tolist() == [0] * raw.n_columns + [middle]
    # a up 5, b down 5: weighted 5 and 10, so that t must reach 10 / 2.
    x = np.array([0, 0, 0, 0, 5, 0, 1, 0.0])
    rows = slice(raw.n_rows, None)
    for t, holds in ((5.0, True), (4.9, False)):
        x[-1] = t
        assert bool(np.all((largest.matrix @ x)[rows] <= largest.row_upper[rows] + 1e-9)) == holds


def test_a_missed_statistic_is_paid_for_at_a_high_price():
    problem = one_row([50, 60], {"a": (3, 5)})
    model = model_of(problem, rows=tc.Mean("sensitive").rows(problem))
    raw = plain_program(model, model.cost, discrepancies_of(model))
    elastic = with_misses(raw, model, model.cost)
    assert elastic.n_columns == raw.n_columns + 2
    assert np.all(elastic.cost[-2:] > 100 * raw.cost.max())
    # a moves up by 5, though its own mean is to stay: missed by 5 downwards.
    x = np.zeros(elastic.n_columns)
    x[4], x[6], x[-1] = 5, 1, 5
    activity = elastic.matrix @ x
    assert np.all(activity >= elastic.row_lower - 1e-9)
    assert np.all(activity <= elastic.row_upper + 1e-9)
    x[-1] = 0
    assert np.any(elastic.matrix @ x > elastic.row_upper + 1)


def test_cells_with_small_levels_are_measured_in_a_small_unit():
    problem = problem_of(
        ["a", "b", "T", "c", "d", "S"],
        [5e6, 6e6, 11e6, 5.0, 6.0, 11.0],
        [[1, 1, -1, 0, 0, 0], [0, 0, 0, 1, 1, -1]],
        {"a": (1e6, 1e6), "c": (1e-3, 1e-3)},
        bounds=(0, 1e8),
    )
    model = model_of(problem)
    units = units_of(model)
    group = model.coupled.group
    assert units[group[place(problem, "c")]] < 1e-3 * units[group[place(problem, "a")]]
    assert np.all(units <= max(problem.unit, 1e6 / 1e4))


def test_a_sensitive_cell_without_finite_room_is_refused():
    problem = one_row([50, 60], {"a": (3, 5)}, bounds=(0, np.inf))
    space = AdjustmentSpace.of(problem, weights=np.ones(3), limit=None)
    model = space.model
    # Rooms of a space are finite, those of the model below are not.
    endless = AdjustmentModel.of(
        problem, np.zeros(3), type(model.room)(
            np.full(3, np.inf), model.room.down, model.room.up_level, model.room.down_level
        ),
    )  # fmt: skip
    with pytest.raises(tc.ModelError, match="no finite room to move"):
        plain_program(endless, endless.cost, discrepancies_of(endless))
