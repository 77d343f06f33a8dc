"""The needs proved so far: how far witnesses move each cell, and which ones."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.suppression.proof.proof import TRUTH
from tablecloak.suppression.system.needs import Needs

__all__ = ["ProvedNeeds"]

PROGRESS = 1e-10
"""Least share of a need by which a witness must move its cell farther to be kept."""


class ProvedNeeds:
    """How far each sensitive cell is proved to move.

    Parameters
    ----------
    needs : Needs
    """

    def __init__(self, needs: Needs) -> None:
        self.needs = needs
        n = len(needs.cells)
        self.above, self.below = np.zeros(n), np.zeros(n)
        self.upper_witness = np.full(n, TRUTH, dtype=np.int64)
        self.lower_witness = np.full(n, TRUTH, dtype=np.int64)

    @property
    def open(self) -> Flags:
        """Which needs are not proved yet."""
        return ~self.needs.met(self.above, self.below)

    def open_sides(self) -> tuple[Flags, Flags]:
        """Flag the needs that still need room above, and those that need it below."""
        every = slice(None)
        return self._lacking(every, 1), self._lacking(every, -1)

    def is_open(self, index: int) -> bool:
        """Whether one need is not proved yet; `open` would look at all of them."""
        return self.lacks(index, 1) or self.lacks(index, -1)

    def lacks(self, index: int, sign: int) -> bool:
        """Whether one need still needs room above (sign = 1) or below (sign = -1)."""
        return bool(self._lacking(index, sign))

    def _lacking(self, index: int | slice | Integers, sign: int) -> Flags:
        """Flag, for a selection of needs, those that still need room on one side."""
        needs, share = self.needs, 1 - 1e-9
        above, below = self.above[index], self.below[index]
        side, need = (above, needs.upper) if sign > 0 else (below, needs.lower)
        narrow = above + below < share * needs.width[index]
        lacking: Flags = (side < share * need[index]) | narrow
        return lacking

    def reached(self, index: int) -> float:
        """Return how far witnesses move a cell up and down together, up to what its need counts."""
        needs = self.needs
        if self.needs.width[index] > 0:
            return float(self.above[index] + self.below[index])
        above = min(self.above[index], needs.upper[index])
        return float(above + min(self.below[index], needs.lower[index]))

    def _is_new(self, index: Integers, moves: Floats) -> bool:
        """Whether moves bring an open need closer to what it asks."""
        return self._n_new(index, moves) > 0

    def _n_new(self, index: Integers, moves: Floats) -> int:
        return sum(int(np.sum(side)) for side in self._brought_on(index, moves))

    def _brought_on(self, index: Integers, moves: Floats) -> tuple[Flags, Flags]:
        """Flag the open needs, above and below, that moves bring closer to what they ask."""
        needs = self.needs
        step = PROGRESS * np.maximum(np.maximum(needs.upper, needs.lower), needs.width)[index]
        up = (moves > self.above[index] + step) & self._lacking(index, 1)
        down = (-moves > self.below[index] + step) & self._lacking(index, -1)
        return up, down
