"""MDAV: groups of at least k near records, from the records farthest from the middle inwards.

In large files it works within the leaves of a k-d tree, many at once. Most of the loss is then that
of few groups at the edge of the data, where leaves cut records off from their neighbours; these are
grouped once more together.

References
----------
.. [1] Domingo-Ferrer, Mateo-Sanz: Practical data-oriented microaggregation for statistical
   disclosure control, 2002; Domingo-Ferrer, Torra 2005 (MDAV).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tablecloak.arrays import Floats, Integers

FEW = 8
"""Largest size of a group whose records are found one by one; larger groups by partial sorting.

See docs/decisions, "Microaggregation".
"""

CROWDED = 16
"""Grouped records are removed from the arrays when they are more than one in this many.

See docs/decisions, "Microaggregation".
"""

LEAF = 256
"""Largest number of records in a leaf, unless groups are large; see `GROUPS`."""

GROUPS = 8
"""Least number of groups that a leaf has room for."""

AT_ONCE = 200
"""Leaves of one size that are grouped at once."""

POOL = 10_000
"""Records of the groups with the largest losses, which are grouped once more together."""


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
    nearest = np.empty(k, dtype=np.int64)
    for rank in range(k):
        nearest[rank] = distance.argmin()
        distance[nearest[rank]] = np.inf
    return nearest


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


def leaf_groups(points: Floats, k: int) -> Integers:
    """Return groups of at least k near points, numbered from 0.

    Points are halved along the column with the largest variance until a part is a leaf; parts get
    multiples of k points, so that few groups are larger than k. Each leaf is grouped by MDAV, and
    so are, together, the records of the groups with the largest losses, if that lowers their loss.

    Parameters
    ----------
    points : numpy.ndarray of float, shape (n_points, n_columns)
        At least k.
    k : int
    """
    leaves: dict[int, list[Integers]] = {}
    for leaf in _leaves(points, k, max(LEAF, GROUPS * k)):
        leaves.setdefault(len(leaf), []).append(leaf)
    groups = np.empty(len(points), dtype=np.int64)
    number = 0
    for same in leaves.values():
        for first in range(0, len(same), AT_ONCE):
            for members in _grouped(points, np.stack(same[first : first + AT_ONCE]), k):
                fresh = number + np.arange(len(members))
                groups[members] = fresh[:, None]
                number += len(members)
    return _edge_improved(points, groups, k)


def _edge_improved(points: Floats, groups: Integers, k: int) -> Integers:
    """Return groups in which those with the largest losses are made anew, if that is better."""
    size, loss = _losses(points, groups)
    worst = np.argsort(-loss, kind="stable")
    chosen = worst[: max(int(np.searchsorted(np.cumsum(size[worst]), POOL, side="right")), 1)]
    is_pooled = np.zeros(len(size), dtype=bool)
    is_pooled[chosen] = True
    pool = np.flatnonzero(is_pooled[groups])
    again = mdav(points[pool], k)
    if _losses(points[pool], again)[1].sum() >= loss[chosen].sum():
        return groups
    improved = groups.copy()
    improved[pool] = len(size) + again
    return np.unique(improved, return_inverse=True)[1].astype(np.int64)


def _losses(points: Floats, groups: Integers) -> tuple[Integers, Floats]:
    """Return the number of points of each group, and their sum of squares."""
    size = np.bincount(groups)
    loss = np.zeros(len(size))
    for column in points.T:
        mean = np.bincount(groups, weights=column) / size
        loss += np.bincount(groups, weights=(column - mean[groups]) ** 2)
    return size, loss


def _leaves(points: Floats, k: int, most: int) -> list[Integers]:
    """Return the points of each leaf."""
    leaves: list[Integers] = []
    waiting: list[Integers] = [np.arange(len(points))]
    while waiting:
        part = waiting.pop()
        if len(part) <= most:
            leaves.append(part)
            continue
        here = points[part]
        column = here[:, int(here.var(axis=0).argmax())]
        half = round(len(part) / 2 / k) * k
        order = np.argpartition(column, half)
        waiting += [part[order[:half]], part[order[half:]]]
    return leaves


def _grouped(points: Floats, left: Integers, k: int) -> list[Integers]:
    """Return the groups that MDAV makes of each leaf, one array (leaf, member) for each round.

    Parameters
    ----------
    points : numpy.ndarray of float, shape (n_points, n_columns)
    left : numpy.ndarray of int, shape (n_leaves, size)
        Points of each leaf.
    k : int
    """
    groups = []
    place = points[left]

    def squares(centre: Floats) -> Floats:
        away = place - centre[:, None, :]
        return np.asarray(np.einsum("lmc,lmc->lm", away, away))

    def farthest(square: Floats) -> Floats:
        return np.asarray(place[np.arange(len(place)), square.argmax(axis=1)])

    def take(square: Floats) -> None:
        nonlocal left, place
        order = np.argpartition(square, k - 1, axis=1)
        groups.append(np.take_along_axis(left, order[:, :k], axis=1))
        left = np.take_along_axis(left, order[:, k:], axis=1)
        place = np.take_along_axis(place, order[:, k:, None], axis=1)

    while left.shape[1] >= 2 * k:
        square = squares(farthest(squares(place.mean(axis=1))))
        opposite = farthest(square) if left.shape[1] >= 3 * k else None
        take(square)
        if opposite is not None:
            take(squares(opposite))
    return [*groups, left]
