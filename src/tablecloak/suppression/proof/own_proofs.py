"""Proofs of insiders: witnesses in place of common ones that an insider can rule out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csc_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.suppression.proof.refuted import TRUTH, KnownCells, Refuted
from tablecloak.suppression.proof.witness import WitnessPool


@dataclass(frozen=True, eq=False)
class OwnProofs:
    """Pairs of an insider and a need of which it can rule out a common witness, by insider.

    Every other need is proved to an insider by the common witnesses.

    Parameters
    ----------
    insider, need : numpy.ndarray of int, shape (n_pairs,)
        Number of the insider, increasing; and position of the need in the system.
    upper, lower : numpy.ndarray of int, shape (n_pairs,)
        Numbers of the witnesses in the pool that move the cell farthest up and down, of those that
        the insider cannot rule out.
    open : numpy.ndarray of bool, shape (n_pairs,)
        Whether these prove too little.
    unjudged : numpy.ndarray of int
        Insiders whose pairs were not looked at in time: nothing is known of them.
    """

    insider: Integers
    need: Integers
    upper: Integers
    lower: Integers
    open: Flags
    unjudged: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @classmethod
    def of(cls, pool: WitnessPool, facts: KnownCells, where: Flags, budget: Budget) -> OwnProofs:
        """Return the pairs, and the best witnesses of the pool for each, without any program.

        Parameters
        ----------
        pool : WitnessPool
        facts : KnownCells
            What insiders know of the cells of the pool's system.
        where : numpy.ndarray of bool, shape (n_needs,)
            Needs that are claimed against insiders.
        budget : Budget
            When it ends, the insiders of most pairs are left unjudged. Some hundred thousand pairs
            are looked at in any case.
        """
        system, needs, numbers = pool.system, pool.needs, pool.numbers
        refuted, ordered = pool.refuted_by(facts), [_ByMove.of(pool.matrix, s) for s in (1, -1)]
        blocks, unjudged = [], refuted.insiders
        for judged, pair_of, need_of in refuted.doubts(*pool.rows_in_use()):
            insider, need = pair_of[where[need_of]], need_of[where[need_of]]
            cells = needs.cells[need]
            (above, up), (below, down) = (
                side.farthest(cells, insider, refuted) for side in ordered
            )
            room = facts.narrowed(insider, cells, system.low[cells], system.high[cells])
            asked = needs.chosen(need, np.arange(len(need))).cut(*room)
            # The last number answers for TRUTH, which is -1.
            number_of = np.append(numbers, TRUTH)
            open_ = ~asked.met(above, below)
            blocks.append(cls(insider, need, number_of[up], number_of[down], open_))
            unjudged = np.setdiff1d(unjudged, judged)
            if budget.is_over:
                break
        return replace(cls.joined(blocks), unjudged=unjudged)

    @classmethod
    def joined(cls, blocks: list[OwnProofs]) -> OwnProofs:
        """Return several blocks as one; each insider is in one of them."""
        none = np.zeros(0, dtype=np.int64)
        nothing = cls(none, none, none, none, none > 0)
        names = ("insider", "need", "upper", "lower", "open")
        columns = (np.concatenate([getattr(b, n) for b in [nothing, *blocks]]) for n in names)
        insider, *others = columns
        order = np.argsort(insider, kind="stable")
        return cls(insider[order], *(column[order] for column in others))

    def chosen(self, where: Flags) -> OwnProofs:
        """Return some of the pairs."""
        return OwnProofs(
            self.insider[where], self.need[where], self.upper[where], self.lower[where],
            self.open[where], self.unjudged,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _ByMove:
    """The witnesses that move each cell to one side, the farthest first.

    Parameters
    ----------
    starts : numpy.ndarray of int, shape (n_cells + 1,)
        Where the witnesses of each cell begin.
    row : numpy.ndarray of int, shape (n_moves,)
        Row of each witness in the pool's matrix.
    move : numpy.ndarray of float, shape (n_moves,)
        How far it moves the cell, above 0.
    """

    starts: Integers
    row: Integers
    move: Floats

    @classmethod
    def of(cls, matrix: csc_array, sign: int) -> _ByMove:
        """Return those of all cells, for upward moves (sign = 1) or downward ones (sign = -1)."""
        cell = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
        order = np.lexsort([-sign * matrix.data, cell])
        order = order[sign * matrix.data[order] > 0]
        starts = np.searchsorted(cell[order], np.arange(matrix.shape[1] + 1))
        return cls(starts, matrix.indices[order], sign * matrix.data[order])

    def farthest(
        self, cells: Integers, insider: Integers, refuted: Refuted
    ) -> tuple[Floats, Integers]:
        """Return how far a cell moves by a witness that an insider cannot rule out, and its row.

        Parameters
        ----------
        cells, insider : numpy.ndarray of int, shape (n_pairs,)
        refuted : Refuted
        """
        reach, row = np.zeros(len(cells)), np.full(len(cells), TRUTH, dtype=np.int64)
        place, end = self.starts[cells], self.starts[cells + 1]
        left = np.flatnonzero(place < end)
        # Few insiders can rule out the first witness, and fewer the next: most pairs end soon.
        while len(left):
            tried = place[left]
            is_out = refuted.has(insider[left], self.row[tried])
            kept = left[~is_out]
            reach[kept], row[kept] = self.move[place[kept]], self.row[place[kept]]
            place[left] += 1
            left = left[is_out & (tried + 1 < end[left])]
        return reach, row
