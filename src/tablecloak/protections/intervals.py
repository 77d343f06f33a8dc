"""Partial suppression: intervals instead of gaps, as narrow as protection allows."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import Flags, Floats
from tablecloak.comparison.intervals import counts_within
from tablecloak.cta.result.intervals import CoveringIntervals
from tablecloak.protection import PROTECTIONS, Attackers, Judgement, Material, Product
from tablecloak.protections.of_table import (
    RequirementName,
    Seconds,
    TableProtection,
    WeightName,
    are_wide_enough,
)
from tablecloak.publish.publication import require_two_values
from tablecloak.render.heat_map import SUPPRESSION, add_heat_map, suppression_squares
from tablecloak.render.page import Page
from tablecloak.suppression.intervals.intervals import IntervalPattern
from tablecloak.tables.leaving import Leaving
from tablecloak.tables.problem import ProtectionProblem


@PROTECTIONS.register
class PartialSuppression(TableProtection):
    """Publish the narrowest intervals instead of gaps, so that no sensitive value is inferred."""

    name: ClassVar[str] = "intervals"
    releases: ClassVar[tuple[type, ...]] = (IntervalPattern, CoveringIntervals)
    makers: ClassVar[str] = "intervals of `publish_intervals`"
    place: ClassVar[int] = 3
    function: ClassVar[str] = "publish_intervals"
    command: ClassVar[str] = "intervals"
    target: ClassVar[str] = "intervals"
    is_on_bench: ClassVar[bool] = True

    require: Annotated[RequirementName, Field(description="What counts as protected.")] = (
        "two-sided"
    )
    weights: Annotated[
        WeightName, Field(description="What one unit of the width of an interval costs.")
    ] = "relative"
    blur: Annotated[
        float,
        Field(ge=0, description="Widen each side by a random share of the width, up to this."),
    ] = 1.0
    time_limit: Seconds = 60.0

    def check(self, job: Any) -> None:
        """Refuse files and layouts that have room for one value of each cell only."""
        require_two_values(job.output.formats, job.output.laid_out)

    def audited(self, release: Any, material: Material, attackers: Attackers) -> Judgement:
        """Attack the intervals by what they were asked to protect."""
        return self.attacked(release, material, attackers, attackers.intruders, release.requirement)

    @classmethod
    def intervals(cls, release: Any) -> tuple[Floats, Floats]:
        """Return both ends."""
        return release.lower, release.upper

    @classmethod
    def leaving(cls, release: Any) -> Leaving:
        """Return both ends of each cell, equal where the value itself is published."""
        method = {
            "method": "partial cell suppression",
            "reading": "Some values are given as intervals that hold them, to protect respondents. "
            "Where both ends are equal they are the value.",
        }
        hidden = np.asarray(release.upper > release.lower)
        return Leaving.of_table(
            release.release(), release.problem, hidden, method, ("lower", "upper")
        )

    @classmethod
    def describe(cls, page: Page, problem: ProtectionProblem, product: Product) -> None:
        """Draw which cells are published as intervals."""
        release, table = product.release, problem.table
        wide = release.upper > release.lower
        status = np.where(wide, np.where(problem.sensitive, "primary", "secondary"), "published")
        page.legend(SUPPRESSION | {"primary": "interval, sensitive", "secondary": "interval"})
        add_heat_map(page, table.keys, table.hierarchies, suppression_squares(problem, status))

    @classmethod
    def ends(cls, release: Any) -> tuple[Floats, Floats]:
        """Return both ends, within what everybody knows."""
        problem = release.problem
        return (
            np.maximum(release.lower, problem.lower_bound),
            np.minimum(release.upper, problem.upper_bound),
        )

    @classmethod
    def protects(
        cls, problem: ProtectionProblem, release: Any, lower: Floats, upper: Floats
    ) -> bool:
        """Audit the intervals."""
        n_cells = problem.table.n_cells
        return are_wide_enough(problem, (lower[:n_cells], upper[:n_cells]))

    @classmethod
    def lost(cls, release: Any, shown: Floats) -> tuple[Flags, Floats]:
        """Return the cells published exactly, and half the width of each interval."""
        del shown
        lower, upper = cls.ends(release)
        width: Floats = (upper - lower) / 2
        return width == 0, width

    @classmethod
    def possible(
        cls, release: Any, lower: Floats, upper: Floats, time_limit: float
    ) -> tuple[Floats, Floats]:
        """Return the whole numbers within the intervals that fit together."""
        return counts_within(release.problem, lower, upper, time_limit)
