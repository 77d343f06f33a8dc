"""Pairs of details: witnesses for cells that no box suits, found without a program.

In a sparse table most corners of a box are empty. But one detail may go up and another one down by
as much: the totals that they share stand still, and all others move. What no other detail can take
back moves all totals. Large moves are put together from several pairs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.suppression.search.boxes.pattern import Box, Finder
from tablecloak.suppression.search.boxes.sums import SumOfBoxes
from tablecloak.suppression.system.details import BITS, NOTHING_LEFT, Details, in_units
from tablecloak.suppression.system.system import entries_of

MOST_PAIRS = 40
"""Most pairs that move one cell. Chosen by trial."""

TRIED = 4
"""Details below a cell that are tried, the cheapest first. Chosen by trial."""

STEPS = (1.0, 0.25, 1 / 16)
"""Parts of the largest move that are tried where other cells lack room. Chosen by trial."""


class PairFinder(Finder):
    """Finds sums of pairs of details at given prices.

    Parameters
    ----------
    rooms, weights, free
        As of `Finder`.
    details : Details
    is_whole : bool
        Whether the table is one of whole numbers.
    """

    tries_each_side = True

    def __init__(
        self, rooms: Floats, weights: Floats, free: Flags, details: Details, is_whole: bool
    ) -> None:
        super().__init__(rooms, weights, free)
        self.details, self.is_whole = details, is_whole

    def cheapest(self, cell: int, target: float, most: float = np.inf) -> Box | None:
        """Return cheap pairs of details that move a cell up by `target`; None if none are found."""
        return self._pairs(cell, target, most, 0)

    def one_way(self, cell: int, target: float, up: int, most: float = np.inf) -> Box | None:
        """Return cheap pairs that are no witness when mirrored; parameters of `Finder`."""
        pairs = self._pairs(cell, target, most, 1 if up > 0 else 2)
        return replace(pairs, moves=up * pairs.moves, is_mirrored=False) if pairs else None

    def _pairs(self, cell: int, target: float, most: float, way: int) -> Box | None:
        upward, downward = (room[:-1] for room in self.rooms[way])
        left, unit = in_units(target, upward[cell], self.is_whole, BITS)
        if not 0 < left <= upward[cell]:
            return None
        least = NOTHING_LEFT * left
        moved, price = np.zeros(len(upward)), self.price[:-1].copy()
        for _ in range(MOST_PAIRS):
            pair = self._pair(cell, left, unit, price, (upward - moved, downward + moved))
            if pair is None:
                return None
            step, one, other = pair
            moved[one] += step
            moved[other] -= step
            price[one] = price[other] = self.least
            left -= step
            if left <= least:
                cells = np.flatnonzero(moved)
                total = float(self.price[cells].sum())
                return SumOfBoxes(cells, moved[cells], total) if total < most else None
        return None

    def _pair(
        self, cell: int, left: float, unit: float, price: Floats, room: tuple[Floats, Floats]
    ) -> tuple[float, Integers, Integers] | None:
        """Return a move, the cells that go up by it and those that go down; None if none can."""
        below = self.details.below
        inside = below.indices[below.indptr[cell] : below.indptr[cell + 1]]
        room_of, full = room[0][self.details.cells[inside]], self.details.above @ price
        largest = min(left, float(room_of.max(initial=0.0)))
        for part in STEPS:
            step = left if part * largest == left else np.floor(part * largest / unit) * unit
            if step <= 0:
                break
            enough = inside[room_of >= step]
            first = enough[np.argsort(full[enough], kind="stable")[:TRIED]]
            pairs = [self._taken_back(one, inside, step, full, price, room) for one in first]
            cost, one, other = min(pairs, key=lambda pair: pair[0])
            if cost < np.inf:
                return step, one, other
        return None

    def _taken_back(
        self,
        one: int,
        inside: Integers,
        step: float,
        full: Floats,
        price: Floats,
        room: tuple[Floats, Floats],
    ) -> tuple[float, Integers, Integers]:
        """Let a detail go up, and the one that costs least go down, which may be none.

        Returns
        -------
        float
            Price of all cells that move; inf if they have too little room.
        numpy.ndarray of int, numpy.ndarray of int
            The cells that go up, and those that go down.
        """
        above, below = self.details.above, self.details.below
        cells = above.indices[above.indptr[one] : above.indptr[one + 1]]
        other = below.indices[entries_of(below, cells)]
        length = np.diff(below.indptr)[cells]

        def shared(worth: Floats) -> Floats:
            """Return for each detail the sum over the cells that it shares with the first one."""
            sums = np.bincount(other, np.repeat(worth[cells], length), minlength=len(full))
            return sums.astype(np.float64)

        has_no_room, cannot_fall = (room[0] < step).astype(float), (room[1] < step).astype(float)
        n_without = has_no_room[cells].sum()
        cost = full[one] + full - 2 * shared(price)
        cost[above @ cannot_fall > shared(cannot_fall)] = np.inf
        cost[shared(has_no_room) < n_without] = np.inf
        cost[inside] = np.inf
        best, nothing = int(np.argmin(cost)), np.zeros(0, dtype=np.int64)
        if n_without == 0 and full[one] <= cost[best]:
            return float(full[one]), cells, nothing
        back = above.indices[above.indptr[best] : above.indptr[best + 1]]
        common = np.intersect1d(cells, back)
        return float(cost[best]), np.setdiff1d(cells, common), np.setdiff1d(back, common)
