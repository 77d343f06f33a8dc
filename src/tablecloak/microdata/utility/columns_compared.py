"""Comparison of the columns of a release with those of the original."""

from __future__ import annotations

import numpy as np
import pandas as pd

MOST_CATEGORIES = 100
"""Most different values of a column of categories."""


def numbers_compared(original: pd.DataFrame, released: pd.DataFrame) -> pd.DataFrame:
    """Compare numeric columns: mean, standard deviation, share of records changed.

    Returns
    -------
    pandas.DataFrame
        One row for each column that is numeric in both; records with a missing value in either
        are left out of its row.
    """
    rows = {}
    for name in _numeric(original, released):
        x, y = _pair(original, released, name)
        known = np.isfinite(x) & np.isfinite(y)
        x, y = x[known], y[known]
        if len(x):
            shown = (x.mean(), y.mean(), x.std(), y.std(), np.mean(x != y), np.mean(~known))
            rows[name] = shown
    columns = ["mean", "mean_released", "sd", "sd_released", "changed", "missing"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("column")


def categories_compared(original: pd.DataFrame, released: pd.DataFrame) -> pd.DataFrame:
    """Compare columns of categories: distances of their distributions, records changed.

    Returns
    -------
    pandas.DataFrame
        One row for each column with at most 100 values, of which missing is one: total variation
        1/2 sum |p - q|, Hellinger distance sqrt(1/2 sum (sqrt p - sqrt q)^2), share of records
        changed.
    """
    rows = {}
    for name in original.columns:
        if name not in released.columns or original[name].nunique() > MOST_CATEGORIES:
            continue
        # A missing value is one category, whatever it is called in each file.
        one, other = (
            frame[name].astype(object).where(frame[name].notna(), None).map(str)
            for frame in (original, released)
        )
        p, q = one.value_counts(normalize=True), other.value_counts(normalize=True)
        p, q = p.align(q, fill_value=0.0)
        rows[str(name)] = (
            len(p),
            0.5 * float(np.abs(p - q).sum()),
            float(np.sqrt(0.5 * ((np.sqrt(p) - np.sqrt(q)) ** 2).sum())),
            float(np.mean(one.to_numpy() != other.to_numpy())),
        )
    columns = ["categories", "total_variation", "hellinger", "changed"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("column")


def _numeric(original: pd.DataFrame, released: pd.DataFrame) -> list[str]:
    return [
        name
        for name in original.columns
        if name in released.columns
        and pd.api.types.is_numeric_dtype(original[name])
        and pd.api.types.is_numeric_dtype(released[name])
    ]


def _pair(
    original: pd.DataFrame, released: pd.DataFrame, name: str
) -> tuple[np.ndarray, np.ndarray]:
    one, other = (
        frame[name].to_numpy(dtype=np.float64, na_value=np.nan) for frame in (original, released)
    )
    return one, other
