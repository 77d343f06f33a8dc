"""Layouts of a release: one row for each cell, or some dimensions along the columns.

Suppressed cells have no value. Their flags say that they are confidential, not whether they are
sensitive themselves or protect others: that alone would help an intruder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from tablecloak.arrays import AnyIntegers
from tablecloak.errors import InputError, require_known
from tablecloak.graph import children_of, parts_first
from tablecloak.tables.formats.spreadsheet_text import marked
from tablecloak.tables.hierarchy import Hierarchy

LayoutName = Literal["long", "wide"]
TotalsPlace = Literal["first", "last"]

BETWEEN = " | "
"""Between the codes of two dimensions that share the columns."""

MOST_COLUMNS = 2**14
"""Columns of a sheet of Excel: nobody reads a wider table, and readers take minutes for one."""


@dataclass(frozen=True)
class Layout:
    """How a release is laid out.

    Parameters
    ----------
    name : {"long", "wide"}, default="long"
        Long: one row for each cell. Wide: the codes of some dimensions are the columns.
    columns : str or sequence of str, default=()
        Dimensions along the columns of a wide table, also that of several variables.
    marker : str, default="c"
        What stands for a confidential cell in a wide table, such as ``:``.
    totals : {"first", "last"}, default="first"
        Whether a code stands before or behind those that add up to it; a dimension without a
        hierarchy keeps its order.

    Raises
    ------
    InputError
        If a word is not known, a wide table has no column, or the marker reads like a value.
    """

    name: LayoutName = "long"
    columns: str | Sequence[str] = ()
    marker: str = "c"
    totals: TotalsPlace = "first"

    def __post_init__(self) -> None:
        for word, known in ((self.name, LayoutName), (self.totals, TotalsPlace)):
            require_known(word, get_args(known), f"There is no layout {word!r}.")
        columns = [self.columns] if isinstance(self.columns, str) else list(self.columns)
        object.__setattr__(self, "columns", tuple(columns))
        if self.is_wide != bool(columns):
            raise InputError(
                "A wide layout needs `columns`, and a long one has none. Name the dimension whose "
                "codes are the columns, or leave it out."
            )
        require_marker(self.marker)

    @property
    def is_wide(self) -> bool:
        """Whether some dimensions are along the columns."""
        return self.name == "wide"

    def check(self, dimensions: Sequence[str]) -> None:
        """Check the columns of a wide table.

        Raises
        ------
        InputError
            If one is no dimension, or no dimension is left for the rows.
        """
        for name in self.columns:
            require_known(name, dimensions, f"There is no dimension {name!r}.")
        if set(dimensions) <= set(self.columns):
            raise InputError("A wide table needs a dimension for its rows. Name fewer columns.")

    def ordered(
        self, released: pd.DataFrame, measure: str, hierarchies: Mapping[str, Hierarchy]
    ) -> pd.DataFrame:
        """Return the rows of a release with totals where they are wanted."""
        if self.totals == "first":
            return released
        ranks = [self._rank(released[name], hierarchies) for name in _dimensions(released, measure)]
        return released.iloc[np.lexsort(ranks[::-1])].reset_index(drop=True)

    def _rank(self, codes: pd.Series, hierarchies: Mapping[str, Hierarchy]) -> AnyIntegers:
        """Return the place of each code: by its hierarchy, else as codes are first seen."""
        tree = hierarchies.get(str(codes.name))
        if tree is None:
            return np.asarray(pd.factorize(codes)[0], dtype=np.int64)
        order: Sequence[str] = tree.codes
        if self.totals != "first":
            order = parts_first(tree.total, children_of(tree.groups))
        place = {code: at for at, code in enumerate(order)}
        return np.asarray(codes.map(place), dtype=np.int64)

    def wide(
        self, released: pd.DataFrame, measure: str, hierarchies: Mapping[str, Hierarchy]
    ) -> WideTable:
        """Lay a release out in rows and columns.

        Raises
        ------
        InputError
            See `check`; also if there are too many columns.
        """
        dimensions = _dimensions(released, measure)
        self.check(dimensions)
        rows, columns = [n for n in dimensions if n not in self.columns], list(self.columns)
        ranks = np.column_stack([self._rank(released[name], hierarchies) for name in columns])
        _, first, across = np.unique(ranks, axis=0, return_index=True, return_inverse=True)
        header = released[columns].iloc[first].astype(str).agg(BETWEEN.join, axis=1).tolist()
        if len(header) > MOST_COLUMNS:
            raise InputError(
                f"The table would have {len(header):,} columns. Put another dimension there."
            )
        if set(header) & set(rows):
            header = [f"{BETWEEN.join(columns)}={code}" for code in header]
        down = released.groupby(rows, sort=False).ngroup().to_numpy()
        keys = released[rows].iloc[np.unique(down, return_index=True)[1]].reset_index(drop=True)
        places = down, across.ravel()
        entries = np.full((len(keys), len(header)), "", dtype=object)
        secret = np.zeros(entries.shape, dtype=bool)
        hidden = hidden_cells(released).to_numpy()
        secret[places] = hidden
        # Nothing but the marker is written for a hidden cell, whatever lies under its mask.
        entries[places] = [
            self.marker if is_hidden else as_written(value)
            for is_hidden, value in zip(hidden, released[measure], strict=True)
        ]
        return WideTable(keys, header, entries, secret)


def require_marker(marker: str) -> None:
    """Refuse a marker of hidden cells that reads like a value.

    Raises
    ------
    InputError
        If it is empty, has a digit, or would be calculated by a spreadsheet.
    """
    plain = marker.strip()
    if not plain or marked(plain) != plain or any(sign.isdigit() for sign in plain):
        raise InputError(
            f"The marker {marker!r} of hidden cells is empty, has a digit, or would be "
            f"calculated by a spreadsheet. Choose one such as 'c', ':' or 'x'."
        )


def _dimensions(released: pd.DataFrame, measure: str) -> list[str]:
    return [str(name) for name in released.columns if name not in (measure, "status")]


@dataclass(frozen=True, eq=False)
class WideTable:
    """A release with some dimensions along the columns.

    Parameters
    ----------
    keys : pandas.DataFrame, shape (n_rows, n_row_dimensions)
    header : list of str
        One entry for each column of values.
    entries : numpy.ndarray of object, shape (n_rows, n_columns)
        Values, the marker of hidden cells, and empty text where the release lists no cell.
    hidden : numpy.ndarray of bool, shape (n_rows, n_columns)
    """

    keys: pd.DataFrame
    header: list[str]
    entries: Any
    hidden: Any

    def frame(self) -> pd.DataFrame:
        """Return keys and values beside each other."""
        values = pd.DataFrame(self.entries, columns=self.header, dtype=object)
        return pd.concat([self.keys.astype(str), values], axis=1)


LONG = Layout()
"""One row for each cell."""


MOST_SQUARES = 20_000_000
"""Combinations of codes up to which JSON-stat and PX, which list all of them, are written: 200 MB
of JSON. docs/decisions, "Combinations of codes"."""


def hidden_cells(released: pd.DataFrame) -> pd.Series:
    """Which cells of a release are confidential: primary and secondary alike."""
    if "status" in released:
        return released["status"].eq("suppressed")
    return pd.Series(False, index=released.index)


def codes_of(released: pd.DataFrame, measure: str) -> dict[str, list[str]]:
    """Return the codes of each dimension in the order in which they occur.

    Raises
    ------
    InputError
        If there are too many combinations of them.
    """
    codes = {
        str(name): list(dict.fromkeys(map(str, released[name])))
        for name in released.columns
        if name not in (measure, "status")
    }
    squares = 1
    for known in codes.values():
        squares *= len(known)
    if squares > MOST_SQUARES:
        raise InputError(
            f"JSON-stat and PX list every combination of codes, here {squares:,}. Write CSV, "
            f"Parquet or SDMX-CSV instead."
        )
    return codes


def places_of(released: pd.DataFrame, codes: Mapping[str, list[str]]) -> list[int]:
    """Number of each cell among all combinations of codes, the last dimension fastest."""
    place = pd.Series(0, index=released.index)
    for name, known in codes.items():
        number = {code: at for at, code in enumerate(known)}
        place = place * len(known) + released[name].astype(str).map(number)
    return [int(at) for at in place]


def as_written(value: object) -> float | int:
    """Return a number as it is written: without a decimal point where it is whole."""
    number = float(value)  # type: ignore[arg-type]
    return int(number) if number == int(number) and abs(number) < 2**53 else number
