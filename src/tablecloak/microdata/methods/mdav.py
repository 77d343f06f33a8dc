"""MDAV: groups of at least k near records, from the records farthest from the middle inwards.

References
----------
.. [1] Domingo-Ferrer, Mateo-Sanz: Practical data-oriented microaggregation for statistical
   disclosure control, 2002; Domingo-Ferrer, Torra 2005 (MDAV).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tablecloak.arrays import Floats, Integers

__all__ = ["mdav"]

FEW = 8
"""Largest size of a group whose records are found one by one; larger groups by partial sorting.

See docs/decisions.md, "Microaggregation".
"""

CROWDED = 16
"""Grouped records are removed from the arrays when they are more than one in this many.

See docs/decisions.md, "Microaggregation".
"""


class _Left:
    """Records that are in no group yet, one array for each column.

    Grouped records stay in the arrays, marked, until they are many (`CROWDED`): removing them
    after each group would cost more than all distances.
    """

    def __init__(self, points: Floats) -> None:
        self.columns = np.ascontiguousarray(points.T)
        self.record: Integers = np.arange(len(points))
        self.gone: Integers = np.empty(0, dtype=np.int64)
        self.count = len(points)
        self.work: Floats = np.empty((2, len(points)))
        self._pair()

    def _pair(self) -> None:
        """Store two columns as one of complex numbers for `middle`, grouped records as 0."""
        rows = np.zeros((len(self.columns) + 1) // 2 * 2 * len(self.record))
        self.paired = rows.reshape(-1, len(self.record), 2)
        for number, column in enumerate(self.columns):
            self.paired[number // 2, :, number % 2] = column

    def middle(self) -> list[float]:
        """Return the mean of each column.

        Records are added from the first to the last, as in a mean over the rows of a matrix. Equal
        rounding errors matter because they decide between records at equal distances. Two columns
        are added at once, as the parts of a complex number.
        """
        if len(self.columns) == 1:
            return [float(np.delete(self.columns[0], self.gone).mean())]
        parts = self.paired.view(np.complex128)[:, :, 0]
        sums = [complex(np.cumsum(part)[-1]) for part in parts]
        both = [number for total in sums for number in (total.real, total.imag)]
        return [total / self.count for total in both[: len(self.columns)]]

    def squares(self, centre: Sequence[float]) -> Floats:
        """Return the squared distances from a centre, in an array that the next call overwrites."""
        size = len(self.record)
        distance: Floats = self.work[0, :size]
        part: Floats = self.work[1, :size]
        for axis, (column, value) in enumerate(zip(self.columns, centre, strict=True)):
            target = part if axis else distance
            np.subtract(column, value, out=target)
            np.multiply(target, target, out=target)
            if axis:
                np.add(distance, part, out=distance)
        return distance

    def farthest(self, distance: Floats) -> list[float]:
        """Return the values of the record with the largest distance, the first of equal ones."""
        distance[self.gone] = -np.inf
        place: list[float] = self.columns[:, distance.argmax()].tolist()
        return place

    def take(self, distance: Floats, k: int) -> Integers:
        """Remove the k nearest records, the first of equal ones, and return their positions."""
        distance[self.gone] = np.inf
        near = _smallest(distance, k)
        taken: Integers = self.record[near]
        self.gone = np.concatenate([self.gone, near])
        self.paired[:, near] = 0.0
        self.count -= k
        if len(self.gone) * CROWDED > len(self.record):
            self._close_up()
        return taken

    def _close_up(self) -> None:
        keep = np.ones(len(self.record), dtype=bool)
        keep[self.gone] = False
        self.record = self.record[keep]
        self.columns = np.stack([column[keep] for column in self.columns])
        self.gone = self.gone[:0]
        self._pair()

    def rest(self) -> Integers:
        """Return the positions of all records that are left."""
        return np.delete(self.record, self.gone)


def _smallest(distance: Floats, k: int) -> Integers:
    """Return the positions of the k smallest distances, the first of equal ones.

    The array of distances may be changed.
    """
    if k > FEW:
        limit = np.partition(distance, k - 1)[k - 1]
        less = np.flatnonzero(distance < limit)
        return np.concatenate([less, np.flatnonzero(distance == limit)[: k - len(less)]])
    found = np.empty(k, dtype=np.int64)
    for rank in range(k):
        found[rank] = distance.argmin()
        distance[found[rank]] = np.inf
    return found


def mdav(points: Floats, k: int) -> Integers:
    """Return the group of each record, numbered from 0, by MDAV."""
    groups = np.full(len(points), -1, dtype=np.int64)
    left, number = _Left(points), 0
    while left.count >= 2 * k:
        distance = left.squares(left.farthest(left.squares(left.middle())))
        opposite = left.farthest(distance) if left.count >= 3 * k else None
        groups[left.take(distance, k)] = number
        number += 1
        if opposite is not None:
            groups[left.take(left.squares(opposite), k)] = number
            number += 1
    groups[left.rest()] = number
    return groups
