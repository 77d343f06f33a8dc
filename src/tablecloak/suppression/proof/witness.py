"""Witnesses of a search: made exact, kept with the needs they prove, and pulled into shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Self

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.solve.exact import NullSpace, products_vanish, snapped
from tablecloak.suppression.proof.proof import REAL_SHARE, least_asked
from tablecloak.suppression.proof.refuted import TRUTH, KnownCells, Refuted, is_outside
from tablecloak.suppression.system.basis import ExactSpan
from tablecloak.suppression.system.needs import Needs
from tablecloak.suppression.system.system import System, entries_of

KEPT_CELLS = 50_000
"""Most cells, over all eliminations together, that are kept; each takes about a kilobyte."""

FEWEST_SPANNED = 200
"""Least number of moved cells for which a basis of free cells is used instead of an elimination."""

LARGEST_SPANNED = 10_000_000
"""Largest product of moved and free cells for which a basis is used, since all its coefficients are
stored. Chosen by trial; not measured."""

MOST_SHRUNK = 1e-6
"""Largest share by which a deviation is shrunk if rounding moved cells beyond their bounds."""

HELD_SHARE = 1e-7
"""Cells within this distance of a bound, as a share of the largest move, count as lying at it."""

ROOM_SHARE = 1 - 1e-5
"""Share of the room of a derived figure beyond which a deviation counts as lying at its end."""

PROGRESS = 1e-10
"""Least share of the need of a side by which a witness must move its cell farther to be kept."""

Witnesses = list[tuple[Integers, Floats]]
"""Witnesses, each as the cells that it moves, increasing, and their moves."""

MOST_SPARE = 5_000
"""Most spare witnesses that a pool keeps for insiders who can rule out those in use."""

NOISES = (1e-10, 1e-8, 1e-13)
"""Shares of the largest move below which moves count as rounding errors of 0, tried one after the
other. Where cells differ by orders of magnitude, a small move can be noise or the move needed."""

LEFT_SHARE = 0.02
"""No other way of rounding a solution is tried once at most this share of the needs that it could
prove is still open. Chosen by trial; not measured."""

PULLS = 3
"""How often a witness beyond its bounds is shrunk before it is given up."""

PULL_GROWTH = 10.0
"""By how much more each time, beside what was missed."""

LEAST_PULLED, MOST_PULLED = 1e-10, 0.1
"""Least share by which a witness is shrunk, and share beyond which it is given up instead."""


@dataclass(frozen=True, eq=False)
class Exactness:
    """Makes deviations of one system exact.

    Parameters
    ----------
    system : System
    needs : Needs
        Needs in that system, perhaps capped by the bounds that an intruder knows.
    whole_only : bool
        Whether deviations must be whole numbers.
    is_thorough : bool, default=True
        Whether a deviation of many cells may take an elimination of its own.
    """

    system: System
    needs: Needs
    whole_only: bool
    is_thorough: bool = True

    def near(self, cells: Integers, d: Floats, budget: Budget) -> Iterator[Floats]:
        """Yield deviations close to a solver's, for which all relations hold exactly."""
        if self.whole_only and not np.all(d == np.rint(d)):
            return
        entries = self._whole_entries(cells)
        for exact in chain(snapped(*entries, d), self._repaired(entries, cells, d, budget)):
            if self._adds_up(cells, exact):
                yield exact

    def is_exact(self, cells: Integers, d: Floats) -> bool:
        """Whether all relations hold for a deviation as it is."""
        if self.whole_only and not np.all(d == np.rint(d)):
            return False
        row, column, coefficient = self._whole_entries(cells)
        n_rows = int(row.max(initial=-1)) + 1
        matrix = csr_array((coefficient, (row, column)), shape=(n_rows, len(cells)))
        return bool(products_vanish(matrix, csr_array(d[None, :]))[0]) and self._adds_up(cells, d)

    def _whole_entries(self, cells: Integers) -> tuple[Integers, Integers, Floats]:
        """Return row, column and coefficient of all entries in rows of whole numbers."""
        system, by_cell = self.system, self.system.by_cell
        taken = entries_of(by_cell, cells)
        column = np.repeat(np.arange(len(cells)), np.diff(by_cell.indptr)[cells])
        factor = system.factor[by_cell.indices[taken]]
        whole = factor > 0
        row = np.unique(by_cell.indices[taken][whole], return_inverse=True)[1]
        coefficient = np.rint(by_cell.data[taken] * factor)[whole]
        return row, column[whole], coefficient

    def _repaired(
        self,
        entries: tuple[Integers, Integers, Floats],
        cells: Integers,
        d: Floats,
        budget: Budget,
    ) -> Iterator[Floats]:
        """Yield deviations in which some cells absorb the rounding errors; eliminates only once."""
        yield from self._spanned(cells, d, budget)
        if not self.is_thorough and len(cells) >= FEWEST_SPANNED:
            return
        for held in self._held(cells, d):
            yield from self._eliminated(entries, cells, d, held, budget)

    def _eliminated(
        self,
        entries: tuple[Integers, Integers, Floats],
        cells: Integers,
        d: Floats,
        held: Flags,
        budget: Budget,
    ) -> Iterator[Floats]:
        """Yield deviations in which some cells are held, by an elimination that is kept."""
        spaces, key = self.system.null_spaces, cells.tobytes()
        space = spaces.get(key)
        if space is not None and (exact := space.near(d)) is not None:
            yield exact
        if space is None or not np.array_equal(space.held, held):
            # Other threads add to it and clear it meanwhile; a list is copied in one step.
            if sum(len(each.held) for each in list(spaces.values())) > KEPT_CELLS:
                spaces.clear()
            space = NullSpace(*entries, held, lambda: budget.is_over)
            if not space.is_cut_short:
                spaces[key] = space
            if (exact := space.near(d)) is not None:
                yield exact

    def _spanned(self, cells: Integers, d: Floats, budget: Budget) -> Iterator[Floats]:
        """Yield deviations by one elimination, which does not depend on the cells at bounds."""
        if len(cells) < FEWEST_SPANNED:
            return
        spans, key = self.system.spans, cells.tobytes()
        try:
            found = spans[key]
        except KeyError:
            # Other threads add to it and clear it meanwhile; a list is copied in one step.
            if sum(span.n_cells for span in list(spans.values()) if span) > KEPT_CELLS:
                spans.clear()
            relations = self.system.part(cells).matrix
            found = ExactSpan.of(relations, budget, LARGEST_SPANNED / len(cells))
            if budget.is_over:
                return
            spans[key] = found
        if found is None:
            return
        shrunk = 1.0
        for _ in range(2):
            exact = found.near(d * shrunk)
            if exact is None or not self.is_exact(cells, exact):
                return
            yield exact
            beyond = self.beyond(cells, exact)
            if not 0 < beyond <= MOST_SHRUNK:
                return
            # Shrinking repairs rounding at a bound, since the true table keeps all bounds.
            shrunk = 1 - 2 * beyond

    def _held(self, cells: Integers, d: Floats) -> Iterator[Flags]:
        """Yield flags of the cells that lie at a bound, or move exactly as far as required.

        Where rooms absorb rounding, first only cells that cannot move one way at all: with unequal
        coefficients there may be no binary fraction at other bounds, or only coarse ones, and a
        point beyond one by its last digits is shrunk. Where no room is at its end, all cells that
        are: one that must reach its bound cannot be shrunk.
        """
        system, needs = self.system, self.needs
        near = HELD_SHARE * float(np.max(np.abs(d)))
        low, high = system.low[cells], system.high[cells]
        fixed: Flags = ((low == 0) & (d <= near)) | ((high == 0) & (d >= -near))
        if system.has_rooms:
            yield fixed
            is_at_end = (d < low * ROOM_SHARE) | (d > high * ROOM_SHARE)
            if np.any(is_at_end & ~fixed & system.rooms[cells]):
                return
        held: Flags = (d - low <= near) | (high - d <= near)
        held &= fixed | ~system.rooms[cells]
        index = self.system.need_of[cells]
        asked = np.where(d > 0, needs.upper[index], needs.lower[index])
        held |= (index >= 0) & (np.abs(np.abs(d) - asked) <= near)
        yield held

    def beyond(self, cells: Integers, d: Floats) -> float:
        """Return the share by which a deviation must shrink to use half the tolerance of bounds."""
        system = self.system
        low, high = system.low[cells], system.high[cells]
        slack = system.slack[cells] / 2
        passed = is_outside(d, low, high, (slack, slack))
        beyond = np.maximum(np.minimum(low, 0.0) - d, d - np.maximum(high, 0.0))
        return float(np.max(beyond[passed] / np.abs(d[passed]), initial=0.0))

    def _adds_up(self, cells: Integers, d: Floats) -> bool:
        """Whether a deviation keeps relations with real coefficients, judged by its least need."""
        if np.all(self.system.factor > 0):
            return True
        by_cell = self.system.by_cell
        taken = entries_of(by_cell, cells)
        moved = np.repeat(d, np.diff(by_cell.indptr)[cells])
        rows = by_cell.indices[taken]
        real = self.system.factor[rows] == 0
        terms = (by_cell.data[taken] * moved)[real]
        if not np.any(real):
            return True
        real_rows, row = np.unique(rows[real], return_inverse=True)
        residual = np.bincount(row, weights=terms)
        smallest, scale = np.full(len(real_rows), np.inf), np.zeros(len(real_rows))
        np.minimum.at(smallest, row, np.where(terms != 0, np.abs(terms), np.inf))
        np.maximum.at(scale, row, np.abs(by_cell.data[taken][real]))
        index = self.system.need_of[cells]
        level = least_asked(self.needs)[index[index >= 0]]
        least = np.min(level, initial=np.inf) * np.minimum(scale, 1.0)
        return bool(np.all(np.abs(residual) <= REAL_SHARE / 2 * np.minimum(least, smallest)))


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
        width = self.needs.width[index]
        # Each side has its own step: one may ask for 10, where all of the other is 0.004.
        higher = PROGRESS * np.maximum(self.needs.upper[index], width)
        lower = PROGRESS * np.maximum(self.needs.lower[index], width)
        up = (moves > self.above[index] + higher) & self._lacking(index, 1)
        down = (-moves > self.below[index] + lower) & self._lacking(index, -1)
        return up, down


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
        if rows:
            inside = self._are_inside(rows)
            self._hold([row for row, is_inside in zip(rows, inside, strict=True) if is_inside])

    def _are_inside(self, rows: Witnesses) -> list[bool]:
        """Return which witnesses keep all bounds."""
        system, length = self.system, [len(cells) for cells, _ in rows]
        every = np.concatenate([cells for cells, _ in rows])
        moves, slack = np.concatenate([row for _, row in rows]), system.slack[every] / 2
        outside = is_outside(moves, system.low[every], system.high[every], (slack, slack))
        inside = np.ones(len(rows), dtype=bool)
        inside[np.repeat(np.arange(len(rows)), length)[outside]] = False
        flags: list[bool] = inside.tolist()
        return flags

    def take_exact(self, witnesses: Witnesses) -> Witnesses:
        """Take those witnesses that satisfy all relations and bounds; return the others."""
        system = self.system
        if not witnesses:
            return []
        whole = system.matrix.multiply(np.maximum(system.factor, 1.0)[:, None]).tocsr()
        rows = _stacked(witnesses, system.n_unknown)
        exact = products_vanish(csr_array((np.rint(whole.data), whole.indices, whole.indptr),
                                          shape=whole.shape), rows)  # fmt: skip
        good = exact & np.array(self._are_inside(witnesses)) & bool(np.all(system.factor > 0))
        self.take(row for row, is_good in zip(witnesses, good.tolist(), strict=True) if is_good)
        return [row for row, is_good in zip(witnesses, good.tolist(), strict=True) if not is_good]

    def take(self, witnesses: Iterable[tuple[Integers, Floats]]) -> None:
        """Keep witnesses that satisfy all relations and bounds, and use them for open needs."""
        self._hold(list(witnesses))
        self.use_all()

    def moving(self, position: int) -> list[int]:
        """Return the numbers of the witnesses that move a cell."""
        matrix = self.matrix
        rows = matrix.indices[matrix.indptr[position] : matrix.indptr[position + 1]]
        found: list[int] = self.numbers[rows].tolist()
        return found

    def use_all(self) -> None:
        """Use the stored witnesses for all needs that they prove."""
        self._use_best(self.matrix, self.numbers, np.ones(len(self.rows), dtype=bool))

    def proof(self, chosen: Flags) -> PoolProof:
        """Return the witnesses of both sides of some needs, renumbered from 0."""
        needs = np.flatnonzero(chosen)
        return self.proof_of(needs, self.upper_witness[needs], self.lower_witness[needs])

    def proof_of(self, needs: Integers, upper: Integers, lower: Integers) -> PoolProof:
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
        rows, matrix = list(self.rows.items()), self.matrix
        numbers = self.numbers
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
            best, first = best_of_each(need, move)
            reach[need[best]], witness[need[best]] = move[first], numbers[row[first]]

    def prefer(self, facts: KnownCells) -> None:
        """Use for each need that is met the witnesses that fewest insiders can rule out.

        Parameters
        ----------
        facts : KnownCells
            What insiders know of the cells of this system.
        """
        if not len(facts.cell):
            return
        matrix, numbers, needs = self.matrix, self.numbers, self.needs
        cost = self.refuted_by(facts).refuters
        for sign in (1, -1):
            reach, witness, other, asked = (
                (self.above, self.upper_witness, self.below, needs.upper)
                if sign > 0
                else (self.below, self.lower_witness, self.above, needs.lower)
            )
            least = np.maximum(asked, needs.width - other)
            met = np.flatnonzero(~self.open & (witness != TRUTH))
            need = np.repeat(met, np.diff(matrix.indptr)[needs.cells[met]])
            taken = entries_of(matrix, needs.cells[met])
            row, move = matrix.indices[taken], sign * matrix.data[taken]
            enough = (move > 0) & (move >= least[need])
            need, row, move = need[enough], row[enough], move[enough]
            # Of several that as few rule out, the one that moves the cell farthest.
            share = move / (2 * np.max(move, initial=1.0))
            best, first = best_of_each(need, share - cost[row])
            reach[need[best]], witness[need[best]] = move[first], numbers[row[first]]

    def refuted_by(self, facts: KnownCells) -> Refuted:
        """Return the witnesses that insiders can rule out, by their rows in `matrix`."""
        system, cell = self.system, facts.cell
        slack = system.slack[cell] / 2
        low = np.maximum(system.low[cell], facts.low)
        high = np.minimum(system.high[cell], facts.high)
        news = (low > system.low[cell]) | (high < system.high[cell])
        narrower = KnownCells(facts.insider[news], cell[news], low[news], high[news])
        return Refuted.of(self.matrix, narrower, (slack[news], slack[news]))

    def rows_in_use(self) -> tuple[Integers, Integers]:
        """Return the rows of the witnesses in use for the upper and lower side of each need."""
        # The last entry answers for TRUTH, which is -1.
        row_of = np.full(self._next + 1, TRUTH, dtype=np.int64)
        row_of[self.numbers] = np.arange(len(self.rows))
        return row_of[self.upper_witness], row_of[self.lower_witness]

    @property
    def matrix(self) -> csc_array:
        """All witnesses as rows, stored by columns; rebuilt when a witness was added."""
        if self._cache is None:
            self._cache = csc_array(_stacked(list(self.rows.values()), self.system.n_unknown))
        return self._cache

    @property
    def numbers(self) -> Integers:
        """Number of the witness in each row of `matrix`."""
        return np.fromiter(self.rows, dtype=np.int64, count=len(self.rows))

    def _used(self) -> Integers:
        used = np.unique(np.concatenate([self.upper_witness, self.lower_witness]))
        kept: Integers = used[used != TRUTH]
        return kept


