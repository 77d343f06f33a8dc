"""Small-count rounding: no published count lies between 0 and a base."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import Flags, Floats
from tablecloak.cta.rounding.small_counts import SmallCountTable, ends_of_counts
from tablecloak.protection import PROTECTIONS, Attackers, Judgement, Material
from tablecloak.protections.of_table import Seconds, WeightName
from tablecloak.protections.rounding import RoundingProtection
from tablecloak.tables.problem import ProtectionProblem


@PROTECTIONS.register
class SmallCounts(RoundingProtection):
    """Round counts below a base to 0 or to the base, and move others as little as possible."""

    name: ClassVar[str] = "small_counts"
    releases: ClassVar[tuple[type, ...]] = (SmallCountTable,)
    makers: ClassVar[str] = "tables of `small_count_rounding`"
    place: ClassVar[int] = 5
    noun: ClassVar[str] = "small counts"
    function: ClassVar[str] = "small_count_rounding"
    target: ClassVar[str] = "rounded_counts"
    is_on_bench: ClassVar[bool] = True
    needs_rules: ClassVar[bool] = False
    method_name: ClassVar[str] = "small-count rounding"
    reading: ClassVar[str] = (
        "Counts below {base} were rounded to 0 or {base} to protect respondents, so that a zero "
        "may stand for a small count; others were moved a little so that all totals add up."
    )

    base: Annotated[int, Field(ge=2, description="Counts from 1 to below it disappear.")] = 3
    weights: Annotated[WeightName, Field(description="What moving a count by one costs.")] = "unit"
    time_limit: Seconds = 60.0

    @classmethod
    def unfit(cls, problem: ProtectionProblem) -> str:
        """Refuse tables of other values than counts."""
        is_count = problem.table.integer and bool((problem.table.values >= 0).all())
        return "" if is_count else "Only tables of counts have small counts."

    def _is_odd(self, values: Floats) -> Flags:
        odd: Flags = (values < 0) | ((values > 0) & (values < self.base))
        return odd

    def _ends(self, problem: ProtectionProblem, values: Floats) -> tuple[Floats, Floats]:
        most = float(np.max(np.abs(values - problem.table.values), initial=self.base - 1))
        return ends_of_counts(problem, values, self.base, most)

    def audited(
        self, release: SmallCountTable, material: Material, attackers: Attackers
    ) -> Judgement:
        """Attack the small counts, and then the cells that rules find sensitive, if there are any.

        The search takes no rule into account, so that nothing else tells whether it protects them.
        """
        verdict = self.attacked(
            release, material, attackers, attackers.intruders, problem=release.problem
        )
        if not verdict.is_safe or not material.problem.n_sensitive:
            return verdict
        return super().audited(release, material, attackers)

    @classmethod
    def searched(cls, release: SmallCountTable) -> ProtectionProblem:
        """Return the problem whose sensitive cells are the small counts."""
        return release.problem
