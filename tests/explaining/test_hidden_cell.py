"""What publishing a cell would cost: proved, at most, impossible, or not found."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.budget import Budget
from tablecloak.explaining.hidden_cell import Alternative, AlternativeStatus, cheapest_without
from tablecloak.explaining.pattern_question import PatternQuestion
from tablecloak.suppression.search.groups_search import PatternSearch

COX = tc.examples.cox_rounded()
CELL = COX.table.cell(row="r2", column="c8")


@pytest.fixture(scope="module")
def pattern() -> tc.SuppressionPattern:
    return tc.suppress(COX, time_limit=1000)


def told(
    outcome: AlternativeStatus, hidden: np.ndarray, present: np.ndarray, bound: float
) -> Alternative:
    return Alternative(COX, outcome, present, hidden, bound)


def test_a_price_says_at_most_unless_it_is_proved(pattern):
    dearer = pattern.suppressed.copy()
    other = COX.table.cell(row="r1", column="c5")
    dearer[[CELL, other]] = False, True
    extra = COX.weights[other] - COX.weights[CELL]
    assert extra > 0
    proved = told(AlternativeStatus.CHEAPEST, dearer, pattern.suppressed, 1.0).lines()
    assert ("at most" in proved[0], "proved to be the cheapest" in proved[0]) == (False, True)
    for bound, is_told in ((3000.0, True), (0.0, False)):
        found = told(AlternativeStatus.FOUND, dearer, pattern.suppressed, bound)
        assert found.cost == extra
        text = found.lines()[0]
        assert ("no way loses less than 3,000" in text) == is_told
    assert f"would publish ({COX.table.label(CELL)})" in proved[-1]


def test_a_cheaper_pattern_lowers_the_loss(pattern):
    cheaper = pattern.suppressed.copy()
    cheaper[CELL] = False
    found = told(AlternativeStatus.FOUND, cheaper, pattern.suppressed, 0.0)
    assert f"lowers the loss by {COX.weights[CELL]:,g}" in found.lines()[0]
    assert found.facts()["cost"] == -COX.weights[CELL]


def test_a_search_without_proof_goes_on_from_the_present_pattern(pattern, monkeypatch):
    """The first search breaks off; the second finds a pattern beside the present one."""
    real, asked = PatternSearch.__call__, []

    def breaking_off(search, problem, budget):
        asked.append(problem.weights)
        if len(asked) == 1:
            raise tc.SolverError("none in time")
        return real(search, problem, budget)

    monkeypatch.setattr(PatternSearch, "__call__", breaking_off)
    found = cheapest_without(PatternQuestion.of(pattern, (), Budget.of(1000)), CELL)
    assert found.outcome is AlternativeStatus.FOUND
    assert len(asked) == 2
    kept = pattern.suppressed.copy()
    kept[CELL] = False
    assert not asked[1][kept].any()
    assert found.hidden[kept].all()
    assert not found.hidden[CELL]
    assert tc.audit(COX, found.hidden).is_safe


def test_a_pattern_that_fails_its_audit_does_not_count(pattern, monkeypatch):
    def breaking_off(search, problem, budget):
        raise tc.SolverError("none in time")

    monkeypatch.setattr(PatternSearch, "__call__", breaking_off)
    found = cheapest_without(PatternQuestion.of(pattern, (), Budget.of(1000)), CELL)
    assert found.outcome is AlternativeStatus.NONE_FOUND
    assert found.facts()["loss"] is None
    assert found.lines() == ["Publishing it: no other pattern was found within the limits."]


def test_the_cheapest_pattern_is_as_cheap_as_one_of_the_problem_with_the_cell_frozen(pattern):
    status = COX.status.copy()
    status[CELL] = "z"
    best = tc.suppress(COX.with_changes(status=status), time_limit=1000)
    found = cheapest_without(PatternQuestion.of(pattern, (), Budget.of(1000)), CELL)
    assert found.loss == best.loss
    assert found.present_loss == pattern.loss