def best_of_each(group: Integers, worth: Floats) -> tuple[Integers, Integers]:
    """Return the first entry of each group, and the first of the largest worth.

    Parameters
    ----------
    group : numpy.ndarray of int, shape (n,)
        Increasing.
    worth : numpy.ndarray of float, shape (n,)

    Returns
    -------
    starts, best : numpy.ndarray of int, shape (n_groups,)
        Positions of entries.
    """
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    if not len(starts):
        return starts, starts
    most = np.repeat(np.maximum.reduceat(worth, starts), np.diff(starts, append=len(group)))
    place = np.where(worth == most, np.arange(len(group)), len(group))
    return starts, np.minimum.reduceat(place, starts)


def _stacked(rows: list[tuple[Integers, Floats]], n_cells: int) -> csr_array:
    pointers = np.cumsum([0, *(len(cells) for cells, _ in rows)])
    indices = np.concatenate([cells for cells, _ in rows]) if rows else np.zeros(0, dtype=np.int64)
    data = np.concatenate([data for _, data in rows]) if rows else np.zeros(0)
    return csr_array((data, indices, pointers), shape=(len(rows), n_cells))


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
        if self.system.has_rooms:
            as_they_are = [self.add_exact(cells, signed) for signed in (deviation, -deviation)]
            if any(as_they_are):
                return
        size = np.abs(deviation)
        largest = np.max(size, initial=0.0)
        most = 0
        exactness = Exactness(self.system, self.needs, self._whole_only, is_thorough)
        for noise in NOISES:
            large = (size > noise * largest) | (cells == asked)
            moved, d = cells[large], deviation[large]
            if self.system.has_rooms:
                moved, d = self.system.with_rooms(moved, d)
            index = self.need_of[moved]
            touched = index >= 0
            if not np.any(touched):
                return
            most = max(most, self._n_new(index[touched], d[touched]))
            for signed in (d, -d):
                # Scaling a deviation amplifies the solver's residual, so fall back to the unscaled
                # one.
                stretched = self._stretched(moved, signed)
                if not self._add_one(moved, stretched, exactness, budget):
                    self._add_one(moved, signed, exactness, budget)
            if self._n_new(index[touched], d[touched]) <= LEFT_SHARE * most:
                return

    def add_exact(self, cells: Integers, deviation: Floats) -> bool:
        """Keep a solution as it is, if all relations hold for it and it proves something new."""
        index = self.need_of[cells]
        touched = index >= 0
        if not self._is_new(index[touched], deviation[touched]):
            return False
        exactness = Exactness(self.system, self.needs, self._whole_only)
        is_within = exactness.beyond(cells, deviation) == 0
        if not is_within or not exactness.is_exact(cells, deviation):
            return False
        self._keep(cells, deviation, index[touched], deviation[touched])
        return True

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
        moves = csc_array(self.matrix[:, news])
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
        matrix = self.matrix
        touching = matrix.indices[matrix.indptr[position] : matrix.indptr[position + 1]]
        kept = np.ones(len(self.rows), dtype=bool)
        kept[touching] = False
        pool = self.copy()
        pool._keep_only(kept)
        return pool

    def within(self, cells: Flags) -> WitnessPool:
        """Return a pool with only the witnesses that move no cell but the given ones."""
        pool = self.copy()
        pool._keep_only(abs(self.matrix) @ (~cells).astype(np.float64) == 0)
        return pool

    def _stretched(self, cells: Integers, d: Floats) -> Floats:
        """Scale a direction as far as the bounds allow, but no farther than the needs ask."""
        system, needs = self.system, self.needs
        limits = np.full(len(d), np.inf)
        np.divide(np.where(d > 0, system.high[cells], system.low[cells]), d, limits, where=d != 0)
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
        exactness: Exactness,
        budget: Budget,
    ) -> bool:
        """Keep one witness, made exact, if it proves a need; return False if none can be made."""
        needed = self.need_of[cells]
        touched = needed >= 0
        index, moves = needed[touched], d[touched]
        if not self._is_new(index, moves):
            return True
        kept, scale, worst = False, 1.0, 0.0
        for pull in range(PULLS):
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
            # Rounding again may miss as far by other cells, so that each pull is stronger.
            worst = max(worst, missed)
            scale *= 1 - max(2 * worst * PULL_GROWTH**pull, LEAST_PULLED)
        return kept

    def _keep(self, cells: Integers, d: Floats, index: Integers, moves: Floats) -> None:
        up, down = self._brought_on(index, moves)
        number, self._next = self._next, self._next + 1
        kept = d != 0
        self.rows[number] = (cells[kept], d[kept])
        self._cache = None
        self.above[index[up]], self.upper_witness[index[up]] = moves[up], number
        self.below[index[down]], self.lower_witness[index[down]] = -moves[down], number
