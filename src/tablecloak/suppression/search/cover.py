"""Small programs: the cheapest deviation that moves a cell far enough, within part of a table.

To move a cell, something else in each of its relations must move as well, and so on until
every relation is balanced again; in a cross-classified table these cells are the corners of a box.
A neighbourhood grows by whole relations: first those of the cell, then those of all cells in them.
Its last ring is cut to the size asked for. It uses the relations only, not the codes of dimensions.
"""

from __future__ import annotations

import copy
import heapq
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats, Integers, median_of_positive
from tablecloak.budget import Budget
from tablecloak.suppression.attack.covering import CoverProgram
from tablecloak.suppression.system.figure_paths import FigurePaths
from tablecloak.suppression.system.paths import Paths
from tablecloak.suppression.system.system import System, entries_of

HIDDEN_COST = 1e-4
"""Cost of moving a suppressed cell, as a share of the median cost.

It is above 0 because a witness would otherwise move suppressed cells that it does not need, and
the clean-up would have to replace it when one of them is published.
"""

COST_NOISE = 0.7
"""Spread of the log-normal noise on costs that are drawn. docs/decisions, "Moves"."""

DEEP, FEW_LINKED = 4, 0.1
"""Fewest relations of a cell, leaving out a share of the cells, from which on neighbourhoods are
closed: a move in five dimensions touches 32 cells, up to five relations away. docs/decisions,
"Neighbourhoods"."""

COUNTED_EACH = 5
"""Most places for each number up to which numbers are counted in an array of all places, which
takes less time than to sort them. Measured for numbers of 1,000 to 10,000 cells."""


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

    @cached_property
    def is_deep(self) -> bool:
        """Whether most moves reach farther than the rings around a cell that a program can hold."""
        return bool(np.quantile(self.relations_of, FEW_LINKED) >= DEEP)

    def near(self, cell: int, size: int, hidden: Flags, within: Flags | None = None) -> Integers:
        """Return the part of the table in which a program moves a cell; parameters of `around`."""
        if self.is_deep:
            return self.closed(cell, size, np.where(hidden, -1.0, self.cost), within)
        return self.around(cell, size, hidden, within)

    def around(self, cell: int, size: int, hidden: Flags, within: Flags | None = None) -> Integers:
        """Return the cells near a cell, itself included, in increasing order.

        Parameters
        ----------
        cell : int
        size : int
            Most cells. Of the last ring those come first that lack the fewest relations, since they
            close boxes, then hidden and cheap ones.
        hidden : numpy.ndarray of bool, shape (n_unknown,)
            Cells that are suppressed already.
        within : numpy.ndarray of bool, shape (n_unknown,), optional
            Cells that may be returned; by default all.
        """
        inside: Integers = np.array([cell])
        n_rows, n_cells = self.by_row.shape
        while True:
            rows, _ = _counted(self.by_cell.indices[entries_of(self.by_cell, inside)], n_rows)
            near, count = _counted(self.by_row.indices[entries_of(self.by_row, rows)], n_cells)
            if within is not None:
                allowed = within[near]
                near, count = near[allowed], count[allowed]
            if len(near) <= len(inside):
                return inside.astype(np.int64)
            if len(near) > size:
                is_new = ~np.isin(near, inside, assume_unique=True)
                ring, lacking = near[is_new], self.relations_of[near[is_new]] - count[is_new]
                price = np.where(hidden[ring], -1.0, self.cost[ring])
                first = np.lexsort((price, lacking))[: max(size - len(inside), 0)]
                return np.sort(np.concatenate([inside, ring[first]])).astype(np.int64)
            inside = near

    def closed(self, cell: int, size: int, last: Floats, within: Flags | None = None) -> Integers:
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
        within : numpy.ndarray of bool, shape (n_unknown,), optional
            Cells that can move; by default all.

        Returns
        -------
        numpy.ndarray of int
            Cells, increasing, whose relations are all taken in.
        """
        missing, rank = self.relations_of.tolist(), last.tolist()
        is_taken = [False] * self.by_row.shape[0]
        can_move = [True] * len(rank) if within is None else within.tolist()
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
                    if not can_move[touched]:
                        continue
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


def _counted(numbers: Integers, end: int) -> tuple[Integers, Integers]:
    """Return distinct numbers below an end in increasing order, and how often each occurs.

    `numpy.unique` returns the same, but takes four times as long here because it uses a hash table.
    """
    if end < COUNTED_EACH * len(numbers):
        count = np.bincount(numbers, minlength=end)
        distinct = np.flatnonzero(count)
        return distinct, count[distinct]
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
    random : numpy.random.Generator, optional
        Draws the costs around the weights; by default they are the weights.
    """

    def __init__(
        self,
        system: System,
        weights: Floats,
        within: Flags | None,
        budget: Budget,
        random: np.random.Generator | None = None,
    ) -> None:
        self.system = system
        self.budget = budget
        self.weights = weights
        self.cost = weights / median_of_positive(weights) + HIDDEN_COST
        if random is not None:
            self.cost *= random.lognormal(0.0, COST_NOISE, len(weights))
        self.within = within
        self.forbidden = -1
        self.neighbourhoods = Neighbourhoods(system, self.cost)
        self.paths = Paths.of(system) or FigurePaths.of(system)
        self.kept: dict[bool, tuple[Integers, CoverProgram]] = {}

    def seen_by(self, system: System, budget: Budget) -> Builder:
        """Return a builder for somebody who knows other bounds of the same cells."""
        other = copy.copy(self)
        other.system, other.budget, other.kept = system, budget, {}
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
        self, cell: int, size: int | None, hidden: Flags, symmetric: bool
    ) -> tuple[Integers, CoverProgram]:
        """Return the cells of a program of a size, and the program.

        That of the whole table, for which the size is None, is built once.
        """
        if size is None:
            return self.whole(symmetric)
        cells = self.neighbourhoods.near(cell, size, hidden, self.within)
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
