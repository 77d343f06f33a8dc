"""Of equally good tables one in which sensitive cells move least."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import by_code, one_row
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.cta.search.directions import search_directions
from tablecloak.cta.search.distances.l1 import with_broken_ties
from tight_forms import ENOUGH, form_of


def test_the_rest_of_two_levels_is_taken_up_by_a_cell_that_is_not_sensitive():
    """4 up and 6 down leave 2, which moving either sensitive cell farther would cost as well."""
    problem = one_row([50, 60, 70], {"a": (4, 4), "b": (6, 6)}, frozen=["Total"])
    adjusted = tc.adjust(problem, weights="unit")
    z = by_code(problem, np.abs(adjusted.changes))
    assert (z["a"], z["b"], z["c"]) == (4, 6, 2)
    assert adjusted.loss == 12


def test_a_tie_is_broken_at_no_cost():
    problem = one_row([50, 60, 70], {"a": (4, 4), "b": (6, 6)}, frozen=["Total"])
    state = search_directions(form_of(problem), Budget.of(ENOUGH))
    point = with_broken_ties(state, 10.0)
    assert point.value == pytest.approx(state.best.value)
    z = np.abs(state.form.changes(point.x))
    assert z[:2].tolist() == pytest.approx([4, 6])


@pytest.mark.parametrize("seed", range(3))
def test_directions_and_loss_stay_and_sensitive_cells_move_no_farther(seed):
    problem = random_problem(seed, (3, 4), 4)
    state = search_directions(form_of(problem), Budget.of(ENOUGH))
    point = with_broken_ties(state, 10.0)
    assert point.value == pytest.approx(state.best.value, rel=1e-6)
    assert np.array_equal(state.form.directions(point.x), state.best_directions)
    before, after = (np.abs(state.form.changes(x)) for x in (state.best.x, point.x))
    sensitive = problem.sensitive
    assert after[sensitive].sum() <= before[sensitive].sum() + 1e-6
