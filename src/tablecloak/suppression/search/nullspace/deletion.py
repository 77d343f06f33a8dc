"""Deletion: publish the heaviest classes of a null space, many at once, while all needs hold.

Beyond a rank of some hundreds a check takes up to a second, and the heaviest classes together
mostly fail it. Let M be as in `Capacity`. The capacity of a need with row q is q'M^-1 q, the
square of how far it can move for a given weighted length. If a class with row c is published, the
capacity falls by the share

    (q'M^-1 c)^2 / (q'M^-1 q  c'M^-1 c),

the strain of the class on the need. The shares of several classes are added up, as if they did not
depend on each other. A need whose best point stays far within all rooms can lose more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as dense

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.suppression.search.nullspace.space import EACH_RANK, Capacity, Space, Verdicts

BLOCK, LEAST_BLOCK = 1 / 3, 8
"""Share of the rank, and least number, of the classes published at once. docs/decisions, "Null
space"."""

REFUSED = 1 / 3
"""Factor on what is published at once after a refusal."""

FIRST_SHARE, RISE = 0.5, 1.5
"""Share of the spare capacity of needs that the first block may take, and factor on it after each
success. docs/decisions, "Null space"."""

CAREFUL_RANK = 400
"""Rank above which a refusal makes all later blocks careful. Below it checks are quick, and trying
the heaviest classes one by one ends in lighter patterns. docs/decisions, "Null space"."""

LEAST_SPARE = 0.1
"""Spare capacity of a need that least squares barely prove or leave open; other weights may prove
it. docs/decisions, "Null space"."""

HIGH_RANK_REFUSAL = 0.25
"""Weight of a refusal at a rank beyond `EACH_RANK`, where fewer weights are tried."""

HOPELESS = 0.1
"""Largest share of the needed classes that may be open at the start; if more are, rooms bind and
deletion would gain nothing."""

RIGID = 1e-9
"""Share of the larger room of a class below which it counts as having none on the other side."""

KEPT = 25
"""Number of refusals, since the start, after which a deletion ends."""


@dataclass(frozen=True, eq=False)
class Strain:
    """Expected loss of capacity of each need if a class is published.

    Parameters
    ----------
    shares : numpy.ndarray of float, shape (n_needed, n_classes)
        Share of the capacity of a need that is lost with a class, from 0 to 1.
    spare : numpy.ndarray of float, shape (n_needed,)
        Share of its capacity that each need can lose.
    """

    shares: Floats
    spare: Floats

    @classmethod
    def of(cls, space: Space) -> Strain | None:
        """Return the strain of all classes on all needs; None if M has no factor."""
        capacity, needed = Capacity(space), space.needed
        factor = capacity.factor(np.ones(len(space.rows)))
        if factor is None:
            return None
        turned = dense.solve_triangular(factor[0], space.rows.T, lower=True, check_finite=False)
        length = np.sqrt(np.einsum("ij,ij->j", turned, turned))
        turned /= np.maximum(length, np.finfo(float).tiny)
        points = dense.cho_solve(factor, space.rows[needed].T, check_finite=False)
        _, excess = capacity.excess(points, needed)
        spare = np.maximum(1 - np.minimum(excess, 1.0) ** 2, LEAST_SPARE)
        return cls((turned[:, needed].T @ turned) ** 2, spare)

    def block(self, order: Integers, share: float, most: int) -> Integers:
        """Return classes that together take at most a share of what each need can lose.

        Parameters
        ----------
        order : numpy.ndarray of int
            Classes, the most wanted first.
        share : float
        most : int
            Most classes to return.
        """
        used, spare = np.zeros(len(self.spare)), share * self.spare
        chosen: list[int] = []
        # Classes that take too much alone are left out at once; few of the others are looked at.
        possible = np.all(self.shares[:, order] <= spare[:, None], axis=0)
        for each in order[possible].tolist():
            if len(chosen) == most:
                break
            more = used + self.shares[:, each]
            if np.all(more <= spare):
                used = more
                chosen.append(each)
        return np.array(chosen, dtype=np.int64)


class Blocks:
    """Chooses the classes that a deletion tries to publish next.

    These are the heaviest ones. After a first refusal at a high rank they are the heaviest of
    those that strain no need too much; where there are no two of them, the heaviest one alone.

    Parameters
    ----------
    rank : int
        Rank of the null space at the start.
    """

    def __init__(self, rank: int) -> None:
        self.size = _most(rank)
        self.share = FIRST_SHARE
        self.is_careful = self.is_single = False
        self.strain: Strain | None = None

    def next(self, space: Space, order: Integers) -> Integers:
        """Return the classes to publish.

        Parameters
        ----------
        space : Space
        order : numpy.ndarray of int
            Classes that may be published, the heaviest first.
        """
        if not self.is_careful or space.rank <= EACH_RANK:
            return order[: min(self.size, space.rank - 1)]
        if self.strain is None:
            self.strain = Strain.of(space)
        if self.strain is not None and not self.is_single:
            block = self.strain.block(order, self.share, _most(space.rank))
            if len(block) > 1:
                return block
        self.is_single = True
        return order[:1]

    def accept(self, rank: int) -> None:
        """Publish more at once next time; `rank` is what is left."""
        self.size = max(LEAST_BLOCK, min(2 * self.size, int(rank * BLOCK)))
        self.share = FIRST_SHARE if self.is_single else min(RISE * self.share, 1.0)
        self.strain, self.is_single = None, False

    def refuse(self, n_classes: int, rank: int) -> None:
        """Publish fewer at once next time; classes refused together may be possible alone."""
        self.size = max(1, int(n_classes * REFUSED))
        if self.strain is not None:
            self.share *= REFUSED
        self.is_careful = self.is_careful or rank > CAREFUL_RANK


