"""Order statistics of the contributions to a cell: quantiles, medians, minima and maxima.

A quantile is the least contribution with at least so large a share of the contributors at or below
it, so that it always is a contribution of somebody. `tablecloak.tables.changes.order_statistics`
decides which are published.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError
from tablecloak.tables.figures.figure import FIGURES, DerivedFigure, Quotients, cells_of
from tablecloak.tables.table import Table


def rounded_to(values: Floats, base: float) -> Floats:
    """Return values as multiples of a base, halves to even."""
    rounded: Floats = np.rint(np.asarray(values) / base) * base
    return rounded


@dataclass(frozen=True)
class OrderStatistic(DerivedFigure):
    """A contribution by its rank among those to its cell.

    Parameters
    ----------
    variable : str
        The name of the measure.
    base : float, optional
        It is published as a multiple of this; by default of its last decimal.
    contributors : int, default=3
        It is hidden if fewer of them have contributions that are rounded to what is published.
    p : float, default=10
        It is hidden if a contributor could learn with it, from the total, what another one gives to
        within so many per cent.
    decimals, frozen, where
        See `DerivedFigure`; it cannot be frozen, and costs nothing, since it is hidden by rule.
    """

    variable: Annotated[str, Field(description="Variable.")]
    base: Annotated[float | None, Field(gt=0, description="Published are multiples of it.")] = None
    contributors: Annotated[
        int, Field(ge=2, description="Fewest that are rounded to what is published.")
    ] = 3
    p: Annotated[float, Field(gt=0, description="Per cent within which nobody may be known.")] = 10

    needs_contributions: ClassVar[bool] = True
    wording: ClassVar[str] = "{self.name} of {self.variable}"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.frozen:
            raise InputError(f"{self.label}: it is hidden by rule, and cannot be frozen.")

    fixed_share: ClassVar[float]
    """Share of the contributors at or below it, where the kind says it."""

    @property
    def share(self) -> float:
        """Share of the contributors at or below it."""
        return self.fixed_share

    @property
    def grid(self) -> float:
        """What it is published as a multiple of."""
        return 10.0**-self.decimals if self.base is None else self.base

    def rank(self, n: int) -> int:
        """Return its place among the contributions of n contributors, from 1 on."""
        return max(math.ceil(Fraction(repr(self.share)) * n), 1)

    def value(self, contributions: Floats) -> float:
        """Return what would be published of the contributions to a cell."""
        place = self.rank(len(contributions)) - 1
        return float(rounded_to(np.partition(contributions, place)[place], self.grid))

    def quotients_in(self, table: Table) -> Quotients:
        """Return all cells of the variable."""
        cells = cells_of(table, self.variable, self.label)
        return Quotients(cells, np.full(len(cells), -1, dtype=np.int64), np.ones(len(cells)))

    def released(self, table: Table, values: Floats, hidden: Flags) -> pd.DataFrame:
        """Refuse statistics that no rule has judged."""
        raise InputError(
            f"{self.label}: order statistics are judged by the contributions to each cell, and "
            f"beside suppressed totals only. Give them to `tablecloak.with_derived` with "
            f"`contributions`."
        )


@FIGURES.register
@dataclass(frozen=True)
class Quantile(OrderStatistic):
    """Quantile of the contributions to each cell, such as a quartile.

    Parameters
    ----------
    variable, base, contributors, p, decimals, where
        See `OrderStatistic`.
    q : float
        Share of the contributors at or below it.
    """

    q: Annotated[float, Field(gt=0, lt=1, description="Share at or below it.")] = 0.5
    name: ClassVar[str] = "quantile"
    wording: ClassVar[str] = "{self.q:g} quantile of {self.variable}"

    @property
    def share(self) -> float:
        """Share of the contributors at or below it."""
        return self.q


@FIGURES.register
@dataclass(frozen=True)
class Median(OrderStatistic):
    """Lower median of the contributions to each cell; parameters as those of `Quantile`."""

    name: ClassVar[str] = "median"
    fixed_share: ClassVar[float] = 0.5


@FIGURES.register
@dataclass(frozen=True)
class Minimum(OrderStatistic):
    """Least contribution to each cell; parameters as those of `Quantile`."""

    name: ClassVar[str] = "minimum"
    fixed_share: ClassVar[float] = 0.0


@FIGURES.register
@dataclass(frozen=True)
class Maximum(OrderStatistic):
    """Largest contribution to each cell; parameters as those of `Quantile`."""

    name: ClassVar[str] = "maximum"
    fixed_share: ClassVar[float] = 1.0


@dataclass(frozen=True, eq=False)
class JudgedStatistic(DerivedFigure):
    """An order statistic of some cells, with the decision on each.

    Parameters
    ----------
    statistic : OrderStatistic
    cells : numpy.ndarray of int, shape (n_statistics,)
    printed_values : numpy.ndarray of float, shape (n_statistics,)
        What would be published.
    shown : numpy.ndarray of bool, shape (n_statistics,)
        Whether it is.
    """

    statistic: OrderStatistic
    cells: Integers
    printed_values: Floats
    shown: Flags
    name: ClassVar[str] = "judged statistic"
    wording: ClassVar[str] = "{self.statistic.label} in multiples of {self.statistic.grid:g}"
    needs_contributions: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Nothing is given by users."""

    def quotients_in(self, table: Table) -> Quotients:
        """Return none: it is no quotient of cells."""
        del table
        nothing = np.zeros(0, dtype=np.int64)
        return Quotients(nothing, nothing, np.zeros(0))

    def released(self, table: Table, values: Floats, hidden: Flags) -> pd.DataFrame:
        """Return what the rule has decided, whichever totals are hidden."""
        del values, hidden
        keys = table.keys.iloc[self.cells]
        keys.insert(0, "figure", self.label)
        return keys.assign(
            value=np.where(self.shown, self.printed_values, np.nan),
            status=np.where(self.shown, "published", "suppressed"),
        )


