"""Proofs of insiders: witnesses in place of common ones that an insider can rule out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Flags, Integers
from tablecloak.suppression.proof.refuted import TRUTH, KnownCells
from tablecloak.suppression.proof.witness import WitnessPool, best_of_each
from tablecloak.suppression.system.system import entries_of


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
    """

    insider: Integers
    need: Integers
    upper: Integers
    lower: Integers
    open: Flags

    @classmethod
    def of(cls, pool: WitnessPool, facts: KnownCells, where: Flags) -> OwnProofs:
        """Return the pairs, and the best witnesses of the pool for each, without any program.

        Parameters
        ----------
        pool : WitnessPool
        facts : KnownCells
            What insiders know of the cells of the pool's system.
        where : numpy.ndarray of bool, shape (n_needs,)
            Needs that are claimed against insiders.
        """
        system, needs, matrix = pool.system, pool.needs, pool.matrix
        refuted = pool.refuted_by(facts)
        length = np.diff(matrix.indptr)
        blocks = []
        work = length[needs.cells].astype(np.int64)
        for pair_of, need_of in refuted.doubts(*pool.rows_in_use(), work):
            insider, need = pair_of[where[need_of]], need_of[where[need_of]]
            cells = needs.cells[need]
            entry, pair = entries_of(matrix, cells), np.repeat(np.arange(len(need)), length[cells])
            row, move = matrix.indices[entry], matrix.data[entry]
            possible = ~refuted.has(insider[pair], row)
            reached, used = [], []
            for sign in (1, -1):
                kept = possible & (sign * move > 0)
                reach, witness = np.zeros(len(need)), np.full(len(need), TRUTH, dtype=np.int64)
                _, best = best_of_each(pair[kept], sign * move[kept])
                reach[pair[kept][best]] = sign * move[kept][best]
                witness[pair[kept][best]] = pool.numbers[row[kept][best]]
                reached.append(reach)
                used.append(witness)
            room = facts.narrowed(insider, cells, system.low[cells], system.high[cells])
            asked = needs.chosen(need, np.arange(len(need))).cut(*room)
            blocks.append(cls(insider, need, used[0], used[1], ~asked.met(reached[0], reached[1])))
        return cls.joined(blocks)

    @classmethod
    def joined(cls, blocks: list[OwnProofs]) -> OwnProofs:
        """Return several blocks as one."""
        none = np.zeros(0, dtype=np.int64)
        nothing = cls(none, none, none, none, none > 0)
        names = ("insider", "need", "upper", "lower", "open")
        return cls(*(np.concatenate([getattr(b, n) for b in [nothing, *blocks]]) for n in names))

    def chosen(self, where: Flags) -> OwnProofs:
        """Return some of the pairs."""
        return OwnProofs(
            self.insider[where], self.need[where], self.upper[where], self.lower[where],
            self.open[where],
        )  # fmt: skip
