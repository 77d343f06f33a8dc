"""Cells of adjusted tables: what is said of those that moved, stayed, or should have moved."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from random_tables import random_problem
from tablecloak.explaining.adjusted_cell import OtherWay

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


def one_row() -> tc.ProtectionProblem:
    """A part that must rise or fall by 3, and another that can only fall: 10 + 20 = 30, kept."""
    frame = pd.DataFrame({"c": ["a", "b", "Total"], "v": [10.0, 20.0, 30.0]})
    table = tc.Table.from_frame(frame, ["c"], "v")
    a, b, total = (table.cell(c=code) for code in ("a", "b", "Total"))
    status = np.array(["s", "s", "s"])
    status[a], status[total] = "u", "z"
    levels, high = np.zeros(3), np.full(3, 100.0)
    levels[a], high[b] = 3.0, 20.0
    return tc.ProtectionProblem(table, status, levels, levels, np.zeros(3), np.zeros(3), high,
                                np.ones(3))  # fmt: skip


def test_a_direction_that_no_adjustment_can_take_is_excluded_by_a_sum():
    problem = one_row()
    found = tc.explain(problem, tc.adjust(problem, time_limit=1000), "a")
    assert found.change == 3
    assert found.other_way is not None
    assert found.other_way.facts()["is_excluded"]
    assert found.other_way.excluded.limit == 0
    assert any("cannot have gone down" in line for line in found.lines())
    # The other part moves because of it, and can be told by whom it is forced.
    other = tc.explain(problem, tc.adjust(problem, time_limit=1000), "b")
    assert other.least_distance == 3
    assert problem.table.labels(other.forced_by) == ["(c=a)"]
    assert other.anywhere == pytest.approx(3)


@pytest.mark.parametrize(
    ("loss", "bound", "text"),
    [
        (8.0, 8.0, "the least loss would be 8 (proved), instead of 5"),
        (8.0, 6.0, "the loss would be at least 6 and at most 8, instead of 5"),
    ],
)
def test_the_price_of_another_way_is_as_sure_as_its_proof(loss, bound, text):
    assert OtherWay(None, loss, bound).price(5.0) == text
