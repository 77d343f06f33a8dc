"""Rounded tables, compared by the rounded values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar

import numpy as np

from tablecloak.arrays import Flags, Floats
from tablecloak.comparison.inferred import counts_within
from tablecloak.comparison.kind import KINDS, ReleaseKind
from tablecloak.comparison.kinds.changed import as_they_stand, changes
from tablecloak.cta.rounding.controlled import controlled_rounding
from tablecloak.cta.rounding.rounded_table import RoundedTable
from tablecloak.suppression.attack.audit import audit_pattern
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["Rounding"]

BASE = 3
"""Base to which counts are rounded if no release is given, as statistical offices usually do."""


@KINDS.register
class Rounding(ReleaseKind[RoundedTable]):
    """A table of controlled rounding."""

    name: ClassVar[str] = "rounding"
    made: ClassVar[type] = RoundedTable
    made_by: ClassVar[str] = "tables of `controlled_rounding`"
    place: ClassVar[int] = 3

    def ends(self, release: RoundedTable) -> tuple[Floats, Floats]:
        """Return the rounded values."""
        return as_they_stand(release.values)

    def is_safe(
        self, problem: ProtectionProblem, release: RoundedTable, lower: Floats, upper: Floats
    ) -> bool:
        """Audit the intervals that rounded values stand for."""
        intervals = release.intervals()
        wide = np.asarray(intervals[1] > intervals[0])
        return audit_pattern(problem, wide, intervals=intervals).is_safe

    def methods_for_counts(
        self, time_limit: float
    ) -> Mapping[str, Callable[[ProtectionProblem], RoundedTable]]:
        """Return rounding to a small base."""
        return {
            f"rounding to {BASE}": partial(controlled_rounding, base=BASE, time_limit=time_limit)
        }

    def possible(
        self, release: RoundedTable, lower: Floats, upper: Floats, time_limit: float
    ) -> tuple[Floats, Floats]:
        """Return what follows from the rounded counts and the base together."""
        return counts_within(release.problem, *release.intervals(), time_limit)

    def published(self, release: RoundedTable, shown: Floats) -> tuple[Flags, Floats]:
        """Return the cells that were multiples of the base, and how far the others moved."""
        problem = release.problem
        return changes(shown, problem.table.values, problem.unit)
