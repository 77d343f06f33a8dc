"""Relations follow from codes: each total is the sum of the parts that occur."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.tables.relations import hierarchical_relations

TREE = tc.Hierarchy.from_dict({"A": {"a1": {}, "a2": {}}, "B": {}})
FLAT = tc.Hierarchy.flat(["x", "y"])


def rows_of(keys: pd.DataFrame, trees) -> set[tuple]:
    """Relations as sets of codes with their signs."""
    found = hierarchical_relations(keys, trees).tocoo()
    rows: dict[int, list] = {}
    for row, cell, sign in zip(*found.coords, found.data, strict=True):
        rows.setdefault(int(row), []).append((*keys.iloc[int(cell)], float(sign)))
    return {tuple(sorted(terms)) for terms in rows.values()}


def test_each_parent_is_the_sum_of_its_children():
    keys = pd.DataFrame({"r": ["Total", "A", "a1", "a2", "B"]})
    assert rows_of(keys, {"r": TREE}) == {
        (("A", -1.0), ("a1", 1.0), ("a2", 1.0)),
        (("A", 1.0), ("B", 1.0), ("Total", -1.0)),
    }


def test_cells_that_do_not_occur_take_no_part():
    keys = pd.DataFrame({"r": ["Total", "A", "a1"]})
    assert rows_of(keys, {"r": TREE}) == {
        (("A", -1.0), ("a1", 1.0)),
        (("A", 1.0), ("Total", -1.0)),
    }


def test_a_group_without_its_total_or_without_parts_is_no_relation():
    assert rows_of(pd.DataFrame({"r": ["A", "B"]}), {"r": TREE}) == set()
    assert rows_of(pd.DataFrame({"r": ["Total", "a1"]}), {"r": TREE}) == set()


def test_a_table_of_two_dimensions_has_relations_along_both():
    keys = pd.DataFrame(
        list(itertools.product(["Total", "A", "B"], FLAT.codes)), columns=["r", "c"]
    )
    trees = {"r": tc.Hierarchy.flat(["A", "B"]), "c": FLAT}
    # Three columns along r, three rows along c.
    assert hierarchical_relations(keys, trees).shape == (6, 9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_relations_are_those_that_a_plain_loop_finds_in_any_order_of_cells(seed):
    random = np.random.default_rng(seed)
    cells = [cell for cell in itertools.product(TREE.codes, FLAT.codes) if random.random() < 0.8]
    random.shuffle(cells)
    keys = pd.DataFrame(cells, columns=["r", "c"])
    trees = {"r": TREE, "c": FLAT}
    expected = set()
    for axis, tree in enumerate(trees.values()):
        for parent, children in tree.groups:
            for other in trees["c" if axis == 0 else "r"].codes:
                line = [(code, other) if axis == 0 else (other, code) for code in children]
                total = (parent, other) if axis == 0 else (other, parent)
                parts = [cell for cell in line if cell in cells]
                if total in cells and parts:
                    terms = [(*total, -1.0), *((*part, 1.0) for part in parts)]
                    expected.add(tuple(sorted(terms)))
    assert rows_of(keys, trees) == expected
