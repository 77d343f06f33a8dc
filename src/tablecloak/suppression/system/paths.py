"""Protection along shortest paths, where the table is a network.

In a two-dimensional table, also with one hierarchy, every cell lies in two relations with
opposite signs, once redundant relations are left out and some are multiplied by -1. Relations are
then nodes, cells are arcs, and a deviation that keeps all relations is a circulation. A cell moves
if a path leads back from one end of its arc to the other. The shortest such path gives the cheapest
single cycle, with every cell at its full weight; a linear program counts weights per unit moved.

References
----------
.. [1] Cox: Network models for complementary cell suppression, Journal of the American
   Statistical Association 90 (1995).
.. [2] Castro: Network flows heuristics for complementary cell suppression: an empirical
   evaluation and extensions, LNCS 2316 (2002) (shortest paths).
"""

from __future__ import annotations

import copy

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.graph import components, shortest_paths
from tablecloak.suppression.system.system import System, entries_of


class Paths:
    """Finds cheapest cycles of a network.

    Parameters
    ----------
    system : System
    tail, head : numpy.ndarray of int, shape (n_unknown,)
        Node at which the arc of a cell begins, and node at which it ends, in the direction in which
        the cell grows. Both are -1 for a cell without relations. The last node stands for no
        relation: arcs of cells with a single relation begin or end there.
    n_nodes : int
    """

    def __init__(self, system: System, tail: Integers, head: Integers, n_nodes: int) -> None:
        self.tail, self.head = tail, head
        cells = np.flatnonzero(tail >= 0)
        source = np.concatenate([tail[cells], head[cells]])
        target = np.concatenate([head[cells], tail[cells]])
        order = np.lexsort((target, source))
        # Every cell is two arcs: one along which it grows, one along which it falls.
        self.cells = np.concatenate([cells, cells])[order]
        self.sign = np.repeat([1.0, -1.0], len(cells))[order]
        self.keys = source[order] * n_nodes + target[order]
        starts = np.searchsorted(source[order], np.arange(n_nodes + 1))
        self.n_nodes = n_nodes
        self.indices, self.starts = target[order].astype(np.int32), starts.astype(np.int32)
        self._set_room(system)

    def _set_room(self, system: System) -> None:
        self.system = system
        self.room = np.where(self.sign > 0, system.high[self.cells], -system.low[self.cells])
        self.both = np.minimum(system.high, -system.low)[self.cells]

    def seen_by(self, system: System) -> Paths:
        """Return the network for somebody who knows other bounds of the same cells."""
        other = copy.copy(self)
        other._set_room(system)
        return other

    @classmethod
    def of(cls, system: System) -> Paths | None:
        """Return the network of a system; None if it is not recognised as one."""
        by_cell = csr_array(system.by_cell)
        if not np.all(np.abs(by_cell.data) == 1):
            return None
        length = np.diff(by_cell.indptr)
        if np.max(length, initial=0) > 2:
            # Relations over a parent of a hierarchy follow from those over its children.
            fewest = np.full(by_cell.shape[1], np.iinfo(np.int64).max)
            np.minimum.at(fewest, by_cell.indices, np.repeat(length, length))
            by_cell = csr_array(by_cell[:, np.flatnonzero(fewest <= 2)])
            length, before = np.diff(by_cell.indptr), length
            if np.max(length, initial=0) > 2 or np.any((length == 0) & (before > 0)):
                return None
        n_rows = by_cell.shape[1]
        first = by_cell.indptr[:-1]
        twice = np.flatnonzero(length == 2)
        one, other = by_cell.indices[first[twice]], by_cell.indices[first[twice] + 1]
        same = by_cell.data[first[twice]] == by_cell.data[first[twice] + 1]
        # Each relation has two nodes, for signs 1 and -1; each cell links the pairs that fit.
        label = components(
            np.concatenate([one, one + n_rows]),
            np.concatenate(
                [np.where(same, other + n_rows, other), np.where(same, other, other + n_rows)]
            ),
            2 * n_rows,
        ).reshape(2, n_rows)
        if np.any(label[0] == label[1]):
            return None
        factor = np.where(label[0] < label[1], 1.0, -1.0)
        tail = np.full(system.n_unknown, -1, dtype=np.int64)
        head = tail.copy()
        some = np.flatnonzero(length)
        row = by_cell.indices[first[some]].astype(np.int64)
        end = np.full(len(some), n_rows, dtype=np.int64)
        end[length[some] == 2] = other
        gives = by_cell.data[first[some]] * factor[row] > 0
        tail[some], head[some] = np.where(gives, end, row), np.where(gives, row, end)
        return cls(system, tail, head, n_rows + 1)

    def cheapest(
        self, cell: int, target: float, cost: Floats, *, symmetric: bool
    ) -> tuple[Integers, Floats] | None:
        """Return the cheapest cycle that moves a cell to a target: its cells and their moves.

        Parameters
        ----------
        cell : int
        target : float
        cost : numpy.ndarray of float, shape (n_unknown,)
            Positive cost of each cell; infinite if the cell may not move.
        symmetric : bool
            Whether the mirror image must keep within the bounds as well.

        Returns
        -------
        cells, moves : numpy.ndarray, or None
            None if no single cycle moves the cell that far.
        """
        if self.tail[cell] < 0:
            return None
        wanted, sign = abs(target), np.sign(target)
        own = self.system.high[cell] if sign > 0 else -self.system.low[cell]
        if symmetric:
            own = min(self.system.high[cell], -self.system.low[cell])
        if own < wanted:
            return None
        room = self.both if symmetric else self.room
        price = np.where(room >= wanted, cost[self.cells], np.inf)
        price[self.cells == cell] = np.inf
        start, stop = int(self.head[cell]), int(self.tail[cell])
        if sign < 0:
            start, stop = stop, start
        distance, before = shortest_paths(price, self.indices, self.starts, start)
        if not np.isfinite(distance[stop]):
            return None
        arcs = []
        while stop != start:
            source = int(before[stop])
            key = source * self.n_nodes + stop
            low, high = np.searchsorted(self.keys, [key, key + 1])
            arcs.append(int(low + np.argmin(price[low:high])))
            stop = source
        cells = np.append(self.cells[arcs], cell)
        moves = np.append(self.sign[arcs], sign) * wanted
        order = np.argsort(cells)
        cells, moves = cells[order], moves[order]
        return (cells, moves) if self._adds_up(cells, moves) else None

    def _adds_up(self, cells: Integers, moves: Floats) -> bool:
        """Whether the relations that were left out of the network hold as well."""
        by_cell = self.system.by_cell
        taken = entries_of(by_cell, cells)
        each = np.repeat(moves, np.diff(by_cell.indptr)[cells])
        residual = np.bincount(by_cell.indices[taken], weights=by_cell.data[taken] * each)
        return float(np.max(np.abs(residual), initial=0.0)) <= 1e-9 * float(np.max(np.abs(moves)))
