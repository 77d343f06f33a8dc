"""Controlled rounding: all cells become multiples of a base, and the table stays additive."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.arrays import Flags, Floats
from tablecloak.comparison.intervals import counts_within
from tablecloak.cta.rounding.controlled import controlled_rounding
from tablecloak.cta.rounding.rounded_table import RoundedTable, ends_of_multiples
from tablecloak.errors import InputError
from tablecloak.explaining.rounded_cell import explain_rounded
from tablecloak.protection import PROTECTIONS, Attackers, Judgement, Material, Product
from tablecloak.protections.of_table import (
    Seconds,
    TableProtection,
    WeightName,
    are_wide_enough,
)
from tablecloak.tables.leaving import Leaving
from tablecloak.tables.problem import ProtectionProblem

BASE = 3
"""Base to which counts are rounded if no release is given, as statistical offices usually do."""


class RoundingProtection(TableProtection):
    """A way to protect whose readers know how far each value may have been moved."""

    told_with: ClassVar[str] = "base"

    reading: ClassVar[str]
    """How readers must understand the release."""

    base: int

    @classmethod
    def values(cls, release: Any) -> Floats:
        """Return the rounded values."""
        return np.asarray(release.values, dtype=np.float64)

    @classmethod
    def intervals(cls, release: Any) -> tuple[Floats, Floats]:
        """Return what the base and the rounded values leave possible."""
        ends: tuple[Floats, Floats] = release.intervals()
        return ends

    def told_by_values(self, problem: ProtectionProblem, values: Floats) -> tuple[Floats, Floats]:
        """Return what the base and the values leave possible, whoever rounded them."""
        why = self.unfit(problem)
        if why:
            raise InputError(why)
        odd = np.flatnonzero(self._is_odd(values))
        if len(odd):
            raise InputError(
                f"{len(odd)} values are none of {self.method_name} to base {self.base}, the first "
                f"is {values[odd[0]]:g} of {problem.table.label(int(odd[0]))}. Give the base that "
                f"was used."
            )
        return self._ends(problem, values)

    @abstractmethod
    def _is_odd(self, values: Floats) -> Flags:
        """Flag the values that cannot have been made so."""

    @abstractmethod
    def _ends(self, problem: ProtectionProblem, values: Floats) -> tuple[Floats, Floats]:
        """Return the ends that follow from the values, and from how far they were moved at most."""

    @classmethod
    def attacked(
        cls, release: Any, material: Material, attackers: Attackers, *args: Any, **options: Any
    ) -> Judgement:
        """Attack a release; if nobody attacks but everybody, its verdict rests on that attack."""
        audit = super().attacked(release, material, attackers, *args, **options)
        if not (attackers.intruders or attackers.groups):
            release.judged(options.get("problem", material.problem), audit)
        return audit

    @classmethod
    def leaving(cls, release: Any) -> Leaving:
        """Return the rounded values."""
        problem = release.problem
        moved = cls.values(release) != problem.table.values
        method = {
            "method": cls.method_name,
            "base": int(release.base),
            "reading": cls.reading.format(base=release.base),
        }
        return Leaving.of_table(release.release(), problem, problem.sensitive & moved, method)

    @classmethod
    def secrets(
        cls, product: Product
    ) -> Iterator[tuple[str, pd.DataFrame | Callable[[Path], object]]]:
        """Yield true and rounded values besides."""
        yield f"{cls.name}_changes.csv", cls.answer(product, product.release.problem)
        yield from super().secrets(product)

    @classmethod
    def protects(
        cls, problem: ProtectionProblem, release: Any, lower: Floats, upper: Floats
    ) -> bool:
        """Audit the intervals that rounded values stand for."""
        return are_wide_enough(problem, cls.intervals(release))

    @classmethod
    def possible(
        cls, release: Any, lower: Floats, upper: Floats, time_limit: float
    ) -> tuple[Floats, Floats]:
        """Return what follows from the rounded counts and the base together."""
        return counts_within(release.problem, *cls.intervals(release), time_limit)


@PROTECTIONS.register
class ControlledRounding(RoundingProtection):
    """Round all cells to multiples of a base so that the table stays additive."""

    name: ClassVar[str] = "rounding"
    releases: ClassVar[tuple[type, ...]] = (RoundedTable,)
    makers: ClassVar[str] = "tables of `controlled_rounding`"
    place: ClassVar[int] = 4
    function: ClassVar[str] = "controlled_rounding"
    command: ClassVar[str] = "round"
    target: ClassVar[str] = "rounded"
    is_on_bench: ClassVar[bool] = True
    sections: ClassVar[tuple[str, ...]] = ("derived",)
    method_name: ClassVar[str] = "controlled rounding"
    reading: ClassVar[str] = (
        "All values were rounded to multiples of {base} to protect respondents, so that a zero may "
        "stand for a small value; all totals add up."
    )

    base: Annotated[int, Field(ge=2, description="Values become multiples of it.")] = 5
    max_steps: Annotated[
        int,
        Field(
            ge=1,
            description="Most steps of the base by which a value may move if one step is not "
            "enough.",
        ),
    ] = 3
    weights: Annotated[WeightName, Field(description="What moving a cell by one costs.")] = "unit"
    time_limit: Seconds = 60.0

    @classmethod
    def unfit(cls, problem: ProtectionProblem) -> str:
        """Refuse tables with fractions."""
        if problem.table.integer:
            return ""
        return (
            "Only tables of whole numbers can be rounded. Publish no digits after the point: "
            "`decimals = 0` in [data] of a job, `decimals=0` of `tabulate`, or 0 in the field "
            "'Digits to publish' of the app."
        )

    def _is_odd(self, values: Floats) -> Flags:
        odd: Flags = values % self.base != 0
        return odd

    def _ends(self, problem: ProtectionProblem, values: Floats) -> tuple[Floats, Floats]:
        """Return ends for the fewest steps; to readers of nearest multiples, for half a base."""
        most = float(np.max(np.abs(values - problem.table.values), initial=0.0))
        reach = self.base * (most // self.base + 1) - 1
        return ends_of_multiples(
            problem, values, self.base // 2 if 2 * most <= self.base else reach
        )

    @classmethod
    def refusal(cls, product: Product) -> str:
        """Say what helps: rounding does not take levels into account."""
        return f"{super().refusal(product)} For [{cls.name}], a larger base protects more."

    @classmethod
    def explained(cls, release: RoundedTable, question: Any, cell: int) -> Any:
        """Say what the base leaves possible of a cell."""
        return explain_rounded(question, release, cell)

    @classmethod
    def methods_for_counts(
        cls, time_limit: float
    ) -> Mapping[str, Callable[[ProtectionProblem], RoundedTable]]:
        """Return rounding to a small base."""
        return {
            f"rounding to {BASE}": partial(controlled_rounding, base=BASE, time_limit=time_limit)
        }
