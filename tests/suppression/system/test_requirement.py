"""What is asked of a sensitive cell, and that nothing is never asked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from margins import with_margins
from tablecloak.suppression.system.needs import needs_of


def two_by_two(values, **changes) -> tc.ProtectionProblem:
    frame = pd.DataFrame({"r": ["a", "a", "b", "b"], "c": ["x", "y"] * 2, "v": values})
    table = with_margins(frame, ["r", "c"], "v")
    at_first = (table.keys["r"] == "a") & (table.keys["c"] == "x")
    return tc.ProtectionProblem(
        table,
        status=np.where(at_first, "u", "s"),
        lower_protection=np.zeros(9),
        upper_protection=np.zeros(9),
        sliding_protection=np.zeros(9),
        lower_bound=np.zeros(9),
        upper_bound=np.full(9, 1e10),
        weights=np.ones(9),
    ).with_changes(**changes)


@pytest.mark.parametrize("require", ["two-sided", "width", "upper"])
@pytest.mark.parametrize(
    ("values", "least"),
    [([20, 30, 40, 50], 1.0), ([2.5, 3, 4, 5], 0.1), ([2e9, 3, 4, 5], 20.0)],
)
def test_a_cell_without_levels_needs_one_unit_of_the_last_decimal(require, values, least):
    needs = needs_of(two_by_two(values), require)
    assert (needs.upper[0], needs.lower[0], needs.width[0]) == (0, 0, pytest.approx(least))


def test_only_the_levels_that_count_are_looked_at():
    below = two_by_two([20, 30, 40, 50], lower_protection=5)
    assert needs_of(below, "upper").width[0] == 1
    assert needs_of(below, "two-sided").width[0] == 0
    assert needs_of(below, "width").width[0] == 5


def test_values_that_are_no_decimals_need_a_share_of_the_median():
    needs = needs_of(two_by_two([0, 3 / 7, 4 / 7, 5 / 7]), "two-sided")
    assert 1e-7 < needs.width[0] < 1e-5


@pytest.mark.parametrize("require", ["two-sided", "width", "upper"])
@pytest.mark.parametrize("method", ["sequential", "exact", "auto"])
def test_a_cell_without_levels_is_not_left_alone_in_its_relations(require, method):
    problem = two_by_two([20, 30, 40, 50])
    alone = problem.sensitive.copy()
    assert not tc.audit(problem, alone, require=require).is_safe
    pattern = tc.suppress(problem, require=require, method=method)
    assert pattern.suppressed.sum() == 4
    assert tc.audit(problem, pattern, require=require).is_safe


def test_a_cell_that_everybody_knows_cannot_be_protected():
    problem = two_by_two([20, 30, 40, 50])
    at = int(np.flatnonzero(problem.sensitive)[0])
    bound = np.where(np.arange(9) == at, problem.table.values, 0.0)
    high = np.where(np.arange(9) == at, problem.table.values, 1e10)
    problem = problem.with_changes(lower_bound=bound, upper_bound=high)
    with pytest.raises(tc.ModelError, match="external bounds closer together than the width"):
        tc.suppress(problem)
