"""Perturbation tables: the change of a cell for its value and its cell key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError, listed

DIGITS = 8
"""Digits of the bounds of intervals, as in ptable and tau-ARGUS, so that files are exact."""

KINDS = ("all", "even", "odd", "small_cells")
"""Kinds of cells that a table is for: all, an even or odd number of contributors, small cells."""

KEY_UNITS = 10**15
"""Cell keys between 0 and 1 are counted in units of 1 / KEY_UNITS, which doubles tell apart."""


class Perturbations(ABC):
    """A table of changes, and the kind of record keys that it needs."""

    modulus: int
    """Cell keys are sums of record keys, in units of the keys, modulo this number."""

    has_fractions: bool
    """Whether record keys are fractions of 1, counted in units of `1 / modulus`."""

    @property
    @abstractmethod
    def largest_change(self) -> float:
        """Largest absolute change of a cell: D, the maximum perturbation."""

    @abstractmethod
    def changes(self, counts: Integers, keys: Integers) -> Integers:
        """Return the change of each count.

        Parameters
        ----------
        counts : numpy.ndarray of int, shape (n_cells,)
            True counts, 0 or more.
        keys : numpy.ndarray of int, shape (n_cells,)
            Cell keys, from 0 to `modulus - 1`.
        """

    @abstractmethod
    def chances(self, count: int) -> dict[int, float]:
        """Return the probability of each change of a true count, over keys drawn uniformly."""


@dataclass(frozen=True, eq=False)
class PerturbationTable(Perturbations):
    """Changes by row and by interval of the cell key, as in the packages ptable and tau-ARGUS.

    Row i is for cells of value i; the last row is for all larger values as well. Within a row, a
    cell key between 0 and 1 falls into the first interval whose upper bound is above it.

    Parameters
    ----------
    row : numpy.ndarray of float, shape (n,)
        Row i of each interval, increasing and never below 0; row 0 may be left out.
    change : numpy.ndarray of float, shape (n,)
        v, the change of values in the interval.
    upper : numpy.ndarray of float, shape (n,)
        Upper bound of the interval; the bounds increase within a row, and the last one is 1.
    kind : str, default="all"
        One of `KINDS`.

    Raises
    ------
    InputError
        If the intervals of a row do not fill the range from 0 to 1, or a change leads below 0.
    """

    row: Floats
    change: Floats
    upper: Floats
    kind: str = "all"

    modulus = KEY_UNITS
    has_fractions = True

    def __post_init__(self) -> None:
        for name in ("row", "change", "upper"):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=np.float64))
        _check(self)

    @classmethod
    def of_rows(
        cls, rows: dict[float, tuple[Floats, Floats]], kind: str = "all"
    ) -> PerturbationTable:
        """Build a table from changes and probabilities.

        Parameters
        ----------
        rows : mapping of float to (changes, probabilities)
            For each i the changes v, in the order of the intervals, and their probabilities,
            which add up to 1. Bounds of intervals are rounded to `DIGITS` digits.
        kind : str, default="all"
        """
        row, change, upper = [], [], []
        for value in sorted(rows):
            changes, probabilities = rows[value]
            row.append(np.full(len(changes), float(value)))
            change.append(changes)
            bounds = np.round(np.cumsum(probabilities), DIGITS)
            bounds[-1] = 1.0
            upper.append(bounds)
        return cls(np.concatenate(row), np.concatenate(change), np.concatenate(upper), kind)

    @property
    def probability(self) -> Floats:
        """Probability p of each interval: its length."""
        lower = np.where(self._starts_row, 0.0, np.concatenate([[0.0], self.upper[:-1]]))
        return np.round(self.upper - lower, DIGITS + 4)

    @property
    def values(self) -> Floats:
        """Values i that have a row, increasing."""
        return np.unique(self.row)

    @property
    def largest_change(self) -> float:
        """See `Perturbations.largest_change`."""
        return float(np.abs(self.change).max(initial=0.0))

    @property
    def _starts_row(self) -> Flags:
        return np.concatenate([[True], self.row[1:] != self.row[:-1]])

    def changes(self, counts: Integers, keys: Integers) -> Integers:
        """See `Perturbations.changes`; counts of 0 stay 0 unless row 0 changes them."""
        found = self.change_at(np.minimum(counts, self.values[-1]), keys)
        return np.rint(found).astype(np.int64)

    def change_at(self, values: Floats | Integers, keys: Integers) -> Floats:
        """Return the change of values that have a row.

        Parameters
        ----------
        values : numpy.ndarray, shape (n,)
            Each is one of `values`, or below the first of these and then not changed.
        keys : numpy.ndarray of int, shape (n,)
            Cell keys in units of 1 / `modulus`.
        """
        rows, units = self.values, self.modulus
        # A row and its bounds become one increasing sequence: 2, 2.3, 2.9, 3 | 4, 4.5, 5. It is
        # kept in whole numbers: rounding must not move a key across a bound.
        place = np.searchsorted(rows, self.row) * 2 * units
        bounds = place + np.rint(self.upper * units).astype(np.int64)
        position = np.searchsorted(rows, values) * 2 * units
        sought = np.searchsorted(bounds, position + keys, side="right")
        inside = np.asarray(values) >= rows[0]
        found = np.zeros(len(position))
        found[inside] = self.change[sought[inside]]
        return found

    def chances(self, count: int) -> dict[int, float]:
        """See `Perturbations.chances`."""
        at = self.row == min(count, self.values[-1])
        if not at.any():
            return {0: 1.0}
        found: dict[int, float] = {}
        for change, probability in zip(self.change[at], self.probability[at], strict=True):
            found[round(change)] = found.get(round(change), 0.0) + float(probability)
        return found

    def moments(self) -> pd.DataFrame:
        """Return, for each row, the mean and variance of the change, and the chance of none."""
        weighted = pd.DataFrame(
            {
                "i": self.row,
                "mean": self.probability * self.change,
                "variance": self.probability * self.change**2,
                "unchanged": self.probability * (self.change == 0),
            }
        )
        return weighted.groupby("i", as_index=False).sum()

    def to_frame(self) -> pd.DataFrame:
        """Return one line for each interval: i, j = i + v, p, v, bounds and type."""
        probability = self.probability
        return pd.DataFrame(
            {
                "i": self.row,
                "j": self.row + self.change,
                "p": probability,
                "v": self.change,
                "p_int_lb": np.round(self.upper - probability, DIGITS + 4),
                "p_int_ub": self.upper,
                "type": self.kind,
            }
        )

    def shuffled(self, longest: float = 0.05, *, seed: Any = None) -> PerturbationTable:
        """Split long intervals and mix their order, so that a key tells nothing about the sign.

        In a table sorted by changes, small cell keys lower counts and large ones raise them. An
        intruder who learns one key, or sees two cells that share most of their records, could tell
        the direction in which other cells were changed. Probabilities stay as they are.

        Parameters
        ----------
        longest : float, default=0.05
            Longer intervals are split into equal parts of at most this length.
        seed : optional
            Seed of the order. Keep it with the keys: the same table is needed next time.

        Raises
        ------
        InputError
            If `longest` is not between 0 and 1.
        """
        if not 0 < longest <= 1:
            raise InputError(f"`longest` must lie above 0 and be at most 1. Got {longest!r}.")
        random = np.random.default_rng(seed)
        units = np.rint(self.probability * 10**DIGITS).astype(np.int64)
        rows: dict[float, tuple[Floats, Floats]] = {}
        for value in self.values:
            at = np.flatnonzero((self.row == value) & (units > 0))
            parts = np.ceil(units[at] / (longest * 10**DIGITS)).astype(np.int64)
            each = np.repeat(units[at] // parts, parts)
            # The remainder of the division goes to the first parts, one unit each.
            index = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
            each += index < np.repeat(units[at] % parts, parts)
            order = random.permutation(len(each))
            rows[float(value)] = (
                np.repeat(self.change[at], parts)[order],
                each[order] / 10**DIGITS,
            )
        return self.of_rows(rows, self.kind)

    def named(self, kind: str) -> PerturbationTable:
        """Return the same table, declared for another kind of cells."""
        return replace(self, kind=kind)

    def __repr__(self) -> str:
        return (
            f"<PerturbationTable of {len(self.values)} rows for {self.kind} cells: changes up to "
            f"{self.largest_change:g}, {len(self.row)} intervals>"
        )


@dataclass(frozen=True, eq=False)
class KeyRows(Perturbations):
    """Changes by row and whole cell key, as the Office for National Statistics publishes them.

    Parameters
    ----------
    change : numpy.ndarray of int, shape (n_rows, n_keys)
        Changes of the counts 1 to `n_rows` for the keys 0 to `n_keys - 1`.
    period : int, default=250
        Counts above `n_rows` use the last `period` rows in turn, over and over.
    """

    change: Integers
    period: int = 250

    has_fractions = False

    def __post_init__(self) -> None:
        change = np.array(self.change, dtype=np.int64)
        object.__setattr__(self, "change", change)
        if change.ndim != 2 or not 1 <= self.period <= len(change):
            raise InputError(
                f"A perturbation table needs rows by keys, and a `period` of at most its number of "
                f"rows. Got the shape {change.shape} and the period {self.period}."
            )
        below = np.argwhere(change + np.arange(1, len(change) + 1)[:, None] < 0)
        if len(below):
            row, key = below[0]
            raise InputError(
                f"Row {row + 1}, key {key}: the change {change[row, key]} leads below 0. Correct "
                f"the perturbation table."
            )

    @property
    def modulus(self) -> int:  # type: ignore[override]
        """Number of keys."""
        return int(self.change.shape[1])

    @property
    def largest_change(self) -> float:
        """See `Perturbations.largest_change`."""
        return float(np.abs(self.change).max(initial=0))

    def _rows(self, counts: Integers) -> Integers:
        n_rows = len(self.change)
        again = (counts - 1) % self.period + n_rows - self.period + 1
        return np.where(counts <= n_rows, counts, again)

    def changes(self, counts: Integers, keys: Integers) -> Integers:
        """See `Perturbations.changes`."""
        rows = self._rows(np.asarray(counts))
        return np.where(rows > 0, self.change[np.maximum(rows, 1) - 1, keys], 0)

    def chances(self, count: int) -> dict[int, float]:
        """See `Perturbations.chances`."""
        if count == 0:
            return {0: 1.0}
        row = int(self._rows(np.array([count]))[0])
        change, times = np.unique(self.change[row - 1], return_counts=True)
        return {int(c): float(t) / self.modulus for c, t in zip(change, times, strict=True)}

    def to_frame(self) -> pd.DataFrame:
        """Return one line for each row and key: pcv, ckey and pvalue."""
        n_rows, n_keys = self.change.shape
        return pd.DataFrame(
            {
                "pcv": np.repeat(np.arange(1, n_rows + 1), n_keys),
                "ckey": np.tile(np.arange(n_keys), n_rows),
                "pvalue": self.change.ravel(),
            }
        )

    @classmethod
    def rounding(
        cls, base: int = 5, threshold: int = 10, *, n_rows: int = 750, n_keys: int = 256
    ) -> KeyRows:
        """Return the table that removes counts below a threshold and rounds all others.

        Parameters
        ----------
        base : int, default=5
            Counts are rounded to the nearest multiple of this number; halves go up.
        threshold : int, default=10
            Counts below it become 0.
        n_rows, n_keys : int
            Size of the table; the change is the same for every key.
        """
        counts = np.arange(1, n_rows + 1)
        nearest = (counts + base // 2) // base * base
        change = np.where(counts < threshold, -counts, nearest - counts)
        return cls(np.repeat(change[:, None], n_keys, axis=1), period=min(250, n_rows))


def _check(table: PerturbationTable) -> None:
    """Refuse a table whose rows or intervals are not valid."""
    if table.kind not in KINDS:
        raise InputError(f"`kind` is {table.kind!r}; it must be one of {listed(KINDS)}.")
    if not len(table.row):
        raise InputError(
            "The perturbation table has no rows. Give at least one interval, or design a table "
            "with `design_count_table`."
        )
    sizes = {len(table.row), len(table.change), len(table.upper)}
    if len(sizes) > 1 or not np.all(np.isfinite([table.row, table.change, table.upper])):
        raise InputError(
            "The perturbation table has entries missing. Each interval needs a row i, a change v "
            "and an upper bound."
        )
    if np.any(np.diff(table.row) < 0) or table.row[0] < 0:
        at = int(np.argmax(np.diff(table.row, prepend=0.0) < 0))
        raise InputError(
            f"The rows of the perturbation table must be sorted by i, from 0 upwards. Row "
            f"{at + 1} has i = {table.row[at]:g}: sort the table."
        )
    starts = table._starts_row
    falls = np.flatnonzero(~starts[1:] & (np.diff(table.upper) < 0))
    ends = np.flatnonzero(np.concatenate([starts[1:], [True]]))
    short = ends[table.upper[ends] != 1.0]
    if len(falls) or len(short) or np.any(table.upper[starts] < 0):
        at = int(falls[0]) + 1 if len(falls) else int(short[0]) if len(short) else 0
        raise InputError(
            f"Row i = {table.row[at]:g} of the perturbation table: the upper bounds of its "
            f"intervals must increase and end with 1. Found {table.upper[at]:g}."
        )
    below = np.flatnonzero(table.row + table.change < -1e-9)
    if len(below):
        at = int(below[0])
        raise InputError(
            f"Row i = {table.row[at]:g} of the perturbation table: the change {table.change[at]:g} "
            f"leads below 0. Correct it; counts are never negative."
        )
