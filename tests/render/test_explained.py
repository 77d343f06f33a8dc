"""A report says of the dearest secondary suppressions who needs them."""

from __future__ import annotations

import numpy as np

import tablecloak as tc
from random_tables import random_problem
from tablecloak.render import explained
from tablecloak.render.explained import add_explanations
from tablecloak.render.page import Page


def explanations(pattern: tc.SuppressionPattern) -> list[str]:
    page = Page("report")
    add_explanations(page, pattern)
    return page.parts


def test_a_report_explains_the_dearest_secondary_suppressions_with_their_attacks(monkeypatch):
    monkeypatch.setattr(explained, "MOST_EXPLAINED", 2)
    problem = tc.examples.cox_rounded()
    pattern = tc.suppress(problem, time_limit=1000)
    head, *found = explanations(pattern)
    assert "2 dearest of 5 secondary suppressions" in head
    dearest = np.sort(problem.weights[pattern.secondary])[-2:]
    assert all(f"= {weight:g}: secondary" in "".join(found) for weight in dearest)
    assert all("Needed by (" in each for each in found)
    assert all("too close" in each for each in found)


def test_a_report_without_secondary_suppressions_or_of_a_large_table_explains_none(monkeypatch):
    problem = random_problem(1, (2, 2), 4)
    assert explanations(tc.suppress(problem, time_limit=1000)) == []
    monkeypatch.setattr(explained, "EXPLAINED_CELLS", 10)
    assert explanations(tc.suppress(tc.examples.cox_rounded(), time_limit=1000)) == []
