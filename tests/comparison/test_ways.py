"""What a reader sees of each way to protect, and when its releases count as safe."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import by_code, cross, one_row, place
from tablecloak.comparison import hidden_intervals
from tablecloak.comparison.figures import analyst_values, compared, guesses, utility
from tablecloak.protection import PROTECTIONS

PROBLEM = one_row([50, 60, 70], {"a": (3, 5)}, bounds=(0, 1000))


@cache
def hidden():
    """The cheapest pattern, which hides a and one cell beside it."""
    return tc.suppress(PROBLEM)


@cache
def adjusted_table():
    return tc.adjust(PROBLEM, weights="unit")


def moved(problem: tc.ProtectionProblem, **by: float):
    """An adjusted table with given changes, whatever it promises."""
    values = problem.table.values.copy()
    for code, change in by.items():
        values[place(problem, code)] += change
    return replace(adjusted_table(), values=values)


def is_safe(problem: tc.ProtectionProblem, release) -> bool:
    way = compared(release)
    return way.protects(problem, release, *way.ends(release))


@pytest.mark.parametrize(
    ("change", "expected"), [(5, True), (4, False), (0, False), (-2, False), (-3, True)]
)
def test_an_adjusted_cell_is_safe_beyond_either_level(change, expected):
    assert is_safe(PROBLEM, moved(PROBLEM, a=change, b=-change)) == expected


@pytest.mark.parametrize(("change", "expected"), [(5, True), (4, False), (0, False), (-9, False)])
def test_a_side_with_the_level_0_is_no_way_out(change, expected):
    """The levels of another problem count, such as those that an office needs."""
    strict = one_row([50, 60, 70], {"a": (0, 5)}, bounds=(0, 1000))
    assert is_safe(strict, moved(PROBLEM, a=change, b=-change)) == expected


def test_levels_larger_than_those_a_release_was_made_for_count():
    adjusted = adjusted_table()
    assert is_safe(PROBLEM, adjusted)
    higher = PROBLEM.with_changes(
        lower_protection=2 * PROBLEM.lower_protection, upper_protection=2 * PROBLEM.upper_protection
    )
    assert not is_safe(higher, adjusted)


def test_an_adjusted_cell_is_exact_where_it_did_not_move():
    release = moved(PROBLEM, a=5, b=-5)
    exact, lost = compared(release).lost(release, release.values)
    assert by_code(PROBLEM, exact) == {"a": 0, "b": 0, "c": 1, "Total": 1}
    assert by_code(PROBLEM, lost) == {"a": 5, "b": 5, "c": 0, "Total": 0}


def test_two_hidden_cells_of_a_row_can_be_anything_that_adds_up():
    """a + b = 110, both from 0: a lies between 0 and 110."""
    pattern = hidden()
    codes = {code for code, is_ in by_code(PROBLEM, pattern.suppressed).items() if is_}
    assert "a" in codes
    assert len(codes) == 2
    low, high = hidden_intervals(pattern)
    other = (codes - {"a"}).pop()
    together = by_code(PROBLEM, PROBLEM.table.values)
    most = 110 if other == "b" else 120 if other == "c" else 870
    assert by_code(PROBLEM, high)["a"] == pytest.approx(most, abs=1e-3)
    assert by_code(PROBLEM, low)["a"] == pytest.approx(0, abs=1e-3)
    published = ~pattern.suppressed
    assert np.array_equal(low[published], PROBLEM.table.values[published])
    assert together["a"] == 50


def test_an_analyst_uses_the_midpoints_of_what_is_hidden():
    pattern = hidden()
    low, high = hidden_intervals(pattern)
    assert analyst_values(pattern) == pytest.approx((low + high) / 2)
    figures = utility(pattern)
    assert figures["exact"] == 0.5
    lost = PROBLEM.table.values[pattern.suppressed].sum()
    assert figures["value_lost"] == pytest.approx(lost / PROBLEM.table.values.sum())


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(47, 55, True), (47.5, 55, False), (47, 54.5, False), (0, 1000, True)],
)
def test_a_hidden_cell_is_safe_if_its_interval_reaches_both_levels(low, high, expected):
    pattern = hidden()
    lower, upper = hidden_intervals(pattern)
    lower[0], upper[0] = low, high
    assert compared(pattern).protects(PROBLEM, pattern, lower, upper) == expected


def test_what_everybody_knows_beforehand_is_not_asked_of_a_pattern():
    """Bounds that leave 2 below 50: a level of 3 cannot be met, and 2 is enough."""
    low = PROBLEM.lower_bound.copy()
    low[0] = 48
    known = PROBLEM.with_changes(lower_bound=low)
    pattern = hidden()
    lower, upper = hidden_intervals(pattern)
    lower[0], upper[0] = 48, 55
    assert compared(pattern).protects(known, pattern, lower, upper)
    assert not compared(pattern).protects(PROBLEM, pattern, lower, upper)


def test_an_interval_must_be_as_wide_as_its_sliding_level():
    sliding = PROBLEM.with_changes(sliding_protection=np.where(PROBLEM.sensitive, 20.0, 0.0))
    pattern = hidden()
    lower, upper = hidden_intervals(pattern)
    lower[0], upper[0] = 45, 60
    assert not compared(pattern).protects(sliding, pattern, lower, upper)
    upper[0] = 65
    assert compared(pattern).protects(sliding, pattern, lower, upper)


def test_a_rounded_table_is_read_as_it_stands_and_judged_by_what_it_leaves_open():
    # 52 becomes 50: known to lie between 46 and 54.
    problem = one_row([52, 60, 68], {"a": (3, 2)}, bounds=(0, 1000))
    rounded = tc.controlled_rounding(problem, base=5)
    assert analyst_values(rounded).tolist() == rounded.values.tolist()
    assert is_safe(problem, rounded)
    higher = problem.with_changes(upper_protection=np.where(problem.sensitive, 9.0, 0.0))
    assert not is_safe(higher, rounded)


def test_guesses_of_a_pattern_are_midpoints_and_of_an_adjustment_run_backwards():
    problem = cross([[50, 60, 20], [70, 80, 30]], {"11": (6, 6)})
    pattern, adjusted = tc.suppress(problem), tc.adjust(problem, weights="unit")
    cell = place(problem, "11")
    assert guesses(pattern).guesses.tolist() == pytest.approx([analyst_values(pattern)[cell]])
    assert guesses(adjusted, knows="directions").guesses.tolist() == pytest.approx([50])


def test_what_is_no_release_is_refused_with_a_list_of_what_is():
    with pytest.raises(tc.InputError, match="A str cannot be compared; give patterns of"):
        compared("a pattern")
    assert [way.noun for way in PROTECTIONS] == [
        "suppression",
        "adjustment",
        "intervals",
        "rounding",
        "small counts",
        "cell keys",
        "noise of records",
    ]
