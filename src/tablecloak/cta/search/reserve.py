"""Seconds that a search keeps back for what follows it: a table made exact, and its proof.

All figures are measured in the same search, on the same machine: what laying out the program took,
what one check of multipliers takes, and what a program with given directions takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Reserve"]

LAYOUTS = 2.0
"""Seconds that a check needs besides its multipliers, as a multiple of those for laying out the
program: the question is asked anew and the table is compared. See docs/decisions.md, "Time kept
back"."""

CLOSING_PROGRAMS = 2.0
"""Programs that follow the search, in units of the longest with given directions: for ties, and for
a table that is additive exactly. See docs/decisions.md, "Time kept back"."""

MOST_SHARE = 0.1
"""Share of the time limit that programs after the search are given at most: the longest program so
far may have been a slow exception."""


@dataclass(eq=False)
class Reserve:
    """What has been measured so far.

    Parameters
    ----------
    layout : float, default=0
        Seconds for laying out model and program, without the choice of independent relations.
    kept : float, default=0
        Seconds that are kept back after the end of the search anyway.
    program : float, default=0
        Seconds of the longest program with given directions.
    product : float, default=0
        Seconds for the bound that multipliers prove.
    leaves : int, default=0
        Leaves of the tree of branch and bound; each has multipliers of its own.
    limit : float, default=inf
        Seconds for the whole search.
    """

    layout: float = 0.0
    kept: float = 0.0
    program: float = 0.0
    product: float = 0.0
    leaves: int = 0
    limit: float = math.inf

    @property
    def verification(self) -> float:
        """Seconds for the final check."""
        return LAYOUTS * self.layout + (1 + self.leaves) * self.product

    @property
    def correction(self) -> float:
        """Seconds for a table that is additive exactly: one program."""
        return min(self.program, MOST_SHARE * self.limit)

    @property
    def needed(self) -> float:
        """Seconds for all that follows the search."""
        programs = min(CLOSING_PROGRAMS * self.program, MOST_SHARE * self.limit)
        return self.verification + programs

    @property
    def seconds(self) -> float:
        """Seconds by which the search must end before its own deadline."""
        return max(self.needed - self.kept, 0.0)

    def observe_program(self, seconds: float) -> None:
        """Learn how long a program with given directions took."""
        self.program = max(self.program, seconds)
