"""What cells add up, who stands behind them, and which may therefore not be published."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.squares import squares_tell
from tablecloak.safe.tables.level_counts import LevelCounts
from tablecloak.safe.tables.request import Adds, TableGrid
from tablecloak.safe.values import ValueLevels

NONE = 1e-6
"""Number of records up to which it is none: rounding alone."""

EXACT = 1e-13
"""Relative error of an amount that was computed."""

NEGLIGIBLE = 0.01
"""Share of a cell that is nothing: who adds no more does not hide fewer others than may be."""

MOST_DECIMALS = 7
"""Decimals of amounts that are looked at, beside all digits before the point."""

SHARE = 0.1
"""Protection level of a sum with few contributors, as a share of its size: what p% asks of a cell
whose largest contributor holds all of it."""


@dataclass(frozen=True)
class CellMeasure:
    """One thing that a table adds up.

    Parameters
    ----------
    adds : {"count", "sum", "square"}
        Records (or their weights), values, or squares of values.
    variable : str, optional
        Name of the values; None for records.
    grid : Grid
    group : (n,) array of int
        Inner cell of each record; -1 where the value is missing.
    amounts : (n,) array of float
        What each record adds.
    contributor : (n,) array of int
    weights : (n,) array of float, optional
        By what the value of each record is multiplied.
    n_largest : int
        n of the (n, k) rule.
    threshold : int
        Contributors that are enough.
    power : float, default=1
        How many times as fast as an amount of the data what is added up grows, in per cent.
    """

    adds: Adds
    variable: Hashable
    grid: TableGrid
    group: Integers
    amounts: Floats
    contributor: Integers
    weights: Floats | None
    n_largest: int
    threshold: int
    power: float = 1.0

    @property
    def is_whole(self) -> bool:
        """Whether it counts records."""
        return self.adds == "count" and self.weights is None

    @cached_property
    def values(self) -> Floats:
        """Value of each cell."""
        return self._by_cell(self.amounts)

    @property
    def n(self) -> Integers:
        """Distinct contributors of each cell."""
        return self._behind[0]

    @cached_property
    def beside_shared(self) -> tuple[Integers, Floats, Floats]:
        """Who differs from the value that at least half of a cell share, and by how much.

        Whoever knows that value, such as the cap of a top-coded income, computes the sum of all
        deviations from it.

        Returns
        -------
        n : (cells,) array of int
            Contributors with another value; 0 where no value is shared by half of all and by two.
        first, rest : (cells,) array of float
            Largest deviation of a contributor, and those of all but the largest two.
        """
        cell, who, record = self._stacked
        values, codes = np.unique(self._plain, return_inverse=True)
        width = int(who.max(initial=0)) + 1
        triples = np.unique((cell * len(values) + codes[record]) * width + who)
        pairs, often = np.unique(triples // width, return_counts=True)
        shared, most = np.zeros(self.grid.n_cells, np.int64), np.zeros(self.grid.n_cells, np.int64)
        order = np.argsort(often, kind="stable")
        shared[pairs[order] // len(values)] = pairs[order] % len(values)
        most[pairs[order] // len(values)] = often[order]
        is_shared = (most >= 2) & (2 * most >= self.n)
        apart = np.where(is_shared[cell], self._plain[record] - values[shared[cell]], 0.0)
        if self.weights is not None:
            apart *= self.weights[record]
        differs = apart != 0
        sizes = (1, 2, len(self.contributor))
        n, (first, two, every) = self._largest(cell[differs], who[differs], apart[differs], sizes)
        return n, first, every - two

    @property
    def largest(self) -> tuple[Floats, ...]:
        """Largest contribution of each cell, sums of the largest two, n, and all but too many."""
        return self._behind[1]

    @cached_property
    def is_signed(self) -> bool:
        """Whether a record adds a negative amount."""
        return bool(np.any(self.amounts[self.group >= 0] < 0))

    @cached_property
    def absolute(self) -> Floats:
        """Sum of absolute amounts of each cell."""
        return self._by_cell(np.abs(self.amounts))

    @cached_property
    def beyond_least(self) -> CellMeasure:
        """What amounts exceed the smallest of all: nobody is uncertain of that much of a sum."""
        least = self.amounts[self.group >= 0].min(initial=np.inf)
        return self if least <= 0 else replace(self, amounts=self.amounts - least)

    @cached_property
    def codes(self) -> ValueLevels:
        """The values of the records, as far as they tell how many have one."""
        return ValueLevels.of(self.amounts[self.group >= 0])

    @property
    def is_code(self) -> bool:
        """Whether it adds up two values or a few more, and so counts records in disguise."""
        return not self.is_whole and len(self.codes.values) > 1

    @cached_property
    def records(self) -> Floats:
        """Number of records of each cell."""
        return self._by_cell(np.ones(len(self.amounts)))

    @cached_property
    def by_level(self) -> LevelCounts:
        """How many records of each cell have each value."""
        return LevelCounts.of(self.amounts, self.group, self.grid.members, self.threshold)

    @cached_property
    def apart(self) -> tuple[Floats, Floats]:
        """How many records of each cell have another value than the lowest, and the highest."""
        return self.codes.number(self.values, self.records)

    @cached_property
    def is_alike(self) -> Flags:
        """Which cells have records that all have one value."""
        squares = self._by_cell(self.amounts**2)
        spread = self.records * squares - self.values**2
        return np.asarray((self.records > 0) & (spread <= NONE**2 * self.records * squares))

    def common_unit(self, shown: Integers) -> float:
        """Return of what most amounts of a cell are multiples and those of a few are not, or 0.

        The sum of the cell shows the last digits of these few.
        """
        there = self.group >= 0
        largest = np.abs(self.amounts[there]).max(initial=1.0)
        for places in range(-int(np.log10(largest)), MOST_DECIMALS):
            # Beyond that digits are rounding errors.
            if EXACT * largest * 10.0**places > NONE:
                break
            scaled = self.amounts * 10.0**places
            is_off = there & (np.abs(scaled - np.rint(scaled)) > NONE)
            n_off = self._by_cell(is_off.astype(np.float64))
            few = (n_off > 0) & (2 * n_off < self.records)
            if few[shown].any():
                behind = replace(self, group=np.where(is_off, self.group, -1)).n
                if (few & (behind < self.threshold))[shown].any():
                    return float(10.0**-places)
        return 0.0

    @cached_property
    def n_own(self) -> Integers:
        """Contributors of each cell whose value is not the one that most records share."""
        differs = np.where(self.group >= 0, self.codes.own(self.amounts), 0.0)
        return replace(self, group=np.where(differs != 0, self.group, -1)).n

    def ratio(self, appetite: Appetite) -> float:
        """Return p of the p% rule, of what is added up: x^k is known less closely than x."""
        return float((1 + appetite.safe_pratio_p) ** self.power - 1)

    def squares_tell(self, ratio: float) -> Flags:
        """Return the cells whose squares tell the largest amount; codes have none."""
        if self.is_code:
            return np.zeros(self.grid.n_cells, dtype=np.bool_)
        cells, who, record = self._stacked
        return squares_tell(np.sqrt(self.amounts[record]), cells, who, self.grid.n_cells, ratio)

    def statistic(self, name: str, values: pd.Series[Any]) -> pd.Series[Any]:
        """Return a statistic of the values of all records of each cell that has some."""
        cells, _, record = self._stacked
        return values.iloc[record].groupby(cells).agg(name).reindex(range(self.grid.n_cells))

    def _by_cell(self, amounts: Floats) -> Floats:
        there = self.group >= 0
        size = self.grid.members.shape[1]
        inner = np.bincount(self.group[there], amounts[there], minlength=size)
        return np.asarray(self.grid.members @ inner, dtype=np.float64)

    @cached_property
    def _plain(self) -> Floats:
        """Value of each record without its weight."""
        if self.weights is None:
            return self.amounts
        plain = self.amounts / np.where(self.weights > 0, self.weights, 1.0)
        return np.asarray(np.round(plain, MOST_DECIMALS), dtype=np.float64)

    @cached_property
    def _stacked(self) -> tuple[Integers, Integers, Integers]:
        """Cell, contributor and number of each record, once for each cell that it stands in."""
        there = np.flatnonzero(self.group >= 0)
        width = self.grid.columns.size
        row, column = np.divmod(self.group[there], width)
        total_row, total_column = self.grid.rows.size, width
        cells = np.concatenate(
            [
                each_row * (width + 1) + each_column
                for each_row, each_column in (
                    (row, column),
                    (row, np.full_like(column, total_column)),
                    (np.full_like(row, total_row), column),
                    (np.full_like(row, total_row), np.full_like(column, total_column)),
                )
            ]
        )
        _, who = np.unique(self.contributor[there], return_inverse=True)
        return cells, np.tile(who, 4), np.tile(there, 4)

    @cached_property
    def _behind(self) -> tuple[Integers, tuple[Floats, ...]]:
        cell, who, record = self._stacked
        sizes = (1, 2, self.n_largest, self.threshold - 1)
        return self._largest(cell, who, self.amounts[record], sizes)

    def _largest(
        self, cells: Integers, who: Integers, amounts: Floats, sizes: Sequence[int]
    ) -> tuple[Integers, tuple[Floats, ...]]:
        """Return contributors of each cell, and what so many of the largest hold."""
        n_who = int(who.max(initial=0)) + 1
        pairs, at = np.unique(cells * n_who + who, return_inverse=True)
        held = np.abs(np.bincount(at, amounts, minlength=len(pairs)))
        cell = pairs // n_who
        n_cells = self.grid.n_cells
        n = np.bincount(cell, minlength=n_cells).astype(np.int64)
        order = np.lexsort((-held, cell))
        rank = np.arange(len(order)) - np.repeat(np.cumsum(n) - n, n)
        sums = [
            np.bincount(cell[order][rank < k], held[order][rank < k], n_cells).astype(np.float64)
            for k in sizes
        ]
        return n, tuple(sums)


def broken_rules(measure: CellMeasure, appetite: Appetite) -> dict[str, Flags]:
    """Return the cells that break each rule.

    Notes
    -----
    The meaning is that of ACRO 1.0: fewer contributors than the threshold; all but the largest two
    hold less than p of the largest; the largest n hold k or more. An empty cell, and one that adds
    up to zero, breaks "zeros" if the data centre says so. Dominance is judged by absolute amounts.
    Sums of codes count: few records that differ from the lowest or the highest code break the
    threshold, none at all "zeros". Elsewhere a value that most records share contributes nothing,
    be it most of the table or most of a cell. A sum of squares stands beside the sum, whose
    rules are not asked twice: it breaks the p% rule of squares alone.
    """
    n, threshold = measure.n, appetite.safe_threshold
    if measure.adds == "square":
        return {"p-ratio": measure.squares_tell(measure.ratio(appetite))}
    rules = {"threshold": (n > 0) & (n < threshold)}
    if measure.is_code:
        few = np.array(measure.apart)
        rules["threshold"] |= ((few > NONE) & (few < threshold)).any(axis=0)
    if not measure.is_whole and (len(measure.codes.values) == 2 or measure.codes.is_of_most):
        rules["threshold"] |= (measure.n_own > 0) & (measure.n_own < threshold)
    if appetite.zeros_are_disclosive:
        rules["zeros"] = (n == 0) | (measure.values == 0)
        if measure.is_code:
            rules["zeros"] |= np.min(measure.apart, axis=0) <= NONE
    if measure.adds != "count":
        one, _, several, few = measure.largest
        filled = (n > 0) & (one > 0)
        rules["threshold"] |= filled & (measure.absolute - few < NEGLIGIBLE * measure.absolute)
        over = measure.beyond_least
        first, two, *_ = over.largest
        rest = over.absolute - two
        ratio = measure.ratio(appetite)
        rules["p-ratio"] = (n > 0) & (first > 0) & (rest < ratio * first)
        others, first, rest = measure.beside_shared
        rules["threshold"] |= (others > 0) & (others < threshold)
        rules["p-ratio"] |= (others > 0) & (rest < ratio * first)
        rules["nk-rule"] = filled & (several >= appetite.safe_nk_k * measure.absolute)
    return rules


def levels(measure: CellMeasure, primary: Flags, appetite: Appetite) -> tuple[Floats, Floats]:
    """Return how far below and above its value each primary cell must be able to lie.

    A count below the threshold must be able to reach it, so that nobody knows that it is below;
    any other count, an empty cell as well, must be able to move by one. A sum must be able to move
    as far as it falls short of the dominance rules, and by a share of its size.
    """
    values = measure.values
    if measure.is_whole:
        few = (values > 0) & (measure.n < appetite.safe_threshold)
        up = np.where(few, np.maximum(appetite.safe_threshold - values, 1), 1.0)
        return np.where(primary, np.minimum(values, 1.0), 0.0), np.where(primary, up, 0.0)
    one, two, several, _ = measure.largest
    ratio = measure.ratio(appetite)
    if measure.adds == "square":
        ratio = (1 + ratio) ** 2 - 1
    short = np.maximum(
        ratio * one - (measure.absolute - two),
        several / appetite.safe_nk_k - measure.absolute,
    )
    there = measure.absolute[measure.absolute > 0]
    least = SHARE * float(there.min()) if len(there) else 1.0
    up = np.maximum.reduce([short, SHARE * measure.absolute, np.full_like(short, least)])
    down = up if measure.is_signed else np.minimum(up, values)
    if measure.is_code:
        # The sum must be able to reach what enough records would add, from either end.
        low, high = measure.codes.values[[0, -1]]
        few_low, few_high = measure.apart
        step = float(np.diff(measure.codes.values).min())
        t = float(appetite.safe_threshold)
        up = np.where(few_low < t, step * np.maximum(t - few_low, 1.0), step)
        down = np.where(few_high < t, step * np.maximum(t - few_high, 1.0), step)
        up = np.minimum(up, np.maximum(measure.records * high - values, 0.0))
        down = np.minimum(down, np.maximum(values - measure.records * low, 0.0))
    return np.where(primary, down, 0.0), np.where(primary, up, 0.0)
