"""Who is who among the records of a project: by their labels, as far as values agree with these.

Labels are the index of a frame. They are believed where a column has the values that it had before;
beside columns that were not seen before, where they are those of an earlier output and nobody who
numbers records anew gives the same ones. Where a column has other values, or the labels are new,
records were renumbered: they are then found by all values of the frame, whatever its columns are
called.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.arrays import Flags, Integers
from tablecloak.errors import InputError

Codes = npt.NDArray[np.uint64]

SURE = 8.0
"""Records that differ from a record drawn at random, in some column, from which agreement of all is
no accident."""

CONTAINED = 0.95
"""Share of the values of a column that must occur in a known one to be values of the same."""


def codes_of(column: pd.Series[Any]) -> Codes:
    """Return a number for each value, the same for equal values of any type; never 0."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        numbers = column.cat.codes.to_numpy()
        values = codes_of(pd.Series(np.asarray(column.cat.categories, dtype=object)))
        missing = codes_of(pd.Series([None], dtype=object))
        return np.append(values, missing)[numbers]
    if pd.api.types.is_complex_dtype(column.dtype):
        raise InputError(f"{column.name} has complex numbers, which are two columns in one")
    if pd.api.types.is_numeric_dtype(column.dtype):
        rounded = np.round(column.to_numpy(dtype=np.float64, na_value=np.nan), 9) + 0.0
        codes = np.asarray(pd.util.hash_array(rounded), dtype=np.uint64)
    else:
        numbers, matches = pd.factorize(column)
        text = np.array([str(one) for one in matches] + ["<missing>"], dtype=object)
        codes = np.asarray(pd.util.hash_array(text), dtype=np.uint64)[numbers]
    return np.where(codes == 0, np.uint64(1), codes)


@dataclass
class KnownColumn:
    """Values of the records in one column, 0 where they are not known."""

    name: str
    codes: Codes

    def at(self, positions: Integers) -> Codes:
        """Return the values of some records; 0 for positions of -1."""
        there = (positions >= 0) & (positions < len(self.codes))
        return np.where(there, self.codes[np.where(there, positions, 0)], np.uint64(0))


@dataclass(frozen=True)
class IdentifiedRecords:
    """Where the records of a frame stand in the project.

    Parameters
    ----------
    positions : (n,) array of int
    is_sure : bool
        Whether values say that these are the records; else labels alone, or values that several
        records share.
    is_repeated : bool
        Whether each record stands there several times, so that it counts for several.
    """

    positions: Integers
    is_sure: bool
    is_repeated: bool = False


@dataclass
class SeenLabels:
    """Labels of all outputs so far, as far as nobody gives the same ones to other records.

    Columns of one frame have one index, which a renumbered frame has not. Where records were
    filtered, what is left has gaps that a numbering from one end to the other has not.
    """

    _indexes: list[pd.Index] = field(default_factory=list)
    _filtered: set[tuple[int, int]] = field(default_factory=set)

    def has(self, index: pd.Index) -> bool:
        """Whether these are the labels of an earlier output."""
        if any(index.is_(past) for past in self._indexes):
            return True
        return not _is_numbering(index) and _digest(index) in self._filtered

    def add(self, index: pd.Index) -> None:
        """Take in the labels of an output."""
        if not _is_numbering(index):
            self._filtered.add(_digest(index))
        elif not self.has(index):
            self._indexes.append(index)


def _is_numbering(index: pd.Index) -> bool:
    """Whether labels are numbers with one step, as records that are numbered anew have them."""
    if isinstance(index, pd.RangeIndex):
        return True
    if not pd.api.types.is_integer_dtype(index.dtype):
        return False
    steps = np.diff(index.to_numpy())
    return bool((steps == steps[:1]).all())


def _digest(index: pd.Index) -> tuple[int, int]:
    """Return a number for a set of labels, whatever their order."""
    hashes = pd.util.hash_pandas_object(index, index=False).to_numpy(dtype=np.uint64)
    return len(index), int(np.add.reduce(hashes))


