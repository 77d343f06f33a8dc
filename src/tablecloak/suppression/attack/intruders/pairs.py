"""Intruders who contributed to the table, two at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from tablecloak.suppression.attack.intruder import INTRUDERS
from tablecloak.suppression.attack.intruders.contributors import Contributors


@INTRUDERS.register
@dataclass(frozen=True)
class Pairs(Contributors):
    """Every pair of contributors that meet in a suppressed cell or a relation."""

    name: ClassVar[str] = "pairs"
    usual_with: ClassVar[str] = ""

    together: Annotated[int, Field(ge=2, le=2, description="Always pairs.")] = 2
