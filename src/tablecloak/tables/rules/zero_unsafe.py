"""The rule that finds cells of 0 unsafe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field

from tablecloak.arrays import Flags, Floats
from tablecloak.tables.rules.rule import RULES, Level, Rule, contributions_of
from tablecloak.tables.table import Table


@RULES.register
@dataclass(frozen=True)
class ZeroUnsafe(Rule):
    """Zero unsafe: a cell has contributors and the value 0, so that each of them is known to be 0.

    A cell whose contributors all gave full waivers is safe.

    Parameters
    ----------
    range : float
        Upper protection level, in the unit of the table; the lower level is 0.
    """

    range: Annotated[
        float,
        Field(ge=0, description="Upper protection level, in the unit of the table.", examples=[1]),
    ]
    name: ClassVar[str] = "zero-unsafe"
    precedence: ClassVar[int] = 5
    looks_at_amounts: ClassVar[bool] = True
    heeds_waivers: ClassVar[bool] = True
    has_floor: ClassVar[bool] = False
    argus: ClassVar[str] = "ZERO"

    def unsafe(self, table: Table) -> Flags:
        """Return which cells are 0 although somebody contributed."""
        given = contributions_of(table, self)
        unsafe: Flags = (table.values == 0) & (given.count > 0) & ~given.all_waived
        return unsafe

    def levels(self, table: Table) -> tuple[Floats, Floats]:
        """Return (0, range)."""
        return np.zeros(table.n_cells), np.full(table.n_cells, float(self.range))

    @classmethod
    def from_argus(cls, numbers: Sequence[float], level: Level) -> Self:
        """Read ZERO(range)."""
        return cls(numbers[0])
