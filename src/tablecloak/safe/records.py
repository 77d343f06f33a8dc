"""Who is who among the records of a project: by their labels, as far as values agree with these.

Labels are the index of a frame. They are believed where a column has the values that it had before;
beside columns that were not seen before, where they are those of an earlier output and nobody who
numbers records anew gives the same ones, or where all have one value of an earlier column, as a
filter leaves them. Where a column has other values, or the labels are new, records were renumbered:
they are then found by all values of the frame, whatever its columns are called, and are in doubt
where others share these values. What is in doubt says nothing of later frames.
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

CONTRIBUTOR = "contributor behind the record"
"""Name under which contributors stand beside the columns of a frame."""

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
    are_mixed : bool
        Whether this or an earlier frame was renumbered, so that labels say nothing and what is not
        sure may be any records of the project.
    codes : dict of str to (n,) array
        Numbers for the values of each column.
    """

    positions: Integers
    is_sure: bool
    is_repeated: bool
    are_mixed: bool
    codes: dict[str, Codes]


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


def _continues(past: pd.Index, index: pd.Index) -> bool:
    """Whether new labels are of the numbering, or of the kind, that earlier ones are."""
    if not len(past) or not pd.api.types.is_integer_dtype(index.dtype):
        return len(past) > 0
    both = past.append(index)
    widths = [int(one.max()) - int(one.min()) + 1 for one in (past, both)]
    return len(both) / widths[1] >= len(past) / widths[0] / 2


