"""A pattern that is a union of boxes: built one need after the other, then improved box by box."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.suppression.search.boxes.box import Box, BoxFinder
from tablecloak.suppression.search.boxes.grid import Grid
from tablecloak.suppression.system.system import System, entries_of

__all__ = ["BoxPattern"]

BITS = 40
"""Binary digits to which the move of a box is rounded, so that sums of moves stay exact. The
rounding is far below the accepted shortfall of a need."""

MET = 1 - 5e-10
"""Share of a need at which it counts as met; witnesses are accepted from 1 - 1e-9 on."""

MOST_SHARED = 20
"""Most boxes that share a secondary cell and are still exchanged together because of it. Chosen by
trial; not measured."""

REPORTED_EVERY = 100
"""Number of needs or boxes between two reports of progress."""


class BoxPattern:
    """Boxes, the cells that they hide, and the needs that they meet.

    All cells of a box move equally far, up or down, so that each box is two witnesses.

    Parameters
    ----------
    grid : Grid
    system : System
    weights : numpy.ndarray of float, shape (n_unknown,)
    must : numpy.ndarray of bool, shape (n_unknown,)
        Cells that are hidden in any case.
    """

    def __init__(self, grid: Grid, system: System, weights: Floats, must: Flags) -> None:
        self.system, self.weights, self.must = system, weights, must.copy()
        self.room = np.minimum(-system.low, system.high)
        self.finder = BoxFinder(grid, self.room, weights, must)
        needs = system.needs
        self.size = np.maximum(np.maximum(needs.upper, needs.lower), needs.width / 2)
        self.boxes: dict[int, Box] = {}
        self.used = np.zeros(system.n_unknown, dtype=np.int64)
        self.met = np.zeros(len(needs.cells), dtype=np.int64)
        self._next = 0

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
        open_ = np.flatnonzero(self.met == 0)
        ordered: Integers = open_[np.argsort(-self.size[open_], kind="stable")]
        return ordered

    def hold(self, cells: Flags, met: Integers) -> None:
        """Hide cells for good, with the needs that other witnesses over these cells meet."""
        self.must |= cells
        self.finder.hide(np.flatnonzero(cells))
        self.met[met] += 1

    def build(self, budget: Budget) -> None:
        """Meet one need after the other, the largest first, as far as boxes and time suffice."""
        ordered = self.open.tolist()
        for count, need in enumerate(ordered):
            if budget.is_over:
                return
            if not self.met[need] and (box := self._found(need)) is not None:
                self._add(box)
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
            moves = box.signs.astype(np.float64) * self._reach(box)
            yield box.cells, moves
            yield box.cells, -moves

    def _found(self, need: int, most: float = np.inf) -> Box | None:
        """Return a cheap box for a need, if the relations confirm that it is a witness."""
        cell = int(self.system.needs.cells[need])
        box = self.finder.cheapest(cell, float(self.size[need]), most)
        return box if box is not None and self._keeps_relations(box) else None

    def _keeps_relations(self, box: Box) -> bool:
        by_cell, factor = self.system.by_cell, self.system.factor
        taken = entries_of(by_cell, box.cells)
        rows = by_cell.indices[taken]
        signs = np.repeat(box.signs, by_cell.indptr[box.cells + 1] - by_cell.indptr[box.cells])
        row = np.unique(rows, return_inverse=True)[1]
        sums = np.bincount(row, weights=np.rint(by_cell.data[taken] * factor[rows]) * signs)
        return bool(np.all(factor[rows] > 0)) and not np.any(sums)

    def _reach(self, box: Box) -> float:
        """Return how far a box moves: as far as its cells can, but no farther than their needs."""
        most = float(self.room[box.cells].min())
        need = self.system.need_of[box.cells]
        asked = min(most, float(np.max(self.size[need[need >= 0]], initial=0.0)))
        if self.system.integer and math.ceil(asked) <= most:
            # A whole move also holds against an intruder who knows that values are whole.
            return float(math.ceil(asked))
        fraction, exponent = math.frexp(asked)
        return math.ldexp(math.floor(math.ldexp(fraction, BITS)), exponent - BITS)

    def _meets(self, box: Box) -> Integers:
        """Return the needs that a box meets."""
        needs = self.system.need_of[box.cells]
        needs = needs[needs >= 0]
        met: Integers = needs[self._reach(box) >= MET * self.size[needs]]
        return met

    def _add(self, box: Box) -> int:
        number, self._next = self._next, self._next + 1
        self.boxes[number] = box
        self.used[box.cells] += 1
        self.finder.hide(box.cells)
        self.met[self._meets(box)] += 1
        return number

    def _remove(self, number: int) -> None:
        box = self.boxes.pop(number)
        self.used[box.cells] -= 1
        self.met[self._meets(box)] -= 1
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
        lost = lost[self.met[lost] == 0]
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
            if self.met[need]:
                continue
            found = self._found(need, saved) if saved > 0 else None
            if found is not None:
                saved -= float(self.weights[found.cells[~self._are_hidden(found.cells)]].sum())
                added.append(self._add(found))
            if found is None or saved <= 0:
                for number in added:
                    self._remove(number)
                return None
        return added if saved > 0 else None

    def _are_hidden(self, cells: Integers) -> Flags:
        hidden: Flags = self.must[cells] | (self.used[cells] > 0)
        return hidden
