"""The care with which a pattern is built: as much as there is time for.

A first pattern that is begun with all care and finished in a hurry loses more than one built with
less care throughout, since cells hidden in a hurry are not looked at again. So the seconds of each
need are measured from early on.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tablecloak.budget import Budget
from tablecloak.suppression.search.strategy import EASIER, HASTY, Strategy

TRUSTED_SHARE = 0.1
"""Share of the time that passes before the pace is judged. Tables that take less keep all care, so
that their pattern depends on no clock."""

TOLERANCE = 2.0
"""Multiple of the time left up to which the open needs may be expected to take: the expectation is
too high, since later needs find more hidden cells to move. docs/decisions, "Pace of a first
pattern"."""

HOPELESS = 3.0
"""Multiple of the time left above which the expected seconds of the open needs, with the least
care, end the attempt if there is another pattern."""

JUDGED_SHARE, GIVEN_UP_SHARE = 0.25, 0.5
"""Shares of the time between which a pattern may be given up: sooner, too little is known of its
pace, and later it is completed."""

RESERVED = 1.0
"""Share of the time left above which the expected seconds of the open needs, with the least care,
make the least care obligatory."""

LEAST_CARE = 1 / 3
"""Assumed seconds of a need with the least care, as a share of those with the next level of care,
until they are measured. Chosen by trial; not measured."""

MEMORY = 0.9
"""Weight of the previous average of the seconds of a need; the last need has the rest."""

FORGETTING = 0.99
"""Factor on the expected seconds of all other levels of care after each need, so that a more
careful level is tried again."""

SUM_SECONDS = 0.7e-3
"""Seconds that sums of boxes are expected to take for each need of a table. docs/decisions,
"Programs go on after sums"."""

LEFT_OVER = 2.7
"""By how much longer they take for each need that programs leave open, since such a sum meets
hardly any other."""


class Pace:
    """Chooses the level of care for one need after the other.

    Parameters
    ----------
    strategy : Strategy
        The strategy with all care, used as long as there is time.
    budget : Budget
        Its end is the time by which all needs should be protected; then the least care is taken.
    n_open : int
        Needs that are open at the start.
    """

    def __init__(self, strategy: Strategy, budget: Budget, n_open: int) -> None:
        self.levels = [strategy]
        if strategy.programs:
            self.levels += [
                replace(each, symmetric=strategy.symmetric, largest_first=strategy.largest_first)
                for each in EASIER
            ]
        self.budget, self.n_open = budget, n_open
        self.whole = budget.left
        self.seconds: list[float | None] = [None] * len(self.levels)
        self.handled = 0

    def strategy(self, n_open: int) -> Strategy:
        """Return the strategy for the next need.

        Parameters
        ----------
        n_open : int
            Needs that are open now.
        """
        if self.budget.is_over:
            return HASTY
        return self.levels[self._level(n_open)]

    def record(self, strategy: Strategy, seconds: float) -> None:
        """Update the expected seconds by those of one need."""
        self.handled += 1
        if strategy not in self.levels:
            return
        used = self.levels.index(strategy)
        for level, known in enumerate(self.seconds):
            if level == used:
                before = seconds if known is None else known
                self.seconds[level] = MEMORY * before + (1 - MEMORY) * seconds
            elif known is not None:
                self.seconds[level] = FORGETTING * known

    def ends(self, n_open: int) -> bool:
        """Whether the needs that are open now are left to others."""
        del n_open
        return False

    def is_hopeless(self, n_open: int) -> bool:
        """Whether the least care so far will not protect all needs in time.

        Parameters
        ----------
        n_open : int
            Needs that are open now.
        """
        measured = [seconds for seconds in self.seconds if seconds is not None]
        gone = 1 - self.budget.left / self.whole if 0 < self.whole < math.inf else 0.0
        if not JUDGED_SHARE < gone < GIVEN_UP_SHARE or not measured:
            return False
        return min(measured) * self._expected(n_open) > HOPELESS * self.budget.left

    @property
    def _is_early(self) -> bool:
        left = self.budget.left
        is_early = self.whole - left <= TRUSTED_SHARE * self.whole
        return not math.isfinite(left) or is_early or not self.handled

    def _level(self, n_open: int) -> int:
        if self._is_early:
            return 0
        time, expected = self.budget.left, self._expected(n_open)
        for level, seconds in enumerate(self.seconds[:-1]):
            if seconds is None or seconds * expected <= TOLERANCE * time:
                return level
        # The cells chosen for large needs decide the loss, and large needs come first, so care is
        # kept as long as possible (docs/decisions, "Pace of a first pattern").
        least, last = self.seconds[-1], len(self.levels) - 1
        if least is None:
            least = LEAST_CARE * (self.seconds[last - 1] or 0.0)
        return last if least * expected > RESERVED * time else max(last - 1, 0)

    def _expected(self, n_open: int) -> float:
        """Return the expected number of needs to handle: each one handled also meets others."""
        met = math.log((self.n_open + 1) / (n_open + 1))
        if met <= 0:
            return n_open
        return min(n_open, self.handled / met * math.log(n_open + 1))


class EndingPace(Pace):
    """A pace that ends if there is clearly too little time, since there is another pattern."""

    def ends(self, n_open: int) -> bool:
        """Whether the time will not suffice for the needs that are open now."""
        return self.is_hopeless(n_open)


class CarefulPace(Pace):
    """A pace that keeps all care, and leaves to sums of boxes what there is no time for.

    Parameters
    ----------
    strategy : Strategy
    budget : Budget
    n_open : int
    sum_seconds : float, default=SUM_SECONDS
        Seconds that sums take for each need.
    """

    def __init__(
        self, strategy: Strategy, budget: Budget, n_open: int, sum_seconds: float = SUM_SECONDS
    ) -> None:
        super().__init__(strategy, budget, n_open)
        self.sum_seconds = sum_seconds

    def strategy(self, n_open: int) -> Strategy:
        """Return the strategy for the next need."""
        del n_open
        return self.levels[0]

    def ends(self, n_open: int) -> bool:
        """Whether sums of boxes need the time that is left."""
        return self.budget.left < self.sum_seconds * min(LEFT_OVER * n_open, self.n_open)
