"""A risk-utility map of any methods, by simulation.

Each method protects the same records several times with seeds of its own, and a risk and a utility
chosen by the caller are measured on each release. Points are means with standard errors, since at
low rates single releases differ more by chance than by method.

References
----------
.. [1] Duncan, Keller-McNulty, Stokes: Database security and confidentiality: examining
   disclosure risk vs. data utility through the R-U confidentiality map, 2004.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.budget import generator
from tablecloak.errors import InputError
from tablecloak.microdata.order import OrderWarning
from tablecloak.risk_utility_map import RiskUtilityMap, frontier

ReleaseMeasure = Callable[[pd.DataFrame, pd.DataFrame], float]
"""Function of the original and the released records that returns a risk or a utility."""


def risk_utility_map(
    frame: pd.DataFrame,
    methods: Mapping[str, Any],
    *,
    risk: ReleaseMeasure,
    utility: ReleaseMeasure,
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
        figures = np.empty((replicates, 2))
        for replicate in range(replicates):
            random = generator([seed, number, replicate])
            with warnings.catch_warnings():
                # Releases for comparison are not published, so their order does no harm.
                warnings.simplefilter("ignore", OrderWarning)
                released = method.protect(frame, seed=random).frame
            figures[replicate] = risk(frame, released), utility(frame, released)
        if np.any(np.isnan(figures)):
            at = int(np.flatnonzero(np.isnan(figures).any(axis=1))[0])
            raise InputError(
                f"The risk or the utility of {name!r} is not a number in replicate {at} (counted "
                "from 0). Check the functions `risk` and `utility`."
            )
        error = (
            figures.std(axis=0, ddof=1) / np.sqrt(replicates) if replicates > 1 else [np.nan] * 2
        )
        rows.append([*figures.mean(axis=0), *error])
    columns = ["risk", "utility", "risk_error", "utility_error"]
    table = pd.DataFrame(rows, columns=columns, index=pd.Index(list(methods), name="method"))
    on = frontier(table["risk"], table["utility"])
    table["frontier"] = np.isin(np.arange(len(table)), on)
    return RiskUtilityMap(table)
