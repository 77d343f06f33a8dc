"""What a researcher asked for: pandas' table, and what its figures are made of."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from tablecloak.arrays import Floats
from tablecloak.errors import InputError, listed, suggestion
from tablecloak.safe.tables.grid import Axis, Grid
from tablecloak.safe.tables.measures import Adds

Protect = Literal["suppression", "rounding"] | None

STATISTICS: dict[str, tuple[Adds, ...]] = {
    "count": ("count",),
    "size": ("count",),
    "sum": ("sum",),
    "mean": ("count", "sum"),
    "std": ("count", "sum", "square"),
    "var": ("count", "sum", "square"),
    "median": ("count",),
    "min": ("count",),
    "max": ("count",),
}
"""Statistics that are offered, and the sums that each is computed from or judged by."""


def statistic_of(function: Any) -> str:
    """Return the name of a statistic, given as pandas takes it.

    Raises
    ------
    InputError
        If it is not offered.
    """
    if isinstance(function, str):
        name = {"len": "size"}.get(function, function)
    else:
        known = {len: "size", sum: "sum", min: "min", max: "max"}
        name = known.get(function) or str(getattr(function, "__name__", function))
        name = {"average": "mean", "nansum": "sum", "nanmean": "mean"}.get(name, name)
    if name not in STATISTICS:
        raise InputError(
            f"aggfunc {name!r} is not offered{suggestion(name, STATISTICS)}: no rule says when it "
            f"may leave. Offered are {listed(list(STATISTICS))}"
        )
    return name


@dataclass(frozen=True)
class Piece:
    """One column of the frame.

    Parameters
    ----------
    statistic : str
    variable : str or None
        Name of its values; None for records.
    column : int
        Code of the column in the grid.
    """

    statistic: str
    variable: Hashable
    column: int


@dataclass(frozen=True)
class Asked:
    """A table that was asked for.

    Parameters
    ----------
    method : {"crosstab", "pivot_table"}
    frame : DataFrame
        What pandas gives.
    records : DataFrame
        Keys and values of all records, under pandas' index.
    rows, columns : sequence of str
        Columns of `records` with the keys.
    values : mapping of str to str
        Column of `records` with the values of each variable.
    piece_of : function of the prefix of a column label, to statistic and variable
    margin : str, optional
        Name of the margins; None if there are none.
    dropna : bool
    normalize : {"", "all", "index", "columns"}
    weights : (n,) array, optional
    """

    method: str
    frame: pd.DataFrame
    records: pd.DataFrame
    rows: Sequence[str]
    columns: Sequence[str]
    values: Mapping[Hashable, str]
    piece_of: Callable[[tuple[Any, ...]], tuple[str, Hashable]]
    margin: str | None
    dropna: bool
    normalize: str = ""
    weights: Floats | None = None

    def grid(self) -> tuple[Grid, list[Piece]]:
        """Find records in cells, and what each column of the frame shows."""
        rows = [_key(label) for label in self.frame.index]
        n_keys = len(self.columns)
        labels = [_key(label) for label in self.frame.columns]
        keys = [label[len(label) - n_keys :] for label in labels]
        grid = Grid(
            Axis.of(self.records[list(self.rows)], rows, self._total(len(self.rows)), self.dropna),
            Axis.of(self.records[list(self.columns)], keys, self._total(n_keys), self.dropna),
        )
        pieces = [
            Piece(statistic, variable, int(code))
            for (statistic, variable), code in zip(
                [self.piece_of(label[: len(label) - n_keys]) for label in labels],
                grid.columns.labelled.tolist(),
                strict=True,
            )
        ]
        return grid, pieces

    def _total(self, n_keys: int) -> tuple[str, ...] | None:
        return None if self.margin is None else (self.margin, *[""] * (n_keys - 1))


def _key(label: Any) -> tuple[Any, ...]:
    return label if isinstance(label, tuple) else (label,)
