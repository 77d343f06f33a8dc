"""What everybody and insiders can compute of the cells of a pattern, and what is too close."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from confirmed import end_of, ends_of, exposed
from margins import with_margins
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.explaining.derivation import Derivation
from tablecloak.explaining.pattern_question import Interval, PatternQuestion
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.suppression.system.requirement import Requirement

TABLE = with_margins(pd.DataFrame({"c": ["a", "b"], "v": [30.0, 12.0]}), ["c"], "v")


def derivation(sign, limit, *, terms=(), relations=((0, Fraction(1)),)):
    is_bounded = np.isfinite(float(limit))
    limit = Fraction(limit) if is_bounded else float(limit)
    return Derivation(TABLE, 0, sign, limit, relations, terms, Fraction(0), True)


def interval(low, high, *, required=(28, 33), width=0.0, value=30.0):
    return Interval(derivation(-1, low), derivation(1, high), *required, width, value)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (1, 9, "from 1 to 9"),
        (-np.inf, 9, "at most at 9"),
        (1, np.inf, "at least at 1"),
        (-np.inf, np.inf, "anywhere"),
    ],
)
def test_where_a_cell_can_lie_is_said_by_the_ends_there_are(low, high, text):
    assert interval(low, high).span() == text


@pytest.mark.parametrize(
    ("ends", "width", "is_narrow", "share"),
    [
        ((28, 33), 0, False, 1.0),
        ((20, 40), 0, False, 10 / 3),
        # 1 below where 2 are needed, and 1 above where 3 are.
        ((29, 40), 0, True, 1 / 2),
        ((20, 31), 0, True, 1 / 3),
        ((28, 33), 10, True, 1 / 2),
        ((28, 38), 10, False, 1.0),
        ((30, 30), 0, True, 0.0),
        ((-np.inf, np.inf), 10, False, np.inf),
    ],
)
def test_an_interval_is_too_narrow_where_it_reaches_less_than_is_needed(
    ends, width, is_narrow, share
):
    found = interval(*ends, width=width)
    assert found.is_too_narrow == is_narrow
    assert found.share == pytest.approx(share)
    assert found.verdict().startswith("This is too close" if is_narrow else "Protected")
    assert ("at least 10 wide" in found.verdict()) == (width == 10)
    assert found.facts()["is_protected"] != is_narrow


def test_the_sums_that_fail_are_those_that_come_too_near():
    low, high = interval(29, 40), interval(20, 31)
    assert low.failing() == [low.lower]
    assert high.failing() == [high.upper]
    both = interval(28, 33, width=10)
    assert both.failing() == [both.lower, both.upper]
    point = interval(30, 30)
    assert point.is_point
    assert point.failing() == [point.upper]


def test_a_value_that_is_computed_is_told_as_one_sum():
    lines = interval(30, 30).lines("Everybody")
    assert lines[0] == "Everybody can compute it exactly: 30."
    assert len(lines) == 3
    assert interval(20, 40).lines("Everybody")[0] == (
        "Everybody can compute that it lies from 20 to 40."
    )


def test_ends_that_nothing_bounds_are_no_numbers_in_json():
    told = json.loads(json.dumps(interval(-np.inf, 40).facts()))
    assert told["lower"] is None
    assert told["upper"] == 40


@cache
def pattern(seed: int) -> tc.SuppressionPattern:
    return tc.suppress(random_problem(seed), time_limit=1000)


def question_of(seed: int) -> PatternQuestion:
    return PatternQuestion.of(pattern(seed), (), Budget.of(1000))


def test_witnesses_of_a_question_move_hidden_cells_alone_and_change_no_relation():
    for seed in range(3):
        problem, hidden = pattern(seed).problem, pattern(seed).suppressed
        question = question_of(seed)
        assert question.witnesses
        for cells, moves in question.witnesses:
            assert hidden[cells].all()
            deviation = np.zeros(problem.table.n_cells)
            deviation[cells] = moves
            np.testing.assert_allclose(problem.table.relations @ deviation, 0, atol=1e-6)


def test_intervals_are_those_of_two_programs_and_what_they_require_is_the_levels():
    for seed in range(3):
        problem, question = pattern(seed).problem, question_of(seed)
        ends = ends_of(problem, pattern(seed).suppressed)
        for cell in np.flatnonzero(pattern(seed).suppressed).tolist():
            found = question.interval(cell)
            for end, sign in zip(found.ends, (-1, 1), strict=True):
                attained = end_of(problem.table, *ends, cell, sign)
                assert end == pytest.approx(attained, abs=1e-6 * problem.unit)
            value = problem.table.values[cell]
            levels = problem.lower_protection[cell], problem.upper_protection[cell]
            needed = levels if problem.sensitive[cell] else (0.0, 0.0)
            assert found.required_lower == value - needed[0]
            assert found.required_upper == value + needed[1]
            assert not found.is_too_narrow


def test_publishing_a_cell_tells_as_much_as_a_pattern_without_it():
    problem, hidden = pattern(1).problem, pattern(1).suppressed
    for cell in np.flatnonzero(pattern(1).secondary).tolist():
        without = question_of(1).publishing(cell)
        assert without.hidden.sum() == hidden.sum() - 1
        fewer = hidden & (np.arange(len(hidden)) != cell)
        narrow = {
            each
            for each in np.flatnonzero(problem.sensitive).tolist()
            if without.interval(each).is_too_narrow
        }
        assert narrow == exposed(problem, *ends_of(problem, fewer))


def test_an_insider_knows_what_everybody_does_and_more():
    problem, question = pattern(2).problem, question_of(2)
    cells = np.flatnonzero(pattern(2).suppressed)[:2]
    values = problem.table.values[cells]
    # Of the second cell it knows less than everybody: what counts is the narrower end.
    knowledge = Knowledge("x", cells, np.array([values[0] - 1, -1e9]), np.array([values[0], 1e9]))
    ranges = question.knowing(knowledge)
    assert ranges.lower[cells].tolist() == [values[0] - 1, problem.lower_bound[cells[1]]]
    assert ranges.upper[cells].tolist() == [values[0], problem.upper_bound[cells[1]]]
    others = np.setdiff1d(np.arange(problem.table.n_cells), cells)
    assert np.array_equal(ranges.lower[others], question.ranges.lower[others])
    for cell in np.flatnonzero(problem.sensitive).tolist():
        assert question.interval(cell, knowledge).share <= question.interval(cell).share + 1e-9


def test_a_pattern_tells_nothing_of_hidden_cells_and_published_intervals_do():
    question = question_of(1)
    assert not question.is_of_intervals
    cell = int(np.flatnonzero(question.hidden)[0])
    upper = question.upper.copy()
    upper[cell] = question.problem.table.values[cell] + 5
    assert replace(question, upper=upper).is_of_intervals


def test_a_weaker_requirement_asks_for_less():
    full, width = (
        replace(question_of(1), requirement=requirement)
        for requirement in (Requirement.TWO_SIDED, Requirement.WIDTH)
    )
    for cell in np.flatnonzero(full.problem.sensitive).tolist():
        two, one = full.interval(cell), width.interval(cell)
        assert two.ends == one.ends
        assert one.required_lower >= two.required_lower
        assert one.required_upper <= two.required_upper
