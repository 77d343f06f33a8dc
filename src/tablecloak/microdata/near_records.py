"""Neighbours among records, found by trees over coordinates in standard deviations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial import KDTree

from tablecloak.arrays import Flags, Floats, Integers

__all__ = ["NearRecords", "Neighbours"]

Neighbours = tuple[Integers, Integers, Integers]
"""Some records, the neighbours of all of them in one array, and the number of each one's."""

FEW_VALUES = 20
"""Most different values of a column that may split the records into strata.

See docs/decisions.md, "Near records".
"""

LEAST_IN_STRATUM = 50
"""Least mean number of records in a stratum for which a tree of each stratum is built.

See docs/decisions.md, "Near records".
"""

LEAF = 16
"""Most points in a leaf of a tree; see docs/decisions.md, "Near records"."""

CHUNK = 2000
"""Records whose neighbours are in memory at once; see docs/decisions.md, "Near records"."""


class NearRecords:
    """Neighbours among records with given coordinates.

    Parameters
    ----------
    points : numpy.ndarray of float, shape (n_records, n_columns)
    """

    def __init__(self, points: Floats) -> None:
        self.points = points
        self.tree = KDTree(points)

    def in_order(self, order: Integers, eps: Floats) -> Iterator[Neighbours]:
        """Yield neighbours of records in the given order, those of each record sorted.

        The draws of a legacy sampler depend on both orders.
        """
        for start in range(0, len(order), CHUNK):
            part = order[start : start + CHUNK]
            at, cells = _pairs(self.tree, self.points[part], eps[part])
            other = cells != part[at]
            at, cells = at[other], cells[other]
            sort = np.argsort(at * len(self.points) + cells)
            yield part, cells[sort], np.bincount(at, minlength=len(part))

    def by_strata(self, order: Integers, eps: Floats) -> Iterator[Neighbours]:
        """Yield neighbours of records, stratum by stratum.

        Records that differ in a column with few values, all at least eps apart, cannot be
        neighbours. A tree for each combination of these values, over the other columns alone, is
        several times faster.
        """
        points = self.points
        wanted = np.zeros(len(points), dtype=bool)
        wanted[order] = True
        stratum, soft = _strata(points, float(eps.max()))
        members = np.split(np.argsort(stratum, kind="stable"), np.cumsum(np.bincount(stratum))[:-1])
        for inside in members:
            place = points[inside][:, soft] if soft.any() else np.zeros((len(inside), 1))
            tree = KDTree(place, leafsize=LEAF)
            local = tree.indices[wanted[inside[tree.indices]]]
            for start in range(0, len(local), CHUNK):
                some = local[start : start + CHUNK]
                at, cells = _pairs(tree, place[some], eps[inside[some]])
                other = cells != some[at]
                at, cells = at[other], cells[other]
                # Small types are sorted without comparisons.
                sort = np.argsort(at.astype(np.min_scalar_type(len(some))), kind="stable")
                yield inside[some], inside[cells[sort]], np.bincount(at, minlength=len(some))

    def with_nearest(
        self, part: Integers, flat: Integers, size: Integers, few: Integers, nearest: int
    ) -> tuple[Integers, Integers]:
        """Replace the neighbours of records that have too few by the nearest records.

        Parameters
        ----------
        part, flat, size : numpy.ndarray of int
            Records, the neighbours of all of them, and the number of each one's.
        few : numpy.ndarray of int
            Positions in `part` of the records with too few neighbours.
        nearest : int
            Number of nearest records that each of them gets.
        """
        number = min(nearest + 1, len(self.points))
        near = np.asarray(self.tree.query(self.points[part[few]], number)[1]).reshape(
            len(few), number
        )
        others = near != part[few][:, None]
        # If several records share one place, the query may return others in place of the record
        # itself, and so one too many.
        others &= np.cumsum(others, axis=1) <= nearest
        owner = np.repeat(np.arange(len(part)), size)
        kept = ~np.isin(owner, few)
        owners = np.concatenate([owner[kept], np.repeat(few, others.sum(axis=1))])
        cells = np.concatenate([flat[kept], near[others]])
        order = np.argsort(owners, kind="stable")
        return cells[order].astype(np.int64), np.bincount(owners, minlength=len(part))


def _pairs(tree: KDTree, places: Floats, eps: Floats) -> tuple[Integers, Integers]:
    """Return pairs of a place and a point of a tree that are closer than the eps of the place."""
    found = KDTree(places, leafsize=LEAF).sparse_distance_matrix(
        tree, float(eps.max()), output_type="ndarray"
    )
    near = found["v"] < eps[found["i"]]
    return found["i"][near].astype(np.int64), found["j"][near].astype(np.int64)


def _strata(points: Floats, eps: float) -> tuple[Integers, Flags]:
    """Number the combinations of columns with few values that lie at least `eps` apart.

    Returns
    -------
    stratum : numpy.ndarray of int, shape (n_records,)
    soft : numpy.ndarray of bool, shape (n_columns,)
        The other columns.
    """
    stratum = np.zeros(len(points), dtype=np.int64)
    soft = np.ones(points.shape[1], dtype=bool)
    for column in range(points.shape[1]):
        # The first records already rule out a column of continuous values, without sorting it.
        if len(np.unique(points[:1000, column])) > FEW_VALUES:
            continue
        values, codes = np.unique(points[:, column], return_inverse=True)
        if len(values) > FEW_VALUES or np.any(np.diff(values) < eps):
            continue
        combined, numbers = np.unique(stratum * len(values) + codes.ravel(), return_inverse=True)
        if len(combined) <= max(len(points) // LEAST_IN_STRATUM, 1):
            soft[column] = False
            stratum = numbers.ravel().astype(np.int64)
    return stratum, soft
