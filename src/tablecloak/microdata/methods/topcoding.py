"""Topcoding: values above a threshold are replaced by the threshold or by their mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.errors import InputError
from tablecloak.microdata.columns import like, numbers_of
from tablecloak.microdata.methods.method import METHODS, Columns, Method

__all__ = ["TopcodedRelease", "Topcoding"]

FEWEST = 3
"""Least number of replaced values whose mean may be published."""


@dataclass(frozen=True, eq=False)
class TopcodedRelease:
    """Records whose extreme values are replaced.

    Parameters
    ----------
    frame : pandas.DataFrame
    threshold : float
        Threshold, which may be published.
    n_replaced : int
    """

    frame: pd.DataFrame
    threshold: float
    n_replaced: int

    def summary(self) -> str:
        """Return the number of replaced values in one line."""
        return (
            f"topcoding: {self.n_replaced} of {len(self.frame)} values lie above {self.threshold:g}"
        )


@METHODS.register
@dataclass(frozen=True)
class Topcoding(Method[TopcodedRelease]):
    """Replace the values of a column above a threshold.

    Parameters
    ----------
    column : str
    threshold : float, optional
        By default the quantile decides.
    quantile : float, default=0.99
    replace_by : {"threshold", "mean"}, default="threshold"
        With "mean", values are replaced by their mean, which keeps the mean of the column; at
        least three values are needed. In a column of whole numbers the replacement is rounded
        down.

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
        float, Field(gt=0, lt=1, description="Share of values that stay if no threshold is given.")
    ] = 0.99
    replace_by: Annotated[
        Literal["threshold", "mean"], Field(description="What takes the place of larger values.")
    ] = "threshold"

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the column."""
        return Columns(changed=[self.column], numbers=[self.column])

    def apply(self, frame: pd.DataFrame, random: np.random.Generator) -> TopcodedRelease:
        """Replace extreme values.

        Raises
        ------
        InputError
            If the column does not exist, is not numeric or has missing values, or fewer than
            three values would be replaced by their mean.
        """
        del random
        values = numbers_of(frame, self.column)
        limit = self.threshold
        if limit is None:
            limit = float(np.quantile(values, self.quantile))
        beyond = values > limit
        number = int(beyond.sum())
        if self.replace_by == "mean" and 0 < number < FEWEST:
            raise InputError(
                f"Only {number} values of {self.column!r} lie above {limit:g}: their mean would "
                f"reveal too much. Lower the threshold, or take replace_by='threshold'."
            )
        new = values[beyond].mean() if self.replace_by == "mean" and number else limit
        released = frame.copy()
        kind = frame[self.column].dtype
        if pd.api.types.is_integer_dtype(kind):
            # Rounding up could give a value above the threshold.
            new = max(np.floor(new), np.iinfo(getattr(kind, "numpy_dtype", kind)).min)
        released[self.column] = like(frame[self.column], np.where(beyond, new, values), whole=True)
        return TopcodedRelease(released, float(limit), number)
