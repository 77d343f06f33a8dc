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
    figures : list of _Figure
    """

    def __init__(
        self, system: System, totals: Integers, part: System, figures: list[_Figure]
    ) -> None:
        self.system, self.totals, self.part = system, totals, part
        self.of_cell: dict[int, list[_Figure]] = {}
        pairs = [(cell, figure) for figure in figures for cell, _ in figure.terms]
        for cell, figure in pairs:
            self.of_cell.setdefault(cell, []).append(figure)
        hideable = [(cell, figure.figure) for cell, figure in pairs if figure.figure >= 0]
        cells, self.figure_cells = np.array(hideable, dtype=np.int64).reshape(-1, 2).T
        self.cells = np.searchsorted(totals, cells)

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
        return cls(system, totals, part, _figures_of(system, is_total, of_figure))

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
            for figure in self.of_cell.get(number, ())
        }
        if not all(self._completes(figure, whole, cost, symmetric) for figure in touched.values()):
            return None
        moved = np.flatnonzero(whole)
        return moved, whole[moved]

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


def _figures_of(system: System, is_total: Flags, of_figure: Flags) -> list[_Figure]:
    """Return the figures of a system from their rows: that of the room, and that of both rooms."""
    matrix, rooms = system.matrix, system.rooms
    first: dict[int, dict[int, float]] = {}
    rest: dict[int, tuple[int, Terms]] = {}
    for number in np.flatnonzero(of_figure).tolist():
        part = slice(matrix.indptr[number], matrix.indptr[number + 1])
        row = dict(zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True))
        inside = [cell for cell in row if rooms[cell]]
        # What the room, or both, are the sum of.
        others = {cell: -size / row[inside[0]] for cell, size in row.items() if not rooms[cell]}
        if len(inside) == 1:
            first[inside[0]] = others
        elif len(inside) == 2:
            width = list(others.items())
            rest |= {inside[0]: (inside[1], width), inside[1]: (inside[0], width)}
    figures = []
    for room, row in first.items():
        if room not in rest:
            continue
        terms = [(cell, size) for cell, size in row.items() if is_total[cell]]
        hideable = [cell for cell in row if not is_total[cell]]
        figure = hideable[0] if hideable else -1
        figures.append(
            _Figure(figure, room, rest[room][0], row.get(figure, 0.0), terms, rest[room][1])
        )
    return figures
