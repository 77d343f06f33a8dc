"""The tree that a search leaves as its proof."""

from __future__ import annotations

import numpy as np
import pytest

from programs import knapsack
from tablecloak.errors import VerificationError
from tablecloak.solve.branch import BranchTree
from tablecloak.solve.branch.tree import Node


def test_a_root_without_multipliers_proves_nothing():
    assert BranchTree([Node.root()]).verify(knapsack(0)) == -np.inf


def test_a_split_covers_all_whole_numbers():
    tree = BranchTree.of_root(np.zeros(6))
    assert tree.split(0, 3, 0.0, 0.0) == (1, 2)
    for node in (1, 2):
        tree.inherit(node)
    assert tree.verify(knapsack(0)) == pytest.approx(0.0, abs=1e-9)
    assert tree.box(knapsack(0), 2)[0][3] == 1.0
    assert tree.box(knapsack(0), 1)[1][3] == 0.0


@pytest.mark.parametrize(
    "second",
    [
        Node(0, 3, True, 2.0, 0.0, 1),
        Node(0, 4, True, 1.0, 0.0, 1),
        Node(0, 3, False, 1.0, 0.0, 1),
        None,
    ],
)
def test_leaves_that_leave_a_gap_are_refused(second):
    tree = BranchTree.of_root(np.zeros(6))
    tree.nodes.append(Node(0, 3, False, 0.0, 0.0, 1))
    if second is not None:
        tree.nodes.append(second)
    with pytest.raises(VerificationError, match="does not cover"):
        tree.verify(knapsack(0))


def test_a_split_of_a_column_that_is_not_whole_is_refused():
    tree = BranchTree.of_root(np.zeros(6))
    tree.split(0, 3, 0.0, 0.0)
    with pytest.raises(VerificationError, match="does not cover"):
        tree.verify(knapsack(0).relaxed())
