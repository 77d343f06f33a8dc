"""Information loss: the distance of released from original numbers, in one figure.

References
----------
.. [1] Mateo-Sanz, Sebe, Domingo-Ferrer: Outlier protection in continuous microdata masking,
   2004 (IL1s).
.. [2] Templ, Kowarik, Meindl: Statistical disclosure control for micro-data using the R package
   sdcMicro, Journal of Statistical Software 67(4), 2015 (eigenvalues, as in its `dUtility`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats
from tablecloak.errors import InputError
from tablecloak.microdata.columns import names_of, numbers_of, require_same_records


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
        Whether the sum is divided by the number of its terms, as in [1]_.

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
