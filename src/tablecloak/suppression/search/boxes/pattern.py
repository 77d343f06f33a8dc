"""A pattern that is a union of boxes: built one need after the other, then improved box by box.

Codes only suggest witnesses. The relations decide whether a suggestion is one, so codes with
another meaning cost time but do no harm.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats, Integers, Signs, median_of_positive
from tablecloak.budget import Budget
from tablecloak.solve.exact import rounded_down
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.candidate import costliest_first
from tablecloak.suppression.system.system import System, entries_of
from tablecloak.tables.changes.merged_cells import MergedTable
from tablecloak.tables.table import Table

Places = npt.NDArray[np.int32]

MOST_POINTS = 100_000_000
"""Most combinations of codes for which a grid is built; each takes five bytes of memory."""

MOST_CODES = 5_000
"""Most codes of one dimension for which a grid is built. Each pair of a code and a leaf takes a
byte, and a dimension with more codes usually is a list of all cells."""

MOST_ABOVE = 16
"""Most codes above a leaf, on average: where there are more, one column lists the cells of a table
of several dimensions, and a move of it would move all margins of a cell."""

FEW, MANY = (80, 6), (1000, 50)
"""Number of moves of each code, and of leaves below it, that are tried first, and then where no box
was found. Moves with the fewest codes are taken first, then those with the most cells.
docs/decisions, "Boxes"."""

BEAM = 6
"""Number of boxes that are extended at once. On 14,248 cells of four dimensions a single one, with
half as many moves, lost half as much again in a seventh of the time. docs/decisions, "Boxes"."""

LEAST_PRICE = 1e-6
"""Least price of a cell, as a share of the median weight, so that the smaller of equal boxes is
preferred and a box moves no more hidden cells than it needs."""

BITS = 40
"""Binary digits to which the move of a box is rounded, so that sums of moves stay exact. The
rounding is far below the accepted shortfall of a need."""

MET = 1 - 5e-10
"""Share of a need at which it counts as met; witnesses are accepted from 1 - 1e-9 on."""

MOST_RELIEVED = 200
"""Most boxes that are exchanged at once because they move a heavy cell. Chosen by trial; not
measured."""

MOST_SHARED = 20
"""Most boxes that share a secondary cell and are still exchanged together because of it. Chosen by
trial; not measured."""

REPORTED_EVERY = 100
"""Number of needs or boxes between two reports of progress."""


@dataclass(frozen=True, eq=False)
class Grid:
    """The combinations of codes of a table with two dimensions or more.

    Parameters
    ----------
    covers : tuple of numpy.ndarray of int, shape (n_codes, n_leaves)
        For each dimension, 1 where a leaf is below a code or is that code.
    strides : numpy.ndarray of int, shape (n_dimensions,)
        A combination of codes is the point sum_i code_i stride_i.
    place : numpy.ndarray of int, shape (n_points,)
        Position of the cell in the system; n_unknown for points without a cell that may move.
    sign : numpy.ndarray of int, shape (n_points,)
        Sign of the cell relative to its position, which several cells that move alike share.
    home : numpy.ndarray of int, shape (n_unknown,)
        The point of each position; of several that move alike, the most detailed.
    filled : tuple of numpy.ndarray of int, shape (n_codes,)
        Number of cells with each code of each dimension.
    """

    covers: tuple[Signs, ...]
    strides: Integers
    place: Places
    sign: Signs
    home: Integers
    filled: tuple[Integers, ...]

    @classmethod
    def of(cls, table: Table, system: System) -> Grid | None:
        """Return the grid of a table; None if its cells have no usable codes.

        Parameters
        ----------
        table : Table
            The table of the system's problem.
        system : System
        """
        given, group, turn = _given(table)
        columns = [pd.factorize(given.keys[name]) for name in given.keys.columns]
        counts = [len(codes) for _, codes in columns]
        if len(columns) < 2 or max(counts) > MOST_CODES or math.prod(counts) > MOST_POINTS:
            return None
        codes = np.column_stack([numbers for numbers, _ in columns]).astype(np.int64)
        covers = _covers(given, codes, counts)
        if any(np.sum(cover, dtype=np.int64) > MOST_ABOVE * cover.shape[1] for cover in covers):
            return None
        strides = np.cumprod([1, *counts[:-1]]).astype(np.int64)
        points, n_unknown = codes @ strides, system.n_unknown
        position = np.full(table.n_cells, n_unknown, dtype=np.int32)
        position[system.cells] = np.arange(n_unknown)
        place = np.full(math.prod(counts), n_unknown, dtype=np.int32)
        place[points] = position[group]
        sign = np.ones(len(place), dtype=np.int8)
        sign[points] = turn
        # Cells below a cell must move with it, so a point with fewer cells below is cheaper.
        below = sum(
            np.log1p(cover.sum(axis=1, dtype=np.int64))[codes[:, number]]
            for number, cover in enumerate(covers)
        )
        order = np.lexsort((np.arange(len(points)), -np.asarray(below)))
        home = np.zeros(n_unknown + 1, dtype=np.int64)
        home[place[points[order]]] = points[order]
        filled = tuple(np.bincount(codes[:, i], minlength=n) for i, n in enumerate(counts))
        return cls(covers, strides, place, sign, home[:-1], filled)

    @property
    def n_dimensions(self) -> int:
        """Number of dimensions."""
        return len(self.covers)

    def codes(self, point: int) -> list[int]:
        """Return the code of a point on each dimension."""
        found = []
        for stride in self.strides[::-1].tolist():
            code, point = divmod(point, stride)
            found.append(code)
        return found[::-1]


def _given(table: Table) -> tuple[Table, Integers, Signs]:
    """Return the table with all codes, and for each of its cells the cell and sign in `table`."""
    if isinstance(table, MergedTable):
        return table.given, table.group, table.turn.astype(np.int8)
    return table, np.arange(table.n_cells), np.ones(table.n_cells, dtype=np.int8)


def _covers(table: Table, codes: Integers, counts: list[int]) -> tuple[Signs, ...]:
    """Return the leaves below each code, by relations whose cells differ in one dimension only."""
    relations = table.relations
    length = np.diff(relations.indptr)
    row = np.repeat(np.arange(relations.shape[0]), length)
    is_total = relations.data < 0
    total = np.full(relations.shape[0], -1)
    total[row[is_total]] = relations.indices[is_total]
    is_sum = np.bincount(row[is_total], minlength=len(total)) == 1
    part = ~is_total & is_sum[row]
    above, below = codes[total[row[part]]], codes[relations.indices[part]]
    differs = above != below
    alone = differs.sum(axis=1) == 1
    found = []
    for number, count in enumerate(counts):
        own = alone & differs[:, number]
        found.append(_cover(above[own, number], below[own, number], count))
    return tuple(found)


def _cover(above: Integers, below: Integers, count: int) -> Signs:
    """Return which leaves are below each code, given the pairs of a code and one just below it."""
    step = csr_array((np.ones(len(above), dtype=np.int32), (above, below)), shape=(count, count))
    leaves = np.flatnonzero(np.bincount(above, minlength=count) == 0)
    places = leaves, np.arange(len(leaves))
    shape = count, len(leaves)
    reached = csr_array((np.ones(len(leaves), dtype=np.int32), places), shape=shape)
    while True:
        further = reached + step @ reached
        further.data[:] = 1
        if further.nnz == reached.nnz:
            closed: Signs = reached.toarray().astype(np.int8)
            return closed
        reached = further


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
    leaves: dict[int, tuple[csr_array, Integers]] = field(default_factory=dict)
    """The codes above each leaf of a dimension, and how many cells have the leaf as their code."""

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
        if dimension not in self.leaves:
            filled = _of_leaves(cover, self.grid.filled[dimension])
            # In the last move of each leaf no other leaf goes down: all codes above it move.
            nothing = np.zeros((1, len(cover)), dtype=np.int64)
            self.leaves[dimension] = csr_array(np.vstack([cover.T, nothing])), np.append(filled, 0)
        leaves, filled = self.leaves[dimension]
        own = np.flatnonzero(cover[code])
        if not len(own):
            return np.zeros((1, 1), dtype=np.int64), np.ones((1, 1), dtype=np.int8)
        own = own[np.argsort(-filled[own], kind="stable")][: self.own]
        others = np.append(np.flatnonzero(cover[code] == 0), cover.shape[1])
        # A code moves unless it is above both leaves or neither. With virtual cells a dimension has
        # thousands of codes, of which few are above a leaf.
        above_both = (leaves[own] @ leaves.T).toarray()[:, others]
        above = np.diff(leaves.indptr)
        length = (above[own][:, None] + above[others] - 2 * above_both).ravel()
        chosen = np.lexsort((-np.tile(filled[others], len(own)), length))[: self.most]
        up, down = own[chosen // len(others)], others[chosen % len(others)]
        every = leaves[up] - leaves[down]
        every.eliminate_zeros()
        every.sort_indices()
        # Codes that move come first in each row; the others repeat the code, with sign 0.
        row = np.repeat(np.arange(len(chosen)), np.diff(every.indptr))
        column = np.arange(every.nnz) - every.indptr[row]
        shape = len(chosen), int(length[chosen].max())
        moving, moved = np.full(shape, code, dtype=np.int64), np.zeros(shape, dtype=np.int8)
        moving[row, column], moved[row, column] = every.indices, every.data
        return (moving - code) * self.grid.strides[dimension], moved


def _of_leaves(cover: Signs, filled: Integers) -> Integers:
    """Return how many cells have each leaf as their code."""
    # Codes above a single leaf are as full as the leaf, or nearly.
    code, leaf = np.nonzero(cover * (cover.sum(axis=1, dtype=np.int64) == 1)[:, None])
    found = np.zeros(cover.shape[1], dtype=np.int64)
    np.maximum.at(found, leaf, filled[code])
    return found


@dataclass(frozen=True, eq=False)
class Box:
    """A witness that is a product of one move on each dimension.

    Parameters
    ----------
    cells : numpy.ndarray of int, shape (n_moved,)
        Positions in the system, increasing.
    moves : numpy.ndarray of float, shape (n_moved,)
        1 for cells that move up together, -1 for those that then move down.
    price : float
        Price of the cells that the box would hide.
    is_mirrored : bool, default=True
        Whether the mirror image is a witness too.
    """

    cells: Integers
    moves: Floats
    price: float
    is_mirrored: bool = True

    def reach(self, asked: float, most: float, is_whole: bool) -> float:
        """Return the multiple of the moves that is a witness, such that relations hold exactly.

        Parameters
        ----------
        asked, most : float
            The multiple that meets all needs of its cells, and the largest that they have room for.
        is_whole : bool
            Whether the table is one of whole numbers.
        """
        asked = min(asked, most)
        if is_whole and math.ceil(asked) <= most:
            # A whole move also holds against an intruder who knows that values are whole.
            return float(math.ceil(asked))
        return rounded_down(asked, BITS)


@dataclass(frozen=True, eq=False)
class _Part:
    """A product of moves on the dimensions treated so far."""

    points: Integers
    signs: Signs


class Finder(ABC):
    """Finds witnesses for one need after the other at given prices.

    Parameters
    ----------
    rooms : numpy.ndarray of float, shape (2, n_unknown)
        How far each cell can go up, and down.
    weights : numpy.ndarray of float, shape (n_unknown,)
    free : numpy.ndarray of bool, shape (n_unknown,)
        Cells that are hidden in any case.

    Attributes
    ----------
    tries_each_side : bool
        Whether to meet each side on its own where no mirrored witness is found, although the cell
        has room for one.
    """

    tries_each_side = False

    def __init__(self, rooms: Floats, weights: Floats, free: Flags) -> None:
        self.least = LEAST_PRICE * median_of_positive(weights)
        # Points without a cell have the last entry, which admits no move.
        rooms = np.column_stack([rooms, [-1.0, -1.0]])
        both = rooms.min(axis=0)
        self.rooms = np.stack([np.stack([both, both]), rooms, rooms[::-1]])
        """Room of each cell up and down: for witnesses that are mirrored, for those in which the
        asked cell goes up, and, turned over, for those in which it goes down."""
        self.price = np.append(np.where(free, 0.0, weights) + self.least, np.inf)
        self.free = np.append(free, False)

    def hide(self, cells: Integers) -> None:
        """Set the price of cells, now hidden, to the least price."""
        self.price[cells], self.free[cells] = self.least, True

    def publish(self, cells: Integers, weights: Floats) -> None:
        """Set the price of cells, now published, to their weights."""
        self.price[cells], self.free[cells] = weights + self.least, False

    @contextmanager
    def without(self, cell: int) -> Iterator[None]:
        """Let a cell stand for a while."""
        kept = self.rooms[:, :, cell].copy()
        self.rooms[:, :, cell] = -1.0
        try:
            yield
        finally:
            self.rooms[:, :, cell] = kept

    @abstractmethod
    def cheapest(self, cell: int, target: float, most: float = np.inf) -> Box | None:
        """Return a witness, also when mirrored, in which a cell moves up by `target`.

        Parameters
        ----------
        cell : int
        target : float
        most : float, default=inf
            Price at which a search ends.

        Returns
        -------
        Box or None
            None if none is found.
        """

    def one_way(self, cell: int, target: float, up: int, most: float = np.inf) -> Box | None:
        """Return what is no witness when mirrored; None, as long as a kind of finder has none.

        Parameters
        ----------
        cell : int
        target : float
        up : {1, -1}
            Whether the cell is to move up or down.
        most : float, default=inf
        """
        del cell, target, up, most
        return None


class BoxFinder(Finder):
    """Finds boxes at given prices.

    Parameters
    ----------
    grid : Grid
    rooms, weights, free
        As of `Finder`.
    """

    def __init__(self, grid: Grid, rooms: Floats, weights: Floats, free: Flags) -> None:
        super().__init__(rooms, weights, free)
        self.grid = grid
        self.few, self.many = Moves(grid, *FEW), Moves(grid, *MANY)

    def cheapest(self, cell: int, target: float, most: float = np.inf) -> Box | None:
        """Return the cheapest box found in which every cell can move by `target`.

        The cell moves up in it. Two orders of dimensions are tried: fewest moves first, and fewest
        moves last. Only the final price counts cells that move alike once.

        Parameters
        ----------
        cell : int
        target : float
        most : float, default=inf
            Price at which a box is not extended any further.
        """
        found = self._cheapest(self.few, cell, target, most)
        if found is None and most == np.inf:
            found = self._cheapest(self.many, cell, target, most)
        return found

    def _cheapest(self, every: Moves, cell: int, target: float, most: float) -> Box | None:
        point = int(self.grid.home[cell])
        moves = [every.of(*key) for key in enumerate(self.grid.codes(point))]
        order = sorted(range(len(moves)), key=lambda number: len(moves[number][0]))
        found = [
            self._whole(part)
            for sequence in (order, order[::-1])
            for part in self._grown(point, [moves[number] for number in sequence], target, most)
        ]
        return min(found, key=lambda box: box.price, default=None)

    def _grown(
        self, point: int, moves: list[tuple[Integers, Signs]], target: float, most: float
    ) -> list[_Part]:
        parts = [_Part(np.array([point]), np.ones(1, dtype=np.int8))]
        for leads, signs in moves:
            if not parts:
                break
            prices = [self._prices(part, leads, signs, target) for part in parts]
            every = np.concatenate(prices)
            best = np.argsort(every, kind="stable")[:BEAM]
            best = best[every[best] < most]
            chosen = [divmod(number, len(leads)) for number in best.tolist()]
            parts = [_product(parts[part], leads[move], signs[move]) for part, move in chosen]
        return parts

    def _prices(self, part: _Part, leads: Integers, signs: Signs, target: float) -> Floats:
        """Return the price of the product of a part with each move."""
        places = self.grid.place[part.points[None, :, None] + leads[:, None, :]]
        price = np.where(self.rooms[0, 0, places] >= target, self.price[places], np.inf)
        # Rows are padded at their end with sign 0, which must cost nothing.
        price = np.where(signs[:, None, :] != 0, price, 0.0)
        total: Floats = price.sum(axis=(1, 2))
        return total

    def _whole(self, part: _Part) -> Box:
        places = self.grid.place[part.points]
        cells, first = np.unique(places, return_index=True)
        signs = (part.signs * self.grid.sign[part.points])[first].astype(np.float64)
        return Box(cells.astype(np.int64), signs, float(self.price[cells].sum()))


def _product(part: _Part, leads: Integers, signs: Signs) -> _Part:
    used = signs != 0
    points = (part.points[:, None] + leads[used]).ravel()
    return _Part(points, (part.signs[:, None] * signs[used]).ravel())


class BoxPattern:
    """Boxes, the cells that they hide, and the needs that they meet.

    A box that is found is two witnesses, since its mirror image is one as well. Where a cell has
    too little room for that on one side, each side of its need is met on its own.

    Parameters
    ----------
    system : System
    weights : numpy.ndarray of float, shape (n_unknown,)
    must : numpy.ndarray of bool, shape (n_unknown,)
        Cells that are hidden in any case.
    finding : callable
        Makes what finds witnesses, with the parameters of `Finder`.
    """

    def __init__(
        self,
        system: System,
        weights: Floats,
        must: Flags,
        finding: Callable[[Floats, Floats, Flags], Finder],
    ) -> None:
        self.system, self.weights, self.must = system, weights, must.copy()
        self.rooms = np.stack([system.high, -system.low])
        self.finder = finding(self.rooms, weights, must)
        self.sides = system.needs.sides(system.low, system.high)
        self.size = self.sides.max(axis=0)
        self.boxes: dict[int, Box] = {}
        self.used = np.zeros(system.n_unknown, dtype=np.int64)
        self.users: defaultdict[int, set[int]] = defaultdict(set)
        self.met = (self.sides <= 0).astype(np.int64)
        """How many boxes meet the upper and the lower side of each need."""
        self._next = 0

    def begin_with(self, pool: WitnessPool) -> None:
        """Take the witnesses of a pool for boxes.

        Parameters
        ----------
        pool : WitnessPool
            What it proves stays proved: cells of needs that no two witnesses meet on their own are
            hidden for good.
        """
        for cells, moves in pool.proof(~pool.open).witnesses:
            is_mirrored = bool(np.all(np.abs(moves) <= self.rooms[:, cells]))
            self._add(Box(cells, moves, 0.0, is_mirrored))
        held = ~pool.open & ~self._are_met
        if np.any(held):
            cells = np.concatenate([cells for cells, _ in pool.proof(held).witnesses])
            moved = np.zeros(self.system.n_unknown, dtype=bool)
            moved[cells] = True
            self.hold(moved, np.flatnonzero(held))

    @property
    def hidden(self) -> Flags:
        """Which cells are hidden."""
        hidden: Flags = self.must | (self.used > 0)
        return hidden

    @property
    def loss(self) -> float:
        """Weight of all hidden cells."""
        return float(self.weights[self.hidden].sum())

    @property
    def open(self) -> Integers:
        """Needs that no box meets, the largest first."""
        open_ = np.flatnonzero(~self._are_met)
        ordered: Integers = open_[np.argsort(-self.size[open_], kind="stable")]
        return ordered

    @property
    def _are_met(self) -> Flags:
        met: Flags = np.all(self.met > 0, axis=0)
        return met

    def hold(self, cells: Flags, met: Integers) -> None:
        """Hide cells for good, with the needs that other witnesses over these cells meet."""
        self.must |= cells
        self.finder.hide(np.flatnonzero(cells))
        self.met[:, met] += 1

    def build(self, budget: Budget, most_open: float = np.inf) -> None:
        """Meet one need after the other, the largest first, as far as boxes and time suffice.

        Parameters
        ----------
        budget : Budget
        most_open : float, default=inf
            Number of needs without a box beyond which no further ones are tried.
        """
        ordered, without = self.open.tolist(), 0
        for count, need in enumerate(ordered):
            if budget.is_over or without > most_open:
                return
            if not self._is_met(need):
                without += self._met_by(need) is None
            if count % REPORTED_EVERY == 0:
                budget.report("protecting", self.loss, open_=len(ordered) - count)

    def improve(self, budget: Budget, random: np.random.Generator, size: int = 1) -> None:
        """Try to exchange each box, or each with some beside it, for cheaper ones, in random order.

        Parameters
        ----------
        budget : Budget
        random : numpy.random.Generator
        size : int, default=1
            Most boxes that are exchanged at once.
        """
        numbers = np.array(list(self.boxes), dtype=np.int64)
        beside = self._beside(numbers) if size > 1 else None
        for count, place in enumerate(random.permutation(len(numbers)).tolist()):
            if budget.is_over:
                return
            group = numbers[[place]]
            if beside is not None:
                group = np.append(group, numbers[random.permutation(beside(place))[: size - 1]])
            self._exchange([number for number in group.tolist() if number in self.boxes], random)
            if count % REPORTED_EVERY == 0:
                budget.report("exchanging", self.loss)

    def relieve(self, budget: Budget, random: np.random.Generator, tried: set[int]) -> None:
        """Try to publish cells again, the heaviest first: exchange all boxes that move one.

        Parameters
        ----------
        budget : Budget
        random : numpy.random.Generator
        tried : set of int
            Cells that are passed over; those looked at are added.
        """
        order = costliest_first((self.used > 0) & ~self.must, self.weights).tolist()
        for count, cell in enumerate(order):
            if budget.is_over:
                return
            if cell not in tried and 0 < self.used[cell] <= MOST_RELIEVED:
                tried.add(cell)
                with self.finder.without(cell):
                    self._exchange(sorted(self.users[cell]), random)
            if count % REPORTED_EVERY == 0:
                budget.report("exchanging", self.loss, open_=len(order) - count)

    def _beside(self, numbers: Integers) -> Callable[[int], Integers]:
        """Return a function from the place of a box to the places of boxes sharing secondaries."""
        boxes = [self.boxes[number] for number in numbers.tolist()]
        box = np.repeat(np.arange(len(boxes)), [len(each.cells) for each in boxes])
        cells = np.concatenate([each.cells for each in boxes])
        kept = (self.used[cells] <= MOST_SHARED) & ~self.must[cells]
        shape = len(boxes), len(self.used)
        by_box = csr_array((np.ones(kept.sum()), (box[kept], cells[kept])), shape=shape)
        by_cell = csr_array(by_box.T)

        def beside(place: int) -> Integers:
            own = by_box.indices[by_box.indptr[place] : by_box.indptr[place + 1]]
            found = np.unique(by_cell.indices[entries_of(by_cell, own)])
            near: Integers = found[found != place].astype(np.int64)
            return near

        return beside

    def witnesses(self) -> Iterator[tuple[Integers, Floats]]:
        """Return each box as a witness, and as its mirror image."""
        for box in self.boxes.values():
            yield box.cells, box.moves
            if box.is_mirrored:
                yield box.cells, -box.moves

    def _met_by(self, need: int, most: float = np.inf) -> list[int] | None:
        """Meet a need by one box, or by one for each side; if that fails, return None."""
        cell = int(self.system.needs.cells[need])
        added: list[int] = []
        box = self._confirmed(self.finder.cheapest(cell, float(self.size[need]), most))
        if box is not None:
            return [self._add(box)]
        if not self.finder.tries_each_side and self.size[need] <= self.rooms[:, cell].min():
            # With more care, a mirrored box is found as a rule, and is far cheaper than two
            # (docs/decisions, "Needs with room on one side").
            return None
        for side, up in enumerate((1, -1)):
            if self.met[side, need]:
                continue
            box = self._confirmed(
                self.finder.one_way(cell, float(self.sides[side, need]), up, most)
            )
            if box is None:
                for number in added:
                    self._remove(number)
                return None
            added.append(self._add(box))
        return added

    def _confirmed(self, box: Box | None) -> Box | None:
        """Return a box as a witness, if the relations confirm that it is one."""
        if box is None or not self._keeps_relations(box):
            return None
        return replace(box, moves=self._witness(box))

    def _keeps_relations(self, box: Box) -> bool:
        by_cell, factor = self.system.by_cell, self.system.factor
        taken = entries_of(by_cell, box.cells)
        rows = by_cell.indices[taken]
        moves = np.repeat(box.moves, by_cell.indptr[box.cells + 1] - by_cell.indptr[box.cells])
        row = np.unique(rows, return_inverse=True)[1]
        sums = np.bincount(row, weights=np.rint(by_cell.data[taken] * factor[rows]) * moves)
        return bool(np.all(factor[rows] > 0)) and not np.any(sums)

    def _witness(self, box: Box) -> Floats:
        """Return moves of a box that meet the needs of its cells as far as these have room."""
        size, up = np.abs(box.moves), box.moves > 0
        need = self.system.need_of[box.cells]
        touched = need >= 0
        rooms, sides = self.rooms[:, box.cells], self.sides[:, need[touched]]
        if box.is_mirrored:
            room, side = rooms.min(axis=0), sides.max(axis=0)
        else:
            room, side = np.where(up, *rooms), np.where(up[touched], *sides)
        asked = float(np.max(side / size[touched], initial=0.0))
        most = float(np.min(room / size))
        return box.moves * box.reach(asked, most, self.system.integer)

    def _meets(self, box: Box) -> Integers:
        """Return the sides of needs that a box meets, as places in `met`, row by row."""
        needs = self.system.need_of[box.cells]
        touched = needs >= 0
        needs, moves = needs[touched], box.moves[touched]
        above, below = (moves, -moves) if not box.is_mirrored else (np.abs(moves),) * 2
        upper, lower = MET * self.sides[:, needs]
        sides: Integers = np.concatenate(
            [needs[above >= upper], needs[below >= lower] + len(self.size)]
        )
        return sides

    def _is_met(self, need: int) -> bool:
        return bool(self.met[0, need] and self.met[1, need])

    def _add(self, box: Box) -> int:
        number, self._next = self._next, self._next + 1
        self.boxes[number] = box
        self.used[box.cells] += 1
        for cell in box.cells.tolist():
            self.users[cell].add(number)
        self.finder.hide(box.cells)
        self.met.ravel()[self._meets(box)] += 1
        return number

    def _remove(self, number: int) -> None:
        box = self.boxes.pop(number)
        self.used[box.cells] -= 1
        for cell in box.cells.tolist():
            self.users[cell].discard(number)
        self.met.ravel()[self._meets(box)] -= 1
        cells = box.cells[(self.used[box.cells] == 0) & ~self.must[box.cells]]
        self.finder.publish(cells, self.weights[cells])

    def _exchange(self, numbers: list[int], random: np.random.Generator) -> None:
        """Replace boxes by others that meet the needs only they meet, if these hide less."""
        removed = [self.boxes[number] for number in numbers]
        if not removed:
            return
        cells = np.unique(np.concatenate([box.cells for box in removed]))
        before = self._are_hidden(cells)
        lost = np.unique(np.concatenate([self._meets(box) for box in removed]))
        for number in numbers:
            self._remove(number)
        saved = float(self.weights[cells[before & ~self._are_hidden(cells)]].sum())
        lost = np.unique(lost[self.met.ravel()[lost] == 0] % len(self.size))
        order = np.argsort(-self.size[lost], kind="stable")
        if len(numbers) > 1:
            order = random.permutation(order)
        added = self._met_for_less(lost[order].tolist(), saved)
        if added is None:
            for box in removed:
                self._add(box)

    def _met_for_less(self, needs: list[int], saved: float) -> list[int] | None:
        """Meet needs for less than a price; if that fails, change nothing and return None."""
        added: list[int] = []
        for need in needs:
            if self._is_met(need):
                continue
            numbers = self._met_by(need, saved) if saved > 0 else None
            if numbers is not None:
                saved -= self._price_of(numbers)
                added += numbers
            if numbers is None or saved <= 0:
                for number in added:
                    self._remove(number)
                return None
        return added if saved > 0 else None

    def _price_of(self, numbers: list[int]) -> float:
        """Return the weight of the cells that only some boxes hide."""
        cells = np.concatenate([self.boxes[number].cells for number in numbers])
        cells, count = np.unique(cells, return_counts=True)
        alone = (self.used[cells] == count) & ~self.must[cells]
        return float(self.weights[cells[alone]].sum())

    def _are_hidden(self, cells: Integers) -> Flags:
        hidden: Flags = self.must[cells] | (self.used[cells] > 0)
        return hidden
