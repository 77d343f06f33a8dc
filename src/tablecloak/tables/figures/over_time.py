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
    compared_with: ClassVar[str] = "base"

    @property
    def label(self) -> str:
        """Name of the index."""
        return f"index of {self.variable}, {self.base} = 100"

    @property
    def scale(self) -> int:
        """The base is 100."""
        return 100