@dataclass
class KnownRecords:
    """All records that a project has seen.

    Parameters
    ----------
    index : Index
        Label under which each was first seen.
    """

    index: pd.Index = field(default_factory=lambda: pd.Index([]))
    _columns: list[KnownColumn] = field(default_factory=list)
    _labels: SeenLabels = field(default_factory=SeenLabels)

    def positions(self, index: pd.Index) -> Integers:
        """Return where labels stand; those seen for the first time are added.

        Raises
        ------
        InputError
            If a label of the index occurs twice.
        """
        self._require_unique(index)
        matches = self.index.get_indexer(index)
        fresh = index[matches < 0]
        if len(fresh):
            self.index = fresh if self.index.empty else self.index.append(fresh)
            matches = self.index.get_indexer(index)
        return np.asarray(matches, dtype=np.int64)

    def identified(self, columns: Sequence[pd.Series[Any]], index: pd.Index) -> IdentifiedRecords:
        """Return which records of the project a frame has.

        Parameters
        ----------
        columns : sequence of Series
            All that the frame tells of its records.
        index : Index
            Labels of its rows.
        """
        self._require_unique(index)
        named = {str(column.name): codes_of(column) for column in columns}
        by_label = np.asarray(self.index.get_indexer(index), dtype=np.int64)
        evidence, is_contradicted = self._compared(named, by_label)
        is_believed = bool(evidence or self._are_new_columns(named, index)) and not is_contradicted
        if not len(self.index) or evidence >= SURE or is_believed:
            positions, is_sure = self._by_label(named, index, by_label), True
        else:
            by_value = None
            if is_contradicted or (by_label < 0).all() or self._knows(named, by_label):
                by_value = self._by_value(named)
            if by_value is None:
                is_fresh = is_contradicted or (by_label < 0).all()
                positions = self._added(len(index)) if is_contradicted else self.positions(index)
                is_sure = not is_fresh and not named
            else:
                positions, is_sure = by_value
                fresh = positions < 0
                positions[fresh] = self._added(int(fresh.sum()))
        self._keep(named, positions)
        self._labels.add(index)
        return IdentifiedRecords(positions, is_sure, _are_repeated(named))

    def _by_label(self, named: dict[str, Codes], index: pd.Index, row: Integers) -> Integers:
        """Return where labels stand; new labels may stand for records without one of the others."""
        fresh = row < 0
        unused = np.ones(len(self.index), dtype=bool)
        unused[row[~fresh]] = False
        if fresh.any() and unused.any():
            some = {name: codes[fresh] for name, codes in named.items()}
            matches = self._by_value(some, unused)
            if matches is not None:
                positions = row.copy()
                positions[fresh] = matches[0]
                missing = positions < 0
                positions[missing] = self._added(int(missing.sum()))
                return positions
        return self.positions(index)

    @staticmethod
    def _require_unique(index: pd.Index) -> None:
        if not index.is_unique:
            twice = index[index.duplicated()][0]
            raise InputError(
                f"the index has {twice!r} more than once, so that records cannot be told apart: "
                "call reset_index(drop=True) once on the whole frame, before it is filtered"
            )

    def _compared(self, named: dict[str, Codes], row: Integers) -> tuple[float, bool]:
        """Return how surely values agree with labels, and whether a column of a name does not."""
        evidence, is_contradicted = 0.0, False
        for name, codes in named.items():
            agrees, of_name = False, False
            for past in sorted(self._columns, key=lambda one: one.name != name):
                before = past.at(row)
                both = before != 0
                if not both.any():
                    continue
                agrees = bool((before[both] == codes[both]).all())
                of_name |= past.name == name
                if agrees:
                    share = np.unique(codes[both], return_counts=True)[1] / both.sum()
                    evidence += both.sum() * (1 - float((share**2).sum()))
                    break
            if evidence >= SURE:
                break
            is_contradicted |= of_name and not agrees
        return evidence, is_contradicted

    def _are_new_columns(self, named: dict[str, Codes], index: pd.Index) -> bool:
        """Whether labels are those of an earlier output, and no column has values of before."""
        return self._labels.has(index) and all(
            self._matched(name, codes) is None for name, codes in named.items()
        )

    def _knows(self, named: dict[str, Codes], row: Integers) -> bool:
        """Whether a column that tells records apart has values known under other labels."""
        return any(
            len(np.unique(codes)) > MANY * len(codes) and self._matched(name, codes) is not None
            for name, codes in named.items()
        )

    def _matched(self, name: str, codes: Codes) -> KnownColumn | None:
        """Return the known column in which the values of a column occur as often, or oftener."""
        values, counts = np.unique(codes, return_counts=True)
        matches = []
        for past in self._columns:
            there, often = np.unique(past.codes[past.codes != 0], return_counts=True)
            place = np.searchsorted(there, values).clip(max=len(there) - 1)
            common = np.where(there[place] == values, np.minimum(often[place], counts), 0)
            if common.sum() >= CONTAINED * len(codes):
                matches.append((past.name == name, len(there), past))
        return max(matches, key=lambda one: one[:2])[2] if matches else None

    def _by_value(
        self, named: dict[str, Codes], among: Flags | None = None
    ) -> tuple[Integers, bool] | None:
        """Find records by all their values; None if they are others."""
        pairs = [(codes, self._matched(name, codes)) for name, codes in named.items()]
        names = {column.name for column in self._columns}
        if any(past is None and name in names for name, (_, past) in
               zip(named, pairs, strict=True)):  # fmt: skip
            return None
        matched = [(codes, past) for codes, past in pairs if past is not None]
        if not matched:
            return None
        n = len(self.index)
        is_known = np.logical_and.reduce([_padded(past.codes, n) != 0 for _, past in matched])
        there = np.flatnonzero(is_known if among is None else is_known & among)
        given = _mixed(codes for codes, _ in matched)
        before = _mixed(_padded(past.codes, n)[there] for _, past in matched)
        in_order = _subsequence(given, before)
        if in_order is not None:
            return there[in_order], True
        # The k-th of several that agree in all values is the k-th of those known.
        right = pd.MultiIndex.from_arrays([before, pd.Series(before).groupby(before).cumcount()])
        left = pd.MultiIndex.from_arrays([given, pd.Series(given).groupby(given).cumcount()])
        place = right.get_indexer(left)
        if (place >= 0).mean() < CONTAINED:
            return None
        is_single = len(np.unique(before)) == len(before)
        return np.where(place >= 0, there[place], -1).astype(np.int64), is_single

    def _added(self, number: int) -> Integers:
        """Add records that no label stands for."""
        first = len(self.index)
        labels = pd.Index(
            [("renumbered", first + row) for row in range(number)], tupleize_cols=False
        )
        self.index = self.index.append(labels)
        return np.arange(first, first + number, dtype=np.int64)

    def _keep(self, named: dict[str, Codes], positions: Integers) -> None:
        n = len(self.index)
        for name, codes in named.items():
            for past in self._columns:
                if past.name == name:
                    before = past.at(positions)
                    if ((before == 0) | (before == codes)).all():
                        break
            else:
                past = KnownColumn(name, np.zeros(0, dtype=np.uint64))
                self._columns.append(past)
            past.codes = _padded(past.codes, n)
            past.codes[positions] = codes


