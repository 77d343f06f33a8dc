"""Protection on request of contributors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field

from tablecloak.arrays import Flags
from tablecloak.parameters import percent
from tablecloak.tables.rules.rule import RULES, Level, LevelRange, Rule, contributions_of
from tablecloak.tables.table import Table


@RULES.register
@dataclass(frozen=True)
class Request(Rule):
    """Protection on request: some contributors ask for it and are large, or the cell is small.

    Unsafe if the largest requesting contribution exceeds `percentage` per cent of X, or if
    some contributor requests and there are fewer than `minimum` contributors. A waiver does not
    take a request back.

    Parameters
    ----------
    percentage : float
        For contributors with request code 1.
    percentage_2 : float, optional
        For contributors with request code 2; by default the same.
    minimum : int, default=0
        Number of contributors below which any request counts.
    range : float or (float, float), default=20
        Protection level in per cent of the value, for both sides or (lower, upper).
    level : {"auto", "contributor", "holding"}, default="auto"
        Whose contributions are compared; auto: of holdings where the table has them.
    """

    percentage: Annotated[
        float, percent("Share that grants a request of code 1.", ge=0, examples=[10])
    ]
    percentage_2: Annotated[
        float | None, percent("Share that grants a request of code 2; else the same.", ge=0)
    ] = None
    minimum: Annotated[
        int, Field(ge=0, description="Number of contributors below which any request counts.")
    ] = 0
    range: LevelRange = 20.0
    level: Level = "auto"
    name: ClassVar[str] = "request"
    precedence: ClassVar[int] = 3
    looks_at_amounts: ClassVar[bool] = True
    argus: ClassVar[str] = "REQ"

    def unsafe(self, table: Table) -> Flags:
        """Return which cells hold a contributor whose request must be granted."""
        given = contributions_of(table, self)
        second = self.percentage if self.percentage_2 is None else self.percentage_2
        limits = (self.percentage, second)
        shares = 100 * given.largest_request > np.abs(given.total)[:, None] * np.array(limits)
        asked = np.any(given.largest_request > 0, axis=1)
        unsafe: Flags = np.any(shares, axis=1) | (asked & (given.count < self.minimum))
        return unsafe

    @classmethod
    def from_argus(cls, numbers: Sequence[float], level: Level) -> Self:
        """Read REQ(percentage, percentage_2, minimum, range)."""
        one, two, least, margin = numbers
        return cls(one, two, int(least), margin, level)
