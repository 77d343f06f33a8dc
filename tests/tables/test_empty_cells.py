"""Cells into which no record falls, listed with the value 0."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.tables import relations

PEOPLE = pd.DataFrame({"region": list("NNS"), "sex": list("fmf"), "wage": [3, 4, 5]})
TREE = {"North": {"N": {}, "W": {}}, "S": {}}


@pytest.mark.parametrize("value", [None, "wage"])
def test_each_combination_of_codes_is_a_cell(value):
    dimensions = {"region": TREE, "sex": None}
    table = tc.tabulate(PEOPLE, dimensions, value, contributor="sex", empty_cells=True)
    sparse = tc.tabulate(PEOPLE, dimensions, value, contributor="sex")
    assert table.n_cells == 5 * 3
    known = pd.MultiIndex.from_frame(table.keys).get_indexer(pd.MultiIndex.from_frame(sparse.keys))
    empty = np.setdiff1d(np.arange(15), known)
    assert np.array_equal(table.values[known], sparse.values)
    assert not table.values[empty].any()
    assert not table.contributions.count[empty].any()
    assert np.array_equal(table.contributions.largest[known], sparse.contributions.largest)
    assert table.cell(region="W", sex="m") in empty


def test_linked_tables_list_the_empty_cells_of_each():
    links = [["region"], ["region", "sex"]]
    table = tc.tabulate(PEOPLE, {"region": TREE, "sex": None}, tables=links, empty_cells=True)
    assert table.n_cells == 15
    apart = tc.tabulate(PEOPLE, ["region", "sex"], tables=[["region"], ["sex"]], empty_cells=True)
    assert apart.n_cells == 3 + 3 - 1


def test_a_ready_table_is_completed_only_if_asked():
    frame = pd.DataFrame({"region": ["Total", "N", "N", "Total"], "sex": ["T", "T", "f", "f"],
                          "count": [3, 3, 3, 3]})  # fmt: skip
    sex = tc.Hierarchy.from_dict({"f": {}, "m": {}}, total="T")
    dimensions = {"region": {"N": {}, "S": {}}, "sex": sex}
    given = {"value": "count", "frequency": "count"}
    assert tc.Table.from_frame(frame, dimensions, **given).n_cells == 4
    table = tc.Table.from_frame(frame, dimensions, **given, empty_cells=True)
    assert table.n_cells == 9
    assert table.values.sum() == 12
    assert table.is_count


def test_more_cells_than_memory_holds_are_refused(monkeypatch):
    monkeypatch.setattr(relations, "MOST_CELLS", 8)
    with pytest.raises(tc.InputError, match="the table would have 9 cells; at most 8"):
        tc.tabulate(PEOPLE, ["region", "sex"], empty_cells=True)
