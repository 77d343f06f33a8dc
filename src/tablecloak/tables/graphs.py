"""Graphs of relations: which nodes hang together, forests and shortest paths.

Older releases of `scipy.sparse.csgraph` take indices of 32 bits only, and sparse arrays keep the
64 bits that numpy counts with. Graphs are therefore made here, and searched nowhere else.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree

from tablecloak.arrays import AnyIntegers, Floats, Integers

__all__ = ["components", "components_of_columns", "shortest_paths", "spanning_forest"]


def components(one: Integers, other: Integers, n: int, *, strong: bool = False) -> Integers:
    """Return the number of the component of each of n nodes.

    Parameters
    ----------
    one, other : numpy.ndarray of int, shape (n_edges,)
        Ends of the edges.
    n : int
        Number of nodes.
    strong : bool, default=False
        Whether edges lead from `one` to `other` only, and a component is what reaches each other.

    Returns
    -------
    numpy.ndarray of int, shape (n,)
        Numbered from 0 without gaps.

    Examples
    --------
    >>> components([0, 3], [1, 1], 4).tolist()
    [0, 0, 1, 0]
    """
    graph = _graph(one, other, np.ones(len(one)), n)
    label = connected_components(graph, directed=strong, connection="strong")[1]
    return np.asarray(label, dtype=np.int64)


def components_of_columns(matrix: csr_array) -> Integers:
    """Return the number of the component of each column of a matrix: rows connect theirs.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, shape (n_rows, n_columns)
        What is stored connects, even if it is 0.

    Returns
    -------
    numpy.ndarray of int, shape (n_columns,)
        Numbered from 0 without gaps.

    Examples
    --------
    >>> components_of_columns(csr_array([[1, 0, 1, 0], [0, 0, 0, 2]])).tolist()
    [0, 2, 0, 1]
    """
    n_rows, n_columns = matrix.shape
    row = np.repeat(np.arange(n_rows), np.diff(matrix.indptr))
    label = components(row, matrix.indices + n_rows, n_rows + n_columns)[n_rows:]
    number: Integers = np.unique(label, return_inverse=True)[1].reshape(-1)
    return number


def spanning_forest(one: Integers, other: Integers, length: Floats, n: int) -> Integers:
    """Return the numbers of the edges of a shortest spanning forest.

    Parameters
    ----------
    one, other : numpy.ndarray of int, shape (n_edges,)
        Ends of the edges.
    length : numpy.ndarray, shape (n_edges,)
        Of edges that are equally long, the first is taken first.
    n : int
        Number of nodes.

    Examples
    --------
    >>> spanning_forest([0, 1, 0], [1, 2, 2], [1.0, 3.0, 2.0], 3).tolist()
    [0, 2]
    """
    one, other = np.asarray(one, dtype=np.int64), np.asarray(other, dtype=np.int64)
    order = np.argsort(length, kind="stable")
    low, high = np.minimum(one, other)[order], np.maximum(one, other)[order]
    # Of edges between the same nodes the shortest; a graph of scipy would add them up.
    _, first = np.unique(low * n + high, return_index=True)
    # An edge is known again by its length, so that each gets its own.
    number = (first + 1).astype(np.float64)
    tree = minimum_spanning_tree(_graph(low[first], high[first], number, n))
    edges: Integers = order[np.rint(tree.data).astype(np.int64) - 1]
    return edges


def shortest_paths(
    length: Floats, ends: AnyIntegers, starts: AnyIntegers, origin: int
) -> tuple[Floats, Integers]:
    """Return how far each node is from one, and the node before it on the way.

    Parameters
    ----------
    length, ends : numpy.ndarray, shape (n_edges,)
        Length of each edge, not negative and infinite where none leads; the node it leads to.
    starts : numpy.ndarray of int, shape (n + 1,)
        Edges `starts[i]` to `starts[i + 1] - 1` begin at node i.
    origin : int

    Returns
    -------
    distance : numpy.ndarray of float, shape (n,)
        Infinite where no path leads.
    before : numpy.ndarray of int, shape (n,)
        Negative where no path leads, and at the origin.

    Examples
    --------
    >>> distance, before = shortest_paths([5.0, 1.0, 2.0], [2, 1, 2], [0, 2, 3, 3], 0)
    >>> distance.tolist(), before.tolist()[1:]
    ([0.0, 1.0, 3.0], [0, 1])
    """
    n = len(starts) - 1
    parts = np.asarray(length), np.asarray(ends, dtype=np.int32), np.asarray(starts, dtype=np.int32)
    distance, before = dijkstra(
        csr_array(parts, shape=(n, n)), indices=origin, return_predecessors=True
    )
    return distance, before


def _graph(one: Integers, other: Integers, length: Floats, n: int) -> csr_array:
    ends = np.asarray(one, dtype=np.int32), np.asarray(other, dtype=np.int32)
    return csr_array((length, ends), shape=(n, n))
