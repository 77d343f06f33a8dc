"""Groups of near records in large files: MDAV within the leaves of a k-d tree, many at once.

Most of the loss is that of few groups at the edge of the data, where leaves cut records off from
their neighbours; these are grouped once more together.
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.microdata.methods.mdav import mdav

__all__ = ["leaf_groups"]

LEAF = 256
"""Largest number of records in a leaf, unless groups are large; see `GROUPS`."""

GROUPS = 8
"""Least number of groups that a leaf has room for."""

AT_ONCE = 200
"""Leaves of one size that are grouped at once."""

POOL = 10_000
"""Records of the groups with the largest losses, which are grouped once more together."""


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
        found: Floats = np.einsum("lmc,lmc->lm", away, away)
        return found

    def farthest(square: Floats) -> Floats:
        found: Floats = place[np.arange(len(place)), square.argmax(axis=1)]
        return found

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
