"""A risk-utility map of any methods, by simulation: its frontier, and the best of limited risk.

Each method protects the same records several times with seeds of its own, and a risk and a utility
chosen by the caller are measured on each release. Points are means with standard errors, since at
low rates single releases differ more by chance than by method.

References
----------
.. [1] Duncan, Keller-McNulty, Stokes: Database security and confidentiality: examining
   disclosure risk vs. data utility through the R-U confidentiality map, 2004.
.. [2] Karr, Sanil: Data swapping as a decision problem, 2004, relations (4) and (5).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak import showing
from tablecloak.arrays import Floats, Integers
from tablecloak.budget import generator
from tablecloak.errors import InputError
from tablecloak.microdata.order import OrderWarning

__all__ = [
    "RiskUtilityMap",
    "best_below",
    "frontier",
    "risk_utility_map",
]

Measure = Callable[[pd.DataFrame, pd.DataFrame], float]
"""Function of the original and the released records that returns a risk or a utility."""


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


class Method(Protocol):
    """Any object that protects records."""

    def protect(self, frame: pd.DataFrame, *, seed: Any) -> Any: ...


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
        return (
            f"Take {' or '.join(found)}: of the {len(self.table) - len(others)} methods with a "
            f"risk of at most {risk_limit:g} it has the highest utility, {row['utility']:.4g} "
            f"(risk {row['risk']:.4g})."
        )

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the map, with bars of two standard errors each way and a line for the frontier."""
        return showing.plot(self, path)


def risk_utility_map(
    frame: pd.DataFrame,
    methods: Mapping[str, Method],
    *,
    risk: Measure,
    utility: Measure,
    replicates: int = 20,
    seed: int = 0,
) -> RiskUtilityMap:
    """Compare several methods, or one method with several parameters, on the same records.

    Parameters
    ----------
    frame : pandas.DataFrame
    methods : mapping of str to method
        Methods by name. Each has ``protect(frame, seed=...)``, which returns a release with an
        attribute ``frame``.
    risk, utility : callable
        Functions of the original and the released records that return a number; low risk and high
        utility are good. For example ``lambda a, b: record_linkage(a, b, ["wage"])``.
    replicates : int, default=20
    seed : int, default=0
        Each method and replicate has random numbers of its own, so that results do not depend on
        the order of the methods. The releases serve the comparison only: publish none of them.

    Raises
    ------
    InputError
        If there is no method or no replicate, or a measure is not a number.
    """
    if not methods or replicates < 1:
        raise InputError(
            f"At least one method and one replicate are needed. Got {len(methods)} and "
            f"{replicates}."
        )
    rows = []
    for number, (name, method) in enumerate(methods.items()):
        found = np.empty((replicates, 2))
        for replicate in range(replicates):
            random = generator([seed, number, replicate])
            with warnings.catch_warnings():
                # Releases for comparison are not published, so their order does no harm.
                warnings.simplefilter("ignore", OrderWarning)
                released = method.protect(frame, seed=random).frame
            found[replicate] = risk(frame, released), utility(frame, released)
        if np.any(np.isnan(found)):
            at = int(np.flatnonzero(np.isnan(found).any(axis=1))[0])
            raise InputError(
                f"The risk or the utility of {name!r} is not a number in replicate {at} (counted "
                "from 0). Check the functions `risk` and `utility`."
            )
        error = found.std(axis=0, ddof=1) / np.sqrt(replicates) if replicates > 1 else [np.nan] * 2
        rows.append([*found.mean(axis=0), *error])
    columns = ["risk", "utility", "risk_error", "utility_error"]
    table = pd.DataFrame(rows, columns=columns, index=pd.Index(list(methods), name="method"))
    on = frontier(table["risk"], table["utility"])
    table["frontier"] = np.isin(np.arange(len(table)), on)
    return RiskUtilityMap(table)
