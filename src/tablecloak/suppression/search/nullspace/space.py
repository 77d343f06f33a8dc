"""A null space with its classes of cells that move in proportion, and are hidden together.

Rows of the null space that are proportional belong to cells of which none can be published
alone: one class, with the summed weight, the least room and the largest need. As cells are
published the rank falls, classes merge for good, and the whole state shrinks: of the 1,500
cells hidden at a rank of 30 some 200 classes are left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.suppression.system.system import System

__all__ = ["Space", "moves", "space_of"]

DEAD = 1e-6
"""Length of the row of a cell, in an orthonormal null space, below which it does not move."""

ALIKE = 1e-7
"""Difference of random projections of two rows of unit length below which they are the same."""

DEPENDENT = 1e-8
"""Share of the longest row below which what is new in another one is a rounding error."""


@dataclass(frozen=True, eq=False)
class Space:
    """Null space of a pattern, one row for each class of cells that move in proportion.

    Parameters
    ----------
    rows : numpy.ndarray of float, shape (n_classes, rank)
        Move of a class for each vector of the null space, of unit length.
    high, low : numpy.ndarray of float, shape (n_classes,)
        How far it may move up and down, both 0 or more, in the measure of its row.
    upper, lower : numpy.ndarray of float, shape (n_classes,)
        How far it must be able to move; 0 without a sensitive cell.
    weight : numpy.ndarray of float, shape (n_classes,)
        Loss that its publication saves.
    fixed : numpy.ndarray of bool, shape (n_classes,)
        Whether it must stay hidden.
    length : numpy.ndarray of float, shape (n_classes,)
        Length of the longest row among its cells, in the orthonormal null space.
    class_of : numpy.ndarray of int, shape (n_unknown,)
        Class of each cell; -1 for a cell that does not move.
    factor : numpy.ndarray of float, shape (n_unknown,)
        Move of each cell for a unit move of its class.
    spanning : numpy.ndarray of int
        Published cells from which all others that do not move follow.
    """

    rows: Floats
    high: Floats
    low: Floats
    upper: Floats
    lower: Floats
    weight: Floats
    fixed: Flags
    length: Floats
    class_of: Integers
    factor: Floats
    spanning: Integers

    @property
    def rank(self) -> int:
        """Dimension of the null space."""
        return int(self.rows.shape[1])

    @property
    def needed(self) -> Integers:
        """Classes with a sensitive cell."""
        return np.flatnonzero((self.upper > 0) | (self.lower > 0))

    @property
    def alive(self) -> Flags:
        """Which cells move."""
        flags: Flags = self.class_of >= 0
        return flags

    def deviations(self, points: Floats) -> Floats:
        """Return deviations of all cells from points of the null space, a column for each."""
        moves = self.rows @ points
        found = np.zeros((len(self.class_of), points.shape[1]))
        alive = self.alive
        found[alive] = moves[self.class_of[alive]] * self.factor[alive, None]
        return found

    def without(self, classes: Integers, random: np.random.Generator) -> Space:
        """Return the null space in which some classes do not move any more.

        Householder reflections turn the space so that all that moves these classes lies in the
        first vectors, which are then dropped.
        """
        given = np.asfortranarray(self.rows[classes].T)
        reflectors, order, scales, *_ = lapack.dgeqp3(given)
        size = np.abs(np.diagonal(reflectors))
        new = int(np.sum(size > DEPENDENT * size[0]))
        work = 64 * len(self.rows)
        turned, _, _ = lapack.dormqr(
            "R", "N", reflectors[:, :new], scales[:new], np.array(self.rows, order="F"), work
        )
        left = turned[:, new:]
        share = np.sqrt(np.einsum("ij,ij->i", left, left))
        alive = self.length * share > DEAD
        alive[classes] = False
        chosen = self._cells_of(classes[order[:new] - 1])
        return self._rescaled(left, share, np.flatnonzero(alive), chosen).merged(random)

    def _cells_of(self, classes: Integers) -> Integers:
        """Return one cell of each class."""
        cell = np.zeros(len(self.rows), dtype=np.int64)
        alive = np.flatnonzero(self.alive)
        cell[self.class_of[alive]] = alive
        found: Integers = cell[classes]
        return found

    def _rescaled(self, rows: Floats, share: Floats, kept: Integers, chosen: Integers) -> Space:
        """Return the space over some classes, whose rows are scaled to unit length."""
        share = share[kept]
        place = np.full(len(self.rows) + 1, -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        scale = np.ones(len(self.rows) + 1)
        scale[kept] = share
        return Space(
            rows=np.asfortranarray(rows[kept] / share[:, None]),
            high=self.high[kept] / share,
            low=self.low[kept] / share,
            upper=self.upper[kept] / share,
            lower=self.lower[kept] / share,
            weight=self.weight[kept],
            fixed=self.fixed[kept],
            length=self.length[kept] * share,
            class_of=place[self.class_of],
            factor=self.factor * scale[self.class_of],
            spanning=np.concatenate([self.spanning, chosen]),
        )

    def merged(self, random: np.random.Generator) -> Space:
        """Return the space with classes merged that now move in proportion."""
        label, first, sign = _alike(self.rows, random)
        n = len(first)
        if n == len(self.rows):
            return self

        def both(up: Floats, down: Floats, best: np.ufunc, start: float) -> tuple[Floats, Floats]:
            # What a cell on the other side may do upwards, its class may do downwards.
            above, below = np.where(sign > 0, up, down), np.where(sign > 0, down, up)
            found = np.full(n, start), np.full(n, start)
            best.at(found[0], label, above)
            best.at(found[1], label, below)
            return found

        high, low = both(self.high, self.low, np.minimum, np.inf)
        upper, lower = both(self.upper, self.lower, np.maximum, 0.0)
        fixed = np.zeros(n, dtype=bool)
        np.logical_or.at(fixed, label, self.fixed)
        length = np.zeros(n)
        np.maximum.at(length, label, self.length)
        place, signs = np.append(label, -1), np.append(sign, 1.0)
        return replace(
            self,
            rows=np.asfortranarray(self.rows[first]),
            high=high,
            low=low,
            upper=upper,
            lower=lower,
            weight=np.bincount(label, self.weight, n).astype(np.float64),
            fixed=fixed,
            length=length,
            class_of=place[self.class_of],
            factor=self.factor * signs[self.class_of],
        )


def space_of(
    system: System,
    weights: Floats,
    must: Flags,
    hidden: Flags,
    vectors: Floats,
    random: np.random.Generator,
) -> Space:
    """Return the null space of a pattern with its classes.

    Parameters
    ----------
    system : System
    weights : numpy.ndarray of float, shape (n_unknown,)
    must : numpy.ndarray of bool, shape (n_unknown,)
        Cells that stay hidden.
    hidden : numpy.ndarray of bool, shape (n_unknown,)
    vectors : numpy.ndarray of float, shape (n_hidden, nullity)
        Of `null_vectors`.
    random : numpy.random.Generator
    """
    size = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    moving = np.flatnonzero(moves(vectors))
    cells, share = np.flatnonzero(hidden)[moving], size[moving]
    place, factor = np.full(system.n_unknown, -1, dtype=np.int64), np.zeros(system.n_unknown)
    place[cells], factor[cells] = np.arange(len(cells)), share
    upper, lower = _asked(system)
    return Space(
        rows=np.asfortranarray(vectors[moving] / share[:, None]),
        high=system.high[cells] / system.unit / share,
        low=-system.low[cells] / system.unit / share,
        upper=upper[cells] / share,
        lower=lower[cells] / share,
        weight=np.where(must, 0.0, weights)[cells],
        fixed=must[cells],
        length=share,
        class_of=place,
        factor=factor,
        spanning=np.flatnonzero(~hidden),
    ).merged(random)


def moves(vectors: Floats) -> Flags:
    """Which cells move at all in an orthonormal null space, one row for each cell."""
    flags: Flags = np.einsum("ij,ij->i", vectors, vectors) > DEAD**2
    return flags


def _asked(system: System) -> tuple[Floats, Floats]:
    """How far each cell must be able to move up and down, in units; half a width on each side."""
    needs = system.needs
    upper, lower = np.zeros(system.n_unknown), np.zeros(system.n_unknown)
    upper[needs.cells] = np.maximum(needs.upper, needs.width / 2) / system.unit
    lower[needs.cells] = np.maximum(needs.lower, needs.width / 2) / system.unit
    return upper, lower


def _alike(rows: Floats, random: np.random.Generator) -> tuple[Integers, Integers, Floats]:
    """Class of each row, one row of each class, and the sign of each row beside that one."""
    keys = rows @ random.standard_normal((rows.shape[1], 2))
    turn = np.where(keys[:, 0] < 0, -1.0, 1.0)
    first, second = np.abs(keys[:, 0]), keys[:, 1] * turn
    order = np.lexsort((second, first))
    new = np.diff(first[order]) > ALIKE
    new |= np.abs(np.diff(second[order])) > ALIKE
    starts = np.flatnonzero(np.concatenate([[True], new])) if len(rows) else np.zeros(0, int)
    label = np.empty(len(rows), dtype=np.int64)
    label[order] = np.cumsum(np.concatenate([[False], new])) if len(rows) else 0
    chosen = order[starts]
    return label, chosen, turn * turn[chosen][label]
