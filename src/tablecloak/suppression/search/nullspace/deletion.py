"""Deletion: publish the heaviest classes of a null space, many at once, while all needs hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.suppression.search.nullspace.capacity import EACH_RANK, Capacity, Verdicts
from tablecloak.suppression.search.nullspace.space import Space
from tablecloak.suppression.search.nullspace.strain import Blocks

__all__ = ["Deletion", "Shrunk"]

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
    is_proved : bool, default=False
        Whether all needs are known to hold in it.
    """

    def __init__(
        self, space: Space, random: np.random.Generator, *, is_proved: bool = False
    ) -> None:
        self.random = random
        self.space = self._without_rigid(space)
        space = self.space
        self.verdicts = (
            Verdicts(np.zeros(0, dtype=np.int64), np.zeros((space.rank, 0)))
            if is_proved
            else Capacity(space).verdicts(random, every=True)
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

    def run(self, budget: Budget, jitter: Floats, most_kept: int = KEPT) -> Shrunk:
        """Publish the heaviest classes until refusals show that no more can be published.

        Parameters
        ----------
        budget : Budget
        jitter : numpy.ndarray of float, shape (n_unknown,)
            Factors on the weights of cells, which change the order of classes.
        most_kept : int, default=25
        """
        if len(self.verdicts.open) > HOPELESS * max(len(self.space.needed), 10):
            return Shrunk(self.space, self.verdicts, is_cut_short=False)
        blocks, failed = Blocks(self.space.rank), 0.0
        while not budget.is_over and self.space.rank > 1 and failed < most_kept:
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
        return Shrunk(self.space, self.verdicts, budget.is_over)

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
        found = Capacity(smaller, excused).verdicts(self.random, every=False)
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
