"""A pattern that is a union of boxes: built one need after the other, then improved box by box."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tablecloak.budget import Budget
from tablecloak.suppression.search.boxes.box import Box, BoxFinder
from tablecloak.suppression.search.boxes.grid import Grid
from tablecloak.suppression.system import System, entries_of

__all__ = ["BoxPattern"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

BITS = 40
"""Binary digits of how far a box moves, so that sums of its moves stay exact. What they leave out
is far below the share of a need that may lack."""

MET = 1 - 5e-10
"""Share of a need that counts as all of it; witnesses are accepted from 1 - 1e-9 on."""

REPORTED_EVERY = 100
"""Needs or boxes between two reports of progress."""


class BoxPattern:
    """Boxes, what they hide, and which needs they meet.

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
        """Hide cells for good, and take needs as met: other witnesses, which move them, stay."""
        self.must |= cells
        self.finder.hide(np.flatnonzero(cells))
        self.met[met] += 1

    def build(self, budget: Budget) -> None:
        """Protect one need after the other, the largest first, as far as boxes and time suffice."""
        ordered = self.open.tolist()
        for count, need in enumerate(ordered):
            if budget.is_over:
                return
            if not self.met[need] and (box := self._found(need)) is not None:
                self._add(box)
            if count % REPORTED_EVERY == 0:
                budget.report("protecting", self.loss, open_=len(ordered) - count)

    def improve(self, budget: Budget, random: np.random.Generator) -> None:
        """Try to exchange each box once for cheaper ones, in random order."""
        for count, number in enumerate(random.permutation(list(self.boxes)).tolist()):
            if budget.is_over:
                return
            self._exchange(number)
            if count % REPORTED_EVERY == 0:
                budget.report("exchanging", self.loss)

    def witnesses(self) -> Iterator[tuple[Integers, Floats]]:
        """Return each box as a witness, and as its mirror image."""
        for box in self.boxes.values():
            moves = box.signs.astype(np.float64) * self._reach(box)
            yield box.cells, moves
            yield box.cells, -moves

    def _found(self, need: int, most: float = np.inf) -> Box | None:
        """Return a cheap box for a need; codes only guess that it is a witness."""
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
        """Return how far a box moves: as far as its cells can, or as any need of them asks."""
        most = float(self.room[box.cells].min())
        need = self.system.need_of[box.cells]
        asked = min(most, float(np.max(self.size[need[need >= 0]], initial=0.0)))
        if self.system.integer and math.ceil(asked) <= most:
            # It then also holds for who knows that values are whole.
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

    def _exchange(self, number: int) -> None:
        """Protect what a box alone protects by others, if these hide less than it does alone."""
        box = self.boxes[number]
        alone = box.cells[(self.used[box.cells] == 1) & ~self.must[box.cells]]
        saved = float(self.weights[alone].sum())
        if saved <= 0:
            return
        lost = self._meets(box)
        lost = lost[self.met[lost] == 1]
        self._remove(number)
        added: list[int] = []
        for need in lost[np.argsort(-self.size[lost], kind="stable")].tolist():
            if self.met[need]:
                continue
            found = self._found(need, saved)
            if found is not None:
                saved -= float(self.weights[found.cells[~self._are_hidden(found.cells)]].sum())
            if found is None or saved <= 0:
                for other in added:
                    self._remove(other)
                self._add(box)
                return
            added.append(self._add(found))

    def _are_hidden(self, cells: Integers) -> Flags:
        hidden: Flags = self.must[cells] | (self.used[cells] > 0)
        return hidden
