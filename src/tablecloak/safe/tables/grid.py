"""Which cell of a table each record stands in, margins included."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, vstack

from tablecloak.arrays import Integers

Key = tuple[Hashable, ...]


@dataclass(frozen=True)
class Axis:
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
    ) -> Axis:
        """Find records on an axis with these labels."""
        if keys.shape[1] == 0:
            return cls(np.zeros(len(keys), np.int64), np.zeros(len(labels), np.int64), 1)
        grouped = keys.groupby(list(keys.columns), dropna=dropna, observed=True, sort=False)
        group = grouped.ngroup().to_numpy(dtype=np.float64)
        numbers = np.where(np.isnan(group), -1, group).astype(np.int64)
        found, first = np.unique(numbers, return_index=True)
        known: dict[Key, int] = {}
        for label in labels:
            if label != margin:
                known.setdefault(_plain(label), len(known))
        code_of = np.full(int(found.max(initial=-1)) + 1, -1, dtype=np.int64)
        seen = keys.iloc[first].itertuples(index=False, name=None)
        for number, key in zip(found.tolist(), seen, strict=True):
            if number >= 0:
                code_of[number] = known.setdefault(_plain(key), len(known))
        size = len(known)
        at = [size if label == margin else known[_plain(label)] for label in labels]
        codes = np.where(numbers >= 0, code_of[numbers] if len(code_of) else -1, -1)
        return cls(codes.astype(np.int64), np.array(at, dtype=np.int64), size)


def _plain(label: Sequence[Any]) -> Key:
    """A label in which missing keys are equal."""
    return tuple(None if pd.api.types.is_scalar(part) and pd.isna(part) else part for part in label)


@dataclass(frozen=True)
class Grid:
    """All cells of a table, with a total row and a total column.

    Cells are numbered row by row: ``row * (columns + 1) + column``; the last row and the last
    column are the totals.
    """

    rows: Axis
    columns: Axis

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

    def shown(self) -> Integers:
        """Cell that stands at each place of the frame, shape (rows, columns of keys)."""
        return self.rows.labelled[:, None] * self.shape[1] + self.columns.labelled[None, :]


def _sums(cells: Integers) -> csr_array:
    n, width = cells.shape
    signs = np.ones(cells.shape)
    signs[:, -1] = -1
    line = np.repeat(np.arange(n), width)
    return csr_array((signs.ravel(), (line, cells.ravel())), shape=(n, cells.size))
