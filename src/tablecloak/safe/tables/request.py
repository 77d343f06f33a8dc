"""The table that a researcher asks for: what pandas gives, and the records of each of its cells."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, vstack

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError, listed, suggestion

Key = tuple[Hashable, ...]


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


@dataclass(frozen=True)
class TableAxis:
    """Rows or columns of a table.

    Parameters
    ----------
    codes : (n,) array of int
        Where each record stands on the axis; -1 if one of its keys is missing.
    labelled : (m,) array of int
        Which code each label of the frame stands for; `size` is the total.
    size : int
        Number of codes. Those that no label stands for are not shown, but count in the margins.
    """

    codes: Integers
    labelled: Integers
    size: int

    @classmethod
    def of(
        cls, keys: pd.DataFrame, labels: Sequence[Key], margin: Key | None, dropna: bool
    ) -> TableAxis:
        """Find records on an axis with these labels."""
        if keys.shape[1] == 0:
            return cls(np.zeros(len(keys), np.int64), np.zeros(len(labels), np.int64), 1)
        grouped = keys.groupby(list(keys.columns), dropna=dropna, observed=True, sort=False)
        group = grouped.ngroup().to_numpy(dtype=np.float64)
        numbers = np.where(np.isnan(group), -1, group).astype(np.int64)
        found, first = np.unique(numbers, return_index=True)
        known: dict[Key, int] = {}
        plain = [_plain(label) for label in labels]
        for label in plain:
            if label != margin:
                known.setdefault(label, len(known))
        code_of = np.full(int(found.max(initial=-1)) + 1, -1, dtype=np.int64)
        seen = keys.iloc[first].itertuples(index=False, name=None)
        for number, key in zip(found.tolist(), seen, strict=True):
            if number >= 0:
                code_of[number] = known.setdefault(_plain(key), len(known))
        size = len(known)
        at = [size if label == margin else known[label] for label in plain]
        codes = np.where(numbers >= 0, code_of[numbers] if len(code_of) else -1, -1)
        return cls(codes.astype(np.int64), np.array(at, dtype=np.int64), size)


def _plain(label: Sequence[Any]) -> Key:
    """A label in which missing keys are equal."""
    return tuple(None if pd.api.types.is_scalar(part) and pd.isna(part) else part for part in label)


@dataclass(frozen=True)
class TableGrid:
    """All cells of a table, with a total row and a total column.

    Cells are numbered row by row: ``row * (columns + 1) + column``; the last row and the last
    column are the totals.
    """

    rows: TableAxis
    columns: TableAxis

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, totals included."""
        return self.rows.size + 1, self.columns.size + 1

    @property
    def n_cells(self) -> int:
        """Number of cells, totals included."""
        return self.shape[0] * self.shape[1]

    @cached_property
    def group(self) -> Integers:
        """Which inner cell each record stands in, -1 for none, numbered without totals."""
        inner = self.rows.codes * self.columns.size + self.columns.codes
        return np.where((self.rows.codes >= 0) & (self.columns.codes >= 0), inner, -1)

    @cached_property
    def members(self) -> csr_array:
        """Which inner cells each cell adds up, shape (cells, inner cells)."""
        r, c = self.rows.size, self.columns.size
        row, column = (part.ravel() for part in np.indices((r, c)))
        width = c + 1
        cells = np.concatenate(
            [
                row * width + column,
                row * width + c,
                r * width + column,
                np.full(r * c, r * width + c),
            ]
        )
        inner = np.tile(np.arange(r * c), 4)
        return csr_array((np.ones(4 * r * c), (cells, inner)), shape=(self.n_cells, r * c))

    @cached_property
    def relations(self) -> csr_array:
        """Total = sum of parts, for each row and each column, shape (relations, cells)."""
        rows, columns = self.shape
        cells = np.arange(self.n_cells).reshape(rows, columns)
        return vstack([_sums(cells), _sums(cells.T)], format="csr")

    @cached_property
    def places(self) -> Integers:
        """Cell that stands at each place of the frame, shape (rows, columns)."""
        return self.rows.labelled[:, None] * self.shape[1] + self.columns.labelled[None, :]


