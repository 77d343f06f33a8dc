"""The cheapest box around a cell, dimension by dimension."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers, Signs
from tablecloak.suppression.search.boxes.grid import Grid
from tablecloak.suppression.search.boxes.moves import FEW, MANY, Moves

__all__ = ["Box", "BoxFinder"]

BEAM = 6
"""Number of boxes that are extended at once. On 14,248 cells of four dimensions a single one, with
half as many moves, lost half as much again in a seventh of the time. docs/decisions, "Boxes"."""

LEAST_PRICE = 1e-6
"""Least price of a cell, as a share of the median weight, so that the smaller of equal boxes is
preferred and a box moves no more hidden cells than it needs."""


@dataclass(frozen=True, eq=False)
class Box:
    """A witness that is a product of one move on each dimension.

    Parameters
    ----------
    cells : numpy.ndarray of int, shape (n_moved,)
        Positions in the system, increasing.
    signs : numpy.ndarray of int, shape (n_moved,)
        1 for cells that move up together, -1 for those that then move down.
    price : float
        Price of the cells that the box would hide.
    """

    cells: Integers
    signs: Signs
    price: float


@dataclass(frozen=True, eq=False)
class _Part:
    """A product of moves on the dimensions treated so far."""

    points: Integers
    signs: Signs


class BoxFinder:
    """Finds boxes at given prices.

    Parameters
    ----------
    grid : Grid
    room : numpy.ndarray of float, shape (n_unknown,)
        How far each cell can go up and down.
    weights : numpy.ndarray of float, shape (n_unknown,)
    free : numpy.ndarray of bool, shape (n_unknown,)
        Cells that are hidden in any case.
    """

    def __init__(self, grid: Grid, room: Floats, weights: Floats, free: Flags) -> None:
        self.grid = grid
        self.few, self.many = Moves(grid, *FEW), Moves(grid, *MANY)
        positive = weights[weights > 0]
        self.least = LEAST_PRICE * (float(np.median(positive)) if len(positive) else 1.0)
        # Points without a cell have the last entry, which admits no move.
        self.room = np.append(room, -1.0)
        self.price = np.append(np.where(free, 0.0, weights) + self.least, np.inf)

    def hide(self, cells: Integers) -> None:
        """Set the price of cells, now hidden, to the least price."""
        self.price[cells] = self.least

    def publish(self, cells: Integers, weights: Floats) -> None:
        """Set the price of cells, now published, to their weights."""
        self.price[cells] = weights + self.least

    def cheapest(self, cell: int, target: float, most: float = np.inf) -> Box | None:
        """Return the cheapest box found in which every cell can move by `target`.

        The cell moves up in it. Two orders of dimensions are tried: fewest moves first, and fewest
        moves last. Only the final price counts cells that move alike once.

        Parameters
        ----------
        cell : int
        target : float
        most : float, default=inf
            Price at which a box is not extended any further.
        """
        found = self._cheapest(self.few, cell, target, most)
        if found is None and most == np.inf:
            found = self._cheapest(self.many, cell, target, most)
        return found

    def _cheapest(self, every: Moves, cell: int, target: float, most: float) -> Box | None:
        point = int(self.grid.home[cell])
        moves = [every.of(*key) for key in enumerate(self.grid.codes(point))]
        order = sorted(range(len(moves)), key=lambda number: len(moves[number][0]))
        found = [
            self._whole(part)
            for sequence in (order, order[::-1])
            for part in self._grown(point, [moves[number] for number in sequence], target, most)
        ]
        return min(found, key=lambda box: box.price, default=None)

    def _grown(
        self, point: int, moves: list[tuple[Integers, Signs]], target: float, most: float
    ) -> list[_Part]:
        parts = [_Part(np.array([point]), np.ones(1, dtype=np.int8))]
        for leads, signs in moves:
            if not parts:
                break
            prices = [self._prices(part, leads, signs, target) for part in parts]
            every = np.concatenate(prices)
            best = np.argsort(every, kind="stable")[:BEAM]
            best = best[every[best] < most]
            chosen = [divmod(number, len(leads)) for number in best.tolist()]
            parts = [_product(parts[part], leads[move], signs[move]) for part, move in chosen]
        return parts

    def _prices(self, part: _Part, leads: Integers, signs: Signs, target: float) -> Floats:
        """Return the price of the product of a part with each move."""
        places = self.grid.place[part.points[None, :, None] + leads[:, None, :]]
        price = np.where(self.room[places] >= target, self.price[places], np.inf)
        # Rows are padded at their end with sign 0, which must cost nothing.
        price = np.where(signs[:, None, :] != 0, price, 0.0)
        total: Floats = price.sum(axis=(1, 2))
        return total

    def _whole(self, part: _Part) -> Box:
        places = self.grid.place[part.points]
        cells, first = np.unique(places, return_index=True)
        signs = (part.signs * self.grid.sign[part.points])[first]
        return Box(cells.astype(np.int64), signs, float(self.price[cells].sum()))


def _product(part: _Part, leads: Integers, signs: Signs) -> _Part:
    used = signs != 0
    points = (part.points[:, None] + leads[used]).ravel()
    return _Part(points, (part.signs[:, None] * signs[used]).ravel())
