"""Small programs: the cheapest deviation that moves a cell far enough, within part of a table.

To move a cell, something else in each of its relations must move as well, and so on until
every relation is balanced again; in a cross-classified table these cells are the corners of a box.
A neighbourhood grows from the relations of the cell: first a few cheap cells in each of them, then
in round r all cells that lie in r touched relations, or in all of theirs but `slack`. It uses the
relations only, not the codes of dimensions.
"""

from __future__ import annotations

import copy
import heapq
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.suppression.attack.covering import CoverProgram
from tablecloak.suppression.search.strategy import Area
from tablecloak.suppression.system.figure_paths import FigurePaths
from tablecloak.suppression.system.paths import Paths
from tablecloak.suppression.system.system import System, entries_of

ROUNDS = 11
"""Most rounds in which a neighbourhood grows. A box in d dimensions is complete after d rounds."""

LARGEST = 2500
"""Cells beyond which a neighbourhood does not grow by default. Chosen by trial; not measured."""

HIDDEN_COST = 1e-4
"""Cost of moving a suppressed cell, as a share of the median cost.

It is above 0 because a witness would otherwise move suppressed cells that it does not need, and
the clean-up would have to replace it when one of them is published.
"""


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

    def closed(self, cell: int, size: int, last: Floats) -> Integers:
        """Return a connected part of the table in which cells can move while all others stand.

        Relations are taken in one after the other: next come those that the cell with the fewest
        missing relations lacks. So whole blocks of a table grow, with the totals between them.

        Parameters
        ----------
        cell : int
            The part grows from it.
        size : int
            Number of cells beyond which the part does not grow.
        last : numpy.ndarray of float, shape (n_unknown,)
            Of cells that lack the same number of relations, those of lower rank come first.

        Returns
        -------
        numpy.ndarray of int
            Cells, increasing, whose relations are all taken in.
        """
        missing, rank = self.relations_of.tolist(), last.tolist()
        is_taken = [False] * self.by_row.shape[0]
        queue = [(0, 0.0, cell)]
        inside: list[int] = []
        while queue and len(inside) < size:
            known, _, chosen = heapq.heappop(queue)
            # An entry that was made before relations of its cell were taken in is out of date.
            if known != missing[chosen] and inside:
                continue
            for row in self._rows_of[chosen]:
                if is_taken[row]:
                    continue
                is_taken[row] = True
                for touched in self._cells_of[row]:
                    left = missing[touched] = missing[touched] - 1
                    if left:
                        heapq.heappush(queue, (left, rank[touched], touched))
                    else:
                        inside.append(touched)
        return np.sort(np.array(inside or [cell], dtype=np.int64))

    @cached_property
    def _rows_of(self) -> list[list[int]]:
        return _as_lists(self.by_cell)

    @cached_property
    def _cells_of(self) -> list[list[int]]:
        return _as_lists(self.by_row)


def _as_lists(matrix: csr_array) -> list[list[int]]:
    """Return the columns of each row; short lists are walked faster than short arrays."""
    ends, columns = matrix.indptr.tolist(), matrix.indices.tolist()
    return [columns[start:end] for start, end in pairwise(ends)]


def _counted(numbers: Integers) -> tuple[Integers, Integers]:
    """Return distinct numbers in increasing order, and how often each occurs.

    `numpy.unique` returns the same, but takes four times as long here because it uses a hash table.
    """
    ordered = np.sort(numbers)
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[starts], np.diff(np.append(starts, len(ordered)))


class Builder:
    """Makes the small programs.

    Parameters
    ----------
    system : System
    weights : numpy.ndarray of float, shape (n_unknown,)
    within : numpy.ndarray of bool, shape (n_unknown,), optional
        Cells that may move; by default all.
    budget : Budget
        Programs are given up when it ends.
    """

    def __init__(
        self, system: System, weights: Floats, within: Flags | None, budget: Budget
    ) -> None:
        self.system = system
        self.budget = budget
        positive = weights[weights > 0]
        middle = float(np.median(positive)) if len(positive) else 1.0
        self.weights = weights
        self.cost = weights / middle + HIDDEN_COST
        self.within = within
        self.forbidden = -1
        self.near = Neighbourhoods(system, self.cost)
        self.paths = Paths.of(system) or FigurePaths.of(system)
        self.kept: dict[bool, tuple[Integers, CoverProgram]] = {}

    def seen_by(self, system: System) -> Builder:
        """Return a builder for somebody who knows other bounds of the same cells."""
        other = copy.copy(self)
        other.system, other.kept = system, {}
        other.paths = None if self.paths is None else self.paths.seen_by(system)
        return other

    def path(
        self, cell: int, target: float, hidden: Flags, symmetric: bool
    ) -> tuple[Integers, Floats] | None:
        """Return the cheapest cycle through a cell, if the table is a network and has one."""
        if self.paths is None:
            return None
        cost = np.where(hidden, HIDDEN_COST, self.cost)
        if self.within is not None:
            cost[~self.within] = np.inf
        if self.forbidden >= 0:
            cost[self.forbidden] = np.inf
        return self.paths.cheapest(cell, target, cost, symmetric=symmetric)

    def program(
        self, cell: int, area: Area, hidden: Flags, symmetric: bool
    ) -> tuple[Integers, CoverProgram]:
        """Return the cells of a program, and the program. That of the whole table is built once."""
        if area is None:
            return self.whole(symmetric)
        cells = self.near.around(cell, area[0], hidden, *area[1:])
        if self.within is not None:
            cells = cells[self.within[cells]]
        cells = cells[cells != self.forbidden]
        return cells, CoverProgram(self.system.part(cells), symmetric, self.budget)

    def whole(self, symmetric: bool) -> tuple[Integers, CoverProgram]:
        """Return all cells that may be used, and the program over them."""
        if symmetric not in self.kept:
            cells = np.arange(self.system.n_unknown)
            if self.within is not None:
                cells = cells[self.within]
            self.kept[symmetric] = (
                cells,
                CoverProgram(self.system.part(cells), symmetric, self.budget),
            )
        return self.kept[symmetric]


def scaled(cost: Floats, hidden: Flags) -> Floats:
    """Return costs as multiples of the median, cut to a range that a solver can resolve."""
    free = cost[~hidden & np.isfinite(cost)]
    middle = float(np.median(free)) if len(free) else 1.0
    scaled: Floats = np.where(hidden, HIDDEN_COST, np.clip(cost / middle, HIDDEN_COST, 1e4))
    return scaled