def _is_between(past: pd.Index, index: pd.Index) -> bool:
    """Whether new labels fill gaps that a filter left between earlier ones."""
    return len(past) > 0 and int(((index > past.min()) & (index < past.max())).sum()) >= SURE


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
    columns : list of KnownColumn
    """

    index: pd.Index = field(default_factory=lambda: pd.Index([]))
    columns: list[KnownColumn] = field(default_factory=list)
    _labels: SeenLabels = field(default_factory=SeenLabels)
    _doubtful: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _were_renumbered: bool = False

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

    def identified(
        self,
        columns: Sequence[pd.Series[Any]],
        index: pd.Index,
        contributor: pd.Series[Any] | None = None,
    ) -> IdentifiedRecords:
        """Return which records of the project a frame has.

        Parameters
        ----------
        columns : sequence of Series
            All that the frame tells of its records.
        index : Index
            Labels of its rows.
        contributor : Series, optional
            Who stands behind labels. It says who records are whose labels are all new, and nothing
            of labels that were seen: these may have been given to other records.
        """
        self._require_unique(index)
        named = {str(column.name): codes_of(column) for column in columns}
        is_repeated = _are_repeated(named)
        by_label = np.asarray(self.index.get_indexer(index), dtype=np.int64)
        are_new = bool((by_label < 0).all())
        if contributor is not None and are_new:
            named[CONTRIBUTOR] = codes_of(contributor.reindex(index))
        evidence, is_contradicted = self._compared(named, by_label)
        is_believed = not is_contradicted and bool(
            evidence or self._are_new_columns(named, index) or self._are_filtered(by_label)
        )
        if not len(self.index) or is_believed:
            positions = self._by_label(named, index, by_label)
            is_sure = not np.isin(positions, self._doubtful).any()
            is_renumbered = not is_sure
        else:
            positions, is_sure, is_renumbered = self._in_doubt(
                named, index, by_label, is_contradicted
            )
        self._were_renumbered |= is_renumbered
        if is_sure:
            self._keep(named, positions)
            self._labels.add(index)
        return IdentifiedRecords(positions, is_sure, is_repeated, self._were_renumbered, named)

    def _in_doubt(
        self, named: dict[str, Codes], index: pd.Index, row: Integers, is_contradicted: bool
    ) -> tuple[Integers, bool, bool]:
        """Return where records stand whose labels say little, whether surely, and if renumbered."""
        are_new = bool((row < 0).all())
        past = self._labels_like(index) if are_new else index[:0]
        is_renumbered = is_contradicted or (are_new and not _continues(past, index))
        is_sought = are_new or is_contradicted or self._knows(named, row)
        if is_sought and not self._are_several(named):
            where = self._by_value(named)
            if where is not None and (where[1] or is_renumbered or not are_new):
                positions, is_sure = where
                fresh = positions < 0
                positions[fresh] = self._added(int(fresh.sum()))
                return positions, is_sure, True
        if is_renumbered:
            is_sure = self._are_others(named) or self._are_several(named)
        else:
            is_sure = not named or (are_new and _is_between(past, index))
        n_before = len(self.index)
        positions = self._added(len(index)) if is_contradicted else self.positions(index)
        if is_renumbered and not is_sure:
            self._doubtful = np.append(self._doubtful, positions[positions >= n_before])
        return positions, is_sure, is_renumbered

    def _labels_like(self, index: pd.Index) -> pd.Index:
        """Return the earlier labels that are of the type of others: all integers, or all texts."""
        types: tuple[type, ...] = (str,)
        if pd.api.types.is_integer_dtype(index.dtype):
            if pd.api.types.is_integer_dtype(self.index.dtype):
                return self.index
            types = (int, np.integer)
        elif not all(isinstance(label, str) for label in index):
            return pd.Index([])
        return pd.Index([label for label in self.index if isinstance(label, types)])

    def _by_label(self, named: dict[str, Codes], index: pd.Index, row: Integers) -> Integers:
        """Return where labels stand; new labels may stand for records without one of the others."""
        fresh = row < 0
        unused = np.ones(len(self.index), dtype=bool)
        unused[row[~fresh]] = False
        if fresh.any() and unused.any():
            some = {name: codes[fresh] for name, codes in named.items()}
            matches = self._by_value(some, unused)
            # Values that others share may be those of anybody: the labels are then new records.
            if matches is not None and matches[1]:
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
                "call reset_index(drop=True) once on the whole frame, before it is filtered; where "
                "persons have several rows, give contributor=frame['person'] of that frame as well"
            )

    def _compared(self, named: dict[str, Codes], row: Integers) -> tuple[float, bool]:
        """Return how surely values agree with labels, and whether they say that these are others.

        A column of a name that has other values speaks against labels; where others agree, only
        if its values are those of before at other records, as in no column that was edited.
        """
        evidence, is_contradicted, is_shuffled = 0.0, False, False
        for name, codes in named.items():
            agrees, most = False, -1.0
            for past in sorted(self.columns, key=lambda one: one.name != name):
                before = past.at(row)
                both = before != 0
                if not both.any():
                    continue
                same = float((before[both] == codes[both]).mean())
                agrees = same == 1.0 or (
                    past.name == name and _is_edited(before[both], codes[both], same)
                )
                most = max(most, same) if past.name == name else most
                if agrees:
                    # In sorted records the next one has the same value: without it nothing shows.
                    changes = float(np.count_nonzero(np.diff(codes[both])))
                    evidence += min(changes, _n_apart(codes[both]))
                    break
            if not agrees and most >= 0:
                is_contradicted = True
                of_name = (past.codes for past in self.columns if past.name == name)
                is_shuffled |= most < EDITED and any(contains(past, codes) for past in of_name)
        return evidence, is_shuffled or (is_contradicted and evidence < SURE)

    def _are_new_columns(self, named: dict[str, Codes], index: pd.Index) -> bool:
        """Whether labels are those of an earlier output, and no column has values of before."""
        return self._labels.has(index) and all(
            self._matched(name, codes) is None for name, codes in named.items()
        )

    def _are_filtered(self, row: Integers) -> bool:
        """Whether all have one value of an earlier column that those in between have not.

        Labels that were given anew do not keep to the codes by which records were filtered, unless
        records are sorted by them.
        """
        if (row < 0).any():
            return False
        for past in self.columns:
            codes = past.at(row)
            if codes.all() and (codes == codes[:1]).all():
                between = past.codes[row.min() : row.max() + 1]
                passed = np.count_nonzero((between != codes[0]) & (between != 0))
                share = len(row) / (len(row) + passed)
                if passed >= SURE and share ** len(row) < CHANCE:
                    return True
        return False

    def _knows(self, named: dict[str, Codes], row: Integers) -> bool:
        """Whether a column that tells records apart has values known under other labels."""
        return any(
            tells_apart(codes) and self._matched(name, codes) is not None
            for name, codes in named.items()
        )

    def _are_others(self, named: dict[str, Codes]) -> bool:
        """Whether a column that tells records apart has other values than one of its name."""
        for name, codes in named.items():
            of_name = [past.codes for past in self.columns if past.name == name]
            is_other = all(np.isin(codes, past).mean() <= MANY for past in of_name)
            if of_name and is_other and tells_apart(codes):
                return True
        return False

    def _are_several(self, named: dict[str, Codes]) -> bool:
        """Whether contributors of one record each have several here: visits beside persons."""
        before = [one for one in self.columns if one.name == CONTRIBUTOR]
        if CONTRIBUTOR not in named or len(before) != 1:
            return False
        past = before[0].codes[before[0].codes != 0]
        here = named[CONTRIBUTOR]
        is_one = len(np.unique(past)) == len(past)
        return is_one and len(here) >= SEVERAL * len(np.unique(here))

    def _matched(self, name: str, codes: Codes) -> KnownColumn | None:
        """Return the known column in which the values of a column occur as often, or oftener."""
        matches = [
            (one.name == name, len(np.unique(one.codes)), one)
            for one in self.columns
            if contains(one.codes, codes)
        ]
        return max(matches, key=lambda one: one[:2])[2] if matches else None

    def _by_value(
        self, named: dict[str, Codes], among: Flags | None = None
    ) -> tuple[Integers, bool] | None:
        """Find records by all their values, and whether only these have them; None if none do.

        Columns of few values that have other names than before may be others by chance: where
        records are not found by all columns, they are without these.
        """
        pairs = [(name, codes, self._matched(name, codes)) for name, codes in named.items()]
        matched = [(name, codes, past) for name, codes, past in pairs if past is not None]
        fewer = [
            (name, codes, past)
            for name, codes, past in matched
            if past.name == name or tells_apart(codes)
        ]
        for some in (matched, fewer):
            if some and (where := self._by_columns([pair[1:] for pair in some], among)) is not None:
                return where
        return None

    def _by_columns(
        self, matched: Sequence[tuple[Codes, KnownColumn]], among: Flags | None
    ) -> tuple[Integers, bool] | None:
        """Find records by the values of columns, each given with the known column it is."""
        n = len(self.index)
        is_known = np.logical_and.reduce([_padded(past.codes, n) != 0 for _, past in matched])
        there = np.flatnonzero(is_known if among is None else is_known & among)
        given = _mixed(codes for codes, _ in matched)
        before = _mixed(_padded(past.codes, n)[there] for _, past in matched)
        in_order = _subsequence(given, before)
        if in_order is not None:
            backwards = _subsequence(given[::-1], before[::-1])
            assert backwards is not None
            is_only = np.array_equal(in_order, len(before) - 1 - backwards[::-1])
            return there[in_order], is_only
        # The k-th of several that agree in all values is the k-th of those known.
        right = pd.MultiIndex.from_arrays([before, pd.Series(before).groupby(before).cumcount()])
        left = pd.MultiIndex.from_arrays([given, pd.Series(given).groupby(given).cumcount()])
        place = right.get_indexer(left)
        if (place >= 0).mean() < CONTAINED:
            return None
        is_single = not np.isin(given, before[pd.Series(before).duplicated()]).any()
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
            for past in self.columns:
                if past.name == name:
                    before = past.at(positions)
                    if ((before == 0) | (before == codes)).all():
                        break
            else:
                past = KnownColumn(name, np.zeros(0, dtype=np.uint64))
                self.columns.append(past)
            past.codes = _padded(past.codes, n)
            past.codes[positions] = codes


SEVERAL = 1.5
"""Records of each contributor, on average, from which they are others than one record of each."""

MANY = 0.5
"""Share of records with a value of their own from which a column tells records apart."""

EDITED = 0.5
"""Share of the values of a column that stay at least where somebody edits, clips or rounds it."""


def _is_edited(before: Codes, codes: Codes, same: float) -> bool:
    """Whether values are those of before but for some that were changed, or for joined codes."""
    if tells_apart(before):
        return same >= EDITED
    n_before = len(np.unique(before))
    return n_before > 1 and len(np.unique(np.stack([before, codes]), axis=1).T) == n_before


def contains(past: Codes, codes: Codes) -> bool:
    """Whether values occur among others as often, or oftener."""
    values, counts = np.unique(codes, return_counts=True)
    there, often = np.unique(past[past != 0], return_counts=True)
    if not len(there):
        return False
    place = np.searchsorted(there, values).clip(max=len(there) - 1)
    common = np.where(there[place] == values, np.minimum(often[place], counts), 0)
    return bool(common.sum() >= CONTAINED * len(codes))


def agree(before: Codes, codes: Codes) -> bool:
    """Whether values are those of before, as far as these are known, and not by chance."""
    both = before != 0
    if not both.any() or not (before[both] == codes[both]).all():
        return False
    return _n_apart(codes[both]) >= SURE


def _n_apart(codes: Codes) -> float:
    """Return how many records differ, on average, from one that is drawn at random."""
    share = np.unique(codes, return_counts=True)[1] / len(codes)
    return float(len(codes) * (1 - (share**2).sum()))


def tells_apart(codes: Codes) -> bool:
    """Whether many records have a value of their own in a column."""
    return len(np.unique(codes)) > MANY * len(codes)


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
