"""Risk by distance: records that released numbers identify, or reveal within a small interval.

References
----------
.. [1] Mateo-Sanz, Sebe, Domingo-Ferrer: Outlier protection in continuous microdata masking,
   2004 (interval disclosure).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tablecloak.microdata.columns import paired_numbers, some_rows

__all__ = ["interval_disclosure", "record_linkage"]


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