@FIGURES.register
@dataclass(frozen=True)
class StandardDeviation(DerivedFigure):
    """Standard deviation of the contributions to each cell, which is always refused.

    Parameters
    ----------
    variable : str
    decimals, weight, frozen, where
        See `DerivedFigure`.

    Raises
    ------
    InputError
        Beside total and count it tells the sum of squares, which adds up over cells.
    """

    variable: Annotated[str, Field(description="Variable.")]
    name: ClassVar[str] = "standard-deviation"
    wording: ClassVar[str] = "standard deviation of {self.variable}"
    refusal: ClassVar[str] = (
        "with the total and the number of contributors it tells the sum of squares. That adds up "
        "over cells, so that what one cell hides follows from others, and with total and sum of "
        "squares a contributor computes two others exactly. Nothing proves such a release safe. "
        "Publish rounded quantiles instead."
    )

    def quotients_in(self, table: Table) -> Quotients:
        """Return nothing, since it is refused."""
        raise NotImplementedError


@FIGURES.register
@dataclass(frozen=True)
class StandardError(StandardDeviation):
    """Standard error of the estimate of each cell, which is always refused.

    Parameters
    ----------
    variable : str
    decimals, weight, frozen, where
        See `DerivedFigure`.

    Raises
    ------
    InputError
        With a known design it tells the sum of squares of the contributions.
    """

    name: ClassVar[str] = "standard-error"
    wording: ClassVar[str] = "standard error of {self.variable}"
    refusal: ClassVar[str] = (
        "of a sample of known design it tells the sum of squares of the contributions, and with "
        "the estimate of a cell with two of them both. Nothing proves such a release safe. Say of "
        "which class its coefficient of variation is, or hide the cell as unreliable."
    )


def statistics_among(derived: Sequence[Any]) -> list[OrderStatistic]:
    """Return the figures that are order statistics."""
    return [figure for figure in derived if isinstance(figure, OrderStatistic)]
