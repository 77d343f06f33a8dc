"""Intervals that protect, and the moves that prove them, beside programs by another solver."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import cross, one_row, place
from naive_programs import Reach
from random_tables import random_problem
from tablecloak.suppression.intervals.intervals import outwards, protecting_room


def least_reach(problem: tc.ProtectionProblem, lower: np.ndarray, upper: np.ndarray) -> float:
    """The least share of a level that is possible within published ends."""
    relations, a = problem.table.relations, problem.table.values
    programs = Reach(relations, lower, upper, side=relations @ a)
    shares = [np.inf]
    for cell in np.flatnonzero(problem.sensitive).tolist():
        up, down = programs.farthest(cell, 1) - a[cell], programs.farthest(cell, -1) + a[cell]
        for far, level in (
            (up, problem.upper_protection[cell]),
            (down, problem.lower_protection[cell]),
        ):
            if level:
                shares.append(far / level)
    return min(shares)


@pytest.mark.parametrize("seed", range(3))
def test_room_that_protects_is_enough_for_every_level_and_within_all_bounds(seed):
    problem = random_problem(seed)
    lower, upper = protecting_room(problem)
    assert np.all(lower >= problem.lower_bound - 1e-9)
    assert np.all(upper <= problem.upper_bound + 1e-9)
    assert np.all(lower <= problem.table.values + 1e-9)
    assert np.all(upper >= problem.table.values - 1e-9)
    assert least_reach(problem, lower, upper) >= 1 - 1e-6


def test_frozen_cells_have_no_room():
    problem = one_row([5.0, 7.0, 9.0], {"a": (2.0, 2.0)}, frozen=["b"])
    lower, upper = protecting_room(problem)
    b = place(problem, "b")
    assert lower[b] == upper[b] == 7.0
    assert least_reach(problem, lower, upper) >= 1 - 1e-9


def test_a_cell_whose_partners_are_frozen_is_named():
    problem = one_row([5.0, 7.0, 9.0], {"a": (2.0, 2.0)}, frozen=["b", "c", "Total"])
    with pytest.raises(tc.ModelError, match="code=a") as error:
        protecting_room(problem)
    assert error.value.cells == (place(problem, "a"),)


def test_a_cell_that_cannot_rise_or_fall_far_enough_is_named_with_what_it_lacks():
    """b may be anything from 6 to 8, and nothing else moves, so that a moves by 1 at most."""
    problem = one_row([5.0, 7.0, 9.0], {"a": (2.0, 2.0)}, frozen=["c", "Total"])
    b = place(problem, "b")
    lower, upper = problem.lower_bound.copy(), problem.upper_bound.copy()
    lower[b], upper[b] = 6.0, 8.0
    narrow = problem.with_changes(lower_bound=lower, upper_bound=upper)
    with pytest.raises(tc.ModelError, match="code=a"):
        protecting_room(narrow)
    with pytest.raises(tc.ModelError, match="code=a"):
        tc.publish_intervals(narrow)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("require", ["two-sided", "width", "upper"])
def test_the_narrowest_intervals_are_narrower_than_any_that_only_protect(seed, require):
    problem = random_problem(seed)
    found = tc.publish_intervals(problem, require=require, weights="unit", blur=0, time_limit=10)
    lower, upper = protecting_room(problem)
    assert found.bound <= found.loss * (1 + 1e-9)
    assert found.bound <= (upper - lower).sum() * (1 + 1e-9)
    assert found.unavoidable <= found.loss * (1 + 1e-9)


def test_two_cells_of_one_sum_need_just_what_their_levels_ask_for():
    """a moves by 2 each way, and what is left of the sum must move by as much."""
    problem = one_row([5.0, 7.0], {"a": (2.0, 2.0)}, frozen=["Total"])
    found = tc.publish_intervals(problem, weights="unit", blur=0)
    assert found.lower.tolist() == [3.0, 5.0, 12.0]
    assert found.upper.tolist() == [7.0, 9.0, 12.0]
    assert found.loss == pytest.approx(8.0)
    assert found.bound == pytest.approx(8.0)
    assert found.unavoidable == 4.0
    assert "2 of 3 cells as intervals, 1 sensitive cells proved" in found.summary()


def test_blur_widens_each_interval_by_at_most_its_share_and_the_loss_before_is_kept():
    problem = cross([[5.0, 17.0], [19.0, 4.0]], {})
    status = problem.status.copy()
    status[0] = "u"
    level = np.where(status == "u", 2.0, 0.0)
    problem = problem.with_changes(status=status, lower_protection=level, upper_protection=level)
    sharp = tc.publish_intervals(problem, weights="unit", blur=0)
    blurred = tc.publish_intervals(problem, weights="unit", blur=1.0, seed=4)
    assert blurred.narrowest == pytest.approx(sharp.loss)
    assert sharp.loss <= blurred.loss
    width, wider = sharp.upper - sharp.lower, blurred.upper - blurred.lower
    assert np.all(wider[width == 0] == 0)
    # Ends are rounded outwards to whole numbers, at most by one on each side.
    assert np.all(wider <= 3 * width + 2)


@pytest.mark.parametrize("blur", [-0.1, 1001.0, np.nan])
def test_a_blur_that_is_no_share_is_refused(blur):
    with pytest.raises(tc.InputError, match="`blur` must be from 0 to 1000"):
        tc.publish_intervals(tc.examples.cox_rounded(), blur=blur)


def test_ends_of_a_table_without_decimals_are_rounded_outwards_to_digits_of_their_width():
    problem = one_row([5.0 + np.pi, 7.0 * np.pi], {"a": (2.0, 2.0)}, integer=False)
    a = problem.table.values
    lower, upper = a.copy(), a.copy()
    lower[0], upper[0] = a[0] - 1.23456, a[0] + 1.23456
    low, high = outwards(problem, lower, upper)
    assert low[0] <= lower[0] < upper[0] <= high[0]
    assert high[0] - low[0] <= (upper[0] - lower[0]) * 1.01
    assert low[0] == round(low[0], 2)
    assert np.all(low[1:] == a[1:])


def test_no_interval_goes_beyond_what_everybody_knows():
    problem = one_row([1.0, 7.0, 9.0], {"b": (2.0, 2.0)})
    wide = problem.table.values + 1e6
    low, high = outwards(problem, problem.table.values - 1e6, wide)
    assert np.all(low == problem.lower_bound)
    assert np.all(high == problem.upper_bound)


SEVEN = """0
7
0 7 7 s 0 21 0 0 0
1 0 0 s 0 21 0 0 0
2 7 7 z 0 21 0 0 0
3 7 7 u 6 10 0 0 3.4
4 7 7 s 0 21 0 0 0
5 -7 7 s -inf inf 0 0 0
6 -7 7 u -21 21 1.19 1.19 0
3
17.5 2 : 4 (0.5) 2 (2)
0 3 : 4 (1) 1 (1) 5 (1)
0 5 : 0 (1) 1 (1) 3 (-1) 5 (1) 6 (-1)
"""


@pytest.mark.parametrize("blur", [0.0, 1.0])
def test_intervals_that_were_rounded_outwards_are_not_called_the_best(tmp_path, blur):
    """Ends in whole numbers of another choice are as safe, with a loss of 9 in all."""
    path = tmp_path / "seven.jj"
    path.write_text(SEVEN, encoding="utf-8")
    found = tc.publish_intervals(tc.read_jj(path), weights="unit", blur=blur, seed=1)
    assert found.narrowest < 9 < found.loss
    assert found.gap == pytest.approx((found.loss - found.bound) / found.loss)
    assert not found.is_optimal
    assert "proved to be the best" not in found.verdict()
