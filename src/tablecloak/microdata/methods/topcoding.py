"""Topcoding: values beyond a threshold are replaced by the threshold or by their mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import BeforeValidator, Field

from tablecloak.arrays import Flags, Floats
from tablecloak.errors import InputError
from tablecloak.microdata.columns import like, numbers_of
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.methods.parameters import option

FEWEST = 3
"""Least number of replaced values whose mean may be published."""


@dataclass(frozen=True, eq=False)
class TopcodedRelease:
    """Records whose extreme values are replaced.

    Parameters
    ----------
    frame : pandas.DataFrame
    limits : pandas.DataFrame
        One row for each column: thresholds `bottom` and `top`, which may be published (NaN where
        values on that side stay), and numbers of replaced values, `n_bottom` and `n_top`.
    """

    frame: pd.DataFrame
    limits: pd.DataFrame

    @property
    def threshold(self) -> float:
        """The threshold of the first column, the upper one if it has two."""
        first = self.limits.iloc[0]
        return float(first["bottom"] if np.isnan(first["top"]) else first["top"])

    @property
    def n_replaced(self) -> int:
        """Number of replaced values."""
        return int(self.limits[["n_bottom", "n_top"]].to_numpy().sum())

    def summary(self) -> str:
        """Return the number of replaced values in one line."""
        parts = [
            f"{int(self.limits.loc[name, number])} of {len(self.frame)} values {of}lie {side} "
            f"{self.limits.loc[name, limit]:g}"
            for name in self.limits.index
            for of in [f"of {name} " if len(self.limits) > 1 else ""]
            for limit, number, side in (("bottom", "n_bottom", "below"), ("top", "n_top", "above"))
            if not np.isnan(self.limits.loc[name, limit])
        ]
        return f"topcoding: {', '.join(parts) or 'no value is known'}"


def _as_list(given: Any) -> Any:
    return [given] if isinstance(given, str) else given


@METHODS.register
@dataclass(frozen=True)
class Topcoding(Method[TopcodedRelease]):
    """Replace the values of columns above a threshold, below one, or both.

    Parameters
    ----------
    column : str or sequence of str
    threshold : float, optional
        By default the quantile decides.
    quantile : float, default=0.99
    replace_by : {"threshold", "mean"}, default="threshold"
        With "mean", values are replaced by their mean, which keeps the mean of the column; at
        least three values are needed. In a column of whole numbers the replacement is rounded
        towards the values that stay.
    side : {"top", "bottom", "both"}, default="top"
        Whether large values are replaced, small ones, or both.
    thresholds : mapping of str to float, optional
        Threshold by column, in place of `threshold` and `quantile`.
    bottom_threshold : float, optional
        Values below it are replaced; by default `bottom_quantile` decides.
    bottom_quantile : float, default=0.01
    bottom_thresholds : mapping of str to float, optional
        The same by column.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"wage": [1.0, 2.0, 3.0, 90.0]})
    >>> Topcoding("wage", threshold=10).protect(frame).frame.wage.tolist()
    [1.0, 2.0, 3.0, 10.0]
    """

    name: ClassVar[str] = "topcode"
    guide: ClassVar[str] = (
        "Example: tablecloak records topcode people.csv -o topcoded.csv --column wage "
        "--quantile 0.995"
    )

    column: Annotated[
        Sequence[str],
        BeforeValidator(_as_list),
        Field(description="Numeric column.", min_length=1),
    ]
    threshold: Annotated[
        float | None, Field(description="Values above it are replaced; default: the quantile.")
    ] = None
    quantile: Annotated[
        float, Field(gt=0, lt=1, description="Share of values that stay if no threshold is given.")
    ] = 0.99
    replace_by: Annotated[
        Literal["threshold", "mean"], Field(description="What takes the place of larger values.")
    ] = "threshold"
    side: Annotated[
        Literal["top", "bottom", "both"],
        Field(description="Whether large or small values are replaced, or both."),
    ] = "top"
    thresholds: Annotated[
        Mapping[str, float] | None,
        option("threshold_of", "Threshold of a column, as in wage=9000."),
    ] = None
    bottom_threshold: Annotated[
        float | None,
        Field(description="Values below it are replaced; default: the bottom quantile."),
    ] = None
    bottom_quantile: Annotated[
        float, Field(gt=0, lt=1, description="Share of values that are replaced from below.")
    ] = 0.01
    bottom_thresholds: Annotated[
        Mapping[str, float] | None,
        option("bottom_threshold_of", "Lower threshold of a column, as in wage=400."),
    ] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", _as_list(self.column))
        super().__post_init__()
        unused = {
            "top": [self.bottom_threshold, self.bottom_thresholds],
            "bottom": [self.threshold, self.thresholds],
            "both": [],
        }[self.side]
        if any(given is not None for given in unused):
            raise InputError(
                f"A threshold is given for the other side than side={self.side!r}. Leave it out, "
                "or take side='both'."
            )
        for given in (self.thresholds, self.bottom_thresholds):
            for name, limit in (given or {}).items():
                if name not in self.column or not np.isfinite(limit):
                    raise InputError(
                        f"The threshold {limit!r} of {name!r} must be a finite number for one of "
                        f"the columns {list(self.column)}."
                    )

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the columns."""
        return Columns(changed=self.column, numbers=self.column)

    def apply(self, frame: pd.DataFrame, random: np.random.Generator) -> TopcodedRelease:
        """Replace extreme values.

        Raises
        ------
        InputError
            If a column does not exist, is not numeric or has infinite values, its thresholds
            cross, or fewer than three values would be replaced by their mean.
        """
        del random
        released = frame.copy()
        limits = {}
        for name in self.column:
            values = numbers_of(frame, name, refuse_missing=False)
            bottom, top = self._bottom(name, values), self._top(name, values)
            if bottom > top:
                raise InputError(
                    f"Column {name!r}: the lower threshold {bottom:g} lies above the upper one, "
                    f"{top:g}. Exchange them."
                )
            tails = _Tails(frame[name], values)
            by_mean = self.replace_by == "mean"
            n_bottom = tails.replace(values < bottom, -1, None if by_mean else bottom, bottom)
            n_top = tails.replace(values > top, 1, None if by_mean else top, top)
            released[name] = tails.column
            limits[name] = {"bottom": bottom, "top": top, "n_bottom": n_bottom, "n_top": n_top}
        return TopcodedRelease(released, pd.DataFrame.from_dict(limits, orient="index"))

    def _top(self, name: str, values: Floats) -> float:
        if self.side == "bottom":
            return np.nan
        given = (self.thresholds or {}).get(name, self.threshold)
        return _quantile(values, self.quantile) if given is None else float(given)

    def _bottom(self, name: str, values: Floats) -> float:
        if self.side == "top":
            return np.nan
        given = (self.bottom_thresholds or {}).get(name, self.bottom_threshold)
        return _quantile(values, self.bottom_quantile) if given is None else float(given)


