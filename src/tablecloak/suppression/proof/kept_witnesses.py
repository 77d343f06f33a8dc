"""Witnesses of a search: those in use, and spare ones for insiders who rule out some."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.suppression.proof.proof import TRUTH, is_outside
from tablecloak.suppression.proof.proved_needs import ProvedNeeds
from tablecloak.suppression.system.system import System, entries_of

__all__ = ["KeptWitnesses", "PoolProof", "Witnesses"]

Witnesses = list[tuple[Integers, Floats]]
"""Witnesses, each as the cells that it moves, increasing, and their moves."""

MOST_SPARE = 5_000
"""Most spare witnesses that a pool keeps for insiders who can rule out those in use."""


@dataclass(frozen=True, eq=False)
class PoolProof:
    """The witnesses of some needs of a pool.

    Parameters
    ----------
    index : numpy.ndarray of int, shape (n_proved,)
        Positions of the proved cells among all sensitive cells of the table.
    upper, lower : numpy.ndarray of int, shape (n_proved,)
        Witness that moves each of them up, and down, as a position in `witnesses`.
    cells : numpy.ndarray of int, shape (n_unknown,)
        Number in the table of each cell of the pool's system.
    witnesses : list of (numpy.ndarray of int, numpy.ndarray of float)
        Witnesses by cells of the pool's system. Pools that share a witness share its arrays.
    """

    index: Integers
    upper: Integers
    lower: Integers
    cells: Integers
    witnesses: Witnesses


class KeptWitnesses(ProvedNeeds):
    """Stores exact witnesses, and selects for each need the one that moves its cell farthest.

    Parameters
    ----------
    system : System
        All positions here number its cells.
    """

    def __init__(self, system: System) -> None:
        super().__init__(system.needs)
        self.system = system
        self.rows: dict[int, tuple[Integers, Floats]] = {}
        self.need_of = system.need_of
        self._next = 0
        self._cache: csc_array | None = None
        self._whole_only = False

    def learn(self, witnesses: Iterable[tuple[Integers, Floats]]) -> None:
        """Store witnesses that were made exact elsewhere, without changing which are in use.

        Parameters
        ----------
        witnesses : iterable of (numpy.ndarray of int, numpy.ndarray of float)
            Witnesses by cells of this system. Those beyond its bounds are left out, and those
            beyond the first `MOST_SPARE`.
        """
        rows = list(witnesses)[: max(MOST_SPARE + len(self._used()) - len(self.rows), 0)]
        if not rows:
            return
        system, length = self.system, [len(cells) for cells, _ in rows]
        every = np.concatenate([cells for cells, _ in rows])
        moves, slack = np.concatenate([row for _, row in rows]), system.slack[every] / 2
        outside = is_outside(moves, system.low[every], system.high[every], (slack, slack))
        bad = np.zeros(len(rows), dtype=bool)
        bad[np.repeat(np.arange(len(rows)), length)[outside]] = True
        good = [row for row, is_bad in zip(rows, bad.tolist(), strict=True) if not is_bad]
        self._hold(good)

    def take(self, witnesses: Iterable[tuple[Integers, Floats]]) -> None:
        """Keep witnesses that satisfy all relations and bounds, and use them for open needs."""
        self._hold(list(witnesses))
        self.use_all()

    def keep(self, witness: tuple[Integers, Floats], numbers: dict[int, int]) -> int:
        """Keep one witness that was made exact for this system; return its number.

        Parameters
        ----------
        witness : tuple of (numpy.ndarray of int, numpy.ndarray of float)
        numbers : dict of int to int
            Numbers of the stored witnesses by the identity of their moves; updated in place.
        """
        number = numbers.setdefault(id(witness[1]), self._next)
        if number == self._next:
            self.rows[number] = witness
            self._next, self._cache = number + 1, None
        return number

    def moving(self, position: int) -> list[int]:
        """Return the numbers of the witnesses that move a cell."""
        matrix = self._matrix()
        rows = matrix.indices[matrix.indptr[position] : matrix.indptr[position + 1]]
        found: list[int] = self._numbers()[rows].tolist()
        return found

    def use_all(self) -> None:
        """Use the stored witnesses for all needs that they prove."""
        self._use_best(self._matrix(), self._numbers(), np.ones(len(self.rows), dtype=bool))

    def proof(self, chosen: Flags) -> PoolProof:
        """Return the witnesses of both sides of some needs, renumbered from 0."""
        needs = np.flatnonzero(chosen)
        return self.proof_by(needs, self.upper_witness[needs], self.lower_witness[needs])

    def proof_by(self, needs: Integers, upper: Integers, lower: Integers) -> PoolProof:
        """Return given witnesses of some needs, renumbered from 0.

        Parameters
        ----------
        needs : numpy.ndarray of int
            Positions of the needs.
        upper, lower : numpy.ndarray of int
            Numbers of the witnesses that prove them.
        """
        used = np.unique(np.concatenate([upper, lower]))
        used = used[used != TRUTH]
        # The last entry answers for TRUTH, which is -1.
        number_of = np.full(self._next + 1, TRUTH, dtype=np.int64)
        number_of[used] = np.arange(len(used))
        rows = [self.rows[number] for number in used.tolist()]
        index, cells = self.needs.index[needs], self.system.cells
        return PoolProof(index, number_of[upper], number_of[lower], cells, rows)

    def whole_proof(self) -> PoolProof:
        """Return the witnesses of all needs."""
        return self.proof(np.ones(len(self.needs.cells), dtype=bool))

    def witnesses(self) -> Witnesses:
        """Return all witnesses, used or not, by cells of the table."""
        return [(self.system.cells[cells], moves) for cells, moves in self.rows.values()]

    def moved(self) -> Flags:
        """Flag the cells that witnesses in use move; all of them must be suppressed."""
        flags = np.zeros(self.system.n_unknown, dtype=bool)
        for number in self._used():
            flags[self.rows[int(number)][0]] = True
        return flags

    def copy(self) -> Self:
        """Return a pool that can be changed without changing this one."""
        pool = type(self).__new__(type(self))
        pool.__dict__.update(self.__dict__)
        pool.rows = dict(self.rows)
        for name in ("above", "below", "upper_witness", "lower_witness"):
            setattr(pool, name, getattr(self, name).copy())
        return pool

    def _hold(self, rows: Witnesses) -> None:
        self.rows.update(enumerate(rows, start=self._next))
        self._next += len(rows)
        self._cache = None

    def _keep_only(self, kept: Flags) -> None:
        """Drop all but some witnesses, and let these replace the dropped ones in their order."""
        if np.all(kept):
            return
        rows, matrix = list(self.rows.items()), self._matrix()
        numbers = self._numbers()
        # The last entry answers for TRUTH, which is -1.
        stays = np.ones(self._next + 1, dtype=bool)
        stays[numbers[~kept]] = False
        for reach, witness in ((self.above, self.upper_witness), (self.below, self.lower_witness)):
            lost = ~stays[witness]
            reach[lost], witness[lost] = 0.0, TRUTH
        self.rows = dict(rows[place] for place in np.flatnonzero(kept).tolist())
        self._cache = None
        self._use_best(matrix, numbers, kept)

    def _use_best(self, matrix: csc_array, numbers: Integers, usable: Flags) -> None:
        """Use witnesses that move a cell farther than those in use, where a need is open.

        Parameters
        ----------
        matrix : scipy.sparse.csc_array
            One witness a row.
        numbers : numpy.ndarray of int
            Their numbers.
        usable : numpy.ndarray of bool
            Which of them to consider.
        """
        up, down = self.open_sides()
        for sign, lacking in ((1, up), (-1, down)):
            reach, witness = (
                (self.above, self.upper_witness) if sign > 0 else (self.below, self.lower_witness)
            )
            needs = np.flatnonzero(lacking)
            taken = entries_of(matrix, self.needs.cells[needs])
            length = np.diff(matrix.indptr)[self.needs.cells[needs]]
            need, row = np.repeat(needs, length), matrix.indices[taken]
            move = sign * matrix.data[taken]
            farther = usable[row] & (move > reach[need])
            need, row, move = need[farther], row[farther], move[farther]
            if not len(need):
                continue
            # Entries are sorted by need: the first witness that moves farthest is used.
            starts = np.flatnonzero(np.diff(need, prepend=-1))
            best = np.maximum.reduceat(move, starts)
            is_best = move == np.repeat(best, np.diff(starts, append=len(need)))
            first = np.minimum.reduceat(np.where(is_best, row, len(usable)), starts)
            reach[need[starts]], witness[need[starts]] = best, numbers[first]

    def _matrix(self) -> csc_array:
        """All witnesses as rows, stored by columns; rebuilt when a witness was added."""
        if self._cache is None:
            self._cache = csc_array(_stacked(list(self.rows.values()), self.system.n_unknown))
        return self._cache

    def _numbers(self) -> Integers:
        return np.fromiter(self.rows, dtype=np.int64, count=len(self.rows))

    def _used(self) -> Integers:
        used = np.unique(np.concatenate([self.upper_witness, self.lower_witness]))
        kept: Integers = used[used != TRUTH]
        return kept


def _stacked(rows: list[tuple[Integers, Floats]], n_cells: int) -> csr_array:
    pointers = np.cumsum([0, *(len(cells) for cells, _ in rows)])
    indices = np.concatenate([cells for cells, _ in rows]) if rows else np.zeros(0, dtype=np.int64)
    data = np.concatenate([data for _, data in rows]) if rows else np.zeros(0)
    return csr_array((data, indices, pointers), shape=(len(rows), n_cells))
