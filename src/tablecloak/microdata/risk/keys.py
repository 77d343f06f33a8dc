"""Risk by keys: the number of records that share the attributes known to an intruder.

References
----------
.. [1] Benedetti, Franconi: Statistical and technological solutions for controlled data
   dissemination, 1998 (individual risk).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.errors import InputError
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.columns import numbers_of, row_label

__all__ = ["KeyRisk", "key_risk"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class KeyRisk:
    """Frequency and risk of each record.

    Parameters
    ----------
    sample : numpy.ndarray of int, shape (n_records,)
        f_k: number of records with the same keys.
    population : numpy.ndarray of float, shape (n_records,)
        F_k: sum of the weights of these records.
    individual : numpy.ndarray of float, shape (n_records,)
        Probability of a correct re-identification.
    """

    sample: Integers
    population: Floats
    individual: Floats

    def violations(self, k: int) -> int:
        """Return the number of records whose keys fewer than k records have (k-anonymity)."""
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
        """Return the risk of the records in one line."""
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
        If a column does not exist, or a weight is below 1 or missing.
    """
    records = CodedRecords.of(frame, keys)
    cells = records.combined(records.names)
    counts = np.bincount(cells)
    weights = np.ones(len(frame))
    if weight is not None:
        weights = numbers_of(frame, weight)
        if not np.all(weights >= 1):
            row = row_label(frame, int(np.flatnonzero(~(weights >= 1))[0]))
            raise InputError(
                f"The weight in row {row} is not a number of at least 1 (column {weight!r}). A "
                "sampling weight is the number of persons that a record stands for: correct it."
            )
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
