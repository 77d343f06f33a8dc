"""Search trees and multipliers as the plain arrays of a certificate."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.certificates.claim import Claim, Released, UnknownClaimError, loss_claim
from tablecloak.certificates.tree import (
    ROOT,
    Multipliers,
    Node,
    bound_claim,
    proved,
    tree_arrays,
    tree_of,
)


def entries(multipliers: Multipliers) -> list[tuple[int, int, int, float]]:
    arrays = (multipliers.kind, multipliers.row, multipliers.cell, multipliers.data)
    return list(zip(*(array.tolist() for array in arrays), strict=True))


def test_multipliers_of_several_kinds_are_sorted_and_those_of_zero_left_out():
    found = Multipliers.of([(1, [5, 2], -1, [0.5, 0.0]), (0, 3, [9, 8], [1.0, 2.0])])
    assert entries(found) == [(0, 3, 8, 2.0), (0, 3, 9, 1.0), (1, 5, -1, 0.5)]


def test_no_multipliers_are_empty_arrays_of_the_right_types():
    found = Multipliers.of([])
    assert entries(found) == []
    assert (found.kind.dtype, found.data.dtype) == (np.int64, np.float64)


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 5), st.sampled_from([-1.0, 0.0, 2.5])),
        unique_by=lambda entry: entry[:2],
        max_size=8,
    )
)
def test_multipliers_are_the_same_in_whatever_order_they_come(given_):
    def joined(order):
        return entries(Multipliers.of([(kind, [row], -1, [data]) for kind, row, data in order]))

    assert joined(given_) == joined(reversed(given_)) == sorted(joined(given_))


def test_a_tree_without_splits_is_one_leaf_of_all_releases():
    arrays = tree_arrays([([ROOT], {0: Multipliers.of([(0, [4], -1, [2.0])])})])
    assert arrays["tree_starts"].tolist() == [0, 1]
    assert arrays["node_parent"].tolist() == [-1]
    assert arrays["node_proof"].tolist() == [0]
    assert arrays["proof_row"].tolist() == [4]
    assert arrays["proof_starts"].tolist() == [0, 1]


SPLIT = [ROOT, Node(0, 7, False, 0), Node(0, 7, True, 1)]


def test_inner_nodes_have_no_proof_and_leaves_that_share_one_store_it_once():
    own = Multipliers.of([(0, [1, 2], -1, [1.0, 3.0])])
    arrays = tree_arrays([(SPLIT, {0: own, 1: own, 2: own})])
    assert arrays["node_proof"].tolist() == [-1, 0, 0]
    assert arrays["proof_starts"].tolist() == [0, 2]


def test_leaves_without_multipliers_prove_what_costs_alone_prove():
    own = Multipliers.of([(0, [1], -1, [1.0])])
    arrays = tree_arrays([(SPLIT, {1: own})])
    assert arrays["node_proof"].tolist() == [-1, 0, 1]
    assert arrays["proof_starts"].tolist() == [0, 1, 1]


def test_nodes_of_several_trees_stand_one_after_the_other():
    arrays = tree_arrays([(SPLIT, {}), (SPLIT, {}), ([ROOT], {})])
    assert arrays["tree_starts"].tolist() == [0, 3, 6, 7]
    assert arrays["node_parent"].tolist() == [-1, 0, 0, -1, 3, 3, -1]
    assert arrays["node_is_lower"].tolist() == [False, False, True, False, False, True, False]


@dataclass
class Entry:
    """A node of a search tree over columns."""

    parent: int
    column: int
    is_lower: bool
    limit: float


@dataclass
class Searched:
    """A search tree over columns, with multipliers of some nodes."""

    nodes: list[Entry]
    multipliers: dict[int, np.ndarray] = field(default_factory=dict)


def test_a_tree_over_columns_becomes_one_over_cells():
    duals = np.array([0.0, 2.0])
    tree = Searched(
        [Entry(-1, -1, False, 0), Entry(0, 1, False, 0.0), Entry(0, 1, True, 1.0)],
        {0: np.array([9.0, 9.0]), 1: duals, 2: duals},
    )
    cells = [30, 40]
    nodes, leaves = tree_of(
        tree,
        lambda column, is_lower, limit: (cells[column], is_lower, int(limit)),
        lambda numbers: Multipliers.of([(0, np.arange(2), -1, numbers)]),
    )
    assert nodes == [ROOT, Node(0, 40, False, 0), Node(0, 40, True, 1)]
    # What an inner node proved is of no use, and what leaves share is translated once.
    assert set(leaves) == {1, 2}
    assert leaves[1] is leaves[2]
    assert entries(leaves[1]) == [(0, 1, -1, 2.0)]


@pytest.fixture(scope="module")
def rounded() -> tc.RoundedTable:
    return tc.controlled_rounding(tc.examples.cox_rounded(), base=25)


def parts_of(rounded) -> tuple[Claim, dict]:
    loss, bound = (
        next(claim for claim in rounded.certificates if claim.kind == kind)
        for kind in ("loss", "bound")
    )
    return loss, {name: array for name, array in bound.arrays.items() if name != "bound"}


def test_a_bound_is_claimed_only_as_far_as_it_is_proved(rounded):
    loss, arrays = parts_of(rounded)
    claim = bound_claim(loss, rounded.problem, 1e9, arrays)
    assert float(claim.arrays["bound"]) == pytest.approx(rounded.bound)
    assert float(claim.arrays["bound"]) <= rounded.loss
    claim.verify(rounded.problem)
    less = bound_claim(loss, rounded.problem, rounded.bound / 2, arrays)
    assert float(less.arrays["bound"]) == rounded.bound / 2


def test_multipliers_of_nothing_prove_that_every_rounding_costs_its_nearest_multiples(rounded):
    loss, _ = parts_of(rounded)
    values = rounded.problem.table.values
    rest = values % 25
    nearest = float((rounded.weights * np.minimum(rest, 25 - rest)).sum())
    nothing = tree_arrays([([ROOT], {})])
    assert proved(loss, rounded.problem, nothing) == pytest.approx(nearest)
    assert nearest <= rounded.bound * (1 + 1e-9)


def test_a_tree_that_leaves_something_out_proves_nothing_and_says_why(rounded):
    loss, _ = parts_of(rounded)
    half = tree_arrays([([ROOT, Node(0, 3, False, 0)], {})])
    assert proved(loss, rounded.problem, half) == 0.0
    with pytest.raises(tc.VerificationError, match="a split without two sides"):
        bound_claim(loss, rounded.problem, 1.0, half)


def test_multipliers_that_are_made_larger_prove_no_more_than_is_true(rounded):
    loss, arrays = parts_of(rounded)
    for factor in (0.0, 0.5, 2.0, 100.0):
        changed = {**arrays, "proof_data": factor * arrays["proof_data"]}
        if factor == 0:
            changed["proof_data"] = np.full_like(arrays["proof_data"], 1e-300)
        assert proved(loss, rounded.problem, changed) <= rounded.loss * (1 + 1e-9)


def test_a_bound_of_a_loss_that_nobody_can_check_is_stated_and_refused(rounded):
    known = rounded.certificates[0].released
    released = Released(known.kind, known.arrays)
    loss = loss_claim(released, "taste", rounded.weights, rounded.loss)
    nothing = tree_arrays([([ROOT], {})])
    claim = bound_claim(loss, rounded.problem, 5.0, nothing)
    assert float(claim.arrays["bound"]) == 5.0
    assert proved(loss, rounded.problem, nothing) == 0.0
    with pytest.raises(UnknownClaimError):
        claim.verify(rounded.problem)
