"""Sums of several columns over the same few records, which may be one column times known factors.

Sums of income, income x age and income x children over the same people are linear equations in
their incomes: whoever knows the factors solves them. With d independent sums over n people all but
n - d + 1 can be eliminated, and more where factors repeat. Nothing tells columns that are products
of a known factor from others, so that all are taken to be.

A combination is 0 at some records if their columns, as points of d dimensions, lie on a hyperplane.
None leaves out all but m records if some scale of the points gives all a leverage below 1 / m, by
the inequality of Cauchy and Schwarz. The scale of Tyler (1987), Annals of Statistics 15, 234-251,
makes leverages as equal as they can be. Where it is not enough, all hyperplanes are tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.safe.joint.copies import AmountColumn
from tablecloak.safe.joint.leverage import is_low
from tablecloak.safe.joint.system import members_of
from tablecloak.safe.output import Figures

DEPENDENT, NOTHING = 1e-9, 1e-9
"""Share of the largest singular value up to which sums depend on each other, and of a point's
length up to which it lies on a hyperplane."""

ROUNDS = 20
"""Rounds in which the scale of points is looked for."""

MOST_TRIED = 50_000
"""Hyperplanes that are tried for one group of records."""

MOST_COVERED = 200
"""Records of a sum up to which it is looked at what sums of other records overlap it."""

FEW_COLUMNS = 2
"""Columns that eliminate one contributor of a group: that is left to the rules on the group."""


def tells_of_few(sums: Floats, who: Integers, threshold: int) -> bool | None:
    """Whether a combination of sums may tell of too few contributors; None if that takes too long.

    Parameters
    ----------
    sums : (d, n) array of float
        What each sum adds of each record.
    who : (n,) array of int
        Contributor of each record.
    threshold : int
    """
    # A sum of few alone is judged where it is published.
    enough = [len(np.unique(who[row != 0])) >= threshold for row in sums]
    there = sums[enough].any(axis=0)
    points, who = sums[enough][:, there], who[there]
    if len(points) < FEW_COLUMNS:
        return False
    points = _scaled(points / np.abs(points).max(axis=1, keepdims=True))
    _, sizes, basis = np.linalg.svd(points, full_matrices=False)
    points = _scaled(basis[sizes > DEPENDENT * sizes[0]])
    d, n = points.shape
    _, code, often = np.unique(who, return_inverse=True, return_counts=True)
    left = len(often) - d + 1
    if d > FEW_COLUMNS and left < threshold:
        return True
    if d < FEW_COLUMNS or _is_spread(points, np.sort(often)[-(threshold - 1) :].sum()):
        return False
    if comb(n, d - 1) > MOST_TRIED:
        return None
    chosen = np.array(list(combinations(range(n), d - 1)))
    normals = np.linalg.svd(points.T[chosen])[2][:, -1]
    is_off = np.abs(normals @ points) > NOTHING
    behind = np.zeros((len(normals), len(often)), dtype=np.bool_)
    for record, contributor in enumerate(code):
        behind[:, contributor] |= is_off[:, record]
    return bool((behind.sum(axis=1) < min(threshold, left)).any())


def _is_spread(points: Floats, most: float) -> bool:
    """Whether some scale of points gives none of them the leverage that few records need."""
    weight = np.ones(points.shape[1])
    for _ in range(ROUNDS):
        inverse = np.linalg.pinv((points * weight) @ points.T, hermitian=True)
        length = np.einsum("ij,ik,kj->j", points, inverse, points)
        if is_low(weight * length, most).all():
            return True
        weight = 1 / np.maximum(length, np.finfo(float).tiny)
        weight /= weight.mean()
    return False


def _scaled(points: Floats) -> Floats:
    return np.asarray(points / np.linalg.norm(points, axis=0))


def together(
    figures: Figures,
    before: AmountColumn | None,
    own: AmountColumn,
    others: Sequence[AmountColumn],
    n_records: int,
) -> Iterator[tuple[int, Integers, Floats]]:
    """Yield new figures, their records, and what sums of several columns add of each of these.

    A sum of another column plays a part if it follows of the same records, or, where these are
    few, if it was published of records that overlap them by half.

    Parameters
    ----------
    figures : Figures
    before, own : AmountColumn
        Their column without and with them; before is None if there were no sums of it.
    others : sequence of AmountColumn
    n_records : int
    """  # fmt: skip
    rows = _rows(figures, n_records)
    told = np.array([column.tells(figures, n_records) for column in others])
    is_new = np.diff(rows.indptr) > 0
    if before is not None:
        is_new &= ~before.tells(figures, n_records)
    amounts = [column.amounts for column in (own, *others)]
    for row in np.flatnonzero(told.any(axis=0) & is_new).tolist():
        records = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
        chosen = [0, *(1 + np.flatnonzero(told[:, row])).tolist()]
        yield row, records, np.array([amounts[number][records] for number in chosen])
    small = np.flatnonzero(is_new & (np.diff(rows.indptr) <= MOST_COVERED)).tolist()
    if not small or len(others) < FEW_COLUMNS:
        return
    published = [
        (column.amounts, _rows(entry, n_records))
        for column in (own, *others)
        for entry in column.figures
    ]
    for row in small:
        some = rows[[row]]
        sums = []
        for column, entry in published:
            shared = (entry @ some.T).toarray().ravel()
            is_near = (2 * shared >= np.diff(entry.indptr)) & (2 * shared >= some.nnz)
            sums += [(column, entry[[near]]) for near in np.flatnonzero(is_near)]
        records = np.unique(np.concatenate([entry.indices for _, entry in sums]))
        given = [
            entry[:, records].toarray().ravel() * np.nan_to_num(column[records])
            for column, entry in sums
        ]
        yield row, records, np.array(given)


def _rows(figures: Figures, n_records: int) -> csr_array:
    """Return which records each figure adds up, shape (f, n_records)."""
    group = np.full(n_records, -1, dtype=np.int64)
    group[figures.records] = figures.group
    return csr_array(csr_array(figures.sums) @ members_of(group, figures.sums.shape[1]))
