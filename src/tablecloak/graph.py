"""Graphs: components, forests and shortest paths of relations, and walks of trees of codes.

Older releases of `scipy.sparse.csgraph` take indices of 32 bits only, and sparse arrays keep the
64 bits that numpy counts with. Graphs are therefore made here, and searched nowhere else.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree

from tablecloak.arrays import AnyIntegers, Flags, Floats, Integers

Node = TypeVar("Node", bound=Hashable)


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


def components_of_cells(relations: csr_array, moving: Flags) -> Integers:
    """Return the number of the component of each cell that can move, and -1 for all others.

    Parameters
    ----------
    relations : scipy.sparse.csr_array, shape (n_relations, n_cells)
        They connect the moving cells of which they have a coefficient other than 0.
    moving : numpy.ndarray of bool, shape (n_cells,)

    Examples
    --------
    >>> relations = csr_array([[1, -1, -1, 0], [0, 0, 1, -1]])
    >>> components_of_cells(relations, np.array([True, True, False, True])).tolist()
    [0, 0, -1, 1]
    """
    between = csr_array(relations[:, np.flatnonzero(moving)])
    between.eliminate_zeros()
    component = np.full(len(moving), -1, dtype=np.int64)
    component[moving] = components_of_columns(between)
    return component


def joined_names(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return for each name the first, in the alphabet, of those that pairs join it with.

    Examples
    --------
    >>> joined_names([("b", "c"), ("d", "d"), ("c", "a")])
    {'b': 'a', 'c': 'a', 'd': 'd', 'a': 'a'}
    """
    edges = list(pairs)
    number = {name: i for i, name in enumerate(dict.fromkeys(n for pair in edges for n in pair))}
    ends = np.array([[number[n] for n in pair] for pair in edges], dtype=np.int64).reshape(-1, 2)
    label = components(ends[:, 0], ends[:, 1], len(number)).tolist()
    first: dict[int, str] = {}
    for name in sorted(number):
        first.setdefault(label[number[name]], name)
    return {name: first[label[i]] for name, i in number.items()}


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


def children_of(groups: Iterable[tuple[Node, Iterable[Node]]]) -> dict[Node, list[Node]]:
    """Return the nodes right below each parent: those of all its groups, one after another.

    Examples
    --------
    >>> children_of([("Total", ("N", "S")), ("N", ("a", "b")), ("Total", ("N", "West"))])
    {'Total': ['N', 'S', 'N', 'West'], 'N': ['a', 'b']}
    """
    children: dict[Node, list[Node]] = {}
    for parent, below in groups:
        children.setdefault(parent, []).extend(below)
    return children


def parents_of(groups: Iterable[tuple[Node, Iterable[Node]]]) -> dict[Node, Node]:
    """Return the node right above each node but the root: in several trees, that of the last."""
    return {child: parent for parent, below in groups for child in below}


def parents_first(
    roots: Iterable[Node], children: Mapping[Node, Sequence[Node]]
) -> Iterator[tuple[Node, int]]:
    """Walk trees: each node with its depth, before all that is below it, from the first child on.

    A node below two parents comes below each of them.

    Examples
    --------
    >>> list(parents_first(["Total"], {"Total": ["N", "S"], "N": ["a"]}))
    [('Total', 0), ('N', 1), ('a', 2), ('S', 1)]
    """
    waiting = [(node, 0) for node in reversed(list(roots))]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        # A stack: the last node pushed is visited first.
        waiting.extend((child, depth + 1) for child in reversed(children.get(node, ())))


def parts_first(root: Node, children: Mapping[Node, Sequence[Node]]) -> list[Node]:
    """Return the nodes of a tree, each once and behind all that is below it.

    Examples
    --------
    >>> parts_first("Total", {"Total": ["N", "S"], "N": ["a"]})
    ['a', 'N', 'S', 'Total']
    """
    finished: dict[Node, None] = {}
    waiting = [(root, False)]
    while waiting:
        node, is_left = waiting.pop()
        if is_left:
            finished.setdefault(node)
        elif node not in finished:
            waiting.append((node, True))
            waiting.extend((child, False) for child in reversed(children.get(node, ())))
    return list(finished)


def path_to_root(node: Node, parents: Mapping[Node, Node]) -> list[Node]:
    """Return a node, the one above it, and so on up to the one above which there is none.

    Examples
    --------
    >>> path_to_root("a", {"a": "N", "N": "Total", "S": "Total"})
    ['a', 'N', 'Total']
    """
    path = [node]
    while path[-1] in parents:
        path.append(parents[path[-1]])
    return path
