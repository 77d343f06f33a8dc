"""Seconds that a search keeps back for what follows it: making the table exact, and its proof.

All times are measured in the same search, on the same machine: the time for building the program,
for one check of multipliers, and for a program with given directions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

LAYOUTS = 2.0
"""Time of the final check without its multipliers, as a multiple of the time for building the
program: the check builds the problem again and compares the table. See docs/decisions, "Time
kept back"."""

CLOSING_PROGRAMS = 2.0
"""Time of the programs after the search, as a multiple of the longest with given directions: one
breaks ties, one makes the table exactly additive. See docs/decisions, "Time kept back"."""

MOST_SHARE = 0.1
"""Largest share of the time limit that is kept for programs after the search: the longest program
so far may have been an exception."""


@dataclass(eq=False)
class Reserve:
    """Times measured so far in a search, and the time to keep back that follows from them.

    Parameters
    ----------
    layout : float, default=0
        Seconds for building model and program, without the choice of independent relations.
    kept : float, default=0
        Seconds that the caller keeps back already.
    program : float, default=0
        Seconds of the longest program with given directions.
    product : float, default=0
        Seconds for computing the bound that one set of multipliers proves.
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
        """Seconds for the program that makes the table exactly additive."""
        return min(self.program, MOST_SHARE * self.limit)

    @property
    def needed(self) -> float:
        """Seconds for all that follows the search."""
        programs = min(CLOSING_PROGRAMS * self.program, MOST_SHARE * self.limit)
        return self.verification + programs

    @property
    def seconds(self) -> float:
        """How many seconds before its own deadline the search must end."""
        return max(self.needed - self.kept, 0.0)

    def observe_program(self, seconds: float) -> None:
        """Record the seconds that a program with given directions took."""
        self.program = max(self.program, seconds)
