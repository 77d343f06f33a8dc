"""Topcoding: extreme values are replaced by a threshold, or by the mean of all beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from tablecloak.errors import InputError
from tablecloak.microdata.coding import like, numbers_of

__all__ = ["TopcodedRelease", "Topcoding"]

FEWEST = 3
"""Records beyond a threshold below which the mean of them would tell too much."""


@dataclass(frozen=True, eq=False)
class TopcodedRelease:
    """Records with replaced extremes.

    Parameters
    ----------
    frame : pandas.DataFrame
    threshold : float
        May be published.
    n_replaced : int
    """

    frame: pd.DataFrame
    threshold: float
    n_replaced: int


@dataclass(frozen=True)
class Topcoding:
    """Replace the values of a column above a threshold.

    Parameters
    ----------
    column : str
    threshold : float, optional
        By default the quantile decides.
    quantile : float, default=0.99
    replace_by : {"threshold", "mean"}, default="threshold"
        The mean of the replaced values keeps the mean of the column; it needs at least three of
        them. In a column of whole numbers, what replaces is rounded down.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"wage": [1.0, 2.0, 3.0, 90.0]})
    >>> Topcoding("wage", threshold=10).protect(frame).frame.wage.tolist()
    [1.0, 2.0, 3.0, 10.0]
    """

    column: str
    threshold: float | None = None
    quantile: float = 0.99
    replace_by: Literal["threshold", "mean"] = "threshold"

    def __post_init__(self) -> None:
        if not 0 < self.quantile < 1:
            raise InputError(f"`quantile` must lie between 0 and 1. Got {self.quantile!r}.")
        if self.threshold is not None and not np.isfinite(self.threshold):
            raise InputError(f"`threshold` must be a finite number. Got {self.threshold!r}.")
        if self.replace_by not in ("threshold", "mean"):
            raise InputError(
                f"`replace_by` must be 'threshold' or 'mean'. Got {self.replace_by!r}."
            )

    def protect(self, frame: pd.DataFrame, *, seed: Any = None) -> TopcodedRelease:
        """Replace extreme values; nothing is random, a seed is accepted for symmetry.

        Raises
        ------
        InputError
            If the column is not there, not numeric or has missing values, or fewer than three
            values would be replaced by their mean.
        """
        del seed
        values = numbers_of(frame, self.column)
        limit = self.threshold
        if limit is None:
            limit = float(np.quantile(values, self.quantile))
        beyond = values > limit
        number = int(beyond.sum())
        if self.replace_by == "mean" and 0 < number < FEWEST:
            raise InputError(
                f"Only {number} values lie beyond {limit:g}: their mean would tell too much. Lower "
                f"the threshold, or replace them by it."
            )
        new = values[beyond].mean() if self.replace_by == "mean" and number else limit
        released = frame.copy()
        kind = frame[self.column].dtype
        if pd.api.types.is_integer_dtype(kind):
            # Rounded up, it could lie beyond the threshold.
            new = max(np.floor(new), np.iinfo(getattr(kind, "numpy_dtype", kind)).min)
        released[self.column] = like(frame[self.column], np.where(beyond, new, values), whole=True)
        return TopcodedRelease(released, float(limit), number)
