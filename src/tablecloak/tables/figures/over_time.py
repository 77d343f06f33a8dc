"""Figures that compare a cell with the same cell of another period: growth rates and indices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from tablecloak.errors import InputError, suggestion
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


def quotients_over_time(table: Table, variable: str, before: str, label: str) -> Quotients:
    """Return each cell of a variable over the same cell of another variable or release.

    Parameters
    ----------
    table : Table
    variable : str
    before : str
        A variable, where periods are joined as variables, or the name of an earlier release.
    label : str
        Of the figure, for messages.

    Raises
    ------
    InputError
        If there is no such variable or release.
    """
    cells = cells_of(table, variable, label)
    variables, releases = table.variables, earlier_names(table)
    if variables is not None and before in variables.names:
        below = counterparts(table, cells, **{variables.dimension: before})
    elif before in releases:
        below = earlier_cells(table, cells, before)
    else:
        choices = [*(variables.names if variables else ()), *releases]
        raise InputError(
            f"{label}: there is neither a variable nor an earlier release {before!r}."
            f"{suggestion(before, choices)} Give earlier releases as `published`."
        )
    return Quotients.of_cells(cells, below)


@FIGURES.register
@dataclass(frozen=True)
class Growth(DerivedFigure):
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

    variable: Annotated[str, Field(description="Variable.")]
    since: Annotated[str, Field(description="Earlier release or variable with which it compares.")]
    per_cent: Annotated[bool, Field(description="Whether it is printed in per cent.")] = True
    name: ClassVar[str] = "growth"
    compared_with: ClassVar[str] = "since"

    @property
    def label(self) -> str:
        """Name of the growth rate."""
        return f"growth of {self.variable} since {self.since}"

    @property
    def scale(self) -> int:
        """100 for per cent."""
        return 100 if self.per_cent else 1

    @property
    def offset(self) -> int:
        """No growth is a quotient of 1."""
        return -self.scale

    def quotients_in(self, table: Table) -> Quotients:
        """Return each cell over that of the earlier period."""
        return quotients_over_time(table, self.variable, self.since, self.label)


@FIGURES.register
@dataclass(frozen=True)
class Index(DerivedFigure):
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

    variable: Annotated[str, Field(description="Variable.")]
    base: Annotated[str, Field(description="Earlier release or variable that is 100.")]
    name: ClassVar[str] = "index"
    compared_with: ClassVar[str] = "base"

    @property
    def label(self) -> str:
        """Name of the index."""
        return f"index of {self.variable}, {self.base} = 100"

    @property
    def scale(self) -> int:
        """The base is 100."""
        return 100

    def quotients_in(self, table: Table) -> Quotients:
        """Return each cell over that of the base period."""
        return quotients_over_time(table, self.variable, self.base, self.label)
