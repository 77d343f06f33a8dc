"""Numbers from text to their last digit, whatever release of pandas reads them."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

_DECIMAL = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)


def numbers_of(column: pd.Series) -> pd.Series:
    """Return a column as floats; entries that are no numbers become NaN.

    Before release 3.1, `pandas.to_numeric` takes a neighbour for one in three numbers of 17 digits,
    and before release 3 a number too large for a float for none.

    Parameters
    ----------
    column : pandas.Series
        Of text, of numbers, or of both.

    Returns
    -------
    pandas.Series of float
    """
    found = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    if column.dtype == object or isinstance(column.dtype, pd.StringDtype):
        entries = zip(column.tolist(), found.tolist(), strict=True)
        found = np.array([_exact(entry, number) for entry, number in entries], dtype=np.float64)
    return pd.Series(found, index=column.index, name=column.name)


def _exact(entry: object, number: float) -> float:
    return float(entry) if isinstance(entry, str) and _DECIMAL.fullmatch(entry) else number