def _sums(cells: Integers) -> csr_array:
    n, width = cells.shape
    signs = np.ones(cells.shape)
    signs[:, -1] = -1
    line = np.repeat(np.arange(n), width)
    return csr_array((signs.ravel(), (line, cells.ravel())), shape=(n, cells.size))


Adds = Literal["count", "sum", "square"]
"""What a figure adds up: records or their weights, values, or squares of values."""

Protect = Literal["suppression", "rounding"] | None


def named(aggfunc: Any) -> Any:
    """Return statistics as pandas takes them, each by its name: what a function does may differ."""
    if isinstance(aggfunc, dict):
        return {variable: named(function) for variable, function in aggfunc.items()}
    if isinstance(aggfunc, list | tuple):
        return [statistic_of(function) for function in aggfunc]
    return statistic_of(aggfunc)


def statistic_of(function: Any) -> str:
    """Return the name of a statistic, given as pandas takes it.

    Raises
    ------
    InputError
        If it is not offered.
    """
    if not isinstance(function, str) and not callable(function):
        raise InputError(
            f"aggfunc {function!r} is no statistic; offered are {listed(list(STATISTICS))}"
        )
    if isinstance(function, str):
        name = {"len": "size"}.get(function, function)
    else:
        known = {len: "size", sum: "sum", min: "min", max: "max"}
        name = known.get(function) or str(getattr(function, "__name__", function))
        name = {"average": "mean", "nansum": "sum", "nanmean": "mean"}.get(name, name)
    if name not in STATISTICS:
        raise InputError(
            f"aggfunc {name!r} is not offered: no rule says when it may leave."
            f"{suggestion(name, STATISTICS)} Offered are {listed(list(STATISTICS))}"
        )
    return name


class Piece(NamedTuple):
    """What a column of the frame shows: a statistic, and of which values; None for records."""

    statistic: str
    variable: Hashable


@dataclass(frozen=True)
class TableRequest:
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
    data : DataFrame, optional
        All that the researcher gave of these records.
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
    data: pd.DataFrame | None = None

    def grid(self) -> tuple[TableGrid, list[Piece]]:
        """Find records in cells, and what each column of the frame shows."""
        rows = [_key(label) for label in self.frame.index]
        n_keys = len(self.columns)
        labels = [_key(label) for label in self.frame.columns]
        keys = [label[len(label) - n_keys :] for label in labels]
        grid = TableGrid(
            TableAxis.of(
                self.records[list(self.rows)], rows, self._total(len(self.rows)), self.dropna
            ),
            TableAxis.of(self.records[list(self.columns)], keys, self._total(n_keys), self.dropna),
        )
        return grid, [Piece(*self.piece_of(label[: len(label) - n_keys])) for label in labels]

    def in_order(self, labels: pd.Index, codes: Sequence[Sequence[Any]]) -> Integers:
        """Return the places of labels in the order of codes; totals stay behind what they add up.

        Parameters
        ----------
        labels : Index
            Rows or columns of the frame.
        codes : sequence of sequence
            All codes of each key, in their order; missing keys stand behind them.
        """
        ranks = [{code: rank for rank, code in enumerate(each)} for each in codes]
        pieces: dict[Key, int] = {}

        def place(line: int) -> tuple[int, ...]:
            label = _key(labels[line])
            piece, keys = label[: len(label) - len(codes)], label[len(label) - len(codes) :]
            by_key = (rank.get(key, len(rank)) for rank, key in zip(ranks, keys, strict=True))
            is_total = _plain(keys) == self._total(len(codes))
            return (pieces.setdefault(piece, len(pieces)), is_total, *by_key)

        return np.array(sorted(range(len(labels)), key=place), dtype=np.int64)

    def _total(self, n_keys: int) -> tuple[str, ...] | None:
        return None if self.margin is None else (self.margin, *[""] * (n_keys - 1))


def _key(label: Any) -> tuple[Any, ...]:
    return label if isinstance(label, tuple) else (label,)
