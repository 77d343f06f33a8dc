"""Who contributed what to each cell: all that the sensitivity rules need to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tablecloak.errors import InputError

__all__ = ["Contributions"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Contributions:
    """The contributors of each cell, after grouping records by contributor or by holding.

    Parameters
    ----------
    count : numpy.ndarray of int, shape (n_cells,)
        Number of contributors.
    weighted_count : numpy.ndarray of float, shape (n_cells,)
        Sum of their sampling weights; equals `count` without weights.
    total : numpy.ndarray of float, shape (n_cells,)
        Signed, weighted sum X of the variable by which contributors are ranked.
    largest : numpy.ndarray of float, shape (n_cells, k)
        The k largest unweighted contributions by absolute value, decreasing; 0 where a
        cell has fewer.
    largest_weight : numpy.ndarray of float, shape (n_cells, k)
        Their sampling weights; 0 where a cell has fewer contributors.
    largest_contributor : numpy.ndarray of int, shape (n_cells, k)
        Number of each contributor, -1 where a cell has fewer or where it is unknown.
    largest_request : numpy.ndarray of float, shape (n_cells, 2)
        Largest contribution among those who asked for protection with request code 1, 2.
    """

    count: Integers
    weighted_count: Floats
    total: Floats
    largest: Floats
    largest_weight: Floats
    largest_contributor: Integers
    largest_request: Floats

    @classmethod
    def from_largest(cls, count: Integers, total: Floats, largest: Floats) -> Contributions:
        """Describe a table that came with counts and its largest contributions only."""
        n_cells, k = largest.shape
        known = np.arange(k) < np.minimum(count, k)[:, None]
        return cls(
            count=count,
            weighted_count=count.astype(np.float64),
            total=total,
            largest=np.where(known, np.abs(largest), 0.0),
            largest_weight=known.astype(np.float64),
            largest_contributor=np.full((n_cells, k), -1, dtype=np.int64),
            largest_request=np.zeros((n_cells, 2)),
        )

    def take(self, cells: npt.NDArray[np.integer[Any]]) -> Contributions:
        """Return the contributions of the given cells, in that order."""
        return Contributions(**{name: array[cells] for name, array in self.__dict__.items()})

    @staticmethod
    def concatenate(parts: list[Contributions]) -> Contributions:
        """Stack the contributions of several tables."""
        names = parts[0].__dict__
        return Contributions(
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        )

    @property
    def is_weighted(self) -> bool:
        """Whether any contributor stands for more than itself."""
        return bool(np.any(self.weighted_count != self.count))

    def sum_of_largest(self, n: int) -> Floats:
        """Sum of the n largest contributions, filled up with weights.

        A record of size x and weight w counts as w contributors of size x; the last one
        enters fractionally. A weight below 1 counts as 1, so that the sum, and with it the
        verdict of a rule, errs on the side of protection.

        Raises
        ------
        InputError
            If fewer than n contributions per cell were kept although cells have more.
        """
        k = self.largest.shape[1]
        if k < n and bool(np.any(self.count > k)):
            raise InputError(
                f"The rule needs the {n} largest contributions of each cell, but the table holds "
                f"only {k}. Tabulate again with `n_largest={n}` or give more columns in `largest`."
            )
        weight = np.where(self.largest_weight > 0, np.maximum(self.largest_weight, 1.0), 0.0)
        before = np.cumsum(weight, axis=1) - weight
        used = np.clip(n - before, 0.0, weight)
        total: Floats = np.sum(used * self.largest, axis=1)
        return total
