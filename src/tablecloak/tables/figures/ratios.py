"""Quotients of cells: ratios, shares, averages, and comparisons with another period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.errors import InputError, listed, suggestion
from tablecloak.tables.figures.figure import (
    FIGURES,
    DerivedFigure,
    Quotients,
    cells_of,
    counterparts,
    earlier_cells,
    earlier_names,
)
from tablecloak.tables.table import Table


def parts_of(formula: str) -> list[str]:
    """Return the variables of a quotient."""
    return [part.strip() for part in formula.split("/")]


@FIGURES.register
@dataclass(frozen=True)
class Ratio(DerivedFigure):
    """Ratio of two variables, such as turnover per employee.

    Parameters
    ----------
    formula : str
        Such as ``turnover / employees``.
    per : int, default=1
        Units of the denominator to which it refers, such as 1000 for cases per 1,000 inhabitants,
        and 100 for per cent.
    decimals, weight, frozen, where
        See `DerivedFigure`.

    Raises
    ------
    InputError
        If the formula is no quotient of two variables, or a parameter is out of its range.
    """

    formula: Annotated[str, Field(description="Quotient of two variables, as in 'a / b'.")]
    per: Annotated[int, Field(ge=1, le=10**6, description="Units of the denominator.")] = 1
    name: ClassVar[str] = "ratio"

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(parts_of(self.formula)) != 2 or not all(parts_of(self.formula)):
            raise InputError(
                f"The ratio {self.formula!r} is no quotient of two variables. Write it like "
                f"'turnover / employees'."
            )

    @property
    def label(self) -> str:
        """Its formula."""
        return self.formula if self.per == 1 else f"{self.formula} per {self.per}"

    @property
    def scale(self) -> int:
        """Units of the denominator."""
        return self.per

    def quotients_in(self, table: Table) -> Quotients:
        """Return each cell of the first variable over that of the second with the same codes."""
        above, below = parts_of(self.formula)
        cells = cells_of(table, above, self.label)
        cells_of(table, below, self.label)
        if table.variables is None:
            raise InputError(f"{self.label}: numerator and denominator are the same variable.")
        return Quotients.of_cells(
            cells, counterparts(table, cells, **{table.variables.dimension: below})
        )


@FIGURES.register
@dataclass(frozen=True)
class Share(DerivedFigure):
    """Share of each cell in the total of a dimension, in per cent.

    Parameters
    ----------
    variable : str
        The name of the measure, in a table of one variable.
    of : str
        Dimension: each cell is divided by the one with its total and the same other codes.
    decimals, weight, frozen, where
        See `DerivedFigure`.
    """

    variable: Annotated[str, Field(description="Variable.")]
    of: Annotated[str, Field(description="Dimension in whose total the shares are.")]
    name: ClassVar[str] = "share"
    scale: ClassVar[int] = 100
    wording: ClassVar[str] = "{self.variable} in % of {self.of}"

    def quotients_in(self, table: Table) -> Quotients:
        """Return each cell over the total of the dimension."""
        cells = cells_of(table, self.variable, self.label)
        tree = table.hierarchies.get(self.of)
        if tree is None:
            near = suggestion(self.of, table.hierarchies)
            raise InputError(
                f"{self.label}: there is no hierarchy of a dimension {self.of!r}.{near}"
            )
        return Quotients.of_cells(cells, counterparts(table, cells, **{self.of: tree.total}))


@FIGURES.register
@dataclass(frozen=True)
class Average(DerivedFigure):
    """Mean of the contributions to each cell, whose number everybody is taken to know.

    Beside its total it tells that number, so that it is refused beside counts, which may be hidden.
    With sampling weights the number is the sum of weights. The mean per unit of another variable,
    whose cells may be hidden, is a `Ratio`.

    Parameters
    ----------
    variable : str
        The name of the measure, in a table of one variable.
    decimals, weight, frozen, where
        See `DerivedFigure`.
    """

    variable: Annotated[str, Field(description="Variable.")]
    name: ClassVar[str] = "average"
    wording: ClassVar[str] = "mean of {self.variable}"

    def check_beside(self, counts: Sequence[str]) -> None:
        """Refuse counts, which may be hidden, and which the mean tells with its total."""
        if counts:
            raise InputError(
                f"{self.label}: beside its total it tells how many contribute to a cell, and that "
                f"is what {listed(list(counts))} counts and may hide. Ask for the ratio instead, "
                f"figure = 'ratio' with formula = '{self.variable} / {counts[0]}', which is "
                f"protected together with both, or leave out the mean or the counts."
            )

    def quotients_in(self, table: Table) -> Quotients:
        """Return each cell over its number of contributors; cells without any have no mean."""
        cells = cells_of(table, self.variable, self.label)
        found = table.contributions
        if found is not None and table.variables is not None:
            of_cells = {name: cells_of(table, name, self.label) for name in table.variables.names}
            self.check_beside([
                name for name, places in of_cells.items()
                if np.array_equal(table.values[places], found.count[places])
            ])  # fmt: skip
        if found is None:
            raise InputError(
                f"{self.label}: the number of contributors of each cell is not known. Tabulate "
                f"from records, name the column with `frequency`, or ask for a ratio of two "
                f"variables."
            )
        number = found.weighted_count[cells]
        cells, number = cells[number > 0], number[number > 0]
        return Quotients(cells, np.full(len(cells), -1, dtype=np.int64), number)


@dataclass(frozen=True)
class FigureOverTime(DerivedFigure):
    """A quotient of each cell and the same cell of another period.

    Parameters
    ----------
    variable : str
        The name of the measure, in a table of one variable.
    decimals, weight, frozen, where
        See `DerivedFigure`.
    """

    variable: Annotated[str, Field(description="Variable.")]

    def quotients_in(self, table: Table) -> Quotients:
        """Return each cell over the same one of the variable or release that it compares with."""
        cells, before = (
            cells_of(table, self.variable, self.label),
            getattr(self, self.compared_with),
        )
        variables, releases = table.variables, earlier_names(table)
        if variables is not None and before in variables.names:
            below = counterparts(table, cells, **{variables.dimension: before})
        elif before in releases:
            below = earlier_cells(table, cells, before)
        else:
            choices = [*(variables.names if variables else ()), *releases]
            raise InputError(
                f"{self.label}: there is neither a variable nor an earlier release {before!r}."
                f"{suggestion(before, choices)} Give earlier releases as `published`."
            )
        return Quotients.of_cells(cells, below)


@FIGURES.register
@dataclass(frozen=True)
class Growth(FigureOverTime):
    """Growth rate of each cell since another period.

    Parameters
    ----------
    variable : str
        The name of the measure, in a table of one variable.
    since : str
        The earlier period: an earlier release by its name, or a variable.
    per_cent : bool, default=True
        Whether it is printed in per cent.
    decimals, weight, frozen, where
        See `DerivedFigure`.
    """

    since: Annotated[str, Field(description="Earlier release or variable with which it compares.")]
    per_cent: Annotated[bool, Field(description="Whether it is printed in per cent.")] = True
    name: ClassVar[str] = "growth"
    wording: ClassVar[str] = "growth of {self.variable} since {self.since}"
    compared_with: ClassVar[str] = "since"

    @property
    def scale(self) -> int:
        """100 for per cent."""
        return 100 if self.per_cent else 1

    @property
    def offset(self) -> int:
        """No growth is a quotient of 1."""
        return -self.scale


@FIGURES.register
@dataclass(frozen=True)
class Index(FigureOverTime):
    """Index of each cell: 100 is its value in the base period.

    Parameters
    ----------
    variable : str
        The name of the measure, in a table of one variable.
    base : str
        The base period: an earlier release by its name, or a variable.
    decimals, weight, frozen, where
        See `DerivedFigure`.
    """

    base: Annotated[str, Field(description="Earlier release or variable that is 100.")]
    name: ClassVar[str] = "index"
    scale: ClassVar[int] = 100
    wording: ClassVar[str] = "index of {self.variable}, {self.base} = 100"
    compared_with: ClassVar[str] = "base"
