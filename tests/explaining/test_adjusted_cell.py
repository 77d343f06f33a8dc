"""Cells of adjusted tables: what is said of those that moved, stayed, or should have moved."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tablecloak as tc
from random_tables import random_problem

PROBLEM = random_problem(5, (3, 3))
SENSITIVE = int(np.flatnonzero(PROBLEM.sensitive)[0])


@pytest.fixture(scope="module")
def adjusted() -> tc.Adjustment:
    return tc.adjust(PROBLEM, time_limit=1000)


def test_a_sensitive_cell_that_did_not_move_is_not_protected():
    found = tc.explain(PROBLEM, PROBLEM.table.values, SENSITIVE)
    assert found.kind == "not changed"
    assert "the release does not protect it" in found.text()


def test_a_frozen_cell_may_not_move():
    status = PROBLEM.status.copy()
    cell = int(np.flatnonzero(status == "s")[0])
    status[cell] = "z"
    problem = PROBLEM.with_changes(status=status)
    found = tc.explain(problem, tc.adjust(problem, time_limit=1000), cell)
    assert "It is frozen" in found.text()


def test_the_cells_that_move_with_it_make_up_its_change(adjusted):
    moved = np.flatnonzero(adjusted.is_changed)
    for cell in moved.tolist():
        found = tc.explain(PROBLEM, adjusted, cell, alternative=False)
        for relation, others in zip(_relations_of(cell), found.beside, strict=True):
            row = PROBLEM.table.relations[[relation], :].toarray()[0]
            total = row[cell] * found.change + sum(row[c] * z for c, z in others.items())
            assert total == pytest.approx(0)


def _relations_of(cell: int) -> list[int]:
    return np.flatnonzero(PROBLEM.table.relations.toarray()[:, cell]).tolist()


def test_a_side_without_a_level_is_no_way_out(adjusted):
    lower = PROBLEM.lower_protection.copy()
    lower[SENSITIVE] = 0.0
    problem = PROBLEM.with_changes(lower_protection=lower)
    found = tc.explain(problem, tc.adjust(problem, time_limit=1000), SENSITIVE)
    assert found.change > 0
    assert found.other_way is None


def test_a_release_that_keeps_statistics_says_that_sums_do_not_count_them():
    kept = tc.adjust(PROBLEM, preserve=["mean:all"], time_limit=1000)
    found = tc.explain(PROBLEM, kept, SENSITIVE)
    assert "keeps statistics" in found.text()
    assert found.to_dict()["other_way"]["loss"] is None


def test_distances_left_to_chance_are_said_to_be():
    drawn = tc.adjust(PROBLEM, recovery=0.3, seed=1, time_limit=1000)
    assert "left to chance" in tc.explain(PROBLEM, drawn, SENSITIVE).text()


def test_all_that_is_said_of_an_adjustment_can_be_written_as_json(adjusted):
    for cell in range(PROBLEM.table.n_cells):
        told = json.loads(tc.explain(PROBLEM, adjusted, cell, alternative=False).to_json())
        assert told["change"] == pytest.approx(adjusted.changes[cell])
        assert told["least_anywhere"] is None
