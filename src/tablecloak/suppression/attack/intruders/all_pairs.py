"""Intruders who contributed to the table, any two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from tablecloak.suppression.attack.intruder import INTRUDERS
from tablecloak.suppression.attack.intruders.contributors import Contributors


@INTRUDERS.register
@dataclass(frozen=True)
class AllPairs(Contributors):
    """Every pair of contributors, also those that never meet."""

    name: ClassVar[str] = "all-pairs"
    usual_with: ClassVar[str] = ""

    together: Annotated[int, Field(ge=2, le=2, description="Always pairs.")] = 2
    everywhere: Annotated[bool, Field(description="Always all pairs.")] = True
