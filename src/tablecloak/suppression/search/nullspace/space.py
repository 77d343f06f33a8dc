"""A null space with its classes of cells, and how far sensitive cells can move in it.

Rows of the null space that are proportional belong to cells of which none can be published
alone: one class, with the summed weight, the least room and the largest need. As cells are
published the rank falls, classes merge for good, and the whole state shrinks: of the 1,500
cells hidden at a rank of 30 some 200 classes are left.

Let Z be the rows divided by the room of each class, and M = Z'Z. Of all points of one weighted
length, M^-1 q moves the class with row q farthest; it is a witness if no class then passes its
room. If one does, the weights are changed a few times towards those of the farthest move within all
rooms (Lawson). A point that is found is a witness; if none is found, there may still be one.

Rooms up and down differ. A point serves both sides if it keeps to the smaller room everywhere. For
classes that this leaves open each side is tried alone.

References
----------
.. [1] Lawson: Contributions to the theory of linear least maximum approximations, PhD thesis,
   University of California (1961).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as dense
from scipy.linalg import lapack

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.suppression.system.system import System

DEAD = 1e-6
"""Length of the row of a cell, in an orthonormal null space, below which it does not move."""

ALIKE = 1e-7
"""Difference of random projections of two rows of unit length below which they are the same."""

DEPENDENT = 1e-8
"""Share of the longest row below which what is new in another one is a rounding error."""

NO_ROOM = 1e-9
"""Least room of a class in computations, in units of the system; a class whose cells have room on
different sides has none."""

LEAST_ROOM = 1e-3
"""Least room of a class in the weights of least squares, as a share of its larger room. Otherwise a
class that cannot move down would not move up either."""

RIDGE = 1e-13
"""Share of the mean diagonal added to M, against rounding errors."""

LAWSON_TURNS = 12
"""Most changes of the weights for one class. More changes proved hardly any further class.
docs/decisions, "Null space"."""

HOPELESS = 1.5
"""Excess over the room at which a class is given up if the last changes of weights gained less than
2 %."""

MOST_OPEN = 60
"""Most classes left open by least squares for which weights are changed; if more are, too many
classes were published at once. Chosen by trial; not measured."""

MOST_OPEN_SHARE = 0.1
"""Most open classes for which weights are changed at the start, as a share of the needed classes:
if more are open, the table has little room."""

SHARED_WORK = 3e6
"""Size of the product of rows, rank and needed classes beyond which points that serve many classes
at once are tried first. Chosen by trial; not measured."""

MOST_PASSED = 1e3
"""How far a class counts to pass its room, in medians, when weights are changed."""

EACH_RANK = 200
"""Largest rank at which weights are changed for single classes; beyond it that takes seconds."""

COMMON_TURNS = 3
"""Changes of the weights for all open classes together, since mostly the same small rooms bind."""

LEAST_CHANGE = 1e-3
"""Factor on the weight of a class that does not move."""

SHARED = 6
"""Most points for many classes at once, each for the classes that those before it leave open."""

EXACT = 1 - 1e-9
"""Share of a need at which it counts as met."""


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


@dataclass(frozen=True, eq=False)
class Verdicts:
    """The result of an attempt to prove all needs in a null space.

    Parameters
    ----------
    open : numpy.ndarray of int
        Classes that were not proved; perhaps not all of them.
    points : numpy.ndarray of float, shape (rank, n_points)
        Witnesses, as points of the null space.
    """

    open: Integers
    points: Floats


class Capacity:
    """Searches for witnesses in one null space.

    Parameters
    ----------
    space : Space
    excused : numpy.ndarray of bool, shape (n_classes,)
        Needed classes that need not be proved.
    """

    def __init__(self, space: Space, excused: Flags | None = None) -> None:
        self.space = space
        self.room = np.maximum(np.minimum(space.high, space.low), NO_ROOM)
        larger = np.maximum(space.high, space.low)
        self.weighted = space.rows / np.maximum(self.room, LEAST_ROOM * larger)[:, None]
        needed = space.needed
        self.needed = needed if excused is None else needed[~excused[needed]]
        self.level = np.maximum(space.upper, space.lower)

    def verdicts(self, random: np.random.Generator, budget: Budget, *, every: bool) -> Verdicts:
        """Prove all needed classes.

        Parameters
        ----------
        random : numpy.random.Generator
        budget : Budget
            Classes that are to be proved one by one stay open when it ends.
        every : bool
            Whether to return all classes that cannot be proved, or only the first.
        """
        space = self.space
        if not len(self.needed) or not space.rank:
            return Verdicts(self.needed, np.zeros((space.rank, 0)))
        factor = self.factor(np.ones(len(space.rows)))
        if factor is None:
            return Verdicts(self.needed, np.zeros((space.rank, 0)))
        left = self.needed
        points: list[Floats] = []
        if space.rows.size * len(left) > SHARED_WORK:
            left, points = self._shared(factor, random)
        weights = np.ones(len(space.rows))
        for turn in range(COMMON_TURNS + 1):
            found = dense.cho_solve(factor, space.rows[left].T, check_finite=False)
            passed, excess = self.excess(found, left)
            points.append(found[:, excess <= 1])
            open_ = ~(excess <= 1)
            left, found, excess = left[open_], found[:, open_], excess[open_]
            most = MOST_OPEN if not every else max(MOST_OPEN_SHARE * len(self.needed), 1)
            if not len(left) or turn == COMMON_TURNS or (every and len(left) > most):
                break
            weights = _changed(weights, passed[:, open_].max(axis=1))
            factor = self.factor(weights)
            if factor is None:
                break
        if len(left) > most or (not every and space.rank > EACH_RANK):
            return Verdicts(left, np.column_stack(points))
        return self._each(left[np.argsort(-excess)], weights, points, budget, every=every)

    def _each(
        self,
        left: Integers,
        weights: Floats,
        points: list[Floats],
        budget: Budget,
        *,
        every: bool,
    ) -> Verdicts:
        """Prove classes one by one; a point found for one may serve others."""
        open_: list[int] = []
        while len(left):
            if budget.is_over:
                open_ += left.tolist()
                break
            turned = self._reweighted(int(left[0]), weights)
            left, target = left[1:], int(left[0])
            if turned is None:
                open_.append(target)
                if not every:
                    break
                continue
            points.append(turned)
            if turned.shape[1] == 1 and len(left):
                left = left[~self._serves(turned, left)]
        return Verdicts(np.array(open_, dtype=np.int64), np.column_stack(points))

    def _serves(self, point: Floats, classes: Integers) -> Flags:
        """Which classes one point moves far enough on both sides."""
        rows = self.space.rows
        reached = np.abs(rows[classes] @ point)[:, 0]
        most = float(np.max(np.abs(rows @ point)[:, 0] / self.room, initial=0.0))
        serves: Flags = self.level[classes] * EXACT * most <= reached
        return serves

    def factor(self, weights: Floats) -> tuple[Floats, bool] | None:
        """Cholesky factor of M with weights on the classes; None where there is none."""
        if np.all(weights == 1):
            gram = self.weighted.T @ self.weighted
        else:
            gram = self.weighted.T @ (self.weighted * weights[:, None])
        n = len(gram)
        gram.flat[:: n + 1] += RIDGE * np.trace(gram) / n
        factor, failed = lapack.dpotrf(gram, lower=1, overwrite_a=1)
        return None if failed else (factor, True)

    def _shared(
        self, factor: tuple[Floats, bool], random: np.random.Generator
    ) -> tuple[Integers, list[Floats]]:
        """Return the classes that points for many classes leave open, and these points."""
        rows, left, points = self.space.rows, self.needed, []
        for _ in range(SHARED):
            wanted = random.choice([-1.0, 1.0], len(left)) / self.level[left]
            point = dense.cho_solve(factor, wanted @ rows[left], check_finite=False)[:, None]
            proved = self._serves(point, left)
            if not np.any(proved):
                break
            points.append(point)
            left = left[~proved]
            if not len(left):
                break
        return left, points

    def excess(self, found: Floats, classes: Integers) -> tuple[Floats, Floats]:
        """How far points move each class beside its room, and pass it when they meet the need."""
        moves = self.space.rows @ found
        reached = moves[classes, np.arange(len(classes))]
        passed = np.abs(moves) / self.room[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = self.level[classes] * EXACT * passed.max(axis=0, initial=0.0) / reached
        return passed, np.where(reached > 0, excess, np.inf)

    def _reweighted(self, target: int, weights: Floats) -> Floats | None:
        """Points that move one class far enough, on both sides, by other weights."""
        space = self.space
        found = self._lawson(target, weights, self.level[target], self.room, self.room)
        if found is not None:
            return found[:, None]
        if not np.any(space.high != space.low):
            return None
        sides = []
        for level, sign in ((space.upper[target], 1), (space.lower[target], -1)):
            if level > 0:
                room = (space.high, space.low) if sign > 0 else (space.low, space.high)
                found = self._lawson(target, weights, level, *room)
                if found is None:
                    return None
                sides.append(sign * found)
        return np.column_stack(sides)

    def _lawson(
        self, target: int, weights: Floats, level: float, high: Floats, low: Floats
    ) -> Floats | None:
        """A point that moves one class up by its level, within rooms up and down."""
        rows = self.space.rows
        row, last = rows[target], np.inf
        for turn in range(LAWSON_TURNS + 1):
            factor = self.factor(weights)
            if factor is None:
                return None
            point = dense.cho_solve(factor, row, check_finite=False)
            moves = rows @ point
            with np.errstate(divide="ignore", invalid="ignore"):
                passed = np.abs(moves) / np.where(moves > 0, high, low)
            passed[moves == 0] = 0.0
            reached = float(row @ point)
            excess = level * EXACT * float(passed.max()) / reached if reached > 0 else np.inf
            if excess <= 1:
                found: Floats = point
                return found
            if turn >= 4 and excess > 0.98 * last and excess > HOPELESS:
                return None
            last = min(last, excess)
            weights = _changed(weights, passed)
        return None


def _changed(weights: Floats, passed: Floats) -> Floats:
    """Return weights that grow where a point passes its room most."""
    some = passed[(passed > 0) & np.isfinite(passed)]
    # Cap the excess, since a class without room would otherwise take all the weight at once.
    passed = np.minimum(passed, MOST_PASSED * (float(np.median(some)) if len(some) else 1.0))
    changed = weights * (passed / max(float(passed.max()), np.finfo(float).tiny) + LEAST_CHANGE)
    scaled: Floats = changed / changed.max()
    return scaled
