"""Whether sensitive cells can move far enough in a null space, without a linear program.

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

from dataclasses import dataclass

import numpy as np
import scipy.linalg as dense
from scipy.linalg import lapack

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.suppression.search.nullspace.space import Space

__all__ = ["EACH_RANK", "Capacity", "Verdicts"]

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

    def verdicts(self, random: np.random.Generator, *, every: bool) -> Verdicts:
        """Prove all needed classes.

        Parameters
        ----------
        random : numpy.random.Generator
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
        return self._each(left[np.argsort(-excess)], weights, points, every=every)

    def _each(
        self, left: Integers, weights: Floats, points: list[Floats], *, every: bool
    ) -> Verdicts:
        """Prove classes one by one; a point found for one may serve others."""
        open_: list[int] = []
        while len(left):
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
