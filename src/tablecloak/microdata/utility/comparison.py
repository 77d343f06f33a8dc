"""Comparison of original and released records: their columns, regressions, and information loss.

References
----------
.. [1] Karr, Kohnen, Oganian, Reiter, Sanil: A framework for evaluating the utility of data altered
   to protect confidentiality, The American Statistician 60, 2006 (overlap of intervals).
.. [2] Mateo-Sanz, Sebe, Domingo-Ferrer: Outlier protection in continuous microdata masking,
   2004 (IL1s).
.. [3] Templ, Kowarik, Meindl: Statistical disclosure control for micro-data using the R package
   sdcMicro, Journal of Statistical Software 67(4), 2015 (eigenvalues, as in its `dUtility`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import is_numeric_dtype

from tablecloak.arrays import Floats
from tablecloak.errors import InputError
from tablecloak.microdata.columns import (
    is_number,
    names_of,
    numbers_of,
    require_column,
    require_numeric,
    require_same_records,
)
from tablecloak.microdata.library_frames import of_any_library

MOST_CATEGORIES = 100
"""Most different values of a column of categories."""


@of_any_library
def numbers_compared(original: pd.DataFrame, released: pd.DataFrame) -> pd.DataFrame:
    """Compare numeric columns: mean, standard deviation, share of records changed.

    Returns
    -------
    pandas.DataFrame
        One row for each column that is numeric in both; records with a missing value in either
        are left out of its row.
    """
    rows = {}
    for name in original.columns:
        frames = [frame for frame in (original, released) if name in frame.columns]
        if len(frames) < 2 or not all(map(is_numeric_dtype, (frame[name] for frame in frames))):
            continue
        x, y = (frame[name].to_numpy(dtype=np.float64, na_value=np.nan) for frame in frames)
        known = np.isfinite(x) & np.isfinite(y)
        x, y = x[known], y[known]
        if len(x):
            shown = (x.mean(), y.mean(), x.std(), y.std(), np.mean(x != y), np.mean(~known))
            rows[name] = shown
    columns = ["mean", "mean_released", "sd", "sd_released", "changed", "missing"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("column")


@of_any_library
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


CONFIDENCE = 0.95
"""Level of the confidence intervals whose overlap is measured."""

DEPENDENT = 1e-9
"""A predictor is left out if the others explain all but this share of its variance."""


@of_any_library
def regression_compared(
    original: pd.DataFrame, released: pd.DataFrame, response: str, predictors: Sequence[str]
) -> pd.DataFrame:
    """Compare an analyst's least-squares regression on original and released records.

    Parameters
    ----------
    original, released : pandas.DataFrame
        They may have different records. In each, records with a missing value in one of the
        columns are left out.
    response : str
        Column of numbers.
    predictors : sequence of str
        Columns of numbers, and of categories, which become a dummy variable for each category of
        either file but the first.

    Returns
    -------
    pandas.DataFrame
        For each predictor or ``name=category``: coefficients and standard errors of both, the
        relative change of the coefficients, and the overlap of their 95 % confidence intervals
        (see `interval_overlap`). A predictor that a file cannot tell from those before it, such as
        a category that no record has, has NaN there.

    Raises
    ------
    InputError
        If a column does not exist, the response is not numeric, a predictor is numeric in one file
        only, or records are too few.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"wage": [1.0, 2, 4, 5, 4], "job": list("aabba")})
    >>> regression_compared(people, people, "wage", ["job"])["overlap"].tolist()
    [1.0, 1.0]
    """
    names = names_of(predictors, "predictors")
    levels = _levels(original, released, response, names)
    before, after = (_least_squares(frame, response, levels) for frame in (original, released))
    one, other = (
        table["coefficient"].to_numpy()[:, None]
        + np.outer(table["standard_error"] * table["quantile"], [-1.0, 1.0])
        for table in (before, after)
    )
    table = before.add_suffix("_original").join(after.add_suffix("_masked"))
    change = table["coefficient_masked"] / table["coefficient_original"] - 1
    table = table.drop(columns=["quantile_original", "quantile_masked"])
    return table.assign(relative_change=change, overlap=interval_overlap(one, other))


def interval_overlap(one: npt.ArrayLike, other: npt.ArrayLike) -> Floats:
    """Return how far pairs of intervals overlap: 1 if equal, 0 if disjoint.

    The mean of the shares of each interval that the other covers [1]_. Two intervals of no length
    overlap if they are equal.

    Parameters
    ----------
    one, other : array_like of float, shape (n, 2)
        Lower and upper ends.

    Examples
    --------
    >>> interval_overlap([[0, 2]], [[1, 3]]).tolist()
    [0.5]
    """
    a, b = (np.asarray(ends, dtype=np.float64) for ends in (one, other))
    common = np.minimum(a[:, 1], b[:, 1]) - np.maximum(a[:, 0], b[:, 0])
    lengths = np.stack([a[:, 1] - a[:, 0], b[:, 1] - b[:, 0]])
    with np.errstate(divide="ignore", invalid="ignore"):
        covered = np.where(lengths > 0, np.maximum(common, 0.0) / lengths, common >= 0)
    return np.asarray(np.where(np.isnan(common), np.nan, covered.mean(axis=0)))


@of_any_library
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
        for name in columns:
            require_numeric(frame, name)
    before, after = (frame[list(columns)].dropna().corr() for frame in (original, released))
    rows = [
        (one, other, before.loc[one, other], after.loc[one, other])
        for one, other in itertools.combinations(columns, 2)
    ]
    table = pd.DataFrame(rows, columns=["one", "other", "original", "released"])
    return table.assign(change=table["released"] - table["original"])


def _levels(
    original: pd.DataFrame, released: pd.DataFrame, response: str, names: Sequence[str]
) -> dict[str, list[Any] | None]:
    """Return the categories of each predictor in either file; None for numbers."""
    levels: dict[str, list[Any] | None] = {}
    for frame in (original, released):
        require_numeric(frame, response)
        for name in names:
            require_column(frame, name)
    for name in names:
        columns = [frame[name] for frame in (original, released)]
        if len({is_number(column) for column in columns}) > 1:
            raise InputError(
                f"Column {name!r} has numbers in one file and categories in the other. Group the "
                "original in the same way, or leave the column out."
            )
        if is_number(columns[0]):
            levels[name] = None
            continue
        values = pd.unique(pd.concat([column.dropna().astype(object) for column in columns]))
        try:
            levels[name] = sorted(values)
        except TypeError:  # Texts and numbers have no common order.
            levels[name] = sorted(values, key=str)
    return levels


def _least_squares(
    frame: pd.DataFrame, response: str, levels: dict[str, list[Any] | None]
) -> pd.DataFrame:
    """Return coefficients, standard errors and the quantile of their intervals."""
    from scipy.stats import t

    used = frame[list(dict.fromkeys([response, *levels]))].dropna()
    variables = {"(intercept)": np.ones(len(used))}
    for name, categories in levels.items():
        if categories is None:
            variables[name] = used[name].to_numpy(dtype=np.float64)
            continue
        codes = pd.Categorical(used[name].astype(object), categories=categories).codes
        for code, category in list(enumerate(categories))[1:]:
            variables[f"{name}={category}"] = (codes == code).astype(np.float64)
    x = np.column_stack(list(variables.values()))
    kept = independent_columns(x)
    if len(used) <= len(kept):
        raise InputError(
            f"{len(used)} complete records are too few for {len(variables) - 1} predictors: at "
            f"least {len(kept) + 1} are needed. Name fewer predictors."
        )
    y = used[response].to_numpy(dtype=np.float64)
    q, r = np.linalg.qr(x[:, kept])
    coefficients = np.linalg.solve(r, q.T @ y)
    degrees = len(y) - len(kept)
    sigma2 = float(np.sum((y - x[:, kept] @ coefficients) ** 2)) / degrees
    table = np.full((len(variables), 2), np.nan)
    table[kept] = np.column_stack(
        [coefficients, np.sqrt(sigma2 * np.sum(np.linalg.inv(r) ** 2, axis=1))]
    )
    return pd.DataFrame(
        table, columns=["coefficient", "standard_error"], index=list(variables)
    ).assign(quantile=t.ppf((1 + CONFIDENCE) / 2, degrees))


def independent_columns(x: Floats) -> list[int]:
    """Return the columns that do not depend linearly on those before them."""
    kept: list[int] = []
    basis = np.empty((len(x), 0))
    for at in range(x.shape[1]):
        rest = x[:, at] - basis @ (basis.T @ x[:, at])
        rest = rest - basis @ (basis.T @ rest)
        length, size = float(np.linalg.norm(rest)), float(np.linalg.norm(x[:, at]))
        if length > np.sqrt(DEPENDENT) * size:
            kept.append(at)
            basis = np.column_stack([basis, rest / length])
    return kept


def information_loss(
    original: pd.DataFrame,
    released: pd.DataFrame,
    columns: Sequence[str],
    *,
    average: bool = False,
) -> float:
    """Return IL1s: the sum of |x - y| / (sqrt(2) sd of x), as sdcMicro has it.

    Parameters
    ----------
    original, released : pandas.DataFrame
        The same records in the same order. Values that are missing in either are left out of the
        sum, so that `average` is better where many are.
    columns : sequence of str
    average : bool, default=False
        Whether the sum is divided by the number of its terms, as in [2]_.

    Raises
    ------
    InputError
        If a column is not numeric or constant in the original, or the numbers of records differ.
    """
    require_same_records(original, released)
    total, terms = 0.0, 0
    for name in names_of(columns, "columns"):
        x, y = (numbers_of(frame, name, refuse_missing=False) for frame in (original, released))
        known = ~(np.isnan(x) | np.isnan(y))
        total += float(np.sum(np.abs(x - y)[known])) / (np.sqrt(2) * _spread(name, x))
        terms += int(known.sum())
    return total / max(terms, 1) if average else total


def _spread(name: str, x: Floats) -> float:
    known = x[~np.isnan(x)]
    if not len(known) or np.ptp(known) == 0:
        raise InputError(
            f"Columns {[name]} are constant in the original, so that distances cannot be "
            "measured in their standard deviations. Leave them out."
        )
    return float(known.std(ddof=1))


def eigenvalue_loss(
    original: pd.DataFrame, released: pd.DataFrame, columns: Sequence[str]
) -> float:
    """Return the sum of |l_i - m_i| / l_i over the eigenvalues of both correlation matrices.

    Parameters
    ----------
    original, released : pandas.DataFrame
        They may have different records. Each correlation is that of the records with both values.
    columns : sequence of str

    Returns
    -------
    float
        0 if the release keeps all correlations; infinite if columns of the original depend on
        each other and do not in the release.

    Raises
    ------
    InputError
        If a column is not numeric, or constant in one of the files.
    """
    names = names_of(columns, "columns")
    before, after = (_eigenvalues(frame, names) for frame in (original, released))
    tiny = len(names) * np.finfo(np.float64).eps * before[0]
    change = np.abs(before - after)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sum(np.where(change <= tiny, 0.0, change / np.maximum(before, 0.0))))


def _eigenvalues(frame: pd.DataFrame, names: Sequence[str]) -> Floats:
    values = pd.DataFrame({name: numbers_of(frame, name, refuse_missing=False) for name in names})
    correlations = values.corr().to_numpy()
    constant = [name for name, r in zip(names, np.diag(correlations), strict=True) if np.isnan(r)]
    if constant or np.isnan(correlations).any():
        raise InputError(
            f"Columns {constant or list(names)} are constant or have no records in common, so "
            "that they have no correlation. Leave them out."
        )
    return np.linalg.eigvalsh(correlations)[::-1]
