"""Intervals around true and adjusted values: what they hold, and that they protect."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import naive_attacks as naive
import tablecloak as tc
from random_tables import random_problem
from tablecloak.cta.result.intervals import _steps


@pytest.mark.parametrize("seed", range(3))
def test_intervals_hold_both_values_and_survive_the_attack(seed):
    problem = random_problem(seed, (4, 4), 3)
    adjusted = tc.adjust(problem, integer=False, time_limit=10)
    found = tc.protected_intervals(adjusted)
    a, x = problem.table.values, adjusted.values
    for values in (a, x):
        assert np.all((found.lower <= values + 1e-5) & (values <= found.upper + 1e-5))
    assert tc.audit(problem, found).is_safe
    assert tc.audit(problem, found.release()).is_safe


@pytest.mark.parametrize("seed", range(3))
def test_who_cuts_both_levels_off_is_left_with_as_much_as_both_together(seed):
    problem = random_problem(seed, (4, 4), 3)
    found = tc.covering_intervals(tc.adjust(problem, integer=False, time_limit=10))
    cells = problem.sensitive
    levels = (problem.lower_protection + problem.upper_protection)[cells]
    left = (found.upper - found.lower)[cells] - levels
    assert np.all(left >= levels * (1 - 1e-9))


def test_ends_are_multiples_of_the_width_so_that_they_tell_no_more():
    adjusted = tc.adjust(tc.examples.cox())
    found = tc.covering_intervals(adjusted)
    wide = found.upper > found.lower
    width = (found.upper - found.lower)[wide]
    assert np.allclose(np.rint(found.lower[wide] / width), found.lower[wide] / width)
    leading = width / 10 ** np.floor(np.log10(width) + 1e-12)
    assert set(np.rint(leading)) <= {1.0, 2.0, 5.0}
    unmoved = (np.abs(adjusted.changes) < 1e-9) & ~adjusted.problem.sensitive
    assert np.array_equal(wide, ~unmoved)


def test_intervals_around_zero_hold_both_signs():
    problem = random_problem(2, (3, 3), 2)
    cell = int(np.flatnonzero(problem.sensitive)[0])
    shifted = problem.with_changes(
        lower_bound=np.full(problem.table.n_cells, -1000.0),
        lower_protection=np.where(problem.sensitive, 1.5 * problem.table.values[cell], 0),
    )
    found = tc.covering_intervals(tc.adjust(shifted, integer=False, time_limit=5))
    assert found.lower[cell] < 0 < found.upper[cell]
    assert found.lower[cell] == -found.upper[cell]


def test_narrowed_intervals_are_refused():
    found = tc.covering_intervals(tc.adjust(tc.examples.cox()))
    cell = int(np.flatnonzero(found.adjustment.problem.sensitive)[0])
    upper = found.upper.copy()
    upper[cell] = found.adjustment.problem.table.values[cell]
    with pytest.raises(tc.VerificationError, match="do not hold .*Check that the result"):
        replace(found, upper=upper).verify()


@pytest.mark.slow
def test_random_problems_end_in_intervals_that_survive_a_naive_attack():
    published = 0
    for seed in range(7):
        problem = random_problem(seed, kind="awkward")
        try:
            adjusted = tc.adjust(problem, time_limit=0.5)
        except tc.TablecloakError:
            continue
        try:
            found = tc.protected_intervals(adjusted, time_limit=3)
        except tc.ModelError:
            assert naive.exposed_any(problem, ~problem.frozen, "two-sided"), seed
            continue
        published += 1
        low, high = naive.ends_of(problem, found.release())
        values = problem.table.values
        assert np.all((low <= values) & (values <= high)), seed
        assert not np.any((low == high) & (problem.sensitive | problem.forced)), seed
        assert not naive.exposed(problem, low, high), seed
    assert published > 2


def test_cells_that_no_interval_protects_are_named_and_not_searched_for_in_vain():
    problem = tc.examples.cox_rounded()
    adjusted = tc.adjust(problem)
    frozen = problem.with_changes(status=np.where(problem.sensitive, "u", "z"))
    with pytest.raises(tc.ModelError, match="cannot be protected by intervals, however wide"):
        tc.protected_intervals(replace(adjusted, problem=frozen))


@pytest.mark.parametrize(
    ("low", "high", "least", "start", "end"),
    [
        (47, 55, 16, 40, 60),
        (47, 55, 8, 40, 60),
        (41, 49, 8, 40, 50),
        (12, 14, 2, 12, 14),
        (12, 15, 2, 10, 15),
        (0, 3, 5, 0, 5),
        (99, 101, 2, 98, 103),
        (0.31, 0.34, 0.03, 0.3, 0.35),
        (-49, -41, 8, -50, -40),
        (-3, 4, 8, -5, 5),
        (1234, 5678, 9000, 0, 10000),
    ],
)
def test_steps_of_1_2_and_5_hold_an_interval_from_a_multiple_of_their_width(
    low, high, least, start, end
):
    found = _steps(*(np.array([float(x)]) for x in (low, high, least)))
    first, last = (float(each[0]) for each in found)
    assert first <= low
    assert high <= last
    assert last - first >= least * (1 - 1e-12)
    width = (last - first) / (2 if first < 0 < last else 1)
    assert f"{width:.9e}"[0] in "125"
    assert first / width == pytest.approx(round(first / width), abs=1e-9)
    if (low, high) != (99, 101):
        assert (first, last) == pytest.approx((start, end))


def test_wider_intervals_hold_the_old_ones_and_leave_others_alone():
    found = tc.covering_intervals(tc.adjust(tc.examples.cox()))
    cells = np.zeros(len(found.lower), dtype=bool)
    cells[[0, 3]] = True
    wider = found.widen(cells)
    assert np.all(wider.lower <= found.lower)
    assert np.all(wider.upper >= found.upper)
    assert np.all((wider.upper - wider.lower)[cells] > (found.upper - found.lower)[cells])
    assert np.array_equal(wider.lower[~cells], found.lower[~cells])
    held = found.hold(wider.lower - 1, wider.upper + 1)
    assert np.all(held.lower <= wider.lower - 1)
    held.verify()
