"""The most detailed cells, from which all totals follow: witnesses without a program.

Where relations say that totals are sums, every move of the detailed cells is a deviation of the
table once each total moves by what the details below it move. So a detail that moves alone with all
its totals is a witness if these have room for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.solve.exact import rounded_down
from tablecloak.suppression.system.basis import basis_of
from tablecloak.suppression.system.system import System, entries_of

BITS = 40
"""Binary digits of a need in units of the moves that meet it together: so few that their sums stay
exact, and so many that what rounding down leaves of a need is next to nothing."""

NOTHING_LEFT = 2e-10
"""Share of a need that may be left: witnesses are accepted from 1 - 1e-9 of a need on."""


@dataclass(frozen=True, eq=False)
class Details:
    """The detailed cells of a system, and which cells are sums of them.

    Parameters
    ----------
    cells : numpy.ndarray of int, shape (n_details,)
        Positions of the details in the system.
    above : scipy.sparse.csr_array, shape (n_details, n_unknown)
        1 where a cell moves with a detail: the detail itself, and all its totals.
    """

    cells: Integers
    above: csr_array

    @classmethod
    def of(cls, system: System) -> Details:
        """Find the details; those whose moves some relation does not allow are left out."""
        basis = basis_of(system.matrix, _are_totals(system.matrix).astype(np.float64))
        assert basis is not None
        above = csr_array(basis.matrix.T)
        length = np.diff(above.indptr)
        detail = np.repeat(np.arange(len(length)), length)
        good = length > 0
        good[detail[above.data != 1]] = False
        good[basis.leftover.indices] = False
        return cls(basis.free[good], csr_array(above[np.flatnonzero(good)]))

    @cached_property
    def below(self) -> csr_array:
        """The transposed matrix: the details that each cell is the sum of."""
        return csr_array(self.above.T)

    def most(self, room: Floats) -> Floats:
        """Return how far each detail can move with all its totals, given the room of each cell."""
        if not self.above.nnz:
            return np.zeros(0)
        least: Floats = np.minimum.reduceat(room[self.above.indices], self.above.indptr[:-1])
        return least

    def witnesses(self, system: System) -> list[tuple[Integers, Floats]]:
        """Return moves of details with their totals that meet needs if every cell is hidden.

        Returns
        -------
        list of (numpy.ndarray of int, numpy.ndarray of float)
            At most one for each side of each need. Whether each is a witness must be checked.
        """
        needs, witnesses = system.needs, list[tuple[Integers, Floats]]()
        sides, is_whole = needs.sides(system.low, system.high), bool(system.integer)
        for up, asked, room in zip((1, -1), sides, (system.high, -system.low), strict=True):
            most = self.most(room)
            for cell, size in zip(needs.cells.tolist(), asked.tolist(), strict=True):
                if size <= 0:
                    continue
                inside = self.below.indices[self.below.indptr[cell] : self.below.indptr[cell + 1]]
                moves = _shared_out(size, most[inside], is_whole)
                moved = np.flatnonzero(moves)
                if len(moved):
                    witnesses.append(self._spread(inside[moved], up * moves[moved]))
        return witnesses

    def _spread(self, details: Integers, moves: Floats) -> tuple[Integers, Floats]:
        """Return all cells that move with some details, and their moves."""
        taken = entries_of(self.above, details)
        length = np.diff(self.above.indptr)[details]
        cells, place = np.unique(self.above.indices[taken], return_inverse=True)
        sums = np.bincount(place, weights=np.repeat(moves, length))
        return cells.astype(np.int64), sums.astype(np.float64)


def _are_totals(matrix: csr_array) -> Flags:
    """Flag the cells that are, in some row, the only one of their sign among three or more."""
    length = np.diff(matrix.indptr)
    row, is_negative = np.repeat(np.arange(len(length)), length), matrix.data < 0
    negative = np.bincount(row[is_negative], minlength=len(length))
    alone = np.where(is_negative, negative[row] == 1, (length - negative)[row] == 1)
    totals = np.zeros(matrix.shape[1], dtype=bool)
    # Of two cells that move alike, relations name the total by its sign.
    totals[matrix.indices[alone & (is_negative | (length > 2)[row])]] = True
    return totals


def _shared_out(size: float, most: Floats, is_whole: bool) -> Floats:
    """Return moves of some details that sum up to a distance: of one, or of those with most room.

    Returns
    -------
    numpy.ndarray of float, shape (n_details,)
        All 0 if their rooms do not suffice.
    """
    moves = np.zeros(len(most))
    left, unit = in_units(size, most.sum(), is_whole, BITS)
    enough = np.flatnonzero(most >= left)
    if len(enough):
        moves[enough[np.argmin(most[enough])]] = left
        return moves
    least = NOTHING_LEFT * left
    for detail in np.argsort(-most, kind="stable").tolist():
        moves[detail] = min(left, math.floor(max(most[detail], 0.0) / unit) * unit)
        left -= moves[detail]
        if left <= least:
            return moves
    return np.zeros(len(most))


def in_units(target: float, room: float, is_whole: bool, bits: int) -> tuple[float, float]:
    """Return a need as a multiple of a unit, and the unit, so that sums of moves are exact.

    Parameters
    ----------
    target, room : float
        The need, and the room for it.
    is_whole : bool
        Whether moves should be whole numbers where there is room.
    bits : int
        Binary digits to which the need is rounded down otherwise.
    """
    if is_whole and math.ceil(target) <= room:
        return float(math.ceil(target)), 1.0
    return rounded_down(target, bits), math.ldexp(1.0, math.frexp(target)[1] - bits)
