"""Comparison of analyses of original and released records."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from tablecloak.errors import InputError, suggestion
from tablecloak.microdata.columns import columns_of

__all__ = ["correlations_compared", "regression_compared"]


def regression_compared(
    original: pd.DataFrame, released: pd.DataFrame, response: str, predictors: Sequence[str]
) -> pd.DataFrame:
    """Compare an analyst's least-squares regression on original and released records.

    Returns
    -------
    pandas.DataFrame
        Coefficients and standard errors of both, and the relative change of the coefficients.
        Records with missing values are left out.
    """
    before, after = (_least_squares(frame, response, predictors) for frame in (original, released))
    table = before.add_suffix("_original").join(after.add_suffix("_masked"))
    change = table["coefficient_masked"] / table["coefficient_original"] - 1
    return table.assign(relative_change=change)


def correlations_compared(
    original: pd.DataFrame, released: pd.DataFrame, columns: Sequence[str]
) -> pd.DataFrame:
    """Compare the correlation of each pair of columns.

    Returns
    -------
    pandas.DataFrame
        Columns ``one, other, original, released, change``. Each of the two correlations leaves
        out the records with missing values in its own file.
    """
    for frame in (original, released):
        _require_columns(frame, columns)
    before, after = (frame[list(columns)].dropna().corr() for frame in (original, released))
    rows = [
        (one, other, before.loc[one, other], after.loc[one, other])
        for one, other in itertools.combinations(columns, 2)
    ]
    table = pd.DataFrame(rows, columns=["one", "other", "original", "released"])
    return table.assign(change=table["released"] - table["original"])


def _require_columns(frame: pd.DataFrame, names: Sequence[str]) -> None:
    """Require columns of numbers, which may have missing values."""
    known = columns_of(frame)
    for name in names:
        if name not in known:
            raise InputError(f"There is no column {name!r}.{suggestion(str(name), known)}")
        if not pd.api.types.is_numeric_dtype(frame[name]):
            raise InputError(
                f"Column {name!r} is not numeric: its type is {frame[name].dtype}. Name a column "
                "of numbers, or convert it first."
            )


def _least_squares(frame: pd.DataFrame, response: str, predictors: Sequence[str]) -> pd.DataFrame:
    _require_columns(frame, [response, *predictors])
    used = frame[[response, *predictors]].dropna()
    if len(used) <= len(predictors) + 1:
        raise InputError(
            f"{len(used)} complete records are too few for {len(predictors)} predictors: at least "
            f"{len(predictors) + 2} are needed. Name fewer predictors."
        )
    x = np.column_stack([np.ones(len(used)), used[list(predictors)].to_numpy(dtype=np.float64)])
    y = used[response].to_numpy(dtype=np.float64)
    found = np.linalg.lstsq(x, y, rcond=None)[0]
    sigma2 = float(np.sum((y - x @ found) ** 2)) / (len(y) - x.shape[1])
    errors = np.sqrt(sigma2 * np.diag(np.linalg.inv(x.T @ x)))
    return pd.DataFrame(
        {"coefficient": found, "standard_error": errors}, index=["(intercept)", *predictors]
    )
