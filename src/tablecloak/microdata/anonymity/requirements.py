"""Requirements on groups of records that look alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.microdata.anonymity.patterns import KeyPatterns
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.risk.groups import Histograms, is_ordered

ROUNDING = 1e-9
"""Share by which an entropy, a ratio or a distance may miss its limit by rounding."""


class GroupRequirement(ABC):
    """What every group of records that share some keys must satisfy."""

    is_monotone: bool = True
    """Whether a group that satisfies it still does when further records join."""

    @abstractmethod
    def holds(self, patterns: KeyPatterns, label: Integers, n_groups: int) -> Flags:
        """Return for each group whether it holds.

        Parameters
        ----------
        patterns : KeyPatterns
        label : numpy.ndarray of int, shape (n_patterns,)
            Group of each pattern.
        n_groups : int
        """


@dataclass(frozen=True)
class KAnonymity(GroupRequirement):
    """At least k records share the keys [1]_.

    Parameters
    ----------
    k : int

    References
    ----------
    .. [1] Samarati, Sweeney: Protecting privacy when disclosing information, 1998.
    """

    k: int

    def holds(self, patterns: KeyPatterns, label: Integers, n_groups: int) -> Flags:
        """Return for each group whether it has at least k records."""
        size = np.bincount(label, weights=patterns.frequency, minlength=n_groups)
        enough: Flags = size >= self.k
        return enough


@dataclass(frozen=True, eq=False)
class SensitiveCounts:
    """How often each value of a sensitive attribute occurs in each pattern.

    Parameters
    ----------
    pattern, value : numpy.ndarray of int, shape (n_entries,)
    count : numpy.ndarray of float, shape (n_entries,)
    n_values : int
    ordered : bool
        Whether the values are numbers, or categories with an order.
    """

    pattern: Integers
    value: Integers
    count: Floats
    n_values: int
    ordered: bool

    @classmethod
    def of(cls, frame: pd.DataFrame, sensitive: str, patterns: KeyPatterns) -> SensitiveCounts:
        """Count the values of a column in each pattern.

        Raises
        ------
        InputError
            If the column does not exist or has missing values.
        """
        coded = CodedRecords.of(frame, [sensitive], refuse_missing=True)
        n_values = coded.sizes[0]
        value = coded.codes[0].astype(np.int64)
        ones = np.ones(len(value))
        found = Histograms.of(patterns.of_record, value, ones, patterns.n_patterns, n_values)
        return cls(found.group, found.value, found.count, n_values, is_ordered(frame[sensitive]))

    def histograms(self, label: Integers, n_groups: int) -> Histograms:
        """Return the counts in groups of patterns."""
        return Histograms.of(label[self.pattern], self.value, self.count, n_groups, self.n_values)


@dataclass(frozen=True, eq=False)
class _OfSensitive(GroupRequirement):
    """A requirement on the sensitive values of a group.

    Parameters
    ----------
    sensitive : SensitiveCounts
    limit : float
    """

    sensitive: SensitiveCounts
    limit: float

    def holds(self, patterns: KeyPatterns, label: Integers, n_groups: int) -> Flags:
        """Return for each group whether its sensitive values satisfy the requirement."""
        return self.within(self.sensitive.histograms(label, n_groups))

    @abstractmethod
    def within(self, found: Histograms) -> Flags:
        """Return for each group whether its sensitive values satisfy the requirement."""


@dataclass(frozen=True, eq=False)
class DistinctDiversity(_OfSensitive):
    """At least l different sensitive values; `limit` is l."""

    def within(self, found: Histograms) -> Flags:
        """Return which groups have l different values."""
        enough: Flags = found.distinct() >= self.limit
        return enough


@dataclass(frozen=True, eq=False)
class EntropyDiversity(_OfSensitive):
    """Entropy of the sensitive values of at least log(l); `limit` is l.

    A group can lose it when further records join, so that every set of keys is looked at anew.
    """

    is_monotone = False

    def within(self, found: Histograms) -> Flags:
        """Return which groups have the entropy of l equally frequent values."""
        enough: Flags = np.exp(found.entropy()) >= self.limit * (1 - ROUNDING)
        return enough


@dataclass(frozen=True, eq=False)
class RecursiveDiversity(_OfSensitive):
    """(c, l)-diversity: the most frequent value has less than c times the l-th and later ones.

    `limit` is l.

    Parameters
    ----------
    ratio : float
        The number c.
    """

    ratio: float = 1.0
    is_monotone = False

    def within(self, found: Histograms) -> Flags:
        """Return which groups are (c, l)-diverse."""
        enough: Flags = found.recursive(int(self.limit)) < self.ratio
        return enough


@dataclass(frozen=True, eq=False)
class Closeness(_OfSensitive):
    """Distance of the sensitive values from those of the whole file of at most t, the `limit`."""

    is_monotone = False

    def within(self, found: Histograms) -> Flags:
        """Return which groups are as close as t."""
        distance = found.distance(ordered=self.sensitive.ordered)
        near: Flags = distance <= self.limit * (1 + ROUNDING)
        return near
