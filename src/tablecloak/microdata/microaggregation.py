"""Microaggregation: records in groups of at least k, each value replaced by the group's mean.

References
----------
.. [1] Domingo-Ferrer, Mateo-Sanz: Practical data-oriented microaggregation for statistical
   disclosure control, 2002; Domingo-Ferrer, Torra 2005 (MDAV).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.errors import InputError

__all__ = ["Microaggregation", "MicroaggregationRelease"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MicroaggregationRelease:
    """Records with means of their groups.

    Parameters
    ----------
    frame : pandas.DataFrame
    groups : numpy.ndarray of int, shape (n_records,)
    loss : float
        SSE / SST: share of the variance, of standardised columns, that is lost.
    """

    frame: pd.DataFrame
    groups: Integers
    loss: float


@dataclass(frozen=True)
class Microaggregation:
    """MDAV on standardised columns; time grows with the square of the number of records.

    Parameters
    ----------
    columns : sequence of str
    k : int, default=3
        Smallest size of a group.
    """

    columns: Sequence[str]
    k: int = 3

    def __post_init__(self) -> None:
        if self.k < 2:
            raise InputError(f"`k` must be at least 2. Got {self.k!r}.")

    def protect(self, frame: pd.DataFrame) -> MicroaggregationRelease:
        """Replace values by the means of their groups.

        Raises
        ------
        InputError
            If a column is constant or has missing values, or there are fewer than k records.
        """
        values = frame[list(self.columns)].to_numpy(dtype=np.float64)
        if not np.all(np.isfinite(values)):
            raise InputError("A value is missing; impute it or drop the record.")
        if len(values) < self.k:
            raise InputError(f"{len(values)} records are fewer than k = {self.k}.")
        spread = values.std(axis=0, ddof=1)
        if np.any(spread == 0):
            name = list(self.columns)[int(np.flatnonzero(spread == 0)[0])]
            raise InputError(f"Column {name!r} is constant, so that it has no scale.")
        points = (values - values.mean(axis=0)) / spread
        groups = self._groups(points)
        size = np.bincount(groups)
        released = frame.copy()
        for at, name in enumerate(self.columns):
            mean = np.bincount(groups, weights=values[:, at]) / size
            released[name] = mean[groups]
        centres = np.column_stack(
            [np.bincount(groups, weights=column) / size for column in points.T]
        )
        loss = float(np.sum((points - centres[groups]) ** 2) / np.sum(points**2))
        return MicroaggregationRelease(released, groups, loss)

    def _groups(self, points: Floats) -> Integers:
        k = self.k
        groups = np.full(len(points), -1, dtype=np.int64)
        left = np.arange(len(points))
        number = 0

        def take(centre: Floats, left: Integers) -> Integers:
            nonlocal number
            distance = np.sum((points[left] - centre) ** 2, axis=1)
            nearest = np.argsort(distance, kind="stable")[:k]
            groups[left[nearest]] = number
            number += 1
            return np.delete(left, nearest)

        while len(left) >= 3 * k:
            middle = points[left].mean(axis=0)
            far = points[left[np.argmax(np.sum((points[left] - middle) ** 2, axis=1))]]
            opposite = points[left[np.argmax(np.sum((points[left] - far) ** 2, axis=1))]]
            left = take(far, left)
            left = take(opposite, left)
        if len(left) >= 2 * k:
            middle = points[left].mean(axis=0)
            far = points[left[np.argmax(np.sum((points[left] - middle) ** 2, axis=1))]]
            left = take(far, left)
        groups[left] = number
        return groups
