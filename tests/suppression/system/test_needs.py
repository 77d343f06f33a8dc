"""Needs: what levels ask of each sensitive cell, in distances from its value."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import one_row, place, problem_of
from random_tables import random_problem
from tablecloak.suppression.system.needs import asked_of, needs_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.additivity import own_precision

REQUIREMENTS = ["two-sided", "width", "upper"]


@pytest.fixture(scope="module")
def problem() -> tc.ProtectionProblem:
    """a falls by 1 and rises by 3; c has sliding protection of 5 besides."""
    given = one_row([5.0, 7.0, 9.0, 11.0], {"a": (1.0, 3.0), "c": (2.0, 2.0)})
    sliding = np.zeros(given.table.n_cells)
    sliding[place(given, "c")] = 5.0
    return given.with_changes(sliding_protection=sliding)


@pytest.mark.parametrize(
    ("require", "upper", "lower", "width"),
    [
        ("two-sided", [3.0, 2.0], [1.0, 2.0], [0.0, 5.0]),
        ("width", [0.0, 0.0], [0.0, 0.0], [4.0, 5.0]),
        ("upper", [3.0, 2.0], [0.0, 0.0], [0.0, 0.0]),
    ],
)
def test_a_requirement_says_which_distances_count(problem, require, upper, lower, width):
    needs = needs_of(problem, require)
    assert needs.cells.tolist() == [place(problem, "a"), place(problem, "c")]
    assert needs.index.tolist() == [0, 1]
    assert (needs.upper.tolist(), needs.lower.tolist(), needs.width.tolist()) == (
        upper,
        lower,
        width,
    )


@pytest.mark.parametrize("require", REQUIREMENTS)
def test_exactly_the_distances_that_are_asked_for_meet_a_need(problem, require):
    needs = needs_of(problem, require)
    above, below = needs.upper.copy(), needs.lower.copy()
    above += np.maximum(needs.width - above - below, 0.0)
    assert needs.met(above, below).all()
    assert needs.met(above * (1 - 1e-10), below * (1 - 1e-10)).all()
    assert not needs.met(above * (1 - 1e-8), below * (1 - 1e-8)).any()
    assert not needs.met(0 * above, 0 * below).any()


def test_what_a_two_sided_need_is_met_by_meets_every_other_one():
    """Distances that suffice for both sides suffice for the width, and for the upper side alone."""
    random = np.random.default_rng(2)
    for seed in range(5):
        problem = random_problem(seed, kind="awkward", tiny=True)
        asked = {name: asked_of(problem, Requirement.parse(name)) for name in REQUIREMENTS}
        n = problem.n_sensitive
        for _ in range(20):
            above, below = random.random((2, n)) * 3 * problem.unit
            both = asked["two-sided"].met(above, below)
            assert not np.any(both & ~asked["upper"].met(above, below))
            assert not np.any(both & ~asked["width"].met(above, below))


def test_bounds_that_everybody_knows_cap_a_need(problem):
    needs = needs_of(problem, "two-sided")
    n = problem.table.n_cells
    capped = needs.cut(np.full(n, -1.5), np.full(n, 2.5))
    assert capped.upper.tolist() == [2.5, 2.0]
    assert capped.lower.tolist() == [1.0, 1.5]
    assert capped.width.tolist() == [0.0, 4.0]
    assert capped.met(np.array([2.5, 2.5]), np.array([1.0, 1.5])).all()
    assert capped.met(capped.upper, capped.lower).tolist() == [True, False]
    # Where nothing was open before, nothing is asked for.
    nothing = needs.cut(np.zeros(n), np.zeros(n))
    assert nothing.met(np.zeros(2), np.zeros(2)).all()


def test_needs_of_some_cells_keep_their_place_among_all_sensitive_ones(problem):
    needs = needs_of(problem, "two-sided")
    position = np.full(problem.table.n_cells, -1)
    position[place(problem, "c")] = 7
    some = needs.among(position)
    assert some.cells.tolist() == [7]
    assert some.index.tolist() == [1]
    assert (some.upper.tolist(), some.lower.tolist(), some.width.tolist()) == ([2.0], [2.0], [5.0])


def test_external_bounds_closer_together_than_the_width_name_the_cell(problem):
    lower, upper = problem.lower_bound.copy(), problem.upper_bound.copy()
    c = place(problem, "c")
    lower[c], upper[c] = problem.table.values[c] - 2, problem.table.values[c] + 2.5
    narrow = problem.with_changes(lower_bound=lower, upper_bound=upper)
    with pytest.raises(
        tc.ModelError, match=r"1 sensitive cells have external bounds closer.*c"
    ) as e:
        needs_of(narrow, "two-sided")
    assert e.value.cells == (c,)
    assert needs_of(narrow, "upper").upper.tolist() == [3.0, 2.0]


def test_a_level_below_the_precision_of_its_value_names_the_cell():
    """Beside 1e15 + 0.5, stored to an eighth, a level of a thousandth is nothing."""
    values = [1e15 + 0.5, 7.5]
    problem = problem_of(
        "abc", [*values, sum(values)], [[1.0, 1.0, -1.0]], {"a": (1e-3, 1e-3), "b": (1.0, 1.0)},
        bounds=(0.0, 1e16),
    )  # fmt: skip
    with pytest.raises(tc.ModelError, match=r"1 sensitive cells.*below the precision.*=a") as error:
        needs_of(problem, "two-sided")
    assert error.value.cells == (0,)
    assert asked_of(problem, Requirement.TWO_SIDED).upper.tolist() == [1e-3, 1.0]


@pytest.mark.parametrize("require", REQUIREMENTS)
def test_a_cell_whose_levels_are_0_must_not_be_computed_to_its_last_digit(require):
    whole = one_row([5.0, 7.0, 9.0], {"a": (0.0, 0.0)})
    assert needs_of(whole, require).width.tolist() == [1.0]
    cents = one_row([5.25, 7.0, 9.0], {"a": (0.0, 0.0)}, integer=False)
    assert needs_of(cents, require).width.tolist() == [pytest.approx(0.01)]


def test_whole_numbers_are_stored_exactly_and_others_to_some_units_in_the_last_place():
    values = np.array([5.0, 0.0, 2.0**53, 0.1, 1e6 + 0.1])
    precision = own_precision(values)
    assert precision[:2].tolist() == [0.0, 0.0]
    assert precision[2] == 4 * np.spacing(2.0**53)
    assert precision[3] == 4 * np.spacing(0.1)
    assert precision[4] > precision[3]


def test_the_precision_of_a_room_is_that_of_the_larger_of_value_and_bound():
    values, bound = np.array([5.0, 5.0, 5.0]), np.array([1e9, 1e9 + 0.5, np.inf])
    assert own_precision(values, bound).tolist() == [0.0, 4 * np.spacing(1e9 + 0.5), 0.0]
    assert own_precision(np.array([0.1]), np.array([np.inf])).tolist() == [4 * np.spacing(0.1)]
