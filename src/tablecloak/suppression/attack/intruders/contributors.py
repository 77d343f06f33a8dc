"""Intruders who contributed to the table, each on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from tablecloak.arrays import Flags
from tablecloak.suppression.attack import contributions
from tablecloak.suppression.attack.intruder import INTRUDERS, Intruder
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.tables.contributions import ContributionLevel
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["Contributors"]


@INTRUDERS.register
@dataclass(frozen=True)
class Contributors(Intruder):
    """Every contributor: each knows its own contributions.

    A contributor knows a suppressed cell exactly if nobody else contributes to it. Of any other
    cell it knows that the value is at least its own contribution, times its weight, provided that
    no contribution and no external bound is negative; otherwise it knows of that cell what
    everybody knows. The table holds the largest contributions of each cell, and only these count.
    Where rules rank another variable than the published one, only the first kind of knowledge
    counts. Contributors who waived protection attack like all others. A cell that is safe because
    of waivers is not sensitive, and so protected from nobody; one that stays sensitive is protected
    from all of them, as a whole, so that it does not matter who of its contributors waived.

    Parameters
    ----------
    together : {1, 2}, default=1
        1: each contributor alone. 2: pairs that meet in one suppressed cell, or are the only
        contributors of two suppressed cells in one relation; a pair knows what either knows, and
        the cells to which only these two contribute.
    level : {"contributor", "holding"}, default="contributor"
        Whether contributors or holdings attack.
    everywhere : bool, default=False
        Whether all pairs attack, even those that do not meet. Their number grows with the square
        of the number of contributors.
    """

    name: ClassVar[str] = "contributors"
    usual_with: ClassVar[str] = "contributor"
    knows_by_cell: ClassVar[bool] = True

    together: Annotated[int, Field(ge=1, le=2, description="2 for pairs.")] = 1
    level: Annotated[ContributionLevel, Field(description="Who is meant.")] = "contributor"
    everywhere: Annotated[bool, Field(description="Also pairs that do not meet.")] = False

    @property
    def name_of_kind(self) -> str:
        """Return "contributors", "holdings", or "pairs of" either."""
        return f"{self.level}s" if self.together == 1 else f"pairs of {self.level}s"

    def lacking(self, problem: ProtectionProblem) -> str:
        """Return a message if the table does not tell who contributed what."""
        return contributions.lacking(problem, self.level)

    def knowledge(self, problem: ProtectionProblem, suppressed: Flags) -> list[Knowledge]:
        """Return one intruder for each contributor, or pair, that knows something."""
        return contributions.knowledge(
            problem, suppressed, self.level, pairs=self.together == 2, everywhere=self.everywhere
        )
