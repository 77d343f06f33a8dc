"""The risk and the utility of several releases: a map, its frontier, and the best of limited risk.

References
----------
.. [1] Karr, Sanil: Data swapping as a decision problem, 2004, relations (4) and (5).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak import showing
from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError


@dataclass(frozen=True, eq=False)
class RiskUtilityMap:
    """Mean risk and utility of each method.

    Parameters
    ----------
    table : pandas.DataFrame
        Indexed by the names of the methods: ``risk``, ``utility``, their standard errors, and
        whether the point is on the frontier of the means.
    """

    table: pd.DataFrame

    def best(self, risk_limit: float) -> list[str]:
        """Return the methods of highest utility among those within the risk limit, with ties."""
        rows = best_below(self.table["risk"], self.table["utility"], risk_limit)
        return [str(name) for name in self.table.index[rows]]

    def verdict(self, risk_limit: float) -> str:
        """Return a sentence that says which method to take, and why."""
        found = self.best(risk_limit)
        if not found:
            at = int(np.argmin(self.table["risk"]))
            return (
                f"No method keeps the risk at or below {risk_limit:g}; the least is "
                f"{self.table['risk'].iloc[at]:.4g}, by {list(self.table.index)[at]}."
            )
        row = self.table.loc[found[0]]
        others = self.table[self.table["risk"] > risk_limit]
        n = len(self.table) - len(others)
        within = f"a risk of at most {risk_limit:g}"
        why = f"the only method with {within}; its utility is"
        if n > 1:
            why = f"of the {n} methods with {within} it has the highest utility,"
        return f"Take {' or '.join(found)}: {why} {row['utility']:.4g} (risk {row['risk']:.4g})."

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the map, with bars of two standard errors each way and a line for the frontier."""
        return showing.plot(self, path)


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
