"""Controlled tabular adjustment: sensitive cells get other values, and the table stays additive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.arrays import Floats
from tablecloak.budget import Budget, Progress
from tablecloak.cta.adjust import adjust
from tablecloak.cta.model.precision import shortfall
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.cta.result.decimals import in_decimals
from tablecloak.cta.risk.risk import TruthGuesses, attack_adjustment
from tablecloak.cta.search.conditions import SearchedStatistic
from tablecloak.cta.search.distance import DISTANCES
from tablecloak.cta.statistics.preserve import parse
from tablecloak.cta.statistics.regression import Mean, Regression
from tablecloak.cta.statistics.statistic import STATISTICS
from tablecloak.protection import PROTECTIONS, UNCHANGED, Material, Product, Search
from tablecloak.protections.of_table import Seconds, TableProtection, WeightName
from tablecloak.registered import NameIn
from tablecloak.render.page import Page
from tablecloak.tables.leaving import Leaving
from tablecloak.tables.problem import ProtectionProblem

DistanceName = Annotated[str, NameIn(DISTANCES)]
StatisticName = Annotated[str, NameIn(STATISTICS, only=lambda kind: kind.is_named, end=":")]
"""Such as ``mean`` and ``mean:all``."""

ROUNDING = 0.1
"""Least share of the time limit of an adjustment for rounding it to the digits of the table.

