"""How much is tried for each need, so that all are protected within the time there is.

A first pattern built with all care and finished in a hurry loses more than one built with less care
throughout: what a hurry hides is never looked at again. So seconds are watched from early on.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tablecloak.budget import Budget
from tablecloak.suppression.search.strategy import EASIER, HASTY, Strategy

__all__ = ["Pace"]

TRUSTED_SHARE = 0.1
"""Share of the time that passes before the pace is judged: tables that take less never change it,
so that their pattern depends on no clock."""

TOLERANCE = 1.5
"""Multiple of the time left up to which what is open may be expected to take: later needs find more
hidden cells on their way, and take less. docs/decisions.md, "Pace of a first pattern"."""

HOPELESS = 3.0
"""The same from which on a pattern is given up where another one is at hand."""

GIVEN_UP_SHARE = 0.5
"""Share of the time after which a pattern is not given up any more."""

RESERVED = 1.0
"""Share of the time left that what is open may take with the least care, before it has to."""

LEAST_CARE = 1 / 3
"""Seconds of a need with the least care, as a share of those with the next one, before any was
measured. Chosen by trial."""

MEMORY = 0.9
"""Weight of what is known of the seconds of a need beside those of the last one."""

FORGETTING = 0.99
"""What the expected seconds of the other levels are multiplied by with each need, so that a more
careful one is tried again."""


class Pace:
    """Chooses the level of care for one need after the other.

    Parameters
    ----------
    strategy : Strategy
        What is tried as long as there is time.
    budget : Budget
        When all needs should be protected; beyond, all is done in a hurry.
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
        """Return what to try for the next need.

        Parameters
        ----------
        n_open : int
            Needs that are open now.
        """
        if self.budget.is_over:
            return HASTY
        return self.levels[self._level(n_open)]

    def record(self, strategy: Strategy, seconds: float) -> None:
        """Learn how long one need took."""
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

    def is_hopeless(self, n_open: int) -> bool:
        """Whether not even the least care will protect all needs in time.

        Parameters
        ----------
        n_open : int
            Needs that are open now.
        """
        least = self.seconds[-1]
        is_late = self.budget.left < (1 - GIVEN_UP_SHARE) * self.whole
        if self._is_early or is_late or least is None:
            return False
        return least * self._expected(n_open) > HOPELESS * self.budget.left

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
        # What is chosen for large needs decides, so that the least care comes last.
        least, last = self.seconds[-1], len(self.levels) - 1
        if least is None:
            least = LEAST_CARE * (self.seconds[last - 1] or 0.0)
        return last if least * expected > RESERVED * time else max(last - 1, 0)

    def _expected(self, n_open: int) -> float:
        """Needs that are still to be handled: each meets a share of what is open besides."""
        met = math.log((self.n_open + 1) / (n_open + 1))
        if met <= 0:
            return n_open
        return min(n_open, self.handled / met * math.log(n_open + 1))
