"""Risk and utility of microdata, whatever method made them.

Counts of the keys, individual and global risk, special uniques; information loss, distance-based
risk and a propensity score that tells original from protected records.

References
----------
.. [1] Benedetti, Franconi: Statistical and technological solutions for controlled data
   dissemination, 1998 (individual risk).
.. [2] Elliot, Manning, Ford: A computational algorithm for handling the special uniques
   problem, 2002; Manning, Haglin, Keane: SUDA2, 2008.
.. [3] Mateo-Sanz, Sebe, Domingo-Ferrer: Outlier protection in continuous microdata masking,
   2004 (IL1s, interval disclosure).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.errors import InputError, suggestion
from tablecloak.microdata.coding import CodedRecords, columns_of, names_of, numbers_of

__all__ = [
    "KeyRisk",
    "correlations_compared",
    "information_loss",
    "interval_disclosure",
    "key_risk",
    "propensity",
    "record_linkage",
    "regression_compared",
    "special_uniques",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MANY_KEYS = 16
"""Keys up to which all their subsets are looked at."""

STEPS = 50
"""Newton steps of the propensity model at most."""


@dataclass(frozen=True, eq=False)
class KeyRisk:
    """Frequencies and risk of each record.

    Parameters
    ----------
    sample : numpy.ndarray of int, shape (n_records,)
        f_k: records with the same keys.
    population : numpy.ndarray of float, shape (n_records,)
        F_k: sum of their weights.
    individual : numpy.ndarray of float, shape (n_records,)
        Probability of a correct re-identification.
    """

    sample: Integers
    population: Floats
    individual: Floats

    def violations(self, k: int) -> int:
        """Return the number of records with fewer than k of their kind (k-anonymity)."""
        return int(np.sum(self.sample < k))

    @property
    def expected(self) -> float:
        """Expected number of re-identifications."""
        return float(self.individual.sum())

    @property
    def share(self) -> float:
        """Expected share of re-identified records (global risk)."""
        return self.expected / len(self.individual) if len(self.individual) else 0.0

    def summary(self) -> str:
        """Say in one line how risky the records are."""
        return (
            f"keys: {self.violations(2)} uniques, {int(np.sum(self.sample == 2))} twos, "
            f"{self.violations(3)} records below 3 and {self.violations(5)} below 5; "
            f"{self.expected:.6g} re-identifications expected ({100 * self.share:.4g} %)"
        )


def key_risk(frame: pd.DataFrame, keys: Sequence[str], *, weight: str | None = None) -> KeyRisk:
    """Count the records with the same keys, and estimate their risk.

    Parameters
    ----------
    frame : pandas.DataFrame
    keys : sequence of str
        Attributes that an intruder knows.
    weight : str, optional
        Column of sampling weights; without it the records are the whole population.

    Returns
    -------
    KeyRisk
        With p = f / F, the risk is p/(1-p) ln(1/p) for f = 1, p/(1-p) - (p/(1-p))^2 ln(1/p) for
        f = 2, and p / (f - (1 - p)) beyond.

    Raises
    ------
    InputError
        If a column is not there, or a weight is below 1 or missing.
    """
    records = CodedRecords.of(frame, keys)
    cells = records.combined(records.names)
    counts = np.bincount(cells)
    weights = np.ones(len(frame))
    if weight is not None:
        weights = numbers_of(frame, weight)
        if not np.all(weights >= 1):
            row = frame.index[int(np.flatnonzero(~(weights >= 1))[0])]
            raise InputError(f"The weight in row {row!r} is not a number of at least 1.")
    sums = np.bincount(cells, weights=weights)
    f = counts[cells].astype(np.int64)
    big = np.asarray(sums[cells], dtype=np.float64)
    p = np.minimum(f / big, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = p / (1 - p)
        log = np.log(1 / p)
        one = np.where(p < 1, odds * log, 1.0)
        two = np.where(p < 1, odds - odds**2 * log, 0.5)
    more = p / (f - (1 - p))
    risk = np.select([f == 1, f == 2], [one, two], more)
    return KeyRisk(f, big, risk)


def special_uniques(
    frame: pd.DataFrame, keys: Sequence[str], *, largest: int | None = None
) -> Integers:
    """Score records by their minimal sample uniques (SUDA2).

    Parameters
    ----------
    frame : pandas.DataFrame
    keys : sequence of str
        At most 16.
    largest : int, optional
        Largest number of keys in a minimal unique; by default all.

    Returns
    -------
    numpy.ndarray of int, shape (n_records,)
        Sum over the minimal unique subsets of size s of prod_{i=s}^{m} (K - i), with K keys and
        subsets up to size m < K; 1 for all keys together. 0 for records without any.

    Raises
    ------
    InputError
        If there are too many keys.
    """
    if len(keys) > MANY_KEYS:
        raise InputError(f"{len(keys)} keys have too many subsets; name at most {MANY_KEYS}.")
    records = CodedRecords.of(frame, keys)
    count = len(keys)
    most = count if largest is None else min(largest, count)
    top = min(most, count - 1)
    score = np.zeros(records.n_records, dtype=np.int64)
    unique: dict[tuple[str, ...], npt.NDArray[np.bool_]] = {}
    for size in range(1, most + 1):
        points = factorial(count - size) // factorial(count - top - 1) if size <= top else 1
        for subset in itertools.combinations(records.names, size):
            cells = records.combined(subset)
            alone = np.bincount(cells)[cells] == 1
            unique[subset] = alone
            minimal = alone.copy()
            for smaller in itertools.combinations(subset, size - 1):
                if smaller:
                    minimal &= ~unique[smaller]
            score[minimal] += points
    return score


def information_loss(
    original: pd.DataFrame, released: pd.DataFrame, columns: Sequence[str]
) -> float:
    """Return IL1s: the sum of |x - y| / (sqrt(2) sd of x), not averaged."""
    x, y = _numbers(original, released, columns)
    spread = x.std(axis=0, ddof=1)
    return float(np.sum(np.abs(x - y) / (np.sqrt(2) * spread)))


def interval_disclosure(
    original: pd.DataFrame,
    released: pd.DataFrame,
    columns: Sequence[str],
    *,
    width: float = 0.05,
) -> float:
    """Return the share of records all of whose true values lie near the released ones.

    Parameters
    ----------
    original, released : pandas.DataFrame
    columns : sequence of str
    width : float, default=0.05
        Half width of the interval, in standard deviations of the *released* column.
    """
    x, y = _numbers(original, released, columns)
    reach = width * y.std(axis=0, ddof=1)
    return float(np.mean(np.all(np.abs(x - y) <= reach, axis=1)))


def record_linkage(original: pd.DataFrame, released: pd.DataFrame, columns: Sequence[str]) -> float:
    """Return the share of released records whose nearest original one is their own.

    Distances are Euclidean in standard deviations of the original columns; of m originals at
    the same smallest distance, the own one counts 1/m.
    """
    from scipy.spatial import KDTree

    x, y = _numbers(original, released, columns)
    spread = x.std(axis=0, ddof=1)
    tree = KDTree(x / spread)
    nearest = tree.query(y / spread)[0]
    own = np.sqrt(np.sum(((x - y) / spread) ** 2, axis=1))
    right = np.flatnonzero(own <= nearest * (1 + 1e-12))
    ties = tree.query_ball_point(
        (y / spread)[right], nearest[right] * (1 + 1e-12), return_length=True
    )
    return float(np.sum(1 / np.maximum(ties, 1)) / len(x))


def propensity(original: pd.DataFrame, released: pd.DataFrame, columns: Sequence[str]) -> float:
    """Return how well a logistic model tells released from original records: 0 is not at all.

    The mean of (p - 1/2)^2 over both files, with p the fitted probability of being a released
    record, from the columns and their squares (Woo, Reiter, Oganian, Karr 2009).
    """
    x, y = _numbers(original, released, columns)
    both = np.vstack([x, y])
    both = (both - both.mean(axis=0)) / np.maximum(both.std(axis=0), 1e-300)
    design = np.column_stack([np.ones(len(both)), both, both**2])
    label = np.repeat([0.0, 1.0], [len(x), len(y)])
    beta = np.zeros(design.shape[1])
    ridge = 1e-8 * len(both) * np.eye(len(beta))
    chance = np.full(len(both), 0.5)
    for _ in range(STEPS):
        information = design.T @ (design * (chance * (1 - chance))[:, None]) + ridge
        step = np.linalg.solve(information, design.T @ (label - chance) - ridge @ beta)
        beta = beta + step
        chance = 1 / (1 + np.exp(-np.clip(design @ beta, -30, 30)))
        if np.max(np.abs(step)) < 1e-8:
            break
    return float(np.mean((chance - len(y) / len(both)) ** 2))


def _numbers(
    original: pd.DataFrame, released: pd.DataFrame, columns: Sequence[str]
) -> tuple[Floats, Floats]:
    if len(original) != len(released):
        raise InputError(
            f"The files have {len(original)} and {len(released)} records; they must be the same "
            f"ones in the same order."
        )
    names = names_of(columns, "columns")
    if not len(original):
        raise InputError("There are no records.")
    x, y = (
        np.column_stack([numbers_of(frame, name) for name in names])
        for frame in (original, released)
    )
    constant = [name for name, s in zip(columns, x.std(axis=0), strict=True) if s == 0]
    if constant:
        raise InputError(f"Columns {constant} are constant, so that they have no scale.")
    return x, y


def regression_compared(
    original: pd.DataFrame, released: pd.DataFrame, response: str, predictors: Sequence[str]
) -> pd.DataFrame:
    """Compare an analyst's least-squares regression on original and released records.

    Returns
    -------
    pandas.DataFrame
        Coefficients and standard errors of both, and the change relative to the original.
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
        ``one, other, original, released, change``; records with a missing value in a file are
        left out there.
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
            raise InputError(f"Column {name!r} is not numeric.")


def _least_squares(frame: pd.DataFrame, response: str, predictors: Sequence[str]) -> pd.DataFrame:
    _require_columns(frame, [response, *predictors])
    used = frame[[response, *predictors]].dropna()
    if len(used) <= len(predictors) + 1:
        raise InputError(
            f"{len(used)} complete records are too few for {len(predictors)} predictors."
        )
    x = np.column_stack([np.ones(len(used)), used[list(predictors)].to_numpy(dtype=np.float64)])
    y = used[response].to_numpy(dtype=np.float64)
    found = np.linalg.lstsq(x, y, rcond=None)[0]
    sigma2 = float(np.sum((y - x @ found) ** 2)) / (len(y) - x.shape[1])
    errors = np.sqrt(sigma2 * np.diag(np.linalg.inv(x.T @ x)))
    return pd.DataFrame(
        {"coefficient": found, "standard_error": errors}, index=["(intercept)", *predictors]
    )
