"""Patterns: the distinct combinations of keys in a file, each with its frequency.

All searches work on patterns. A set of keys is a whole number whose bit c stands for key c.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.arrays import Integers
from tablecloak.errors import InputError
from tablecloak.microdata.coding import MOST_CELLS, CodedRecords, renumbered

MANY_KEYS = 30
"""Most keys of a file, so that sets of keys are small whole numbers."""


@dataclass(frozen=True, eq=False)
class KeyPatterns:
    """Distinct combinations of keys.

    Parameters
    ----------
    names : tuple of str
        The keys.
    codes : tuple of numpy.ndarray of int, each of shape (n_patterns,)
        Code of each key in each pattern.
    sizes : tuple of int
        Number of categories of each key; a missing value is one.
    frequency : numpy.ndarray of int, shape (n_patterns,)
        Number of records.
    of_record : numpy.ndarray of int, shape (n_records,)
        Pattern of each record.
    missing : numpy.ndarray of int, shape (n_patterns,)
        Set of keys whose values are missing.
    stratum : numpy.ndarray of int, shape (n_patterns,)
        Number of the stratum; groups are within one.
    """

    names: tuple[str, ...]
    codes: tuple[Integers, ...]
    sizes: tuple[int, ...]
    frequency: Integers
    of_record: Integers
    missing: Integers
    stratum: Integers

    @classmethod
    def of(
        cls, frame: pd.DataFrame, keys: Sequence[str], strata: Sequence[str] = ()
    ) -> KeyPatterns:
        """Find the patterns of a file.

        Raises
        ------
        InputError
            If there are too many keys, a column does not exist, or there are no records.
        """
        if len(keys) > MANY_KEYS:
            raise InputError(
                f"{len(keys)} keys are too many: at most {MANY_KEYS} are searched. Name those that "
                "an intruder is most likely to know."
            )
        records = CodedRecords.of(frame, keys)
        stratum = np.zeros(len(frame), dtype=np.int64)
        if strata:
            stratum = CodedRecords.of(frame, strata).combined(strata)
        missing = np.zeros(len(frame), dtype=np.int64)
        for at, name in enumerate(records.names):
            missing |= frame[name].isna().to_numpy().astype(np.int64) << at
        return cls.of_codes(records.names, records.codes, records.sizes, missing, stratum)

    @classmethod
    def of_codes(
        cls,
        names: tuple[str, ...],
        codes: Sequence[npt.NDArray[np.integer]],
        sizes: Sequence[int],
        missing: Integers,
        stratum: Integers,
    ) -> KeyPatterns:
        """Find the patterns of records with given codes; all arrays have one entry a record."""
        label, used = stratum, int(stratum.max()) + 1
        for code, size in zip(codes, sizes, strict=True):
            label, used = renumbered(label * size + code, used * size)
        # Of equal records the last one is kept; all have the same codes.
        some = np.zeros(used, dtype=np.int64)
        some[label] = np.arange(len(label))
        return cls(
            names=names,
            codes=tuple(code[some].astype(np.int64) for code in codes),
            sizes=tuple(sizes),
            frequency=np.bincount(label).astype(np.int64),
            of_record=label,
            missing=missing[some],
            stratum=stratum[some],
        )

    def released(self, lost: Integers, keys: int) -> KeyPatterns:
        """Return the patterns by some keys of a file in which records have lost keys.

        Parameters
        ----------
        lost : numpy.ndarray of int, shape (n_records,)
            Set of missing keys of each record.
        keys : int
        """
        codes, sizes = [], []
        for key, (code, size) in enumerate(zip(self.codes, self.sizes, strict=True)):
            is_asked = (keys >> key) & 1 == 1
            shown = np.where((lost >> key) & 1 == 1, size, code[self.of_record])
            codes.append(shown if is_asked else np.zeros(len(lost), dtype=np.int64))
            sizes.append(size + 1 if is_asked else 1)
        stratum = self.stratum[self.of_record]
        return self.of_codes(self.names, codes, sizes, lost & keys, stratum)

    @property
    def n_patterns(self) -> int:
        """Number of patterns."""
        return len(self.frequency)

    @property
    def n_records(self) -> int:
        """Number of records."""
        return len(self.of_record)

    @cached_property
    def matrix(self) -> Integers:
        """The codes as one matrix, shape (n_patterns, n_keys)."""
        return np.column_stack(self.codes)

    def groups(self, kept: int) -> tuple[Integers, int]:
        """Return the group of each pattern by some keys, numbered from 0, and their number.

        Parameters
        ----------
        kept : int
            Set of keys; patterns of a stratum that agree in all of them are in one group.
        """
        label = self.stratum
        used = int(label.max(initial=0)) + 1
        for key in bits_of(kept):
            if used * self.sizes[key] > MOST_CELLS:
                label, used = renumbered(label, used)
            label = label * self.sizes[key] + self.codes[key]
            used *= self.sizes[key]
        return renumbered(label, used)

    def set_of(self, names: Iterable[str]) -> int:
        """Return some keys as a set."""
        return mask_of(self.names.index(name) for name in names)

    def names_of(self, keys: int) -> list[str]:
        """Return the names of a set of keys."""
        return [self.names[key] for key in bits_of(keys)]


def bits_of(keys: int) -> Iterator[int]:
    """Return the positions of the keys in a set, in rising order."""
    position = 0
    while keys:
        if keys & 1:
            yield position
        keys >>= 1
        position += 1


def mask_of(positions: Iterable[int]) -> int:
    """Return the set of the keys at some positions."""
    keys = 0
    for position in positions:
        keys |= 1 << position
    return keys
