"""The risk-utility frontier of releases, and the best release within a limit on risk.

References
----------
.. [1] Karr, Sanil: Data swapping as a decision problem, 2004, relations (4) and (5).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError

__all__ = ["best_below", "frontier"]


def frontier(risk: npt.ArrayLike, utility: npt.ArrayLike) -> Integers:
    """Return the points that no other point dominates: as good in both and better in one.

    Parameters
    ----------
    risk, utility : array_like of float, shape (n,)
        Low risk and high utility are good.

    Returns
    -------
    numpy.ndarray of int
        Positions in increasing order. Points that are equal in both are all kept.
    """
    r, u = _checked(risk, utility)
    order = np.lexsort((-u, r))
    kept: list[int] = []
    best, at = -np.inf, 0
    while at < len(order):
        end = at
        while end < len(order) and r[order[end]] == r[order[at]]:
            end += 1
        top = u[order[at]]
        if top > best:
            kept.extend(int(point) for point in order[at:end] if u[point] == top)
            best = float(top)
        at = end
    return np.array(sorted(kept), dtype=np.int64)


def best_below(risk: npt.ArrayLike, utility: npt.ArrayLike, limit: float) -> Integers:
    """Return the points of highest utility among those with tolerable risk.

    Parameters
    ----------
    risk, utility : array_like of float, shape (n,)
    limit : float
        Largest tolerable risk.

    Returns
    -------
    numpy.ndarray of int
        All ties; empty if no point is tolerable.
    """
    r, u = _checked(risk, utility)
    tolerable = np.flatnonzero(r <= limit)
    if not len(tolerable):
        return tolerable
    found: Integers = tolerable[u[tolerable] == u[tolerable].max()]
    return found


def _checked(risk: npt.ArrayLike, utility: npt.ArrayLike) -> tuple[Floats, Floats]:
    r, u = np.asarray(risk, dtype=np.float64), np.asarray(utility, dtype=np.float64)
    if r.ndim != 1 or r.shape != u.shape:
        raise InputError(
            "`risk` and `utility` must be two lists of the same length. Got the shapes "
            f"{r.shape} and {u.shape}."
        )
    odd = np.flatnonzero(np.isnan(r) | np.isnan(u))
    if len(odd):
        raise InputError(
            f"The risk or the utility of point {odd[0]} (counted from 0) is not a number. Leave "
            "such points out first."
        )
    return r, u
