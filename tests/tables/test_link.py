"""Linked tables are one table over the union of their cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tablecloak as tc
from margins import with_margins
from tablecloak.tables.link import link

RECORDS = pd.DataFrame(
    [(r, c, k, 1.0 + r_ + 3 * c_ + 7 * k_)
     for r_, r in enumerate("ab") for c_, c in enumerate("xy") for k_, k in enumerate("mn")],
    columns=["r", "c", "k", "v"],
)  # fmt: skip


def table_over(*names, records=RECORDS) -> tc.Table:
    trees = {name: tc.Hierarchy.flat(sorted(records[name].unique())) for name in names}
    leaves = records.groupby(list(names), as_index=False)["v"].sum()
    return with_margins(leaves, trees, "v")


def test_common_cells_occur_once_and_other_dimensions_stand_at_their_total():
    one, two = table_over("r", "c"), table_over("r", "k")
    both = link(one, two)
    # 9 cells each; the margins of r, 3 of them, are common.
    assert both.n_cells == 15
    assert list(both.keys.columns) == ["r", "c", "k"]
    assert both.values[both.cell(r="a", c="Total", k="Total")] == RECORDS.v[RECORDS.r == "a"].sum()
    assert np.all(both.relations @ both.values == both.right_hand_side)


def test_a_relation_of_both_tables_is_kept_once():
    one, two = table_over("r", "c"), table_over("r", "k")
    # The sum over r at the totals of c and k stands in both.
    assert link(one, two).n_relations == one.n_relations + two.n_relations - 1
    assert link(one, one).n_relations == one.n_relations
    assert link(one).n_cells == one.n_cells


@given(st.permutations(["rc", "rk", "ck"]))
def test_the_order_of_tables_changes_neither_cells_nor_values(order):
    linked = link(*(table_over(*names) for names in order))
    reference = link(table_over("r", "c"), table_over("r", "k"), table_over("c", "k"))

    def cells_of(table: tc.Table) -> dict[tuple[str, ...], float]:
        names = ["r", "c", "k"]
        keys = table.keys[names].itertuples(index=False, name=None)
        return dict(zip(keys, table.values.tolist(), strict=True))

    assert cells_of(linked) == cells_of(reference)
    assert linked.n_relations == reference.n_relations


def test_linked_tables_have_the_most_digits_and_the_largest_tolerance_of_all():
    one = replace(table_over("r", "c"), decimals=1, tolerance=0.5)
    two = replace(table_over("r", "k"), decimals=0)
    both = link(one, two)
    assert both.decimals == 1
    assert both.tolerance == 0.5
    # Where one of them declares none, nobody knows the digits of all.
    assert link(one, replace(two, decimals=None)).decimals is None


def test_tables_that_differ_in_a_common_cell_are_refused_by_its_codes():
    changed = RECORDS.assign(v=RECORDS.v + (RECORDS.r == "a"))
    with pytest.raises(tc.InputError, match="is given twice with different values"):
        link(table_over("r", "c"), table_over("r", "k", records=changed))


def test_two_codes_for_one_total_are_refused():
    tree = tc.Hierarchy.flat(["x", "y"], total="Sum")
    leaves = RECORDS.groupby("c", as_index=False)["v"].sum()
    other = with_margins(leaves, {"c": tree}, "v")
    with pytest.raises(tc.InputError, match="'Total' in one table and 'Sum' in another"):
        link(table_over("r", "c"), other)


def test_a_dimension_that_is_missing_needs_a_hierarchy_to_know_its_total():
    bare = replace(table_over("r", "c"), hierarchies={})
    with pytest.raises(tc.InputError, match="'c' is missing in one of the linked tables"):
        link(bare, table_over("r"))


def test_a_finer_hierarchy_stands_for_a_coarser_one():
    fine = tc.Hierarchy.from_dict({"a": {"a1": {}, "a2": {}}, "b": {}})
    records = pd.DataFrame({"r": ["a1", "a2", "b"], "v": [1.0, 2.0, 4.0]})
    coarse = records.assign(r=["a", "a", "b"]).groupby("r", as_index=False)["v"].sum()
    both = link(
        with_margins(coarse, {"r": tc.Hierarchy.flat(["a", "b"])}, "v"),
        with_margins(records, {"r": fine}, "v"),
    )
    assert both.n_cells == 5
    assert both.hierarchies["r"].codes == fine.codes
