"""Which classes of records may be in a small group that follows, proved at any size of a project.

The indicator w of a group that follows lies in the span of the figures. With h the leverage of a
record in that span, 1 = w_e <= sqrt(h_e) |w| by the inequality of Cauchy and Schwarz, so that the
group has at least 1 / h_e records. Records of a smaller leverage than 1 / m are in no group of m
records: w is 0 there, and the same holds in the span of all that is 0 there, until nothing changes.
In most projects nothing is left, which proves that no small group follows.

Source: leverage, Hoaglin and Welsch (1978), The American Statistician 32, 17-22. Where classes are
many it is first estimated by random projections: Drineas, Magdon-Ismail, Mahoney and Woodruff
(2012), Journal of Machine Learning Research 13, 3475-3506.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr, solve
from scipy.stats import chi2

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.safe.joint.system import FigureSystem

ROUNDS = (32, 32, 64, 128, 256)
"""Random projections of each round: many at once where few classes are left."""

ACCIDENT = 1e-12
"""Probability that a leverage is estimated so much too low that a class is left out."""

CHEAP, MOST_PRODUCTS = 1e8, 1e11
"""Products up to which nothing is estimated, and beyond which the search is given up."""

MOST_COLUMNS = 2000
"""Classes whose leverage is computed at once."""

MARGIN = 1e-6
"""By what a leverage must lie below the limit, as a share of it."""

INSIDE = 1e-5
"""Share of the squared length of a combination of figures that may lie outside of some classes."""

NOTHING = 1e-7
"""Entry of a basis that counts as 0."""


def confined(
    system: FigureSystem, chosen: Integers, most: float, weights: Floats | None = None
) -> tuple[Integers, Floats] | None:
    """Return classes, and the combinations of figures that are 0 at all others.

    Parameters
    ----------
    system : FigureSystem
    chosen : array of int
        Classes that may be in a group.
    most : float
        Most records of a group, or what the weights of its classes add up to at most.
    weights : array of float, optional
        Weights of all classes; by default their records.

    Returns
    -------
    classes : (c,) array of int
        Those that may be in a group that follows.
    basis : (c, d) array of float
        What combinations of figures are there: 0 and 1 at d of the classes. None if that takes
        more than `MOST_PRODUCTS`.
    """
    if weights is not None:
        system = system.weighted(weights)
    size = system.factor.size
    chosen = _not_surely_low(system, chosen, most)
    if len(chosen) * size**2 > MOST_PRODUCTS:
        return None
    held, columns = [chosen[:0]], [np.zeros((size, 0))]
    for start in range(0, len(chosen), MOST_COLUMNS):
        some = chosen[start : start + MOST_COLUMNS]
        rows = system.solved_rows(some)
        is_high = ~is_low((rows**2).sum(axis=0), most)
        held.append(some[is_high])
        columns.append(rows[:, is_high])
    chosen, rows = np.concatenate(held), np.hstack(columns)
    if min(rows.shape) * rows.size > MOST_PRODUCTS:
        return None
    root = np.sqrt((system.size if weights is None else weights)[chosen])
    return combinations_within(chosen, rows, root, most)


def combinations_within(
    chosen: Integers, rows: Floats, root: Floats, most: float
) -> tuple[Integers, Floats]:
    """Return classes, and the combinations that are 0 at all others; see `confined`.

    Parameters
    ----------
    chosen : (c,) array of int
        Numbers of the classes of a leverage that is not too low.
    rows : (d, c) array of float
        What d orthonormal combinations of figures are there.
    root : (c,) array of float
        Square roots of the weights of classes.
    most : float
    """
    basis = _inside(rows * root)
    while basis.size:
        falls = is_low((basis**2).sum(axis=1) / root**2, most)
        basis = np.where(np.abs(basis) > NOTHING, basis, 0.0)
        if not basis[falls].any():
            break
        beside = basis[falls].T @ basis[falls]
        lengths, turned = np.linalg.eigh(beside)
        kept = turned[:, lengths < INSIDE]
        chosen, root, basis = chosen[~falls], root[~falls], basis[~falls] @ kept
    stays = basis.any(axis=1)
    if not stays.any():
        return chosen[:0], np.zeros((0, 0))
    given = basis[stays] / root[stays, None]
    pivots = qr(given.T, mode="r", pivoting=True)[1][: given.shape[1]]
    given = solve(given[pivots].T, given.T).T
    return chosen[stays], np.where(np.abs(given) > NOTHING, given, 0.0)


def is_low(leverage: Floats, most: float) -> Flags:
    """Return which records of this leverage are in no group of `most` records that follows."""
    return np.asarray(leverage * most < 1 - MARGIN)


def _not_surely_low(system: FigureSystem, chosen: Integers, most: float) -> Integers:
    """Leave out classes whose leverage, by random projections, is surely too low."""
    random = np.random.default_rng(1)
    squares = np.zeros(len(chosen))
    size, n = system.factor.size, 0
    for more in ROUNDS:
        # A class less to be estimated costs as much as a projection less.
        if len(chosen) <= sum(ROUNDS) or len(chosen) * size**2 <= CHEAP:
            break
        n += more
        drawn = system.factor.backward(random.standard_normal((size, more)))
        squares += system.squares(drawn, chosen)
        stays = squares * most >= chi2.ppf(ACCIDENT, n)
        chosen, squares = chosen[stays], squares[stays]
    return chosen


def _inside(rows: Floats) -> Floats:
    """Return an orthonormal basis of the combinations of rows that lie in these columns alone.

    Rows are orthonormal together with columns that are not given.
    """
    if not rows.size:
        return np.zeros((rows.shape[1], 0))
    is_wide = rows.shape[0] < rows.shape[1]
    lengths, turned = np.linalg.eigh(rows @ rows.T if is_wide else rows.T @ rows)
    inside = turned[:, lengths > 1 - INSIDE]
    return rows.T @ inside if is_wide else inside
