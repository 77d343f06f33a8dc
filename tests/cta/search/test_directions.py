"""The search of directions from its start to its end, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import one_row
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.cta.model.answer import LATE
from tablecloak.cta.search.directions import (
    POINTS,
    PROOFS,
    Size,
    improve,
    search,
    search_directions,
    start,
)
from tablecloak.cta.search.phases import prove
from tablecloak.cta.search.state import DirectionState, Reserve
from tight_forms import ENOUGH, form_of, state_of, values_of_directions


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("for_proof", [True, False])
def test_a_search_ends_at_the_best_of_all_directions(seed, for_proof):
    form = form_of(random_problem(seed, (3, 4), 4))
    best = min(values_of_directions(form).values())
    state = search_directions(form, Budget.of(ENOUGH), for_proof=for_proof)
    assert state.best.value == pytest.approx(best, rel=1e-6)
    assert state.bound <= best + 1e-6 * max(1.0, abs(best))
    if for_proof:
        assert state.is_closed


@pytest.mark.parametrize("seed", range(2))
def test_a_start_tries_all_up_and_all_down(seed):
    state = start(state_of(random_problem(seed)))
    values = values_of_directions(state.form)
    low, high = state.form.model.allowed
    ends = [values[tuple(y.tolist())] for y in (low, high)]
    assert state.best.value <= min(ends) + 1e-6
    assert state.relaxed is not None


def test_given_directions_are_not_turned():
    state = state_of(random_problem(1))
    y = np.array([0.0, 1.0, 0.0])
    search(state, y, Budget.of(ENOUGH))
    assert state.best_directions.tolist() == y.tolist()
    assert state.relaxed is None


def test_a_start_that_a_statistic_forbids_is_found_by_missing_it_at_first():
    """Both cells up or both down changes their mean: only one up and one down keeps it."""
    problem = one_row([50, 60, 70], {"a": (4, 4), "b": (4, 4)})
    state = start(state_of(problem, preserve=[tc.Mean("sensitive")]))
    assert state.best is not None
    assert sorted(state.best_directions.tolist()) == [0, 1]
    assert np.abs(state.form.changes(state.best.x)[:2].sum()) < 1e-6


def test_a_statistic_that_no_directions_keep_leaves_no_point():
    problem = one_row([50, 60], {"a": (4, 4)})
    state = start(state_of(problem, preserve=[tc.Mean("sensitive")]))
    assert state.best is None


def test_a_first_table_after_the_limit_is_noted():
    state = DirectionState(form_of(random_problem(1)), Budget.of(0.0), Reserve(), is_first=True)
    state.reserve.layout = 1.0
    search(state, None, Budget.of(0.0))
    assert state.best is not None
    assert LATE in state.notes


def test_a_closed_search_runs_only_the_phases_that_make_proofs():
    state = start(state_of(random_problem(1)))
    state.bound = state.best.value
    notes = list(state.notes)
    improve(state)
    told = " ".join(state.notes[len(notes) :])
    assert "balance rows" in told
    assert "turned" not in told
    assert "free" not in told


@pytest.mark.parametrize(
    ("n_rows", "n_sensitive", "n_relations", "size"),
    [
        (3000, 200, 5000, Size.PROVABLE),
        (3001, 200, 1001, Size.MEDIUM),
        (3000, 201, 1000, Size.FLAT),
        (6001, 10, 1001, Size.LARGE),
        (6001, 10, 1000, Size.LARGE_FLAT),
    ],
)
def test_tables_are_searched_by_their_size(n_rows, n_sensitive, n_relations, size):
    assert Size.of(n_rows, n_sensitive, n_relations) is size


@pytest.mark.parametrize("schedules", [PROOFS, POINTS])
def test_every_size_has_a_schedule(schedules):
    assert set(schedules) == set(Size)
    for phases in schedules.values():
        assert all(0 < phase.share <= 1 for phase in phases)


@pytest.mark.parametrize("size", list(Size))
def test_without_a_proof_no_time_goes_to_the_last_branch_and_bound(size):
    assert POINTS[size][-1].run is not prove
    assert PROOFS[size][-1].run is prove
