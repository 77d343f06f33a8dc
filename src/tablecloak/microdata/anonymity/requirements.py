"""Requirements on groups of records that look alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tablecloak.microdata.anonymity.patterns import KeyPatterns

__all__ = ["GroupRequirement", "KAnonymity"]

Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]


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

    @abstractmethod
    def words(self) -> str:
        """Say what is required, for messages: "groups of at least 3 records"."""


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

    def words(self) -> str:
        """Say that groups have k records."""
        return f"groups of at least {self.k} records"
