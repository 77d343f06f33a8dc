"""Topcoding: extreme values are replaced by a threshold, or by the mean of all beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.errors import InputError
from tablecloak.microdata.columns import like, numbers_of
from tablecloak.microdata.methods.method import METHODS, Columns, Method

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

    def summary(self) -> str:
        """Say in one line what was done."""
        return (
            f"topcoding: {self.n_replaced} of {len(self.frame)} values lie above {self.threshold:g}"
        )


@METHODS.register
@dataclass(frozen=True)
class Topcoding(Method):
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

    name: ClassVar[str] = "topcode"
    guide: ClassVar[str] = (
        "Example: tablecloak topcode people.csv -o topcoded.csv --column wage --quantile 0.995"
    )

    column: Annotated[str, Field(description="Numeric column.")]
    threshold: Annotated[
        float | None, Field(description="Values above it are replaced; default: the quantile.")
    ] = None
    quantile: Annotated[
        float, Field(gt=0, lt=1, description="Share of the values that stay, without a threshold.")
    ] = 0.99
    replace_by: Annotated[
        Literal["threshold", "mean"], Field(description="What takes the place of larger values.")
    ] = "threshold"

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the column."""
        return Columns(changed=[self.column], numbers=[self.column])

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
