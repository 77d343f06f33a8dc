"""Pie charts and other shares of categories."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd

from tablecloak.errors import InputError
from tablecloak.safe.other.counting import counted
from tablecloak.safe.other.kind import KINDS, Asked, Checked, Kind

__all__ = ["Pie"]

MOST_CATEGORIES = 1000
"""More than so many categories are numbers or names of records, not slices."""


@KINDS.register
@dataclass(frozen=True)
class Pie(Kind):
    """Pie chart: slices are counts, and shares follow from counts that may leave."""

    name: ClassVar[str] = "pie"
    label: ClassVar[str] = "pie chart"

    def check(self, asked: Asked) -> Checked:
        """Count the records of each category."""
        asked, left_out = asked.known()
        reasons, notes = asked.missing(left_out)
        column = asked.frame.iloc[:, 0]
        group, categories = pd.factorize(column, sort=True)
        if not len(group) or len(categories) > MOST_CATEGORIES:
            raise InputError(
                f"{column.name}: a pie chart needs 1 to {MOST_CATEGORIES} categories; found "
                f"{len(categories)}"
            )
        checked = counted(
            asked, group.astype(np.int64), [*map(str, categories)], str(column.name), "slice"
        )
        return replace(
            checked,
            reasons=tuple(reasons),
            notes=(*checked.notes, *notes),
            properties={"method": "pie"},
        )