def coded_by_means(
    column: pd.Series, values: Floats, top: float, bottom: float
) -> tuple[pd.Series, int]:
    """Return a column whose extreme values are replaced by their mean, and how many these are.

    Parameters
    ----------
    column : pandas.Series
    values : numpy.ndarray of float
        Its values, NaN where they are missing.
    top, bottom : float
        Shares of the known values; values equal to the least extreme of them are replaced as well.

    Raises
    ------
    InputError
        If a share is above 0 but holds fewer than three values.
    """
    known = np.sort(values[~np.isnan(values)])
    n_top, n_bottom = int(top * len(known)), int(bottom * len(known))
    for share, number in ((top, n_top), (bottom, n_bottom)):
        if share > 0 and number < FEWEST:
            raise InputError(
                f"A share of {share:g} of {len(known)} values of {column.name!r} is fewer than "
                f"{FEWEST}: their mean would reveal too much. Take a larger share, or 0."
            )
    tails = _Tails(column, values)
    coded = 0
    if n_bottom:
        coded += tails.replace(values <= known[n_bottom - 1], -1, None, known[n_bottom - 1])
    if n_top:
        coded += tails.replace(values >= known[-n_top], 1, None, known[-n_top])
    return tails.column, coded


class _Tails:
    """A column whose extreme values are replaced one side after the other."""

    def __init__(self, column: pd.Series, values: Floats) -> None:
        self.column = column
        self._values = values

    def replace(self, beyond: Flags, sign: int, new: float | None, limit: float) -> int:
        """Replace values by a new one, or by their mean, and return their number.

        Parameters
        ----------
        beyond : numpy.ndarray of bool
            The values to replace.
        sign : {1, -1}
            1 if they are the large ones.
        new : float or None
            None for their mean.
        limit : float
            Threshold, for messages.
        """
        number = int(beyond.sum())
        if not number:
            return 0
        if new is None and number < FEWEST:
            raise InputError(
                f"Only {number} values of {self.column.name!r} lie "
                f"{'above' if sign > 0 else 'below'} {limit:g}: their mean would reveal too much. "
                "Move the threshold inwards, or take replace_by='threshold'."
            )
        value = float(self._values[beyond].mean()) if new is None else new
        kind: Any = self.column.dtype
        if pd.api.types.is_integer_dtype(kind):
            # Rounding outwards could give a value beyond the threshold.
            bounds = np.iinfo(getattr(kind, "numpy_dtype", kind))
            rounded = np.floor(value) if sign > 0 else np.ceil(value)
            value = min(max(rounded, bounds.min), bounds.max)
        array: Any = self.column.array.copy()
        array[beyond] = like(self.column.iloc[:1], np.array([value]), whole=True).array[0]
        self.column = pd.Series(array, index=self.column.index, name=self.column.name)
        return number


def _quantile(values: Floats, share: float) -> float:
    known = values[~np.isnan(values)]
    return float(np.quantile(known, share)) if len(known) else np.nan
