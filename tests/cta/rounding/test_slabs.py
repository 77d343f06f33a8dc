"""Slabs of a table, and what moves with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import tablecloak as tc
from cubes import NESTED, cube
from hand_tables import one_row
from tablecloak.cta.rounding.slabs import Slabs


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize("trees", [(3, 4, 2), NESTED, (2, 2, 3, 2)])
def test_any_two_way_table_can_be_added_to_a_slab_and_taken_from_another(trees, zeros):
    table = cube(trees, seed=3, zeros=zeros).table
    slabs = Slabs.of(table)
    random = np.random.default_rng(0)
    moved = 0
    for at, dimension in enumerate(slabs.dimensions):
        for leaf in range(len(dimension.leaves)):
            for back in (None, (leaf + 1) % len(dimension.leaves)):
                shift = slabs.shift(at, leaf, back)
                if shift is None:
                    continue
                # Any z that satisfies the relations of the slab: from its null space.
                _, size, rows = np.linalg.svd(shift.relations.toarray())
                null = rows[int(np.sum(size > 1e-9)) :]
                z = random.normal(size=len(null)) @ null
                change = np.zeros(table.n_cells)
                for cells, sign in zip(shift.cells, shift.sign, strict=True):
                    change[cells] += sign * z
                assert np.abs(table.relations @ change).max() < 1e-9
                moved += bool(np.abs(change).max(initial=0) > 1e-6)
    assert moved


def test_a_slab_of_a_pair_leaves_the_slabs_above_both_alone():
    slabs = Slabs.of(cube((3, 4, 2), seed=1).table)
    assert [len(slabs.shift(0, 0).cells), len(slabs.shift(0, 0, 1).cells)] == [2, 2]
    assert slabs.shift(0, 0).sign == (1, 1)
    assert sorted(slabs.shift(0, 0, 1).sign) == [-1, 1]


def test_sums_of_the_most_detailed_cells_are_the_table():
    table = cube(NESTED, seed=2, zeros=0.3).table
    slabs = Slabs.of(table)
    noise = np.where(slabs.is_leaf, 0, 99)
    values = table.values.astype(np.int64)
    assert np.array_equal(slabs.added_up(values + noise), values)
    assert slabs.adds_up(values)
    assert not slabs.adds_up(values + noise)


def test_relations_in_tenths_hold_like_those_in_whole_numbers():
    """Sums of tenths of large values are no zeros in doubles, although nothing is missing."""
    table = cube(NESTED, seed=2).table
    large = table.values * 123_456_789
    tenths = replace(table, values=large, relations=csr_array(0.1 * table.relations))
    slabs = Slabs.of(tenths)
    values = large.astype(np.int64)
    assert np.any(tenths.relations @ values)
    assert slabs.adds_up(values)
    assert np.array_equal(abs(slabs.relations).data, np.ones(table.relations.nnz))


def test_tables_that_are_not_sums_of_crossed_codes_have_no_slabs():
    assert Slabs.of(cube((3, 4), seed=1).table) is None
    assert Slabs.of(one_row([1, 2, 3], {}).table) is None
    # Without its most detailed cells a table is not their sum.
    whole = cube((2, 2, 2), seed=1).table
    kept = (whole.keys == "Total").any(axis=1).to_numpy()
    frame = pd.DataFrame(whole.keys[kept]).assign(n=whole.values[kept])
    margins = tc.Table.from_frame(frame, dict(whole.hierarchies), "n")
    assert Slabs.of(margins) is None


def test_leaves_of_one_family_are_neighbours_in_every_order():
    slabs = Slabs.of(cube(NESTED, seed=1).table)
    first = slabs.dimensions[0]
    assert len(np.unique(first.family)) == 2
    for seed in range(5):
        order = first.neighbours(np.random.default_rng(seed))
        assert sorted(order) == list(range(5))
        assert np.count_nonzero(np.diff(first.family[order])) == 1
    assert len(np.unique(slabs.dimensions[2].family)) == 1


def test_a_table_with_a_relation_that_other_tables_break_has_no_slabs():
    """Two leaves with the same value by chance are declared equal."""
    table = cube((3, 3, 2), seed=1).table
    leaves = np.flatnonzero(~(table.keys == "Total").any(axis=1).to_numpy())
    value = table.values[leaves]
    first = int(np.flatnonzero(np.isin(value, value[1:][value[1:] == value[0]]))[0])
    second = int(np.flatnonzero(value == value[first])[1])
    row = np.zeros((1, table.n_cells))
    row[0, leaves[[first, second]]] = 1, -1
    relations = csr_array(np.vstack([table.relations.toarray(), row]))
    linked = replace(table, relations=relations, right_hand_side=np.zeros(relations.shape[0]))
    assert Slabs.of(table) is not None
    assert Slabs.of(linked) is None
