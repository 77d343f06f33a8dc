"""Tiny tables end with a proved optimum, whatever their coefficients, levels and bounds are.

The truth comes from trying all patterns, each attacked by programs in fractions.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

import tablecloak as tc
from attack_optima import Case, exact, hidden_rooms, is_short, reach, required
from hand_tables import problem_of
from naive_attacks import last_digit
from tiny_tables import FREE, tiny_cases

LEVELS = ((0.0, 0.0), (1.0, 1.0), (0.5, 0.5), (0.03, 0.03), (0.0, 1.0), (2.5, 0.0))
"""Without levels a cell only must not be known exactly."""


def is_protected(case: Case, hidden: list[bool]) -> bool:
    """Whether every sensitive cell can move as far as it must, in fractions."""
    low, high = hidden_rooms(case, hidden)
    least = exact(last_digit(case.problem()))
    for cell in np.flatnonzero(np.array(list(case.status)) == "u").tolist():
        up, down, width = required(case, cell, "two-sided")
        if not up and not down:
            width = max(least, exact(1e-8) * abs(exact(case.values[cell])))
        above, below = (reach(case, low, high, cell, sign) for sign in (1, -1))
        if is_short((up, down, width), above, below, Fraction(1)):
            return False
    return True


def least_loss(case: Case) -> float:
    """Loss of the cheapest protected pattern, by trying all; inf if there is none."""
    free = [cell for cell, letter in enumerate(case.status) if letter == "s"]
    patterns = []
    for choice in itertools.product([False, True], repeat=len(free)):
        hidden = [letter in "um" for letter in case.status]
        for cell, is_hidden in zip(free, choice, strict=True):
            hidden[cell] = is_hidden
        loss = sum(itertools.compress(case.weights, hidden))
        patterns.append((loss, hidden))
    if not is_protected(case, [letter != "z" for letter in case.status]):
        return np.inf
    return next(loss for loss, hidden in sorted(patterns) if is_protected(case, hidden))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(tiny_cases(LEVELS, "usssssssmz"))
def test_the_best_pattern_of_a_tiny_table_is_found_and_proved(case):
    problem, least = case.problem(), least_loss(case)
    if np.isinf(least):
        with pytest.raises(tc.ModelError):
            tc.suppress(problem, threads=1)
    else:
        pattern = tc.suppress(problem, threads=1)
        assert pattern.loss == pytest.approx(least)
        assert pattern.is_optimal
        pattern.certificate.verify()


def test_multipliers_that_no_binary_fraction_holds_prove_a_pattern_optimal():
    """12 b moves with 1.5 a, and 2 c with b: multipliers of 2/3 cancel b only after a repair."""
    problem = problem_of(
        "abc", [9, -370.5, -16.5], [[-1.5, 12, 0], [0, -1, 2]], {"a": (0.54, 0.54)},
        bounds=FREE, sides=[-4459.5, 337.5],
    )  # fmt: skip
    found = tc.suppress(problem, threads=1)
    assert found.bound == found.loss == 3


def test_a_pattern_that_moves_cells_far_away_is_proved_to_be_the_best():
    """Levels of 1 move the last cell by 7^5, farther than the rooms of a search reach."""
    n = 6
    rows = np.zeros((n - 1, n + 2))
    for row in range(n - 1):
        rows[row, row : row + 2] = 7, -1
    rows[0, -2], rows[-1, -1] = 1, 1
    problem = problem_of("abcdefgh", np.zeros(n + 2), rows, {"a": (1, 1)}, bounds=FREE)
    found = tc.suppress(problem, threads=1)
    assert found.loss == found.bound == 2


def test_a_cell_that_relations_determine_is_called_impossible_although_others_are_free():
    """Only multipliers whose prices are exactly 0 prove it, as two cells have no bounds."""
    rows = [[0.5, 0.5, 0], [-3, 12, 0], [0.1, -0.2, 0.5], [12, 0, 0.5]]
    problem = problem_of("abc", [0, 0, 0], rows, {"c": (0.5, 0.5)}, bounds=FREE)
    with pytest.raises(tc.ModelError, match="cannot be protected"):
        tc.suppress(problem, threads=1)


def test_a_width_that_one_side_only_limits_is_proved_to_need_another_cell():
    """c moves up by 0.9 within b, and down by 3 within its own bound; 4 needs d as well."""
    problem = problem_of(
        "bcd", [9, 3, 3], [[0.1, 1, -3]], {"c": (2, 2)}, bounds=(0, np.inf), sides=[-5.1]
    )
    found = tc.suppress(problem, require="width", threads=1)
    assert found.loss == found.bound == 2
