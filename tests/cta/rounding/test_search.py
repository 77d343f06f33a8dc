"""The search of the nearest rounding."""

from __future__ import annotations

import numpy as np
import pytest

from hand_tables import cross, one_row, problem_of
from tablecloak.budget import Budget
from tablecloak.cta.rounding.answer import Rounding
from tablecloak.cta.rounding.model import RoundingModel
from tablecloak.cta.rounding.search import nearest_rounding
from tablecloak.cta.rounding.task import RoundingTask
from tight_forms import ENOUGH


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
    assert isinstance(found, Rounding)
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
    assert isinstance(found, Rounding)
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