Nothing can be published without rounding, so that time is kept for it even where the search uses up
its own. docs/decisions, "Rounding keeps a tenth of the time".
"""

RECOVERY = 0.1
"""Share of the sensitive cells that may be guessed where distances are left to chance."""


@PROTECTIONS.register
class ControlledAdjustment(TableProtection):
    """Move sensitive cells to safe values and the others as little as possible."""

    name: ClassVar[str] = "adjustment"
    releases: ClassVar[tuple[type, ...]] = (Adjustment,)
    makers: ClassVar[str] = "adjustments of `adjust`"
    place: ClassVar[int] = 2
    function: ClassVar[str] = "adjust"
    command: ClassVar[str] = "adjust"
    target: ClassVar[str] = "adjusted"
    is_on_bench: ClassVar[bool] = True
    sections: ClassVar[tuple[str, ...]] = ("derived",)

    weights: Annotated[WeightName, Field(description="What changing a cell by one unit costs.")] = (
        "relative"
    )
    cost: Annotated[
        str | None, Field(description="Column of the data whose sums are the costs.")
    ] = None
    distance: Annotated[DistanceName, Field(description="What is minimised.")] = "L1"
    preserve: list[StatisticName] = Field(
        [],
        description="Statistics of sensitive cells to keep, or of all as in mean:all.",
        examples=[["mean:all", "regression"]],
    )
    sensitive_limit: Annotated[
        float | None,
        Field(ge=1, description="Largest change of a sensitive cell, as a multiple of its level."),
    ] = None
    capacity: Annotated[float | None, Field(ge=0, description="How far other cells may move.")] = (
        None
    )
    capacity_percent: Annotated[
        float | None, Field(ge=0, description="The same, as a percentage of the value.")
    ] = None
    measurement_error: Annotated[
        str | None, Field(description="Column of the data whose sums limit the changes of cells.")
    ] = None
    repair: Annotated[
        bool,
        Field(description="If no adjustment exists, lower as few levels as possible."),
    ] = False
    recovery: Annotated[
        float | None,
        Field(
            gt=0,
            lt=1,
            description="Leave distances to chance, so that who knows the method and the levels "
            "guesses at most this share of the sensitive cells, such as 0.1. The loss grows as its "
            "inverse.",
        ),
    ] = None
    integer: Annotated[
        bool | None,
        Field(description="Adjust to whole numbers. Default: if all values are whole."),
    ] = None
    time_limit: Seconds = 60.0

    def check(self, job: Any) -> None:
        """Refuse columns of one variable where there are several."""
        if job.variables and self.cost:
            raise ValueError("[adjustment] cost: a cost is a column of one variable; use weights")
        if job.variables and self.measurement_error:
            raise ValueError(
                "[adjustment] measurement_error: an error is a column of one variable; leave it out"
            )

    def prepare(self, material: Material) -> Search:
        """Read costs and limits on changes."""
        problem = self._with_capacities(material)
        weights = self.weights if self.cost is None else material.sums(self.cost)
        search = self.call(material, problem, weights=weights, integer=self._whole(problem))
        return partial(self._in_decimals, search)

    def _in_decimals(
        self, search: Callable[..., Adjustment], *, progress: Progress | None
    ) -> Adjustment:
        """Search; audit and report refer to the table as it is published."""
        budget = Budget.of(self.time_limit)
        adjusted = search(progress=progress)
        return in_decimals(adjusted, time_limit=budget.at_least(ROUNDING * self.time_limit).left)

    def _with_capacities(self, material: Material) -> ProtectionProblem:
        """Return the problem with the tightest of the limits on changes of other cells."""
        problem = material.problem
        if not self.measurement_error and self.capacity is self.capacity_percent is None:
            return problem
        limit = np.full(problem.table.n_cells, np.inf if self.capacity is None else self.capacity)
        if self.measurement_error:
            limit = np.minimum(limit, material.sums(self.measurement_error))
        return problem.with_capacity(limit, percent=self.capacity_percent)

    def _whole(self, problem: ProtectionProblem) -> bool | None:
        """Whole numbers for a table of these; else its last digit, where there is one."""
        if self.integer is not None:
            return self.integer
        # Such statistics are kept in real numbers, which are rounded to digits afterwards.
        searched = any(isinstance(kept, SearchedStatistic) for kept in parse(self.preserve))
        may_be_whole = DISTANCES[self.distance].has_whole_numbers and not searched
        return True if problem.table.integer and may_be_whole else None

    @classmethod
    def values(cls, release: Adjustment) -> Floats:
        """Return the adjusted values."""
        return release.values

    @classmethod
    def searched(cls, release: Adjustment) -> ProtectionProblem:
        """Return the problem with the weights of the search."""
        return release.problem

    @classmethod
    def leaving(cls, release: Adjustment) -> Leaving:
        """Return the adjusted values."""
        method = {
            "method": "controlled tabular adjustment",
            "reading": "Some values were changed to protect respondents; all totals add up.",
        }
        problem = release.problem
        return Leaving.of_table(release.release(), problem, problem.sensitive, method)

    @classmethod
    def secrets(
        cls, product: Product
    ) -> Iterator[tuple[str, pd.DataFrame | Callable[[Path], object]]]:
        """Yield all changes, and what can be guessed of sensitive cells, besides."""
        yield "adjustment_changes.csv", product.release.to_frame()
        if product.release.guessed is not None:
            yield "adjustment_guesses.csv", product.release.guessed.to_frame()
        yield from super().secrets(product)

    @classmethod
    def describe(cls, page: Page, problem: ProtectionProblem, product: Product) -> None:
        """Draw the changes, and show the moments before and after."""
        super().describe(page, problem, product)
        if problem.n_sensitive:
            rows = {
                subset: vars(product.release.moments(subset)) for subset in ("sensitive", "all")
            }
            frame = pd.DataFrame.from_dict(rows, orient="index")
            words = frame.rename(columns=lambda name: name.replace("_", " "))
            page.text(
                "What the changes do to statistics. Nothing changes where the mean shift (in the "
                "unit of the table) and the distribution distance (0 to 1) are 0, and the slope "
                "and correlation of published on true values and their variance ratio are 1."
            )
            page.table(words, caption="Moments before and after")

    @classmethod
    def answer(cls, product: Product, problem: ProtectionProblem) -> pd.DataFrame:
        """Return every cell with its true and its adjusted value. Secret."""
        frame: pd.DataFrame = product.release.to_frame()
        shown: pd.DataFrame = frame[~product.release.problem.table.rests]
        return shown

    @classmethod
    def methods(cls, time_limit: float) -> Mapping[str, Callable[[ProtectionProblem], Adjustment]]:
        """Return adjustment without and with statistics to preserve, and left to chance."""
        preserve = [Mean("all"), Regression("sensitive")]
        return {
            "adjustment": partial(adjust, time_limit=time_limit),
            "adjustment with statistics": partial(adjust, preserve=preserve, time_limit=time_limit),
            "adjustment by chance": partial(adjust, recovery=RECOVERY, time_limit=time_limit),
        }

    @classmethod
    def protects(
        cls, problem: ProtectionProblem, release: Adjustment, lower: Floats, upper: Floats
    ) -> bool:
        """Compare changes with the levels; a side whose level is 0 does not count."""
        moved = lower.astype(np.longdouble) - problem.table.values
        return bool(np.all(shortfall(problem, moved) <= UNCHANGED * problem.unit))

    @classmethod
    def guesses(
        cls, release: Adjustment, shown: Floats, *, knows: str, time_limit: float
    ) -> TruthGuesses:
        """Run the method backwards."""
        return attack_adjustment(release, knows=knows, time_limit=time_limit)
