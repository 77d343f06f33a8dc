"""Witnesses that insiders know not to be the true table, and the needs that lose them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array

from tablecloak.arrays import Flags, Floats, Integers, are_among
from tablecloak.suppression.system.system import entries_of, ranges

MOST_ENTRIES = 500_000
"""Entries of witnesses, or pairs of an insider and a need, that are looked at in one step, which
bounds the memory for it."""

ROOM_SHARE = 1e-9
"""Share of the distance to a bound by which a witness may pass it: shrunk by this share, the
witness keeps all bounds."""

TRUTH = -1
"""Number that stands for the true table itself, as the witness that moves no cell."""


@dataclass(frozen=True, eq=False)
class KnownCells:
    """Pairs of an insider and a cell of which it knows more than everybody, by insider.

    Parameters
    ----------
    insider, cell : numpy.ndarray of int, shape (n_pairs,)
        Number of the insider, increasing; and of the cell.
    low, high : numpy.ndarray of float, shape (n_pairs,)
        Smallest and largest deviation from the true value that the insider considers possible.
    """

    insider: Integers
    cell: Integers
    low: Floats
    high: Floats

    @property
    def insiders(self) -> Integers:
        """Numbers of the insiders, each once."""
        return np.unique(self.insider)

    def of(self, insider: int) -> tuple[Integers, Floats, Floats]:
        """Return the cells that one insider knows, and their deviations that it thinks possible."""
        pairs = slice(*np.searchsorted(self.insider, [insider, insider + 1]))
        return self.cell[pairs], self.low[pairs], self.high[pairs]

    def narrowed(
        self, insider: Integers, cell: Integers, low: Floats, high: Floats
    ) -> tuple[Floats, Floats]:
        """Return bounds on deviations, narrowed for pairs of an insider and a cell that it knows.

        Parameters
        ----------
        insider, cell : numpy.ndarray of int, shape (n,)
        low, high : numpy.ndarray of float, shape (n,)
            Bounds that everybody knows.
        """
        size = int(max(self.cell.max(initial=0), cell.max(initial=0))) + 1
        keys = self.insider * size + self.cell
        order = np.argsort(keys, kind="stable")
        # The last place, beyond all keys, answers for pairs that are not known.
        place = np.searchsorted(keys[order], wanted := insider * size + cell)
        is_known = np.append(keys[order], -1)[place] == wanted
        pair = order[place[is_known]]
        low, high = low.copy(), high.copy()
        low[is_known] = np.maximum(low[is_known], self.low[pair])
        high[is_known] = np.minimum(high[is_known], self.high[pair])
        return low, high


@dataclass(frozen=True, eq=False)
class Refuted:
    """Pairs of an insider and a witness that it can rule out.

    Parameters
    ----------
    n_rows : int
        Number of witnesses.
    keys : numpy.ndarray of int
        Number of the insider times `n_rows`, plus the row of the witness; increasing.
    """

    n_rows: int
    keys: Integers

    @classmethod
    def of(cls, by_cell: csc_array, facts: KnownCells, slack: tuple[Floats, Floats]) -> Refuted:
        """Return all pairs, by one comparison of moves with the bounds that insiders know.

        Parameters
        ----------
        by_cell : scipy.sparse.csc_array, shape (n_rows, n_cells)
            One witness a row.
        facts : KnownCells
        slack : tuple of numpy.ndarray of float, shape (n_pairs,)
            By how much a move may pass the lower bound, and the upper one.
        """
        n_rows, length = by_cell.shape[0], np.diff(by_cell.indptr)[facts.cell]
        keys = [np.zeros(0, dtype=np.int64)]
        for block in _blocks(length):
            entry = entries_of(by_cell, facts.cell[block])
            pair = np.repeat(np.arange(block.start, block.stop), length[block])
            passed = is_outside(
                by_cell.data[entry],
                facts.low[pair],
                facts.high[pair],
                (slack[0][pair], slack[1][pair]),
            )
            keys.append(facts.insider[pair[passed]] * n_rows + by_cell.indices[entry[passed]])
        return cls(n_rows, np.unique(np.concatenate(keys)))

    def has(self, insider: Integers, row: Integers) -> Flags:
        """Flag pairs of an insider and a witness, or the truth, that the insider can rule out."""
        flags: Flags = are_among(insider * self.n_rows + row, self.keys) & (row != TRUTH)
        return flags

    @property
    def insiders(self) -> Integers:
        """Numbers of the insiders who can rule out a witness."""
        return np.unique(self.keys // max(self.n_rows, 1))

    @property
    def refuters(self) -> Integers:
        """Number of insiders who can rule out each witness, shape (n_rows,)."""
        return np.bincount(self.keys % max(self.n_rows, 1), minlength=self.n_rows)

    def doubts(
        self, upper: Integers, lower: Integers
    ) -> Iterator[tuple[Integers, Integers, Integers]]:
        """Yield pairs of an insider and a need of which it can rule out a witness, in blocks.

        A block holds all pairs of its insiders. Those of fewest pairs come first: who has no time
        for all blocks has looked at as many insiders as possible.

        Parameters
        ----------
        upper, lower : numpy.ndarray of int, shape (n_needs,)
            Row of the witness that moves each cell up, and down.

        Yields
        ------
        insiders : numpy.ndarray of int
            Numbers of the insiders of a block.
        insider, need : numpy.ndarray of int, shape (n_pairs,)
            By insider and need.
        """
        n = len(upper)
        needs = np.unique(np.concatenate([upper * n, lower * n]) + np.tile(np.arange(n), 2))
        needs = needs[needs >= 0]
        begin = np.searchsorted(needs, np.arange(self.n_rows + 1) * n)
        insider, row = np.divmod(self.keys, max(self.n_rows, 1))
        numbers, first = np.unique(insider, return_index=True)
        if not n or not len(numbers):
            return
        ends, length = np.append(first, len(insider)), np.diff(begin)[row]
        effort = np.add.reduceat(length, first)
        order = np.argsort(effort, kind="stable")
        for block in _blocks(effort[order]):
            chosen = np.sort(order[block])
            pairs = ranges(ends[chosen], ends[chosen + 1])
            need = needs[ranges(begin[row[pairs]], begin[row[pairs] + 1])] % n
            # Sorting takes a tenth of the time of `numpy.unique`, which uses a hash table.
            keys = np.sort(np.repeat(insider[pairs], length[pairs]) * n + need)
            keys = keys[np.diff(keys, prepend=-1) > 0]
            yield numbers[chosen], keys // n, keys % n


def _blocks(work: Integers) -> Iterator[slice]:
    """Cut a sequence into blocks of about `MOST_ENTRIES`, each of at least one member."""
    total, start = np.cumsum(work), 0
    while start < len(work):
        done = total[start - 1] if start else 0
        stop = max(int(np.searchsorted(total, done + MOST_ENTRIES, side="right")), start + 1)
        yield slice(start, stop)
        start = stop


def is_outside(moves: Floats, low: Floats, high: Floats, slack: tuple[Floats, Floats]) -> Flags:
    """Flag moves that pass their room by more than the slack, or by a share of the room."""
    below, above = np.minimum(low, 0.0), np.maximum(high, 0.0)
    least = below - np.minimum(slack[0], ROOM_SHARE * -below)
    most = above + np.minimum(slack[1], ROOM_SHARE * above)
    passed: Flags = (moves < least) | (moves > most)
    return passed
