"""The minimum frequency rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

from pydantic import Field

from tablecloak.arrays import Flags
from tablecloak.tables.confidentiality import Confidentiality
from tablecloak.tables.rules.rule import RULES, Level, LevelRange, Rule, contributions_of
from tablecloak.tables.table import Table


@RULES.register
@dataclass(frozen=True)
class MinimumFrequency(Rule):
    """Minimum frequency: unsafe if a cell has contributors, but fewer than the minimum.

    With sampling weights, if the sum of weights is below the minimum. In a table of counts that
    came without contributors, each person is one. A cell whose contributors all gave full waivers
    is safe.

    Parameters
    ----------
    minimum : int
        Smallest number of contributors that is safe.
    range : float or (float, float), default=20
        Protection level in per cent of the value, for both sides or (lower, upper).
    level : {"auto", "contributor", "holding"}, default="auto"
        Who is counted; auto: holdings where the table has them.
    """

    minimum: Annotated[
        int, Field(ge=1, description="Smallest number of contributors that is safe.", examples=[3])
    ]
    range: LevelRange = 20.0
    level: Level = "auto"
    name: ClassVar[str] = "minimum-frequency"
    precedence: ClassVar[int] = 4
    is_suggested: ClassVar[bool] = True
    heeds_waivers: ClassVar[bool] = True
    weighs_holdings: ClassVar[bool] = True
    argus: ClassVar[str] = "FREQ"
    confidentiality: ClassVar[Confidentiality] = Confidentiality.SMALL_COUNT

    def unsafe(self, table: Table) -> Flags:
        """Return which cells have too few contributors."""
        if table.is_count and table.contributions is None and self.level != "holding":
            return (table.values > 0) & (table.values < self.minimum)
        given = contributions_of(table, self)
        few = (given.count > 0) & (given.weighted_count < self.minimum)
        return few & ~given.all_waived

    @classmethod
    def from_argus(cls, numbers: Sequence[float], level: Level) -> Self:
        """Read FREQ(minimum, range)."""
        least, margin = numbers
        return cls(int(least), margin, level)
