"""Cells by their codes: the place of each combination of codes, and how codes add up.

Codes only suggest witnesses. The relations decide whether a suggestion is one, so codes with
another meaning cost time but do no harm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.arrays import Integers, Signs
from tablecloak.suppression.system.system import System
from tablecloak.tables.changes.merged_cells import MergedTable
from tablecloak.tables.table import Table

__all__ = ["Grid"]

Places = npt.NDArray[np.int32]

MOST_POINTS = 100_000_000
"""Most combinations of codes for which a grid is built; each takes five bytes of memory."""

MOST_CODES = 5_000
"""Most codes of one dimension for which a grid is built. Each pair of a code and a leaf takes a
byte, and a dimension with more codes usually is a list of all cells."""


@dataclass(frozen=True, eq=False)
class Grid:
    """The combinations of codes of a table with two dimensions or more.

    Parameters
    ----------
    covers : tuple of numpy.ndarray of int, shape (n_codes, n_leaves)
        For each dimension, 1 where a leaf is below a code or is that code.
    strides : numpy.ndarray of int, shape (n_dimensions,)
        A combination of codes is the point sum_i code_i stride_i.
    place : numpy.ndarray of int, shape (n_points,)
        Position of the cell in the system; n_unknown for points without a cell that may move.
    sign : numpy.ndarray of int, shape (n_points,)
        Sign of the cell relative to its position, which several cells that move alike share.
    home : numpy.ndarray of int, shape (n_unknown,)
        The point of each position; of several that move alike, the most detailed.
    filled : tuple of numpy.ndarray of int, shape (n_codes,)
        Number of cells with each code of each dimension.
    """

    covers: tuple[Signs, ...]
    strides: Integers
    place: Places
    sign: Signs
    home: Integers
    filled: tuple[Integers, ...]

    @classmethod
    def of(cls, table: Table, system: System) -> Grid | None:
        """Return the grid of a table; None if its cells have no usable codes.

        Parameters
        ----------
        table : Table
            The table of the system's problem.
        system : System
        """
        given, group, turn = _given(table)
        columns = [pd.factorize(given.keys[name]) for name in given.keys.columns]
        counts = [len(codes) for _, codes in columns]
        if len(columns) < 2 or max(counts) > MOST_CODES or math.prod(counts) > MOST_POINTS:
            return None
        codes = np.column_stack([numbers for numbers, _ in columns]).astype(np.int64)
        covers = _covers(given, codes, counts)
        strides = np.cumprod([1, *counts[:-1]]).astype(np.int64)
        points, n_unknown = codes @ strides, system.n_unknown
        position = np.full(table.n_cells, n_unknown, dtype=np.int32)
        position[system.cells] = np.arange(n_unknown)
        place = np.full(math.prod(counts), n_unknown, dtype=np.int32)
        place[points] = position[group]
        sign = np.ones(len(place), dtype=np.int8)
        sign[points] = turn
        # Cells below a cell must move with it, so a point with fewer cells below is cheaper.
        below = sum(
            np.log1p(cover.sum(axis=1, dtype=np.int64))[codes[:, number]]
            for number, cover in enumerate(covers)
        )
        order = np.lexsort((np.arange(len(points)), -np.asarray(below)))
        home = np.zeros(n_unknown + 1, dtype=np.int64)
        home[place[points[order]]] = points[order]
        filled = tuple(np.bincount(codes[:, i], minlength=n) for i, n in enumerate(counts))
        return cls(covers, strides, place, sign, home[:-1], filled)

    @property
    def n_dimensions(self) -> int:
        """Number of dimensions."""
        return len(self.covers)

    def codes(self, point: int) -> list[int]:
        """Return the code of a point on each dimension."""
        found = []
        for stride in self.strides[::-1].tolist():
            code, point = divmod(point, stride)
            found.append(code)
        return found[::-1]


def _given(table: Table) -> tuple[Table, Integers, Signs]:
    """Return the table with all codes, and for each of its cells the cell and sign in `table`."""
    if isinstance(table, MergedTable):
        return table.given, table.group, table.turn.astype(np.int8)
    return table, np.arange(table.n_cells), np.ones(table.n_cells, dtype=np.int8)


def _covers(table: Table, codes: Integers, counts: list[int]) -> tuple[Signs, ...]:
    """Return the leaves below each code, by relations whose cells differ in one dimension only."""
    relations = table.relations
    length = np.diff(relations.indptr)
    row = np.repeat(np.arange(relations.shape[0]), length)
    is_total = relations.data < 0
    total = np.full(relations.shape[0], -1)
    total[row[is_total]] = relations.indices[is_total]
    is_sum = np.bincount(row[is_total], minlength=len(total)) == 1
    part = ~is_total & is_sum[row]
    above, below = codes[total[row[part]]], codes[relations.indices[part]]
    differs = above != below
    alone = differs.sum(axis=1) == 1
    found = []
    for number, count in enumerate(counts):
        own = alone & differs[:, number]
        found.append(_cover(above[own, number], below[own, number], count))
    return tuple(found)


def _cover(above: Integers, below: Integers, count: int) -> Signs:
    """Return which leaves are below each code, given the pairs of a code and one just below it."""
    step = np.zeros((count, count), dtype=np.float32)
    step[above, below] = 1
    leaves = np.flatnonzero(step.sum(axis=1) == 0)
    reached = np.zeros((count, len(leaves)), dtype=np.float32)
    reached[leaves, np.arange(len(leaves))] = 1
    while True:
        further = np.minimum(reached + step @ reached, 1)
        if np.array_equal(further, reached):
            return reached.astype(np.int8)
        reached = further
