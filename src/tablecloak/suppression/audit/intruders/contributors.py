"""Intruders who contributed to the table, each on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from tablecloak.suppression.audit import contributions
from tablecloak.suppression.audit.intruder import INTRUDERS, Intruder
from tablecloak.suppression.knowledge import Knowledge
from tablecloak.tables.contributions import ContributionLevel
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["Contributors"]

Flags = npt.NDArray[np.bool_]


@INTRUDERS.register
@dataclass(frozen=True)
class Contributors(Intruder):
    """Every contributor: each knows its own contributions.

    It knows a suppressed cell exactly if nobody else contributes to it. Of any other cell it
    knows that the value is at least its own contribution, times its weight, if what the others
    give is known not to be negative: if no contribution is, and no external bound. Otherwise
    it knows of that cell what everybody does. Contributions are those that the table holds, the
    largest of each cell; where rules rank another variable than the published one, only the
    first kind of knowledge counts.

    Parameters
    ----------
    together : {1, 2}, default=1
        1: each on its own. 2: pairs that meet, in the same suppressed cell or as only
        contributors of two suppressed cells in the same relation; they know what either knows,
        and cells to which only the two of them contribute.
    level : {"contributor", "holding"}, default="contributor"
        Who is meant.
    everywhere : bool, default=False
        Also pairs that do not meet: all of them, whose number grows with the square of the
        number of contributors.
    """

    name: ClassVar[str] = "contributors"
    usual_with: ClassVar[str] = "contributor"
    knows_by_cell: ClassVar[bool] = True

    together: Annotated[int, Field(ge=1, le=2, description="2 for pairs.")] = 1
    level: Annotated[ContributionLevel, Field(description="Who is meant.")] = "contributor"
    everywhere: Annotated[bool, Field(description="Also pairs that do not meet.")] = False

    @property
    def name_of_kind(self) -> str:
        """Return contributors, holdings, or pairs of these."""
        return f"{self.level}s" if self.together == 1 else f"pairs of {self.level}s"

    def lacking(self, problem: ProtectionProblem) -> str:
        """Say that the table does not tell who contributed what, if so."""
        return contributions.lacking(problem, self.level)

    def knowledge(self, problem: ProtectionProblem, suppressed: Flags) -> list[Knowledge]:
        """Return one intruder for each contributor, or pair, that knows something."""
        return contributions.knowledge(
            problem, suppressed, self.level, pairs=self.together == 2, everywhere=self.everywhere
        )
