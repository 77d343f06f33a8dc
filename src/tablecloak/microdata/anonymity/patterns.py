"""Patterns: the distinct combinations of keys in a file, each with its frequency.

All searches work on patterns. A set of keys is a whole number whose bit c stands for key c.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
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
        everything = CodedRecords.of(frame, [*keys, *strata]) if strata else records
        of_record = everything.combined(everything.names)
        within = everything.combined(strata) if strata else np.zeros(len(frame), dtype=np.int64)
        # Of equal patterns the last record is kept; all have the same codes.
        some = np.zeros(int(of_record.max()) + 1, dtype=np.int64)
        some[of_record] = np.arange(len(of_record))
        missing = np.zeros(len(some), dtype=np.int64)
        for at, name in enumerate(records.names):
            absent = frame[name].isna().to_numpy()[some]
            missing |= absent.astype(np.int64) << at
        return cls(
            names=records.names,
            codes=tuple(codes[some].astype(np.int64) for codes in records.codes),
            sizes=records.sizes,
            frequency=np.bincount(of_record).astype(np.int64),
            of_record=of_record,
            missing=missing,
            stratum=within[some],
        )

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
