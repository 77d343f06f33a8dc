"""A small part of a large table in which one cell can probably be protected.

To move a cell, something else in each of its relations must move as well, and so on until
every relation is balanced again; in a cross-classified table these cells are the corners of a box.
A neighbourhood grows from the relations of the cell: first a few cheap cells in each of them, then
in round r all cells that lie in r touched relations, or in all of theirs but `slack`. It uses the
relations only, not the codes of dimensions.
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.suppression.system.system import System, entries_of

__all__ = ["Neighbourhoods"]

ROUNDS = 11
"""Most rounds in which a neighbourhood grows. A box in d dimensions is complete after d rounds."""

LARGEST = 2500
"""Cells beyond which a neighbourhood does not grow by default. Chosen by trial; not measured."""


class Neighbourhoods:
    """Finds neighbourhoods in one system.

    Parameters
    ----------
    system : System
    cost : numpy.ndarray of float, shape (n_unknown,)
        Cells that cost less are taken first.
    """

    def __init__(self, system: System, cost: Floats) -> None:
        self.by_row = system.matrix
        self.by_cell = system.by_cell
        self.relations_of = np.diff(self.by_cell.indptr)
        self.cost = cost

    def around(
        self, cell: int, width: int, hidden: Flags, slack: int = 0, largest: int = LARGEST
    ) -> Integers:
        """Return the cells near a cell, itself included, in increasing order.

        Parameters
        ----------
        cell : int
        width : int
            Number of cells to take at first from each of its relations: about the number of
            codes on each dimension of a box.
        hidden : numpy.ndarray of bool, shape (n_unknown,)
            Cells that are suppressed already; they cost nothing and come first.
        slack : int, default=0
            Number of relations of a cell that may lie outside the neighbourhood. 0 suits
            cross-classified tables; with deep hierarchies a box needs more to be closed.
        largest : int, default=2500
            Cells beyond which it does not grow.
        """
        rows = self.by_cell.indices[entries_of(self.by_cell, np.array([cell]))]
        chosen = [np.array([cell])]
        for row in rows:
            cells = self.by_row.indices[self.by_row.indptr[row] : self.by_row.indptr[row + 1]]
            price = np.where(hidden[cells], -1.0, self.cost[cells])
            chosen.append(cells[np.argsort(price, kind="stable")[:width]])
        inside, _ = _counted(np.concatenate(chosen))
        for depth in range(2, ROUNDS + 1):
            rows, _ = _counted(self.by_cell.indices[entries_of(self.by_cell, inside)])
            touched = self.by_row.indices[entries_of(self.by_row, rows)]
            cells, count = _counted(touched)
            needed = np.minimum(depth, self.relations_of[cells] - slack)
            near = cells[count >= np.maximum(needed, 1)]
            grown, _ = _counted(np.concatenate([inside, near]))
            if len(grown) == len(inside) or len(grown) > largest:
                break
            inside = grown
        return inside.astype(np.int64)


def _counted(numbers: Integers) -> tuple[Integers, Integers]:
    """Return distinct numbers in increasing order, and how often each occurs.

    `numpy.unique` returns the same, but takes four times as long here because it uses a hash table.
    """
    ordered = np.sort(numbers)
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[starts], np.diff(np.append(starts, len(ordered)))