MANY = 0.5
"""Share of records with a value of their own from which a column tells records apart."""


REPEATED, LEAST_REPEATED = 4, 20
"""Records of the same values, on average, that are no accident if none stands alone; and how many
different ones it takes to say so."""

MOST_WAVES, CHANCE = 12, 1e-4
"""Largest divisor that numbers of records of the same values may have in common where each record
stands there as often, and probability of it by chance from which there is no doubt."""


def _are_repeated(named: dict[str, Codes]) -> bool:
    if not named:
        return False
    mixed = _mixed(named.values())
    often = np.unique(mixed, return_counts=True)[1]
    if len(often) >= LEAST_REPEATED and often.min() > 1 and often.mean() <= REPEATED:
        return True
    divisor = int(np.gcd.reduce(often))
    # Where all occur as often, the design was balanced.
    if not 1 < divisor <= MOST_WAVES or often.max() == divisor:
        return False
    # Frames that were put one below the other, as waves of a survey are.
    blocks = mixed.reshape(divisor, -1)
    is_stacked = np.count_nonzero(np.diff(blocks[0])) > 1 and (blocks == blocks[0]).all()
    return bool(is_stacked or divisor ** -float(len(often)) < CHANCE)


def _padded(codes: Codes, n: int) -> Codes:
    if len(codes) == n:
        return codes
    return np.append(codes, np.zeros(n - len(codes), dtype=np.uint64))


def _mixed(columns: Iterable[Codes]) -> Codes:
    """Return one number for the values of a record in all columns."""
    mixed: Codes | None = None
    for codes in columns:
        mixed = codes if mixed is None else mixed * np.uint64(0x9E3779B97F4A7C15) ^ codes
    assert mixed is not None
    return mixed


def _subsequence(given: Codes, past: Codes) -> Integers | None:
    """Return where rows stand among known ones in the same order; None if they do not."""
    matches = np.empty(len(given), dtype=np.int64)
    place, codes = 0, past.tolist()
    for row, code in enumerate(given.tolist()):
        while place < len(codes) and codes[place] != code:
            place += 1
        if place == len(codes):
            return None
        matches[row] = place
        place += 1
    return matches


def close_sizes(n: int, sizes: Iterable[int], threshold: int) -> Flags:
    """Return which numbers of records differ from n by less than the threshold, or not at all."""
    return np.abs(np.array(list(sizes), dtype=np.int64) - n) < threshold
