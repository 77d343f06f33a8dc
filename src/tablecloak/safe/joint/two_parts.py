"""Small groups that follow from two outputs: cuts of the graph of what they share.

The groups of either output are nodes; a class of records is an edge between its two groups, as
heavy as it has contributors. A combination of figures gives every node a potential and every edge
the difference of its two, 0 or 1. So a group of records that follows is a cut of the graph, and
nodes between which every cut is heavy have the same potential.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array, vstack

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.graph import components, spanning_forest
from tablecloak.safe.joint.small_groups import Classes, search

__all__ = ["small_groups_of_two", "tied"]

EDGES_PER_NODE = 12
"""Heaviest edges that are looked at for each node, when nodes are tied. Fewer edges tie less, but
never too much."""

REACH = 1000.0
"""Largest potential. Those of a smallest cut are 0 and 1 where every group has a figure."""


def tied(
    one: Integers, other: Integers, weight: Integers, n: int, least: int, *, may_add: bool
) -> Integers:
    """Tie nodes that no cut lighter than `least` separates, and return the component of each.

    Parameters
    ----------
    one, other : (e,) array of int
        Nodes of each edge; its potential may only fall from the one to the other.
    weight : (e,) array of int
    n : int
        Number of nodes.
    least : int
    may_add : bool
        Whether weights of edges add up: not where a contributor may be in several.

    Notes
    -----
    After least - 1 spanning forests were taken out of a graph, each from what the former left, the
    two ends of an edge that remains are joined by a path in each of them and by the edge itself:
    Nagamochi and Ibaraki (1992), Algorithmica 7, 583-596.
    """
    component = np.arange(n)
    while True:
        start, end = component[one], component[other]
        crosses = start != end
        if not crosses.any():
            return component
        n_left = int(component.max()) + 1
        start, end, heavy = start[crosses], end[crosses], weight[crosses]
        # No potential falls along an edge by less than 0, so that all of a cycle have the same.
        joined = components(start, end, n_left, strong=True)
        if may_add:
            both = csr_array(
                (heavy, (np.minimum(start, end), np.maximum(start, end))), shape=(n_left, n_left)
            )
            both.sum_duplicates()
            ends = both.tocoo()
            start, end, heavy = ends.row, ends.col, ends.data
        ties = heavy >= least
        if may_add and not ties.any() and joined.max() + 1 == n_left:
            ties = _joined_by_forests(start, end, heavy, least)
        if not ties.any() and joined.max() + 1 == n_left:
            return component
        found = components(joined[start[ties]], joined[end[ties]], n_left)
        component = np.unique(found[joined][component], return_inverse=True)[1].reshape(-1)


def _joined_by_forests(low: Integers, high: Integers, weight: Integers, least: int) -> Flags:
    """Return which edges remain after the forests are taken out."""
    nodes, renamed = np.unique(np.concatenate([low, high]), return_inverse=True)
    one, other = np.split(renamed.reshape(-1), 2)
    most = EDGES_PER_NODE * len(nodes)
    chosen = np.argsort(-weight, kind="stable")[:most]
    left = weight[chosen].astype(float)
    one, other = one[chosen], other[chosen]
    for _ in range(least - 1):
        remains = np.flatnonzero(left > 0)
        if not len(remains):
            break
        # Heavy edges are taken last: the light ones are used up, and the heavy ones remain.
        forest = spanning_forest(one[remains], other[remains], left[remains], len(nodes))
        left[remains[forest]] -= 1
    joins = np.zeros(len(weight), dtype=bool)
    joins[chosen] = left > 0
    return joins


def small_groups_of_two(
    groups: tuple[Integers, Integers],
    never_told: tuple[Floats, Floats],
    classes: Classes,
    threshold: int,
    is_known: Callable[[Integers], bool],
    budget: Budget,
) -> tuple[list[Integers], bool]:
    """Return groups of classes with too few contributors that follow from two sets of figures.

    Parameters
    ----------
    groups : two (c,) arrays of int
        Group of each class in either output; -1 for none. For a single output, -1 throughout in
        the second.
    never_told : two arrays
        `Part.never_told` of either.
    classes : Classes
    threshold, is_known, budget
        As in `small_groups.small_groups`, which has the same answer.
    """
    n_rows, n_columns = len(never_told[0]), len(never_told[1])
    # Node 0 is all that is outside of an output: nobody knows a figure of it.
    one = np.where(groups[0] < 0, 0, groups[0] + 1)
    other = np.where(groups[1] < 0, 0, groups[1] + 1 + n_rows)
    n = 1 + n_rows + n_columns
    may_add = classes.members is None
    component = tied(one, other, classes.contributors, n, threshold, may_add=may_add)
    crosses = component[one] != component[other]
    small = np.flatnonzero(crosses & (classes.contributors < threshold))
    if not small.size:
        return [], True
    # One potential for each component, 0 for that of node 0; together they must be told.
    potential = csr_array((np.ones(n), (np.arange(n), component)), shape=(n, component.max() + 1))
    inside = np.delete(np.arange(potential.shape[1]), component[0])
    potential = csr_array(potential[:, inside])
    rows = slice(1, 1 + n_rows), slice(1 + n_rows, n)
    untold = vstack([csr_array(never_told[k].T) @ potential[rows[k]] for k in (0, 1)])
    given = csr_array(potential[one[small]] - potential[other[small]])
    return search(classes, small, given, csr_array(untold), REACH, threshold, is_known, budget)
