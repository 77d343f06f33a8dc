"""Rows that whole patterns satisfy and fractional ones violate: sums of rows, rounded.

Cells are hidden or not, so that a sum of rows can be rounded. Let rows c_r y >= b_r be added up
with any multipliers l_r. Let z_j be y_j, or 1 - y_j for some cells, which are called turned. With
a_j the coefficients of the sum, and s_r >= 0 the slack of row r::

    sum_j a_j z_j + sum of |l_r| s_r over l_r < 0  >=  b

With f = b - floor(b), every whole z satisfies::

    sum_j (floor(a_j) + min(1, (a_j - floor(a_j)) / f)) z_j
        + sum of |l_r| / f * s_r over l_r < 0  >=  ceil(b)

The multipliers tried here single out one fractional cell each: if all other fractional cells cancel
in the sum, and every other z_j is near 0, the point violates the rounded row.

References
----------
.. [1] Nemhauser, Wolsey: A recursive procedure to generate all cuts for 0-1 mixed integer
   programs, Mathematical Programming 46 (1990).
.. [2] Balas, Ceria, Cornuejols, Natraj: Gomory cuts revisited, Operations Research Letters 19
   (1996).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats
from tablecloak.suppression.rows.master import Master, RoundedRow, Row

FRACTIONAL = 0.02
"""Least distance to a whole number at which a cell counts as fractional here."""

TIGHT = 1e-6
"""Largest slack of a row that is used in sums."""

PARTS = 0.05, 0.98
"""Least and largest f: near 0 coefficients become large, and near 1 rounding gains nothing."""

NOISE = 1e-9
"""Multipliers and coefficients below this share of the largest count as 0."""

LARGEST, SPREAD = 1e3, 1e5
"""Largest coefficient of a row, and largest ratio of two of them, for accurate programs."""

MOST_ROWS = 60
"""Most rows kept of one round. docs/decisions, "Rounded rows"."""

MOST_TRIED = 100
"""Most fractional cells that are singled out in one round."""

DIVISORS = 8
"""Most coefficients of a single row by which the row is divided before it is rounded."""

LEAST_DEPTH = 1e-3
"""Least distance of the point from a violated row at which the row is added."""

PARALLEL = 0.9
"""Cosine of the angle between two rows above which only the more violated one is kept."""


def rounded_rows(
    master: Master, proofs: Sequence[Row], rows: csr_array, sides: Floats, x: Floats
) -> list[RoundedRow]:
    """Return rounded sums of rows that a fractional pattern violates, the most violated first.

    Parameters
    ----------
    master : Master
    proofs : sequence of Row
        Proofs of the rows.
    rows : scipy.sparse.csr_array, shape (n_rows, n_free)
    sides : numpy.ndarray of float, shape (n_rows,)
    x : numpy.ndarray of float, shape (n_free,)
        A vertex of the relaxation.
    """
    tight = np.flatnonzero(np.abs(rows @ x - sides) <= TIGHT)
    matrix, side = rows[tight, :].toarray(), sides[tight]
    turned = x > 0.5
    found: list[_Sum] = []
    for multipliers in _multipliers(matrix, x):
        row = _rounded(multipliers, matrix, side, turned)
        if row is not None and row.depth(x) > LEAST_DEPTH:
            found.append(row)
    return [
        RoundedRow(
            tuple(proofs[at] for at in tight[row.multipliers != 0].tolist()),
            row.multipliers[row.multipliers != 0],
            master.free[turned & (row.multipliers @ matrix != 0)],
            csr_array(row.coefficients[None, :]),
            row.side,
        )
        for row in _unlike(found, x)
    ]


@dataclass(frozen=True, eq=False)
class _Sum:
    """A rounded sum of rows, and the multipliers of the rows."""

    coefficients: Floats
    side: float
    multipliers: Floats

    def depth(self, x: Floats) -> float:
        """Return the distance of a point from the row, positive if the point violates it."""
        size = np.abs(self.coefficients)
        least = np.min(size[size > 0], initial=np.inf)
        if not size.any() or size.max() > LARGEST or size.max() > SPREAD * least:
            return 0.0
        missing = self.side - float(self.coefficients @ x)
        return missing / float(np.linalg.norm(self.coefficients))


def _multipliers(matrix: Floats, x: Floats) -> Iterator[Floats]:
    """Yield multipliers that single out one fractional cell, then those of single rows."""
    between = np.flatnonzero((x > FRACTIONAL) & (x < 1 - FRACTIONAL))
    if not len(between) or not len(matrix):
        return
    part = np.flatnonzero((x > NOISE) & (x < 1 - NOISE))
    # A basis among the tight rows, on the cells between their bounds.
    _, upper, order = qr(matrix[:, part].T, mode="economic", pivoting=True)
    size = np.abs(np.diag(upper))
    rank = int(np.sum(size > NOISE * size[0]))
    chosen = order[:rank]
    inverse = np.linalg.pinv(matrix[np.ix_(chosen, part)].T)
    nearest = between[np.argsort(np.abs(x[between] - 0.5), kind="stable")][:MOST_TRIED]
    for cell in nearest.tolist():
        multipliers = np.zeros(len(matrix))
        multipliers[chosen] = inverse[:, np.searchsorted(part, cell)]
        multipliers[np.abs(multipliers) < NOISE * np.max(np.abs(multipliers))] = 0.0
        yield multipliers
        yield -multipliers
    for row in range(len(matrix)):
        values = np.unique(np.round(np.abs(matrix[row, between]), 9))
        for value in values[values > 1e-3][:DIVISORS].tolist():
            for parts in (1, 2, 4):
                multipliers = np.zeros(len(matrix))
                multipliers[row] = 1 / (value * parts)
                yield multipliers


def _rounded(multipliers: Floats, matrix: Floats, side: Floats, turned: Flags) -> _Sum | None:
    """Return the rounded sum; None if rounding gains next to nothing."""
    used = np.flatnonzero(multipliers)
    weights, part = multipliers[used], matrix[used]
    total = weights @ part
    target = float(weights @ side[used]) - float(total[turned].sum())
    total[turned] *= -1
    fraction = target - np.floor(target)
    if not PARTS[0] <= fraction <= PARTS[1]:
        return None
    whole = np.floor(total + 1e-11)
    rounded = whole + np.minimum(np.clip(total - whole, 0, 1) / fraction, 1.0)
    row, bound = rounded.copy(), float(np.ceil(target)) - float(rounded[turned].sum())
    row[turned] *= -1
    spare = np.maximum(-weights, 0.0) / fraction
    row += spare @ part
    bound += float(spare @ side[used])
    row[np.abs(row) < NOISE] = 0.0
    return _Sum(row, bound, multipliers)


def _unlike(found: list[_Sum], x: Floats) -> list[_Sum]:
    """Return rows, the most violated first, without those nearly parallel to an earlier one."""
    kept: list[_Sum] = []
    directions: list[Floats] = []
    for row in sorted(found, key=lambda row: -row.depth(x)):
        if len(kept) == MOST_ROWS:
            break
        direction = row.coefficients / np.linalg.norm(row.coefficients)
        if all(float(direction @ other) < PARALLEL for other in directions):
            kept.append(row)
            directions.append(direction)
    return kept
