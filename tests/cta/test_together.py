"""Several variables over the same cells, adjusted one after the other."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import cross
from random_tables import random_problem

LEVELS = {"11": (3, 3), "23": (4, 4)}


def two_variables() -> list[tc.ProtectionProblem]:
    return [
        cross([[50, 60, 20], [70, 80, 90]], LEVELS),
        cross([[15, 6, 30], [17, 40, 9]], {"12": (2, 2)}),
    ]


def covariance(x, y) -> float:
    return float(np.cov(x, y, bias=True)[0, 1])


def test_the_covariance_of_published_values_is_that_of_the_true_ones():
    problems = two_variables()
    first, second = tc.adjust_together(problems, integer=False)
    true = covariance(problems[0].table.values, problems[1].table.values)
    assert covariance(first.values, second.values) == pytest.approx(true, rel=1e-9)
    # Nothing constrains the first, so that it is the adjustment alone.
    assert first.loss == pytest.approx(tc.adjust(problems[0], integer=False).loss)


def test_a_tolerance_allows_a_smaller_loss():
    problems = two_variables()
    strict = tc.adjust_together(problems, integer=False)[1]
    loose = tc.adjust_together(problems, integer=False, tolerance=0.5)[1]
    assert loose.loss <= strict.loss + 1e-9


@pytest.mark.parametrize("seed", range(2))
def test_three_variables_keep_all_three_covariances(seed):
    problems = [random_problem(seed + at, (3, 4), 2) for at in (0, 20, 40)]
    adjusted = tc.adjust_together(problems, integer=False, preserve=["mean:all"])
    for i in range(3):
        for j in range(i):
            true = covariance(problems[i].table.values, problems[j].table.values)
            kept = covariance(adjusted[i].values, adjusted[j].values)
            assert kept == pytest.approx(true, rel=1e-6, abs=1e-6)
        assert abs(adjusted[i].changes.sum()) < 1e-6


def test_tables_of_other_cells_are_refused_by_their_number():
    with pytest.raises(tc.InputError, match="Table 2 does not have the cells of the first"):
        tc.adjust_together([random_problem(1, (2, 3)), random_problem(1, (3, 2))])


def test_no_tables_are_no_adjustments():
    assert tc.adjust_together([]) == []
