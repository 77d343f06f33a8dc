"""Verdicts of explanations are those of the audit, whatever is required of a pattern."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tablecloak as tc
from random_tables import random_problem


@pytest.mark.parametrize("require", ["two-sided", "width", "upper"])
@pytest.mark.parametrize("kind", ["crossed", "uneven"])
def test_a_cell_is_too_close_exactly_where_the_audit_finds_it_attackable(kind, require):
    judged = {True: 0, False: 0}
    for seed in range(3):
        problem = random_problem(seed, kind=kind)
        random = np.random.default_rng(seed)
        hidden = problem.sensitive | (~problem.frozen & (random.random(len(problem.status)) < 0.4))
        audit = tc.audit(problem, hidden, require=require)
        for cell, verdict in zip(audit.needs.cells.tolist(), audit.verdicts, strict=True):
            found = tc.explain(problem, hidden, cell, require=require, intruders=())
            assert found.external.is_too_narrow == (verdict is tc.Verdict.ATTACKABLE)
            judged[found.external.is_too_narrow] += 1
    assert min(judged.values()) >= 1


def test_an_explanation_is_one_line_or_text_or_json_and_always_secret():
    problem = random_problem(3)
    found = tc.explain(problem, problem.sensitive, int(np.flatnonzero(problem.sensitive)[0]))
    assert isinstance(found, tc.Explanation)
    assert "\n" not in found.summary()
    assert repr(found) == f"<{found.summary()}>"
    assert str(found) == found.text()
    assert found.text().startswith("SECRET")
    told = json.loads(found.to_json())
    assert told["secret"] is True
    assert told["text"] == found.text()
    assert told["value"] == found.value


def test_progress_is_reported_while_other_patterns_are_searched():
    heard = []
    problem = tc.examples.cox_rounded()
    pattern = tc.suppress(problem, time_limit=1000)
    cell = int(np.flatnonzero(pattern.secondary)[0])
    tc.explain(problem, pattern, cell, time_limit=1000, progress=lambda *told: heard.append(told))
    assert heard
