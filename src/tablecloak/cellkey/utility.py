"""How far perturbed counts lie from true ones, by the measures of the European census."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.arrays import Floats

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Quantiles that are reported."""

CLASSES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, np.inf)
"""Upper ends of the classes of relative distances and of distances of square roots."""


@dataclass(frozen=True, eq=False)
class Utility:
    """Distances between true and perturbed counts.

    Parameters
    ----------
    noise : pandas.DataFrame
        For each difference "true less perturbed" the number of cells and their share.
    distances : pandas.DataFrame
        Minimum, mean, maximum and quantiles of d1 = |difference|, d2 = d1 / true count, and
        d3 = |difference of the square roots|, a column each.
    cumulated : mapping of str to pandas.DataFrame
        For d1, d2 and d3 the number and share of cells up to each distance.
    false_zeros : int
        Number of cells that are not empty but published as 0.
    false_nonzeros : int
        Number of empty cells that are not published as 0.
    """

    noise: pd.DataFrame
    distances: pd.DataFrame
    cumulated: dict[str, pd.DataFrame]
    false_zeros: int
    false_nonzeros: int


def utility_of(
    true: npt.ArrayLike, perturbed: npt.ArrayLike, *, with_false_zeros: bool = False
) -> Utility:
    """Measure how far perturbed counts lie from true ones.

    Parameters
    ----------
    true, perturbed : array_like of int, shape (n_cells,)
    with_false_zeros : bool, default=False
        Whether cells that became 0 count in the distances too, as with ``exclude_zeros = FALSE``
        in cellKey.

    Returns
    -------
    Utility

    References
    ----------
    Antal, Enderle and Giessing (2017), "Harmonised protection of census data", Eurostat.
    """
    true, perturbed = np.asarray(true, dtype=np.float64), np.asarray(perturbed, dtype=np.float64)
    difference, times = np.unique(true - perturbed, return_counts=True)
    noise = pd.DataFrame({"noise": difference, "cells": times, "share": times / max(len(true), 1)})
    kept = np.ones(len(true), dtype=bool) if with_false_zeros else perturbed != 0
    a, b = true[kept], perturbed[kept]
    gap = np.abs(a - b)
    relative = np.divide(gap, a, out=np.where(gap > 0, np.inf, 0.0), where=a > 0)
    columns = {"d1": gap, "d2": relative, "d3": np.abs(np.sqrt(a) - np.sqrt(b))}
    cumulated = {
        "d1": _cumulated(gap, np.unique(gap)),
        "d2": _cumulated(relative, np.array(CLASSES[1:])),
        "d3": _cumulated(columns["d3"], np.array(CLASSES[1:])),
    }
    return Utility(
        noise=noise,
        distances=pd.DataFrame({name: _described(values) for name, values in columns.items()}),
        cumulated=cumulated,
        false_zeros=int(np.count_nonzero((true != 0) & (perturbed == 0))),
        false_nonzeros=int(np.count_nonzero((true == 0) & (perturbed != 0))),
    )


def _described(values: Floats) -> pd.Series:
    if not len(values):
        return pd.Series(dtype=np.float64)
    named = {"min": values.min(), "mean": values.mean(), "max": values.max()}
    quantiles = (
        np.quantile(values, SHARES) if np.all(np.isfinite(values)) else [np.nan] * len(SHARES)
    )
    named |= {f"q{round(100 * share)}": q for share, q in zip(SHARES, quantiles, strict=True)}
    return pd.Series(named)


def _cumulated(values: Floats, ends: Floats) -> pd.DataFrame:
    cells = np.searchsorted(np.sort(values), ends, side="right")
    return pd.DataFrame({"up_to": ends, "cells": cells, "share": cells / max(len(values), 1)})
