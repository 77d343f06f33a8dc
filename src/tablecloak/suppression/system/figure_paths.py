"""Deviations of totals, with what must become of the derived figures of their cells.

A deviation of totals still protects if each figure whose digits it would contradict is hidden as
well. So whatever protects totals protects totals and figures: their weight is part of the price of
a total, and of the length of a path where the totals are a network.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.suppression.system.paths import Paths
from tablecloak.suppression.system.system import System

COARSE_BITS = 20
"""Binary digits to which the moves of a cycle are rounded, upwards: times a coefficient of a row of
a figure, which takes up to 31, they are exact."""


Terms = list[tuple[int, float]]
"""Totals with their coefficients."""


@dataclass(frozen=True, eq=False)
class _Figure:
    """A figure by its rows: s = terms + size u, and s + s' = width.

    u is the figure, -1 if it is published in every pattern, s its room and s' the rest.
    """

    figure: int
    room: int
    rest: int
    size: float
    terms: Terms
    width: Terms


class FiguresOfTotals:
    """The totals of a system, and what a deviation of these makes of their figures.

    Parameters
    ----------
    system : System
    totals : numpy.ndarray of int
        Cells that are neither figures nor rooms.
    part : System
        Of these, without the rows of figures.
    of_figure : numpy.ndarray of bool, shape (n_rows,)
        Rows of figures: that of the room, and that of both rooms.
    """

    def __init__(self, system: System, totals: Integers, part: System, of_figure: Flags) -> None:
        self.system, self.totals, self.part = system, totals, part
        self.is_total = np.zeros(system.n_unknown, dtype=bool)
        self.is_total[totals] = True
        self._of_cell: dict[int, list[_Figure]] = {}
        columns = system.matrix.indices
        row = np.repeat(np.arange(len(of_figure)), np.diff(system.matrix.indptr))
        is_room = system.rooms[columns]
        n_rooms = np.where(of_figure, np.bincount(row[is_room], minlength=len(of_figure)), 0)
        both = is_room & (n_rooms == 2)[row]
        self.row_of_both = np.full(system.n_unknown, -1)
        self.row_of_both[columns[both]] = row[both]
        one = is_room & (n_rooms == 1)[row]
        self.is_of_room = np.zeros(len(of_figure), dtype=bool)
        self.is_of_room[row[one]] = self.row_of_both[columns[one]] >= 0
        inside = self.is_of_room[row]
        figure = np.full(len(of_figure), -1)
        hideable = inside & ~is_room & ~self.is_total[columns]
        figure[row[hideable]] = columns[hideable]
        priced = inside & self.is_total[columns] & (figure >= 0)[row]
        self.cells = np.searchsorted(totals, columns[priced])
        self.figure_cells = figure[row[priced]]

    @classmethod
    def of(cls, system: System) -> FiguresOfTotals | None:
        """Return the totals of a system with figures; None if it has no figures."""
        if not system.has_rooms:
            return None
        matrix = system.matrix
        row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        of_figure = np.zeros(matrix.shape[0], dtype=bool)
        of_figure[row[system.rooms[matrix.indices]]] = True
        is_total = np.zeros(system.n_unknown, dtype=bool)
        is_total[matrix.indices[~of_figure[row]]] = True
        is_total[system.needs.cells] = True
        totals = np.flatnonzero(is_total)
        part = system.part(totals)
        kept = np.flatnonzero(~np.isin(part.rows, system.rows[of_figure]))
        plain = csr_array(part.matrix[kept, :])
        part = replace(part, matrix=plain, rows=part.rows[kept], factor=part.factor[kept])
        return cls(system, totals, part, of_figure)

    def seen_by(self, system: System) -> FiguresOfTotals:
        """Return the same for somebody who knows other bounds of the same cells."""
        other = copy.copy(self)
        low, high = system.low[self.totals], system.high[self.totals]
        other.system, other.part = system, replace(self.part, low=low, high=high)
        return other

    def prices(self, cost: Floats) -> Floats:
        """Return what each total costs together with its figures, given the cost of all cells."""
        price: Floats = cost[self.totals]
        np.add.at(price, self.cells, cost[self.figure_cells])
        return price

    def completed(
        self, cells: Integers, moves: Floats, cost: Floats, *, symmetric: bool
    ) -> tuple[Integers, Floats] | None:
        """Return a deviation of totals with what must become of their figures.

        Parameters
        ----------
        cells : numpy.ndarray of int
            Positions among the totals.
        moves : numpy.ndarray of float
        cost : numpy.ndarray of float, shape (n_unknown,)
            Infinite for a figure that may not be hidden.
        symmetric : bool
            Whether the mirror image must keep within the bounds as well.

        Returns
        -------
        cells, moves : numpy.ndarray, or None
            Positions in the system. None if some figure excludes the deviation.
        """
        whole = np.zeros(self.system.n_unknown)
        whole[self.totals[cells]] = _coarse(moves)
        touched = {
            figure.room: figure
            for number in self.totals[cells].tolist()
            for figure in self._figures_of(number)
        }
        if not all(self._completes(figure, whole, cost, symmetric) for figure in touched.values()):
            return None
        moved = np.flatnonzero(whole)
        return moved, whole[moved]

    def _figures_of(self, cell: int) -> list[_Figure]:
        """Return the figures of a total; few totals move, so that they are read when asked for."""
        if cell not in self._of_cell:
            by_cell = self.system.by_cell
            rows = by_cell.indices[by_cell.indptr[cell] : by_cell.indptr[cell + 1]]
            self._of_cell[cell] = [self._figure(int(row)) for row in rows[self.is_of_room[rows]]]
        return self._of_cell[cell]

    def _figure(self, number: int) -> _Figure:
        """Return the figure of a row with one room."""
        (room,), others = self._solved(number)
        rooms, width = self._solved(int(self.row_of_both[room]))
        hideable = {cell: size for cell, size in others if not self.is_total[cell]}
        figure, size = next(iter(hideable.items()), (-1, 0.0))
        terms = [(cell, size) for cell, size in others if self.is_total[cell]]
        rest = rooms[1] if rooms[0] == room else rooms[0]
        return _Figure(figure, room, rest, size, terms, width)

    def _solved(self, number: int) -> tuple[list[int], Terms]:
        """Return the rooms of a row, and what they are the sum of."""
        matrix, rooms = self.system.matrix, self.system.rooms
        part = slice(matrix.indptr[number], matrix.indptr[number + 1])
        row = list(zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True))
        inside = [(cell, size) for cell, size in row if rooms[cell]]
        by = inside[0][1]
        return [cell for cell, _ in inside], [(c, -size / by) for c, size in row if not rooms[c]]

    def _completes(self, figure: _Figure, moves: Floats, cost: Floats, symmetric: bool) -> bool:
        """Move the rooms of a figure, and the figure itself if they do not suffice."""
        move, wider = (
            float(sum(size * moves[cell] for cell, size in terms))
            for terms in (figure.terms, figure.width)
        )
        if not self._fits(figure, move, wider - move, symmetric):
            if figure.figure < 0 or not np.isfinite(cost[figure.figure]):
                return False
            room, rest = -self.system.low[figure.room], -self.system.low[figure.rest]
            width = room + rest
            left = width - abs(wider) if symmetric else width + wider
            if left <= 0:
                return False
            # A hidden figure may be anything: it goes where both rooms are alike, or, so that the
            # mirror image fits, where they stay the same shares of their width.
            aim = wider * room / width if symmetric else (width + wider) / 2 - room
            grid = 2.0 ** math.floor(math.log2(left / abs(16 * figure.size)))
            hidden = round((aim - move) / figure.size / grid) * grid
            moves[figure.figure] = hidden
            move += figure.size * hidden
        moves[figure.room], moves[figure.rest] = move, wider - move
        return self._fits(figure, move, wider - move, symmetric)

    def _fits(self, figure: _Figure, room: float, rest: float, symmetric: bool) -> bool:
        """Whether both rooms can move so, and the other way as well if need be."""
        low, high = self.system.low, self.system.high
        return all(
            low[cell] <= sign * move <= high[cell]
            for cell, move in ((figure.room, room), (figure.rest, rest))
            for sign in ((1, -1) if symmetric else (1,))
        )


def _coarse(moves: Floats) -> Floats:
    """Return the moves of a cycle with few digits, so that rows of figures hold exactly."""
    size = np.abs(moves)
    step = float(size.max(initial=0.0))
    if not step or not np.all(size == step):
        return moves
    grid = 2.0 ** (math.frexp(step)[1] - COARSE_BITS)
    rounded: Floats = np.sign(moves) * math.ceil(step / grid) * grid
    return rounded


@dataclass(frozen=True, eq=False)
class FigurePaths:
    """Finds cheapest cycles of totals, and what of their figures must be hidden with them."""

    beside: FiguresOfTotals
    network: Paths

    @classmethod
    def of(cls, system: System) -> FigurePaths | None:
        """Return the network of the totals of a system with figures; None if they are none."""
        beside = FiguresOfTotals.of(system)
        network = None if beside is None else Paths.of(beside.part)
        return None if beside is None or network is None else cls(beside, network)

    def seen_by(self, system: System) -> FigurePaths:
        """Return the network for somebody who knows other bounds of the same cells."""
        beside = self.beside.seen_by(system)
        return FigurePaths(beside, self.network.seen_by(beside.part))

    def cheapest(
        self, cell: int, target: float, cost: Floats, *, symmetric: bool
    ) -> tuple[Integers, Floats] | None:
        """Return the cheapest cycle that moves a cell; arguments as those of `Paths.cheapest`."""
        beside = self.beside
        place = int(np.searchsorted(beside.totals, cell))
        if place == len(beside.totals) or beside.totals[place] != cell:
            return None
        path = self.network.cheapest(place, target, beside.prices(cost), symmetric=symmetric)
        return None if path is None else beside.completed(*path, cost, symmetric=symmetric)
