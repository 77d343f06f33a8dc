"""Moves on one dimension: one leaf moves up, another down, and the codes above move with them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tablecloak.arrays import Integers, Signs
from tablecloak.suppression.search.boxes.grid import Grid

__all__ = ["FEW", "MANY", "Moves"]

FEW, MANY = (80, 6), (1000, 50)
"""Number of moves of each code, and of leaves below it, that are tried first, and then where no box
was found. Moves with the fewest codes are taken first, then those with the most cells.
docs/decisions, "Boxes"."""


@dataclass(frozen=True)
class Moves:
    """The moves of each code of a grid, made when they are first asked for.

    A move is a vector over the codes of one dimension that keeps all sums: a leaf `a` goes up, and
    perhaps a leaf `b` down; a code moves by 1 if it covers `a` alone, and by -1 if `b` alone. It
    moves the code that it is asked for by 1.

    Parameters
    ----------
    grid : Grid
    most, own : int
        Moves of each code, and leaves below it, that are tried.
    """

    grid: Grid
    most: int
    own: int
    known: dict[tuple[int, int], tuple[Integers, Signs]] = field(default_factory=dict)

    def of(self, dimension: int, code: int) -> tuple[Integers, Signs]:
        """Return the moves of a code, one a row: codes as differences of points, and their signs.

        Returns
        -------
        numpy.ndarray of int, shape (n_moves, n_codes)
        numpy.ndarray of int, shape (n_moves, n_codes)
            Signs; 0 where a row is padded.
        """
        key = dimension, code
        if key not in self.known:
            self.known[key] = self._made(dimension, code)
        return self.known[key]

    def _made(self, dimension: int, code: int) -> tuple[Integers, Signs]:
        cover = self.grid.covers[dimension]
        filled = _of_leaves(cover, self.grid.filled[dimension])
        own = np.flatnonzero(cover[code])
        if not len(own):
            return np.zeros((1, 1), dtype=np.int64), np.ones((1, 1), dtype=np.int8)
        own = own[np.argsort(-filled[own], kind="stable")][: self.own]
        others = np.flatnonzero(cover[code] == 0)
        up, down = cover[:, own].T, cover[:, others].T
        # In the last move of each leaf no other leaf goes down: all codes above it move.
        down = np.vstack([down, np.zeros((1, len(cover)), dtype=np.int8)])
        every = (up[:, None, :] - down[None, :, :]).reshape(-1, len(cover))
        fullness = np.tile(np.append(filled[others], 0), len(own))
        length = np.count_nonzero(every, axis=1)
        chosen = np.lexsort((-fullness, length))[: self.most]
        every, most = every[chosen], int(length[chosen].max())
        # Codes that move come first in each row.
        order = np.argsort(every == 0, axis=1, kind="stable")[:, :most]
        moved = np.take_along_axis(every, order, axis=1)
        return (order - code) * self.grid.strides[dimension], moved


def _of_leaves(cover: Signs, filled: Integers) -> Integers:
    """Return how many cells have each leaf as their code."""
    # Codes above a single leaf are as full as the leaf, or nearly.
    code, leaf = np.nonzero(cover * (cover.sum(axis=1, dtype=np.int64) == 1)[:, None])
    found = np.zeros(cover.shape[1], dtype=np.int64)
    np.maximum.at(found, leaf, filled[code])
    return found
