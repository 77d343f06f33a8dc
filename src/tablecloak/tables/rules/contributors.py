"""Rules on who contributes to a cell: too few, nobody with more than 0, or some who ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field

from tablecloak.arrays import Flags, Floats
from tablecloak.parameters import percent
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
