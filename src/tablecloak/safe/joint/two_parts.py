"""Small groups that follow from two outputs: cuts of the graph of what they share.

The groups of either output are nodes; a class of records is an edge between its two groups, as
heavy as it has contributors. A combination of figures gives every node a potential and every edge
the difference of its two, 0 or 1. So a group of records that follows is a cut of the graph, and
nodes between which every cut is heavy have the same potential.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.linalg import null_space
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from tablecloak.safe.joint.small_groups import Classes, search

__all__ = ["small_groups_of_two", "tied"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

EDGES_PER_NODE = 12
"""Heaviest edges that are looked at for each node, when nodes are tied. Fewer edges tie less, but
never too much."""


def tied(one: Ints, other: Ints, weight: Ints, n: int, least: int, *, may_add: bool) -> Ints:
    """Tie nodes that no cut lighter than `least` separates, and return the component of each.

    Parameters
    ----------
    one, other : (e,) array of int
        Nodes of each edge.
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
        a, b = component[one], component[other]
        crosses = a != b
        if not crosses.any():
            return component
        low, high = np.minimum(a, b)[crosses], np.maximum(a, b)[crosses]
        if may_add:
            shape = (int(component.max()) + 1,) * 2
            graph = csr_array((weight[crosses], (low, high)), shape=shape)
            graph.sum_duplicates()
            ends, heavy = graph.tocoo(), graph.data
            low, high = ends.row, ends.col
        else:
            heavy = weight[crosses]
        joins = heavy >= least
        if may_add and not joins.any():
            joins = _joined_by_forests(low, high, heavy, least)
        if not joins.any():
            return component
        n_nodes = int(component.max()) + 1
        ties = csr_array((np.ones(joins.sum()), (low[joins], high[joins])), shape=(n_nodes,) * 2)
        component = connected_components(ties, directed=False)[1][component].astype(np.int64)


def _joined_by_forests(low: Ints, high: Ints, weight: Ints, least: int) -> npt.NDArray[np.bool_]:
    """Return which edges remain after the forests are taken out."""
    nodes, renamed = np.unique(np.concatenate([low, high]), return_inverse=True)
    one, other = np.split(renamed.reshape(-1), 2)
    most = EDGES_PER_NODE * len(nodes)
    chosen = np.argsort(-weight, kind="stable")[:most]
    left = weight[chosen].astype(float)
    shape = (len(nodes),) * 2
    place = csr_array((np.arange(1, len(chosen) + 1), (one[chosen], other[chosen])), shape=shape)
    for _ in range(least - 1):
        remains = left > 0
        if not remains.any():
            break
        # Heavy edges are taken last: the light ones are used up, and the heavy ones remain.
        graph = csr_array(
            (left[remains], (one[chosen][remains], other[chosen][remains])), shape=shape
        )
        tree = minimum_spanning_tree(graph).tocoo()
        left[place[tree.row, tree.col] - 1] -= 1
    joins = np.zeros(len(weight), dtype=bool)
    joins[chosen] = left > 0
    return joins


def small_groups_of_two(
    groups: tuple[Ints, Ints],
    never_told: tuple[Floats, Floats],
    classes: Classes,
    threshold: int,
    is_known: Callable[[Ints], bool],
    seconds: float,
) -> tuple[list[Ints], bool]:
    """Return groups of classes with too few contributors that follow from two sets of figures.

    Parameters
    ----------
    groups : two (c,) arrays of int
        Group of each class in either output; -1 for none. For a single output, -1 throughout in
        the second.
    never_told : two arrays
        `Part.never_told` of either.
    classes : Classes
        `figures` is not used.
    threshold, is_known, seconds
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
    renamed = np.unique(component, return_inverse=True)[1].reshape(-1)
    potential = csr_array((np.ones(n), (np.arange(n), renamed)), shape=(n, int(renamed.max()) + 1))
    outside = renamed[0]
    inside = np.delete(np.arange(potential.shape[1]), outside)
    potential = potential[:, inside]
    rows = slice(1, 1 + n_rows), slice(1 + n_rows, n)
    untold = np.vstack([never_told[k].T @ potential[rows[k]] for k in (0, 1)])
    free = null_space(untold) if len(untold) else np.eye(len(inside))
    moved = potential[one[small]] @ free - potential[other[small]] @ free
    return search(classes, small, moved, threshold, is_known, seconds)
