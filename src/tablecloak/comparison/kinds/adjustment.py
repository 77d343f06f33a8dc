"""Adjusted tables, compared by the values that are published."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar

import numpy as np

from tablecloak.arrays import Flags, Floats
from tablecloak.comparison.kind import KINDS, UNCHANGED, ReleaseKind
from tablecloak.comparison.kinds.changed import as_they_stand, changes
from tablecloak.cta.adjust import adjust
from tablecloak.cta.model.precision import shortfall
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.cta.risk.risk import Guesses, attack_adjustment
from tablecloak.cta.statistics.mean import Mean
from tablecloak.cta.statistics.regression import Regression
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["AdjustedTable"]

RECOVERY = 0.1
"""Share of the sensitive cells that may be guessed where distances are left to chance."""


@KINDS.register
class AdjustedTable(ReleaseKind[Adjustment]):
    """An adjusted table."""

    name: ClassVar[str] = "adjustment"
    made: ClassVar[type] = Adjustment
    made_by: ClassVar[str] = "adjustments of `adjust`"
    place: ClassVar[int] = 2

    def methods(self, time_limit: float) -> Mapping[str, Callable[[ProtectionProblem], Adjustment]]:
        """Return adjustment without and with statistics to preserve, and left to chance."""
        preserve = [Mean("all"), Regression("sensitive")]
        return {
            "adjustment": partial(adjust, time_limit=time_limit),
            "adjustment with statistics": partial(adjust, preserve=preserve, time_limit=time_limit),
            "adjustment by chance": partial(adjust, recovery=RECOVERY, time_limit=time_limit),
        }

    def ends(self, release: Adjustment) -> tuple[Floats, Floats]:
        """Return the adjusted values."""
        return as_they_stand(release.values)

    def is_safe(
        self, problem: ProtectionProblem, release: Adjustment, lower: Floats, upper: Floats
    ) -> bool:
        """Compare changes with the levels; a side whose level is 0 does not count."""
        moved = lower.astype(np.longdouble) - problem.table.values
        return bool(np.all(shortfall(problem, moved) <= UNCHANGED * problem.unit))

    def published(self, release: Adjustment, shown: Floats) -> tuple[Flags, Floats]:
        """Return the cells that did not move, and how far the others did."""
        problem = release.problem
        return changes(shown, problem.table.values, problem.unit)

    def guesses(
        self, release: Adjustment, shown: Floats, *, knows: str, time_limit: float
    ) -> Guesses:
        """Run the method backwards."""
        return attack_adjustment(release, knows=knows, time_limit=time_limit)
