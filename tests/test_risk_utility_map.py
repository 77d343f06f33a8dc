"""The risk-utility frontier and the constrained optimum of the worked example."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.risk_utility_map import best_below, frontier

NAMES = "abcdefgh"
RISK = [0.30, 0.20, 0.20, 0.10, 0.25, 0.05, 0.30, 0.40]
UTILITY = [-0.10, -0.15, -0.12, -0.30, -0.12, -0.30, -0.10, -0.09]


def named(points) -> set[str]:
    return {NAMES[point] for point in points}


def test_equal_points_stay_and_whatever_is_beaten_goes():
    """a and g tie; e is beaten by c, d by f, b by c."""
    assert named(frontier(RISK, UTILITY)) == set("acfgh")


@pytest.mark.parametrize(
    ("limit", "best"), [(0.04, ""), (0.05, "f"), (0.20, "c"), (0.30, "ag"), (0.50, "h")]
)
def test_the_best_below_a_tolerable_risk(limit, best):
    assert named(best_below(RISK, UTILITY, limit)) == set(best)


def test_every_best_point_has_a_rival_on_the_frontier_that_is_as_good():
    on = frontier(RISK, UTILITY)
    for limit in RISK:
        for point in best_below(RISK, UTILITY, limit):
            assert any(RISK[o] <= RISK[point] and UTILITY[o] >= UTILITY[point] for o in on)


def test_no_points_have_no_frontier():
    assert len(frontier([], [])) == 0


@pytest.mark.parametrize(
    ("risk", "utility", "message"),
    [([1, 2], [1], "same length"), ([[1]], [[1]], "same length"), ([np.nan], [1], "not a number")],
)
def test_points_that_are_none_are_refused(risk, utility, message):
    with pytest.raises(tc.InputError, match=message):
        frontier(risk, utility)
