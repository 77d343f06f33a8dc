"""Controlled rounding as a program in steps, by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from hand_tables import cross, one_row, problem_of
from tablecloak.budget import Budget
from tablecloak.cta.rounding.rounded_table import RoundingAnswer
from tablecloak.cta.rounding.steps import RoundingModel, nearest_rounding
from tablecloak.cta.rounding.task import RoundingTask, WholeRelations
from tight_forms import ENOUGH


def model_of(problem, base=5, steps=1, weights=None) -> RoundingModel:
    cost = np.ones(problem.table.n_cells) if weights is None else np.asarray(weights, float)
    return RoundingModel(RoundingTask(problem, base, steps, cost), steps)


def test_a_value_that_is_no_multiple_has_one_step_up():
    # 12 lies between 10 and 15, 10 and 22 + 3 = 25 are multiples.
    model = model_of(one_row([12, 13], {}, frozen=[]))
    program = model.program
    assert program.n_columns == 2
    assert program.upper.tolist() == [1, 1]
    # Up costs 3 - 2 and 2 - 3, in units of the base.
    assert (program.cost * 5).tolist() == pytest.approx([1, -1])
    assert model.offset == 5


@pytest.mark.parametrize(("x", "values"), [((0, 1), [10, 15, 25]), ((1, 0), [15, 10, 25])])
def test_a_point_is_a_table_of_multiples_with_its_loss(x, values):
    problem = one_row([12, 13], {})
    model = model_of(problem)
    point = np.array(x, dtype=float)
    assert model.values(point).tolist() == values
    assert np.array_equal(model.program.matrix @ point, model.program.row_lower)
    loss = np.abs(np.array(values) - problem.table.values).sum()
    assert model.loss(model.program.objective(point)) == pytest.approx(loss)


def test_weights_scale_the_loss_and_not_the_table():
    problem = one_row([12, 13], {})
    model = model_of(problem, weights=[10, 1, 1])
    point = np.array([1.0, 0.0])
    assert model.loss(model.program.objective(point)) == pytest.approx(10 * 3 + 3)


@pytest.mark.parametrize("steps", [1, 2])
def test_loss_of_every_point_is_that_of_its_table(steps):
    problem = cross([[3, 7], [11, 4]], {})
    model = model_of(problem, base=3, steps=steps)
    random = np.random.default_rng(steps)
    for _ in range(20):
        x = np.array([random.integers(0, int(high) + 1) for high in model.program.upper], float)
        values = model.values(x)
        assert not (values % 3).any()
        if steps == 1:
            loss = np.abs(values - problem.table.values).sum()
            assert model.loss(model.program.objective(x)) == pytest.approx(loss)


def test_with_more_steps_the_cost_of_a_point_is_never_below_its_loss():
    problem = cross([[3, 7], [11, 4]], {})
    model = model_of(problem, base=3, steps=2)
    random = np.random.default_rng(0)
    for _ in range(20):
        x = np.array([random.integers(0, int(high) + 1) for high in model.program.upper], float)
        loss = np.abs(model.values(x) - problem.table.values).sum()
        assert model.loss(model.program.objective(x)) >= loss - 1e-9


@pytest.mark.parametrize(("value", "above", "below"), [(2, 2, 0), (12, 2, 2), (7, 2, 1)])
def test_further_steps_never_change_a_sign(value, above, below):
    # Base 5, three steps: two beyond the multiples around; from 2 none goes below 0.
    model = model_of(one_row([value, 13], {}), steps=3)
    n_up = int(np.count_nonzero(np.array([value, 13, value + 13]) % 5))
    further, back = model.program.upper[n_up:][:1], model.program.upper[n_up + 3 :][:1]
    assert (further[0], back[0]) == (above, below)


def test_frozen_cells_have_no_further_steps():
    free = model_of(one_row([10, 13], {}), steps=2)
    frozen = model_of(one_row([10, 13], {}, frozen=["a"]), steps=2)
    assert free.program.n_columns - frozen.program.n_columns == 2


def test_rows_have_whole_coefficients_and_sides():
    """0.0001 x + 0.5 y = z with large values: 1 x + 5000 y = 10000 z in steps."""
    problem = problem_of(
        ["x", "y", "z"], [2 * 10**9, 4, 200002], [[0.0001, 0.5, -1]], {}, bounds=(0, np.inf)
    )
    model = model_of(problem, base=3, steps=2)
    assert set(np.abs(model.program.matrix.data)) == {1, 5000, 10000}
    # 2e9 leaves 2, 4 leaves 1, 200002 leaves 1.
    side = (2 + 5000 * 1 - 10000 * 1) / 3
    assert model.program.row_lower.tolist() == model.program.row_upper.tolist() == [side]


def test_relations_lose_their_common_divisor():
    whole = WholeRelations.of(csr_array(np.array([[30.0, -60, 0], [0.25, 0, 0.5], [0, 0, 1 / 3]])))
    assert whole.rows.toarray().tolist() == [[1, -2, 0], [1, 0, 2], [0, 0, 1 / 3]]
    assert whole.scale.tolist() == [1 / 30, 4, 1]


@pytest.mark.parametrize("base", [3, 5])
def test_the_program_has_exactly_the_zero_restricted_roundings(base):
    problem = cross([[4, 7], [8, 1]], {})
    model = model_of(problem, base=base)
    program, a = model.program, problem.table.values
    points = {
        tuple(model.values(np.array(x, float)).tolist())
        for x in itertools.product([0, 1], repeat=program.n_columns)
        if np.array_equal(program.matrix @ np.array(x, float), program.row_lower)
    }
    choices = [sorted({base * (int(v) // base), -base * (-int(v) // base)}) for v in a]
    relations = problem.table.relations.toarray()
    tables = {t for t in itertools.product(*choices) if not (relations @ np.array(t)).any()}
    assert points == tables


def nearest(problem, base, steps=1, weights=None):
    cost = np.ones(problem.table.n_cells) if weights is None else weights
    budget = Budget.of(ENOUGH)
    task = RoundingTask(problem, base, steps, cost)
    return nearest_rounding(RoundingModel(task, steps), budget, budget)


def impossible():
    """Each pair of three cells adds up to a multiple of 2, though every cell is 1."""
    return problem_of(
        ["a", "b", "c", "ab", "ac", "bc"],
        [1, 1, 1, 2, 2, 2],
        [[1, 1, 0, -1, 0, 0], [1, 0, 1, 0, -1, 0], [0, 1, 1, 0, 0, -1]],
        {},
    )


def test_a_relaxation_of_whole_numbers_is_the_answer_with_its_multipliers():
    found = nearest(cross([[3, 7], [11, 4]], {}), 5)
    assert isinstance(found, RoundingAnswer)
    assert found.proof.tree is None
    assert len(found.proof.duals)


def test_a_table_of_multiples_needs_no_search():
    found = nearest(one_row([10, 15], {}), 5)
    assert found.values.tolist() == [10, 15, 25]


def test_an_odd_cycle_has_no_zero_restricted_rounding_and_that_is_proved():
    """One of a and b goes up, one of a and c, one of b and c: three choices around a triangle."""
    assert nearest(impossible(), 2) is True


def test_a_second_step_opens_an_odd_cycle():
    found = nearest(impossible(), 2, steps=2)
    assert isinstance(found, RoundingAnswer)
    problem = impossible()
    assert not (problem.table.relations @ found.values).any()
    assert np.all(np.abs(found.values - problem.table.values) < 4)
    assert np.all(found.values % 2 == 0)


@pytest.mark.parametrize("heavy", [0, 1])
def test_the_heavier_cell_goes_to_its_nearer_multiple(heavy):
    # 12 and 12 make 24, next to 25: one of them goes to 15 though 10 is nearer.
    weights = np.ones(3)
    weights[heavy] = 5
    found = nearest(one_row([12, 12], {}), 5, weights=weights)
    assert found.values[heavy] == 10
    assert found.values.tolist()[2] == 25