def _most(rank: int) -> int:
    return max(LEAST_BLOCK, int(rank * BLOCK))


@dataclass(frozen=True, eq=False)
class Shrunk:
    """A null space after deletion, with the witnesses found in it, and whether time ended it."""

    space: Space
    verdicts: Verdicts
    is_cut_short: bool


class Deletion:
    """Publishes classes of one null space.

    Parameters
    ----------
    space : Space
    random : numpy.random.Generator
    budget : Budget
    is_proved : bool, default=False
        Whether all needs are known to hold in it.
    """

    def __init__(
        self,
        space: Space,
        random: np.random.Generator,
        budget: Budget,
        *,
        is_proved: bool = False,
    ) -> None:
        self.random, self.budget = random, budget
        self.space = self._without_rigid(space)
        space = self.space
        self.verdicts = (
            Verdicts(np.zeros(0, dtype=np.int64), np.zeros((space.rank, 0)))
            if is_proved
            else Capacity(space).verdicts(random, budget, every=True)
        )
        # Classes that no point of the whole space proves are left to linear programs.
        self.excused = np.isin(space.class_of, [-1, *self.verdicts.open])
        self.kept = np.zeros(len(space.class_of), dtype=bool)
        self.checks = 0

    def _without_rigid(self, space: Space) -> Space:
        """Publish classes without room on one side, which no symmetric witness moves."""
        rigid = np.minimum(space.high, space.low) <= RIGID * np.maximum(space.high, space.low)
        rigid &= ~space.fixed
        if not np.any(rigid):
            return space
        self.space = space
        smaller = space.without(np.flatnonzero(rigid), self.random)
        return smaller if self._holds_all_needed(smaller) else space

    def run(self, jitter: Floats, most_kept: int = KEPT) -> Shrunk:
        """Publish the heaviest classes until refusals show that no more can be published.

        Parameters
        ----------
        jitter : numpy.ndarray of float, shape (n_unknown,)
            Factors on the weights of cells, which change the order of classes.
        most_kept : int, default=25
        """
        if len(self.verdicts.open) > HOPELESS * max(len(self.space.needed), 10):
            return Shrunk(self.space, self.verdicts, is_cut_short=False)
        blocks, failed = Blocks(self.space.rank), 0.0
        while not self.budget.is_over and self.space.rank > 1 and failed < most_kept:
            order = self._order(jitter)
            if not len(order):
                break
            block = blocks.next(self.space, order)
            if self._published(block):
                blocks.accept(self.space.rank)
            elif len(block) > 1:
                blocks.refuse(len(block), self.space.rank)
            else:
                self.kept |= self.space.class_of == block[0]
                # A refusal at a high rank counts less, since fewer weights were tried.
                failed += 1 if self.space.rank <= EACH_RANK else HIGH_RANK_REFUSAL
        return Shrunk(self.space, self.verdicts, self.budget.is_over)

    def _order(self, jitter: Floats) -> Integers:
        """Classes that may be published, the heaviest first."""
        space = self.space
        alive = space.alive
        n = len(space.weight)
        weight = space.weight * _mean_of(jitter, space, n)
        stuck = np.zeros(n, dtype=bool)
        stuck[space.class_of[self.kept & alive]] = True
        free = np.flatnonzero(~stuck & ~space.fixed & (weight > 0))
        return free[np.argsort(-weight[free], kind="stable")]

    def _published(self, classes: Integers) -> bool:
        """Publish classes if all needs still hold; return whether they were published."""
        smaller = self.space.without(classes, self.random)
        if not self._holds_all_needed(smaller):
            return False
        self.checks += 1
        excused = np.zeros(len(smaller.rows), dtype=bool)
        excused[smaller.class_of[self.excused & smaller.alive]] = True
        found = Capacity(smaller, excused).verdicts(self.random, self.budget, every=False)
        if len(found.open):
            return False
        self.space, self.verdicts = smaller, found
        return True

    def _holds_all_needed(self, smaller: Space) -> bool:
        needed = self.space.needed
        dead = np.ones(len(self.space.rows) + 1, dtype=bool)
        alive = smaller.alive
        dead[self.space.class_of[alive]] = False
        return not np.any(dead[needed])


def _mean_of(jitter: Floats, space: Space, n: int) -> Floats:
    """Return one factor for each class: that of its last cell."""
    found = np.ones(n)
    alive = space.alive
    found[space.class_of[alive]] = jitter[alive]
    return found
