"""Shortest paths through a network of totals, with the derived figures of its cells.

Totals of a two-dimensional table are a network, and figures beside them are not. A cycle of totals
still protects if each figure whose digits it would contradict is hidden as well: its weight is part
of the length of the path.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.suppression.system.paths import Paths
from tablecloak.suppression.system.system import System


@dataclass(frozen=True, eq=False)
class _Figure:
    """The cells of one figure, each -1 where it is not unknown, and its row A (x - u) - b y = s."""

    numerator: int
    denominator: int
    figure: int
    room: int
    rest: int
    size: float
    factor: float


class FigurePaths:
    """Finds cheapest cycles of totals, and what of their figures must be hidden with them.

    Parameters
    ----------
    system : System
    totals : numpy.ndarray of int
        Cells that are neither figures nor rooms.
    network : Paths
        Of these.
    figures : list of _Figure
    """

    def __init__(
        self, system: System, totals: Integers, network: Paths, figures: list[_Figure]
    ) -> None:
        self.system, self.totals, self.network, self.figures = system, totals, network, figures
        self.place = np.full(system.n_unknown, -1, dtype=np.int64)
        self.place[totals] = np.arange(len(totals))
        self.of_cell: dict[int, list[_Figure]] = {}
        pairs = [
            (cell, figure)
            for figure in figures
            for cell in (figure.numerator, figure.denominator)
            if cell >= 0
        ]
        for cell, figure in pairs:
            self.of_cell.setdefault(cell, []).append(figure)
        hideable = [(cell, figure.figure) for cell, figure in pairs if figure.figure >= 0]
        cells, self.figure_cells = np.array(hideable, dtype=np.int64).reshape(-1, 2).T
        self.cells = self.place[cells]

    @classmethod
    def of(cls, system: System) -> FigurePaths | None:
        """Return the network of the totals of a system with figures; None if they are none."""
        if not system.has_rooms:
            return None
        matrix = system.matrix
        row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        of_figure = np.zeros(matrix.shape[0], dtype=bool)
        of_figure[row[system.rooms[matrix.indices]]] = True
        is_total = np.zeros(system.n_unknown, dtype=bool)
        is_total[matrix.indices[~of_figure[row]]] = True
        totals = np.flatnonzero(is_total)
        part = system.part(totals)
        kept = np.flatnonzero(~np.isin(part.rows, system.rows[of_figure]))
        plain = csr_array(part.matrix[kept, :])
        part = replace(part, matrix=plain, rows=part.rows[kept], factor=part.factor[kept])
        network, figures = Paths.of(part), _figures_of(system, is_total, of_figure)
        return None if network is None else cls(system, totals, network, figures)

    def seen_by(self, system: System) -> FigurePaths:
        """Return the network for somebody who knows other bounds of the same cells."""
        other = copy.copy(self)
        other.system = system
        low, high = system.low[self.totals], system.high[self.totals]
        other.network = self.network.seen_by(replace(self.network.system, low=low, high=high))
        return other

    def cheapest(
        self, cell: int, target: float, cost: Floats, *, symmetric: bool
    ) -> tuple[Integers, Floats] | None:
        """Return the cheapest cycle that moves a cell; arguments as those of `Paths.cheapest`."""
        place = int(self.place[cell])
        if place < 0:
            return None
        price = cost[self.totals]
        np.add.at(price, self.cells, cost[self.figure_cells])
        path = self.network.cheapest(place, target, price, symmetric=symmetric)
        if path is None:
            return None
        moves = np.zeros(self.system.n_unknown)
        moves[self.totals[path[0]]] = path[1]
        touched = {
            figure.room: figure
            for number in self.totals[path[0]].tolist()
            for figure in self.of_cell.get(number, ())
        }
        if not all(self._completes(figure, moves, cost, symmetric) for figure in touched.values()):
            return None
        cells = np.flatnonzero(moves)
        return cells, moves[cells]

    def _completes(self, figure: _Figure, moves: Floats, cost: Floats, symmetric: bool) -> bool:
        """Move the rooms of a figure, and the figure itself if they do not suffice."""
        below = moves[figure.denominator] if figure.denominator >= 0 else 0.0
        above = moves[figure.numerator] if figure.numerator >= 0 else 0.0
        missing = figure.size * above - figure.factor * below
        if self._fits(figure, missing, 2 * below - missing, symmetric):
            moves[figure.room], moves[figure.rest] = missing, 2 * below - missing
            return True
        if figure.figure < 0 or not np.isfinite(cost[figure.figure]):
            return False
        # Both rooms stay the same shares of the denominator.
        room, rest = -self.system.low[figure.room], -self.system.low[figure.rest]
        move = 2 * below * room / (room + rest) if below else 0.0
        moves[figure.room], moves[figure.rest] = move, 2 * below - move
        moves[figure.figure] = (missing - move) / figure.size
        return self._fits(figure, move, 2 * below - move, symmetric)

    def _fits(self, figure: _Figure, room: float, rest: float, symmetric: bool) -> bool:
        """Whether both rooms can move so, and the other way as well if need be."""
        low, high = self.system.low, self.system.high
        return all(
            low[cell] <= sign * move <= high[cell]
            for cell, move in ((figure.room, room), (figure.rest, rest))
            for sign in ((1, -1) if symmetric else (1,))
        )


def _figures_of(system: System, is_total: Flags, of_figure: Flags) -> list[_Figure]:
    """Return the figures of a system from their rows: that of the room, and that of both rooms."""
    matrix, rooms = system.matrix, system.rooms
    first: dict[int, dict[int, float]] = {}
    rest: dict[int, int] = {}
    for number in np.flatnonzero(of_figure).tolist():
        part = slice(matrix.indptr[number], matrix.indptr[number + 1])
        row = dict(zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True))
        inside = [cell for cell in row if rooms[cell]]
        if len(inside) == 1:
            first[inside[0]] = row
        else:
            rest |= {inside[0]: inside[1], inside[1]: inside[0]}
    figures = []
    for room, row in first.items():
        even = [cell for cell, size in row.items() if is_total[cell] and size % 2 == 0]
        odd = [cell for cell, size in row.items() if is_total[cell] and size % 2]
        hideable = [cell for cell in row if not is_total[cell] and not rooms[cell]]
        numerator, denominator, figure = (some[0] if some else -1 for some in (even, odd, hideable))
        size = row.get(numerator, -row.get(figure, -1.0))
        factor = -row.get(denominator, 0.0)
        figures.append(
            _Figure(numerator, denominator, figure, room, rest.get(room, -1), size, factor)
        )
    return [figure for figure in figures if figure.rest >= 0]
