"""Releases of our methods keep the contract; careless ones of anybody are told what is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from random_tables import random_problem
from tablecloak.contracts import check_release
from tablecloak.cta.search.distance import DISTANCES
from tablecloak.suppression.search.method import SEARCH_METHODS


@pytest.fixture(scope="module")
def problem() -> tc.ProtectionProblem:
    return tc.examples.cox_rounded()


@pytest.fixture(scope="module")
def pattern(problem) -> tc.SuppressionPattern:
    return tc.suppress(problem)


@pytest.fixture(scope="module")
def adjusted(problem) -> tc.Adjustment:
    return tc.adjust(problem)


@pytest.mark.parametrize("method", SEARCH_METHODS.names)
def test_patterns_of_every_search_method_keep_the_contract(problem, method):
    check_release(problem, tc.suppress(problem, method=method, time_limit=30))


@pytest.mark.parametrize("distance", DISTANCES.names)
def test_adjustments_by_every_distance_keep_the_contract(distance):
    problem = random_problem(1)
    check_release(problem, tc.adjust(problem, distance=distance, time_limit=30))


def test_a_frame_in_any_order_and_with_other_columns_keeps_it(problem, pattern):
    frame = pattern.release().sample(frac=1, random_state=1)
    check_release(problem, frame.assign(note="by hand"))


def first_secondary(problem, pattern, frame) -> int:
    cell = problem.table.keys.loc[np.flatnonzero(pattern.secondary)[0]]
    return int(np.flatnonzero((frame[list(cell.index)] == cell.to_numpy()).all(axis=1))[0])


def cell_of(problem, frame, cell: int) -> int:
    key = problem.table.keys.loc[cell]
    return int(np.flatnonzero((frame[list(key.index)] == key.to_numpy()).all(axis=1))[0])


def shown(problem, frame, cell):
    """The frame with one cell published."""
    row, name = cell_of(problem, frame, cell), problem.table.name
    frame = frame.astype({name: "Float64"})
    frame.loc[frame.index[row], [name, "status"]] = [problem.table.values[cell], "published"]
    return frame


def hidden(problem, frame, cell):
    row, name = cell_of(problem, frame, cell), problem.table.name
    frame = frame.astype({name: "Float64"})
    frame.loc[frame.index[row], [name, "status"]] = [pd.NA, "suppressed"]
    return frame


def test_a_pattern_without_one_secondary_cell_of_the_optimum_is_exposed(problem, pattern):
    """Every secondary cell of an optimum with positive weights is needed."""
    secondary = np.flatnonzero(pattern.secondary)
    assert len(secondary) > 2
    for cell in secondary.tolist():
        frame = shown(problem, pattern.release(), cell)
        with pytest.raises(AssertionError, match="can be known to lie at most|The interval of"):
            check_release(problem, frame)


def test_a_published_sensitive_cell_is_named(problem, pattern):
    cell = int(np.flatnonzero(problem.sensitive)[0])
    with pytest.raises(AssertionError, match="Sensitive cells are published"):
        check_release(problem, shown(problem, pattern.release(), cell))


def test_a_cell_that_must_be_published_may_not_be_hidden(problem, pattern):
    cell = int(np.flatnonzero(problem.frozen)[0])
    with pytest.raises(AssertionError, match="Cells that must be published are hidden"):
        check_release(problem, hidden(problem, pattern.release(), cell))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda frame, name: frame.iloc[1:], "Cells of the table are missing"),
        (lambda frame, name: pd.concat([frame, frame.head(1)]), "more than one row"),
        (lambda frame, name: frame.drop(columns=name), "There is no column"),
        (lambda frame, name: frame.drop(columns=frame.columns[0]), "with codes are missing"),
        (
            lambda frame, name: frame.assign(**{frame.columns[0]: "none"}),
            "more than one row|not have",
        ),
        (lambda frame, name: frame.assign(**{name: 7.0}), "Suppressed cells have a value"),
        (lambda frame, name: frame.assign(status="published"), "Published cells have no value"),
        (
            lambda frame, name: frame.assign(**{name: frame[name] + 1}),
            "Published values are not the true ones",
        ),
    ],
)
def test_a_pattern_that_is_incomplete_or_untrue_is_told_so(problem, pattern, change, sentence):
    frame = change(pattern.release(), problem.table.name)
    with pytest.raises(AssertionError, match=sentence):
        check_release(problem, frame)


def values_of(problem, values) -> pd.DataFrame:
    return problem.table.keys.assign(value=values)


def test_adjusted_values_must_be_additive_far_enough_and_within_bounds(problem, adjusted):
    check_release(problem, values_of(problem, adjusted.values))
    off = adjusted.values.copy()
    off[0] += 1
    with pytest.raises(AssertionError, match="a relation is off by 1"):
        check_release(problem, values_of(problem, off))
    with pytest.raises(AssertionError, match="too near to their values"):
        check_release(problem, values_of(problem, problem.table.values))
    tight = problem.with_changes(upper_bound=problem.table.values + 0.5)
    with pytest.raises(AssertionError, match="Values are outside their bounds"):
        check_release(tight, values_of(problem, adjusted.values))
    still = problem.with_changes(status=np.where(adjusted.is_changed, "z", problem.status))
    with pytest.raises(AssertionError, match="Cells that must stay were changed"):
        check_release(still, values_of(problem, adjusted.values))
    with pytest.raises(AssertionError, match="Cells have no value"):
        check_release(problem, values_of(problem, np.where(off == off[0], np.nan, off)))


def test_half_of_the_level_is_not_enough(problem, adjusted):
    half = problem.table.values + 0.5 * adjusted.changes
    with pytest.raises(AssertionError, match="too near to their values"):
        check_release(problem, values_of(problem, half))


def test_claims_of_a_result_are_verified(problem, adjusted):
    with pytest.raises(tc.VerificationError):
        check_release(problem, replace(adjusted, bound=adjusted.loss * 1.5))
