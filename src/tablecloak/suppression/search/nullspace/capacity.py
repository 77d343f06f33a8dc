"""Whether sensitive cells can move far enough in a null space, without a linear program.

With Z the rows divided by the room of each class and M = Z'Z, the point M^-1 q of the class
with row q moves it farthest among all of one weighted length: a witness, if no class then
passes its room. Where one does, the weights are changed towards those that the farthest move
proper would have (Lawson), a few times. What is found is a witness; what is not found may exist.

Rooms up and down differ. A point serves both sides if it keeps to the smaller room everywhere;
for what that leaves open each side is looked at alone.

References
----------
.. [1] Lawson: Contributions to the theory of linear least maximum approximations, PhD thesis,
   University of California (1961).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.linalg as dense
from scipy.linalg import lapack

from tablecloak.suppression.search.nullspace.space import Space

__all__ = ["Capacity", "Verdicts"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

LEAST_ROOM = 1e-3
"""Share of its larger room that a class counts with at least in the weights of least squares;
one that cannot move down at all would otherwise not move up either."""

RIDGE = 1e-13
"""Share of the mean diagonal added to M, against rounding errors."""

LAWSON_TURNS = 12
"""Most changes of the weights for one class. More proved hardly any other; docs/decisions.md,
"Null space"."""

HOPELESS = 1.5
"""Excess over the room at which a class is given up if the last changes of weights gained less than
2 %."""

MOST_OPEN = 60
"""Classes that least squares leaves open beyond which no weights are changed: too much was
published at once. Chosen by trial; not measured."""

MOST_OPEN_SHARE = 0.1
"""The same at the start, as a share of the needed classes: with more, the table has little room."""

SHARED_WORK = 3e6
"""Size of the product of rows, rank and needed classes beyond which points that serve many classes
at once are tried first. Chosen by trial; not measured."""

MOST_PASSED = 1e3
"""How far a class counts to pass its room, in medians, when weights are changed."""

SHARED = 6
"""Such points, one after the other, each for what those before it leave open."""

EXACT = 1 - 1e-9
"""Share of a need that counts as all of it."""


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What was proved in a null space.

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
    """Looks for witnesses in one null space.

    Parameters
    ----------
    space : Space
    excused : numpy.ndarray of bool, shape (n_classes,)
        Needed classes that need not be proved.
    """

    def __init__(self, space: Space, excused: Flags | None = None) -> None:
        self.space = space
        self.room = np.minimum(space.high, space.low)
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
            Whether all classes that cannot be proved are wanted, or just one of them.
        """
        space = self.space
        if not len(self.needed) or not space.rank:
            return Verdicts(self.needed, np.zeros((space.rank, 0)))
        factor = self._factor(np.ones(len(space.rows)))
        if factor is None:
            return Verdicts(self.needed, np.zeros((space.rank, 0)))
        left = self.needed
        points: list[Floats] = []
        if space.rows.size * len(left) > SHARED_WORK:
            left, points = self._shared(factor, random)
        found = dense.cho_solve(factor, space.rows[left].T, check_finite=False)
        excess = self._excess(found, left)
        points.append(found[:, excess <= 1])
        bad = np.flatnonzero(~(excess <= 1))
        open_: list[int] = []
        if len(bad) > (MOST_OPEN if not every else max(MOST_OPEN_SHARE * len(self.needed), 1)):
            open_ = left[bad].tolist()
        for position in [] if open_ else bad[np.argsort(-excess[bad])].tolist():
            turned = self._reweighted(int(left[position]), found[:, position])
            if turned is None:
                open_.append(int(left[position]))
                if not every:
                    break
            else:
                points.append(turned)
        return Verdicts(np.array(open_, dtype=np.int64), np.column_stack(points))

    def _factor(self, weights: Floats) -> tuple[Floats, bool] | None:
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
        """Return what points for many classes at once leave open, and these points."""
        rows, left, points = self.space.rows, self.needed, []
        for _ in range(SHARED):
            wanted = random.choice([-1.0, 1.0], len(left)) / self.level[left]
            point = dense.cho_solve(factor, wanted @ rows[left], check_finite=False)[:, None]
            reached = np.abs(rows[left] @ point)[:, 0]
            most = float(np.max(np.abs(rows @ point)[:, 0] / np.maximum(self.room, 1e-300)))
            proved = self.level[left] * most <= reached / EXACT
            if not np.any(proved):
                break
            points.append(point)
            left = left[~proved]
            if not len(left):
                break
        return left, points

    def _excess(self, found: Floats, classes: Integers) -> Floats:
        """By how much each point passes the room when it moves its class as far as is needed."""
        moves = self.space.rows @ found
        reached = moves[classes, np.arange(len(classes))]
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.max(np.abs(moves) / self.room[:, None], axis=0, initial=0.0)
            excess: Floats = self.level[classes] * EXACT * most / reached
        return np.where(reached > 0, excess, np.inf)

    def _reweighted(self, target: int, start: Floats) -> Floats | None:
        """Points that move one class far enough, on both sides, by other weights."""
        space = self.space
        found = self._lawson(target, start, self.level[target], self.room, self.room)
        if found is not None:
            return found[:, None]
        if not np.any(space.high != space.low):
            return None
        sides = []
        for level, high, low in (
            (space.upper[target], space.high, space.low),
            (space.lower[target], space.low, space.high),
        ):
            if level > 0:
                found = self._lawson(target, start, level, high, low)
                if found is None:
                    return None
                sides.append(found if high is space.high else -found)
        return np.column_stack(sides)

    def _lawson(
        self, target: int, start: Floats, level: float, high: Floats, low: Floats
    ) -> Floats | None:
        """A point that moves one class up by its level, within rooms up and down."""
        rows = self.space.rows
        row, point = rows[target], start
        weights = np.ones(len(rows))
        last = np.inf
        for turn in range(LAWSON_TURNS + 1):
            moves = rows @ point
            with np.errstate(divide="ignore", invalid="ignore"):
                passed = np.abs(moves) / np.where(moves > 0, high, low)
            passed[moves == 0] = 0.0
            reached = float(row @ point)
            excess = level * EXACT * float(passed.max()) / reached if reached > 0 else np.inf
            if excess <= 1:
                return point
            if turn >= 4 and excess > 0.98 * last and excess > HOPELESS:
                return None
            last = min(last, excess)
            # One class without any room would take all the weight at once.
            some = passed[(passed > 0) & np.isfinite(passed)]
            passed = np.minimum(passed, MOST_PASSED * (np.median(some) if len(some) else 1.0))
            share = passed / max(float(passed.max()), np.finfo(float).tiny)
            weights = weights * (share + (1e-3 if turn == 0 else 1e-4))
            weights /= weights.max()
            factor = self._factor(weights)
            if factor is None:
                return None
            point = dense.cho_solve(factor, row, check_finite=False)
        return None
