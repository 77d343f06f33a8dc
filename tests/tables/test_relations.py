"""Relations follow from codes: each total is the sum of the parts that occur."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import tablecloak as tc
from tablecloak.tables.relations import distinct_rows, hierarchical_relations, without_repeated_rows

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


def kept_of(rows) -> list[int]:
    return distinct_rows(csr_array(np.array(rows, dtype=float)))[1].tolist()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1, 1, -1], [1, 1, -1]),
        ([1, 1, -1], [-1, -1, 1]),
        ([1, 2, -3], [2, 4, -6]),
        ([3, 0, -1], [-9, 0, 3]),
        ([0.1, 0.2, 0], [-0.1, -0.2, 0]),
    ],
)
def test_the_second_of_two_relations_that_say_the_same_is_left_out(first, second):
    assert kept_of([first, second]) == [0]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1, 1, -1], [1, -1, 1]),
        ([1, 1, 0], [1, 0, 1]),
        ([1, 2, 0], [1, 3, 0]),
        # Fractions are not divided: their quotients are rounded.
        ([0.1, 0.3, 0], [0.2, 0.6, 0]),
        ([2.0**25, 2.0**25 - 1, 0], [2.0**25 - 1, 2.0**25 - 2, 0]),
        ([2.0**40, 1, 0], [2.0**41, 2, 0]),
    ],
)
def test_relations_that_differ_are_both_kept(first, second):
    assert kept_of([first, second]) == [0, 1]


def test_empty_relations_and_stored_zeros_say_nothing():
    stored = csr_array((np.array([1.0, 0.0, 1.0]), ([0, 0, 2], [0, 1, 0])), shape=(3, 2))
    matrix, rows = distinct_rows(stored)
    assert rows.tolist() == [0]
    assert matrix.toarray().tolist() == [[1, 0]]
    assert distinct_rows(csr_array((3, 2)))[0].shape == (0, 2)


def test_rows_keep_their_numbers_where_repeated_ones_are_emptied():
    given_ = np.array([[0, 0], [2, -1], [-4, 2], [1, 1]], dtype=float)
    found = without_repeated_rows(csr_array(given_))
    assert found.toarray().tolist() == [[0, 0], [2, -1], [0, 0], [1, 1]]


@given(st.integers(0, 10**6))
def test_what_is_kept_implies_all_and_no_two_of_it_are_parallel(seed):
    random = np.random.default_rng(seed)
    rows = random.integers(-2, 3, (6, 5)).astype(float)
    scale = random.choice([-3.0, -1.0, 1.0, 2.0], 8)
    matrix = scale[:, None] * rows[random.integers(0, 6, 8)]
    kept, numbers = distinct_rows(csr_array(matrix))
    np.testing.assert_array_equal(kept.toarray(), matrix[numbers])
    ranks = [np.linalg.matrix_rank(each) for each in (matrix, kept.toarray())]
    assert ranks[0] == ranks[1]
    for one in range(len(numbers)):
        for other in range(one):
            assert np.linalg.matrix_rank(kept.toarray()[[one, other]]) == 2
