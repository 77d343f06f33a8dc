"""Intruders who own contributors, each on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from tablecloak.suppression.attack.intruder import INTRUDERS
from tablecloak.suppression.attack.intruders.contributors import Contributors
from tablecloak.tables.contributions import ContributionLevel


@INTRUDERS.register
@dataclass(frozen=True)
class Holdings(Contributors):
    """Every holding: each knows the contributions of all its members."""

    name: ClassVar[str] = "holdings"
    usual_with: ClassVar[str] = "holding"

    level: Annotated[ContributionLevel, Field(description="Who is meant.")] = "holding"
