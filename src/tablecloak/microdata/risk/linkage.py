"""Risk by distance: records that released numbers identify, or reveal within a small interval.

By ranks, an interval reaches over true values near the released one in the order of the column.

References
----------
.. [1] Mateo-Sanz, Sebe, Domingo-Ferrer: Outlier protection in continuous microdata masking,
   2004 (interval disclosure).
.. [2] Domingo-Ferrer, Torra: Disclosure control methods and information loss for microdata, in
   Doyle et al.: Confidentiality, disclosure, and data access, 2001 (rank-based intervals).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats
from tablecloak.errors import InputError
from tablecloak.microdata.columns import (
    names_of,
    numbers_of,
    paired_numbers,
    require_same_records,
    some_rows,
)


@dataclass(frozen=True, eq=False)
class RankIntervals:
    """Which true values lie within the intervals of ranks of their released values.

    Parameters
    ----------
    inside : pandas.DataFrame
        One column of truth values for each column; `pandas.NA` where a value is missing.
    """

    inside: pd.DataFrame

    def per_column(self) -> pd.Series:
        """Return the share of the known values of each column that lie within their intervals."""
        share = self.inside.mean(axis=0).astype(np.float64)
        return share.rename("inside").rename_axis("column")

    @property
    def all_columns(self) -> float:
        """Share of the records with all values known whose values all lie within."""
        complete = self.inside.dropna()
        return float(complete.all(axis=1).mean()) if len(complete) else float("nan")

    def summary(self) -> str:
        """Return the shares in one line."""
        shares = ", ".join(
            f"{name} {100 * share:.3g} %" for name, share in self.per_column().items()
        )
        return f"within intervals of ranks: {shares}; all columns {100 * self.all_columns:.3g} %"


def rank_intervals(
    original: pd.DataFrame,
    released: pd.DataFrame,
    columns: Sequence[str],
    *,
    width: float = 0.05,
) -> RankIntervals:
    """Find the records whose true values have nearly the ranks of their released values.

    Parameters
    ----------
    original, released : pandas.DataFrame
        The same records in the same order. A value that is missing before or after is left out.
    columns : sequence of str
    width : float, default=0.05
        Half width of the interval as a share of the number of values, at least 0 and below 1.

    Returns
    -------
    RankIntervals
        The interval of a released value goes from the released value `width` of the ranks below
        it to that as far above; equal values have one rank interval, from the lowest to the
        highest [2]_.

    Raises
    ------
    InputError
        If a column is not numeric, the numbers of records differ, or the width is out of range.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"wage": [1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10]})
    >>> after = pd.DataFrame({"wage": [2.0, 1, 3, 4, 5, 6, 7, 8, 10, 3.5]})
    >>> rank_intervals(before, after, ["wage"], width=0.1).per_column().round(2).tolist()
    [0.9]
    """
    require_same_records(original, released)
    if not 0 <= width < 1:
        raise InputError(f"`width` must be a share from 0 to below 1. Got {width!r}.")
    inside = {}
    for name in names_of(columns, "columns"):
        x, y = (numbers_of(frame, name, refuse_missing=False) for frame in (original, released))
        known = ~(np.isnan(x) | np.isnan(y))
        found = pd.array(np.zeros(len(x), dtype=bool), dtype="boolean")
        found[known] = _within(x[known], y[known], width)
        found[~known] = pd.NA
        inside[name] = found
    return RankIntervals(pd.DataFrame(inside, index=original.index))


def _within(x: Floats, y: Floats, width: float) -> Flags:
    if not len(y):
        return np.zeros(0, dtype=bool)
    order = np.argsort(y, kind="stable")
    ordered = y[order]
    # Where a run of equal values begins and ends, for each place of the order.
    begins = np.append(True, ordered[1:] != ordered[:-1])
    first = np.flatnonzero(begins)
    run = np.cumsum(begins) - 1
    last = np.append(first[1:], len(y)) - 1
    # A rounding error must not lose a rank: 0.29 * 100 is below 29.
    reach = int(np.floor(width * len(y) * (1 + 1e-12)))
    low = ordered[np.maximum(first - reach, 0)][run]
    high = ordered[np.minimum(last + reach, len(y) - 1)][run]
    within = np.empty(len(y), dtype=bool)
    within[order] = (low <= x[order]) & (x[order] <= high)
    return within


def interval_disclosure(
    original: pd.DataFrame,
    released: pd.DataFrame,
    columns: Sequence[str],
    *,
    width: float = 0.05,
) -> float:
    """Return the share of records for which all true values lie near the released ones.

    Parameters
    ----------
    original, released : pandas.DataFrame
        The same records in the same order; those with a missing value are left out.
    columns : sequence of str
    width : float, default=0.05
        Half width of the interval, in standard deviations of the *released* column.
    """
    x, y = paired_numbers(original, released, columns)
    reach = width * y.std(axis=0, ddof=1)
    return float(np.mean(np.all(np.abs(x - y) <= reach, axis=1)))


def record_linkage(
    original: pd.DataFrame,
    released: pd.DataFrame,
    columns: Sequence[str],
    *,
    most: int | None = None,
) -> float:
    """Return the share of released records whose nearest original record is their own.

    Distances are Euclidean, in standard deviations of the original columns. If m originals have
    the same smallest distance and the record's own is one of them, it counts 1/m.

    Parameters
    ----------
    original, released : pandas.DataFrame
        The same records in the same order; those with a missing value are left out.
    columns : sequence of str
    most : int, optional
        Largest number of released records that are linked, drawn at random but always the same;
        by default all. Each is compared with all originals.
    """
    from scipy.spatial import KDTree

    x, y = paired_numbers(original, released, columns)
    spread = x.std(axis=0, ddof=1)
    # Sliding midpoints, since medians of many equal values would not split them.
    tree = KDTree(x / spread, balanced_tree=False, compact_nodes=False)
    rows = some_rows(len(x), most)
    targets = y[rows] / spread
    nearest = tree.query(targets)[0]
    own = np.sqrt(np.sum((x[rows] / spread - targets) ** 2, axis=1))
    right = np.flatnonzero(own <= nearest * (1 + 1e-12))
    ties = tree.query_ball_point(targets[right], nearest[right] * (1 + 1e-12), return_length=True)
    return float(np.sum(1 / np.maximum(ties, 1)) / len(rows))
