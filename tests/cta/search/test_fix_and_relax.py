"""Fix and relax: some directions free at a time."""

from __future__ import annotations

import numpy as np
import pytest

from random_tables import random_problem
from tablecloak.cta.search.fix_and_relax import _FreeDirections, _partly_directed, relax
from tablecloak.cta.search.state import with_directions
from tablecloak.solve.solver import Solution, SolveStatus
from tight_forms import state_of, value_of, values_of_directions


def begun(seed: int = 1, n: int = 5):
    state = state_of(random_problem(seed, (3, 4), n))
    with_directions(state, np.ones(n))
    return state


def answer(status: SolveStatus) -> Solution:
    return Solution(status, np.zeros(1), np.zeros(0), 0.0, 0.0)


def test_all_but_the_free_directions_stay_as_they_are():
    state = begun()
    program = _partly_directed(state, np.array([1, 3]))
    columns = state.form.direction_columns
    ends = list(zip(program.lower[columns], program.upper[columns], strict=True))
    assert ends == [(1, 1), (0, 1), (1, 1), (0, 1), (1, 1)]


@pytest.mark.parametrize("seed", range(2))
def test_a_program_with_free_directions_is_at_least_as_good_and_bounds_what_they_allow(seed):
    state = begun(seed)
    values = values_of_directions(state.form)
    relaxed = value_of(_partly_directed(state, np.array([0, 2])).relaxed())
    allowed = [value for y, value in values.items() if (y[1], y[3], y[4]) == (1, 1, 1)]
    assert relaxed <= min(allowed) + 1e-6
    assert relaxed <= state.best.value + 1e-6


def test_fewer_directions_are_free_after_a_program_that_took_too_long():
    free = _FreeDirections(begun(n=5))
    free.size = 4
    assert free.adapt(answer(SolveStatus.FEASIBLE), 1.0)
    assert free.size < 4
    free.size = 1
    free.adapt(answer(SolveStatus.UNKNOWN), 1.0)
    assert free.size == 1


def test_more_are_free_after_a_quick_one_until_all_were():
    free = _FreeDirections(begun(n=5))
    free.size = 2
    assert free.adapt(answer(SolveStatus.OPTIMAL), 0.01)
    assert 2 < free.size <= 5
    free.size = 5
    assert not free.adapt(answer(SolveStatus.OPTIMAL), 0.01)
    # A slow one that was solved all the same changes nothing.
    free.size = 3
    assert free.adapt(answer(SolveStatus.OPTIMAL), 0.9)
    assert free.size == 3


def test_every_other_time_directions_are_drawn_at_random_and_never_twice():
    free = _FreeDirections(begun(n=5))
    free.size = 3
    for number in range(10):
        free.programs = number
        drawn = free.draw()
        assert len(set(drawn.tolist())) == 3
        assert set(drawn.tolist()) <= set(range(5))


def test_the_same_search_twice_ends_alike():
    one, other = begun(3), begun(3)
    assert relax(one, one.budget).best.value == relax(other, other.budget).best.value
    assert one.notes == other.notes
