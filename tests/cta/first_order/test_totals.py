"""Totals from their parts: additive exactly, within limits, or refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import tablecloak as tc
from random_tables import random_problem
from tablecloak.cta.first_order.layout import FirstOrderLayout
from tablecloak.cta.first_order.totals import AdditiveGrid, Totals
from tablecloak.cta.search.task import AdjustmentTask


def total_of(rows: list[list[float]]) -> Totals | None:
    return Totals.of(csr_array(np.array(rows)))


def test_totals_of_totals_follow_from_the_most_detailed_cells_in_any_order_of_relations():
    # Cell 0 = 1 + 2, cell 1 = 3 + 4: the lower total stands in the second relation.
    totals = total_of([[-1, 1, 1, 0, 0], [0, -1, 0, 1, 1]])
    assert totals is not None
    assert totals.completed(np.array([9.0, 9, 5, 1, 2])).tolist() == [8, 3, 5, 1, 2]
    assert totals.is_total.tolist() == [True, True, False, False, False]


@pytest.mark.parametrize(
    "rows",
    [[[1, 1, -1, -1]], [[-2, 1, 1, 0]], [[1, 1, 1, 0]], [[-1, 1, 0, 0], [1, -1, 1, 1]]],
    ids=["two totals", "coefficient 2", "no total", "total of itself"],
)
def test_relations_that_do_not_add_up_to_one_total_are_refused(rows):
    assert total_of(rows) is None


def test_matrices_of_the_table_stay_as_they_are():
    relations = random_problem(1, (4, 4)).table.relations
    before = relations.copy()
    Totals.of(relations)
    assert np.array_equal(before.indices, relations.indices)
    assert np.array_equal(before.data, relations.data)


def test_a_total_beyond_its_bounds_is_mended_by_the_cheapest_cell_with_room():
    totals = total_of([[-1, 1, 1, 1]])
    assert totals is not None
    low, high = np.array([4.0, -9, -9, -9]), np.array([9.0, 0, 9, 9])
    mended = totals.additive(
        np.array([0.0, 0, 0.3, 0]), low, high, np.array([1.0, 1, 3, 20]), grid=1.0
    )
    assert mended is not None
    # The first part is cheapest and has no room above.
    assert mended.tolist() == [4, 0, 4, 0]


def test_a_total_without_any_room_for_its_parts_is_given_up():
    totals = total_of([[-1, 1, 1]])
    assert totals is not None
    none = np.zeros(3)
    assert totals.additive(none, np.array([5.0, 0, 0]), none + 9, none + 1, 1.0) is not None
    assert (
        totals.additive(none, np.array([5.0, 0, 0]), np.array([9.0, 1, 1]), none + 1, 1.0) is None
    )


@pytest.mark.parametrize("seed", range(3))
def test_additive_changes_are_on_the_grid_and_keep_every_relation(seed):
    random = np.random.default_rng(seed)
    problem = random_problem(seed, (3, 4, 2))
    totals = Totals.of(problem.table.relations)
    assert totals is not None
    n = problem.table.n_cells
    low, high = -random.integers(20, 40, n) * 8.0, random.integers(20, 40, n) * 8.0
    changes = totals.additive(random.normal(0, 5, n), low, high, np.ones(n), 0.25)
    assert changes is not None
    assert not np.any(problem.table.relations @ changes)
    assert np.all((changes >= low) & (changes <= high) & (changes * 4 == np.rint(changes * 4)))


def small_count_grid(
    frame: pd.DataFrame, tree: tc.Hierarchy, frozen: str = ""
) -> tuple[AdditiveGrid, tc.ProtectionProblem]:
    """Counts whose small ones go to 0 or 3."""
    table = tc.Table.from_frame(frame, {"d": tree}, "n")
    small, a = table.values < 3, table.values
    down, up = np.where(small, a, 0.0), np.where(small, 3 - a, 0.0)
    status = np.where(table.keys["d"] == frozen, "z", np.where(small, "u", "s"))
    problem = tc.ProtectionProblem(
        table, status, down, up, 0 * a, 0 * a, 0 * a + 9, 0 * a + 1, capacity_down=a - 3 * ~small
    )
    task = AdjustmentTask.of(
        problem, weights="unit", distance="L1", preserve=(), sensitive_limit=1.0,
        directions="search", integer=True,
    )  # fmt: skip
    totals = Totals.of(table.relations)
    assert totals is not None
    return AdditiveGrid.of(FirstOrderLayout.of(task.space().model), totals, whole=True), problem


def test_values_that_totals_do_not_allow_are_turned():
    # Counts 1 and 1 add up to 2: with base 3 not both may become 3, and the 4 may not become 0.
    frame = pd.DataFrame({"d": ["a", "b", "c", "a+b", "Total"], "n": [1, 1, 2, 2, 4]})
    grid, problem = small_count_grid(
        frame, tc.Hierarchy.from_dict({"a+b": {"a": [], "b": []}, "c": []})
    )
    model, small, a = grid.layout.model, problem.sensitive, problem.table.values
    for is_up in (True, False):
        groups = np.where(is_up, model.moves.up, -model.moves.down)
        assert grid.rounded(groups) is None
        turned = grid.rounded(groups, is_directed=False)
        assert turned is not None
        assert set(turned[1][small] + a[small]) == {0, 3}
        assert not np.any(problem.table.relations @ turned[1])


def test_a_frozen_total_is_kept_by_a_part_that_is_no_small_count():
    frame = pd.DataFrame({"d": ["a", "b", "c", "Total"], "n": [1, 1, 7, 9]})
    grid, problem = small_count_grid(
        frame, tc.Hierarchy.from_dict({"a": [], "b": [], "c": []}), frozen="Total"
    )
    kept = grid.rounded(np.array([2.0, -1.0, 0.0]), is_directed=False)
    assert kept is not None
    values = dict(zip(frame.d, frame.n, strict=True))
    moved = dict(zip(problem.table.keys["d"], kept[1], strict=True))
    assert [values[code] + moved[code] for code in frame.d] == [3, 0, 6, 9]
