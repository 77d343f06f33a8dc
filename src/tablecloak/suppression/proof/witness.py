"""Witnesses collected by a search, and which needs they already prove."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.suppression.proof.exactness import Exactness
from tablecloak.suppression.proof.kept_witnesses import KeptWitnesses
from tablecloak.suppression.proof.proof import TRUTH, is_outside
from tablecloak.suppression.system.system import System

__all__ = ["WitnessPool"]

NOISES = (1e-10, 1e-8, 1e-13)
"""Shares of the largest move below which moves count as rounding errors of 0, tried one after the
other. Where cells differ by orders of magnitude, a small move can be noise or the move needed."""

LEFT_SHARE = 0.02
"""No other way of rounding a solution is tried once at most this share of the needs that it could
prove is still open. Chosen by trial; not measured."""

PULLS = 3
"""How often a witness beyond its bounds is shrunk before it is given up."""

LEAST_PULLED, MOST_PULLED = 1e-10, 0.1
"""Least share by which a witness is shrunk, and share beyond which it is given up instead."""


class WitnessPool(KeptWitnesses):
    """Collects witnesses and knows which needs they already prove.

    One solution often proves many cells at once, and so does its mirror image, scaled to the
    bounds. A proved need takes no program of its own.

    Parameters
    ----------
    system : System
        All positions here number its cells.
    """

    def add(
        self,
        deviation: Floats,
        budget: Budget,
        *,
        is_thorough: bool = True,
        asked: int = -1,
    ) -> None:
        """Keep a solution, and its mirror image, where they prove something new.

        Parameters
        ----------
        deviation : numpy.ndarray of float, shape (n_unknown,)
            A d = 0 and low <= d <= high, in the unit of the table.
        budget : Budget
            Making the solution exact is given up when it ends.
        is_thorough : bool, default=True
            Whether a solution that moves many cells may take an elimination of its own.
        asked : int, optional
            The cell that the solution was to move: its move is never noise, however far
            coefficients carry it to other cells.
        """
        if len(deviation):
            cells = np.flatnonzero(deviation)
            self.add_sparse(cells, deviation[cells], budget, is_thorough=is_thorough, asked=asked)

    def add_sparse(
        self,
        cells: Integers,
        deviation: Floats,
        budget: Budget,
        *,
        is_thorough: bool = True,
        asked: int = -1,
    ) -> None:
        """Keep a solution that is given on the cells that it moves."""
        size = np.abs(deviation)
        largest = np.max(size, initial=0.0)
        most = 0
        exactness = Exactness(self.system, self.needs, self._whole_only, is_thorough)
        for noise in NOISES:
            large = (size > noise * largest) | (cells == asked)
            moved, d = cells[large], deviation[large]
            index = self.need_of[moved]
            touched = index >= 0
            if not np.any(touched):
                return
            most = max(most, self._n_new(index[touched], d[touched]))
            for signed in (d, -d):
                # Scaling a deviation amplifies the solver's residual, so fall back to the unscaled
                # one.
                stretched = self._stretched(moved, signed)
                if not self._add_one(moved, stretched, index, touched, exactness, budget):
                    self._add_one(moved, signed, index, touched, exactness, budget)
            if self._n_new(index[touched], d[touched]) <= LEFT_SHARE * most:
                return

    def add_exact(self, cells: Integers, deviation: Floats) -> None:
        """Keep a solution as it is, if all relations hold for it and it proves something new."""
        index = self.need_of[cells]
        touched = index >= 0
        if not self._is_new(index[touched], deviation[touched]):
            return
        exactness = Exactness(self.system, self.needs, self._whole_only)
        is_within = exactness.beyond(cells, deviation) == 0
        if is_within and exactness.is_exact(cells, deviation):
            self._keep(cells, deviation, index[touched], deviation[touched])

    def against(self, system: System) -> tuple[WitnessPool, Flags]:
        """Return the part of the proof that holds against an intruder with narrower bounds.

        Parameters
        ----------
        system : System
            The system of the same cells, with that intruder's room and needs.

        Returns
        -------
        pool : WitnessPool
            A pool of the witnesses that this intruder cannot rule out.
        changed : numpy.ndarray of bool, shape (n_needs,)
            Needs whose witness it can rule out.
        """
        news = np.flatnonzero((system.low > self.system.low) | (system.high < self.system.high))
        moves = csc_array(self._matrix()[:, news])
        cell = np.repeat(news, np.diff(moves.indptr))
        slack = system.slack[cell] / 2
        passed = is_outside(moves.data, system.low[cell], system.high[cell], (slack, slack))
        pool = self.copy()
        pool.system, pool.needs = system, system.needs
        if not np.any(passed):
            return pool, np.zeros(len(self.needs.cells), dtype=bool)
        kept = np.ones(len(self.rows), dtype=bool)
        kept[moves.indices[passed]] = False
        pool._keep_only(kept)
        lost = (pool.upper_witness != self.upper_witness) | (
            pool.lower_witness != self.lower_witness
        )
        return pool, lost

    def learn_from(self, other: WitnessPool) -> None:
        """Keep as spare the witnesses in use by a pool derived from this one."""
        new = [number for number in other._used().tolist() if number not in self.rows]
        self.learn(other.rows[number] for number in new)

    def keep_used(self, other: WitnessPool) -> None:
        """Keep the witnesses in use by a pool derived from this one, under their numbers."""
        new = [number for number in other._used().tolist() if number not in self.rows]
        self.rows.update((number, other.rows[number]) for number in new)
        self._next = max(self._next, other._next)
        self._cache = None if new else self._cache

    def in_whole_numbers(self) -> WitnessPool:
        """Return a pool that holds and accepts witnesses in whole numbers only."""
        whole = [bool(np.all(data == np.rint(data))) for _, data in self.rows.values()]
        pool = self.copy()
        pool._keep_only(np.array(whole, dtype=bool))
        pool._whole_only = True
        return pool

    def adopt(self, other: WitnessPool) -> None:
        """Take over the witnesses of a pool derived from this one, for the needs that they meet."""
        proved = ~other.open
        used = np.concatenate([other.upper_witness[proved], other.lower_witness[proved]])
        for number in np.unique(used[used != TRUTH]).tolist():
            self.rows.setdefault(number, other.rows[number])
        self._next = max(self._next, other._next)
        self._cache = None
        for name in ("above", "below", "upper_witness", "lower_witness"):
            setattr(self, name, np.where(proved, getattr(other, name), getattr(self, name)))

    def without(self, position: int) -> WitnessPool:
        """Return a pool with only the witnesses that do not move a cell."""
        matrix = self._matrix()
        touching = matrix.indices[matrix.indptr[position] : matrix.indptr[position + 1]]
        kept = np.ones(len(self.rows), dtype=bool)
        kept[touching] = False
        pool = self.copy()
        pool._keep_only(kept)
        return pool

    def within(self, cells: Flags) -> WitnessPool:
        """Return a pool with only the witnesses that move no cell but the given ones."""
        pool = self.copy()
        pool._keep_only(abs(self._matrix()) @ (~cells).astype(np.float64) == 0)
        return pool

    def _stretched(self, cells: Integers, d: Floats) -> Floats:
        """Scale a direction as far as the bounds allow, but no farther than the needs ask."""
        system, needs = self.system, self.needs
        limits = np.where(d > 0, system.high[cells], system.low[cells]) / d
        index = self.need_of[cells]
        moved = index >= 0
        index, moves = index[moved], np.abs(d[moved])
        most = np.maximum(np.maximum(needs.upper[index], needs.lower[index]), needs.width[index])
        wanted = float(np.max(most / moves, initial=0.0))
        factor = min(float(np.min(limits, initial=np.inf)), max(wanted, 1.0))
        # Leave a vertex that touches its bounds as it is: scaling would change its last digits.
        if 1 - 1e-7 < factor < 1 + 1e-7:
            factor = 1.0
        if self._whole_only:
            factor = float(np.floor(factor))
        scaled: Floats = d * factor
        return scaled

    def _add_one(
        self,
        cells: Integers,
        d: Floats,
        needed: Integers,
        touched: Flags,
        exactness: Exactness,
        budget: Budget,
    ) -> bool:
        """Keep one witness, made exact, if it proves a need; return False if none can be made."""
        index, moves = needed[touched], d[touched]
        if not self._is_new(index, moves):
            return True
        kept, scale = False, 1.0
        for _ in range(PULLS):
            missed = np.inf
            for exact in exactness.near(cells, d * scale, budget):
                beyond = exactness.beyond(cells, exact)
                missed = min(missed, beyond)
                if beyond == 0 and self._is_new(index, exact[touched]):
                    self._keep(cells, exact, index, exact[touched])
                    kept = True
                if not self._is_new(index, moves):
                    return True
            if missed == 0 or missed > MOST_PULLED:
                break
            # The true table keeps all bounds, so a deviation that is shrunk towards it will, too.
            scale *= 1 - max(2 * missed, LEAST_PULLED)
        return kept

    def _keep(self, cells: Integers, d: Floats, index: Integers, moves: Floats) -> None:
        up, down = self._brought_on(index, moves)
        number, self._next = self._next, self._next + 1
        kept = d != 0
        self.rows[number] = (cells[kept], d[kept])
        self._cache = None
        self.above[index[up]], self.upper_witness[index[up]] = moves[up], number
        self.below[index[down]], self.lower_witness[index[down]] = -moves[down], number
