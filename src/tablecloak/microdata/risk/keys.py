"""Risk by keys: the number of records that share the attributes known to an intruder.

Of a household, whoever finds one member has found all.

References
----------
.. [1] Benedetti, Franconi: Statistical and technological solutions for controlled data
   dissemination, 1998 (individual risk).
.. [2] Templ, Meindl: Robust statistics meets SDC: new disclosure risk measures for continuous
   microdata masking, 2008; the package sdcMicro (approximation for three and more records).
.. [3] Hundepool et al.: Statistical disclosure control, 2012, section 3.5 (risk of hierarchical
   microdata).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.columns import names_of, numbers_of, require_column, row_label
from tablecloak.microdata.library_frames import of_any_library

NEAR = 0.999
"""Sampling fraction from which on the closed forms for one and two records lose digits."""

MANY = 20
"""Frequency from which on the series of the exact risk ends within `TERMS` terms."""

TERMS = 60
"""The last term is at most 60! 20! / 80!, below 1e-18."""


@dataclass(frozen=True, eq=False)
class KeyCells:
    """The different combinations of keys in a file.

    Parameters
    ----------
    codes : tuple of numpy.ndarray of int, each of shape (n_cells,)
        Category of each cell, by key.
    missing : numpy.ndarray of bool, shape (n_cells, n_keys)
        Whether the key is missing in the records of the cell.
    count : numpy.ndarray of int, shape (n_cells,)
        Number of records, at least 1.
    of_record : numpy.ndarray of int, shape (n_records,)
        Cell of each record.
    """

    codes: tuple[Integers, ...]
    missing: Flags
    count: Integers
    of_record: Integers

    @classmethod
    def of(cls, records: CodedRecords) -> KeyCells:
        """Find the combinations of all attributes of some records."""
        label = records.combined(records.names)
        count = np.bincount(label)
        first = np.empty(len(count), dtype=np.int64)
        # The last assignment counts.
        first[label[::-1]] = np.arange(len(label))[::-1]
        codes = tuple(code[first].astype(np.int64) for code in records.codes)
        missing = np.zeros((len(count), len(codes)), dtype=bool)
        for at, known in enumerate(records.categories):
            if len(known) and pd.isna(known[-1]):
                missing[:, at] = codes[at] == len(known) - 1
        return cls(codes, missing, count, label)

    def combined(self, keys: Sequence[int]) -> Integers:
        """Return the combination of some keys in each cell, numbered from 0."""
        label = np.zeros(len(self.count), dtype=np.int64)
        for key in keys:
            label = label * (int(self.codes[key].max()) + 1) + self.codes[key]
            label = pd.factorize(label)[0]
        return label

    def patterns(self) -> Iterator[tuple[Integers, Integers, Flags]]:
        """Go through the sets of keys that some cells have, and no others.

        Yields
        ------
        mine : numpy.ndarray of int
            The cells that have exactly these keys.
        label : numpy.ndarray of int, shape (n_cells,)
            Combination of these keys in each cell, numbered from 0.
        has_them : numpy.ndarray of bool, shape (n_cells,)
            Whether each cell has at least these keys.
        """
        pattern = np.zeros(len(self.count), dtype=np.int64)
        for column in self.missing.T:
            # Renumbered at each key, since the patterns of many keys exceed any whole number.
            pattern = pd.factorize(2 * pattern + column)[0]
        first = np.unique(pattern, return_index=True)[1]
        for at in first.tolist():
            known = np.flatnonzero(~self.missing[at])
            mine = np.flatnonzero(pattern == pattern[at]).astype(np.int64)
            has_them: Flags = np.all(~self.missing[:, known], axis=1)
            is_full = len(known) == self.missing.shape[1]
            label = np.arange(len(self.count)) if is_full else self.combined(known.tolist())
            yield mine, label.astype(np.int64), has_them

    def agreeing(self, amount: Floats) -> Floats:
        """Add up an amount over the cells that agree with each cell in the keys that it has.

        A missing key of the cell agrees with every value, one of another cell with none.

        Parameters
        ----------
        amount : numpy.ndarray of float, shape (n_cells,)
        """
        total = np.array(amount, dtype=np.float64)
        if not self.missing.any():
            return total
        for mine, label, has_them in self.patterns():
            sums = np.bincount(label[has_them], amount[has_them], minlength=int(label.max()) + 1)
            total[mine] = sums[label[mine]]
        return total


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


@of_any_library
def key_risk(
    frame: pd.DataFrame,
    keys: Sequence[str],
    *,
    weight: str | None = None,
    missing: Literal["category", "open"] = "category",
    exact: bool = False,
) -> KeyRisk:
    """Count the records with the same keys, and estimate their risk.

    Parameters
    ----------
    frame : pandas.DataFrame
    keys : sequence of str
        Attributes that an intruder knows.
    weight : str, optional
        Column of sampling weights; without it the records are the whole population.
    missing : {"category", "open"}, default="category"
        A missing key is

        - ``category``: a category of its own;
        - ``open``: not known, so that a record has the risk by the keys that it has: it agrees
          with all records that have the same values there. Records that lack one of these keys
          are not counted.
    exact : bool, default=False
        Whether the risk of records that three or more have is the exact mean of 1 / F, as [1]_
        gives it, or the approximation of sdcMicro, which is at most 5 % larger.

    Returns
    -------
    KeyRisk
        Of the records of `frame`. With p = f / F, the risk is p/(1-p) ln(1/p) for f = 1,
        p/(1-p) - (p/(1-p))^2 ln(1/p) for f = 2, and p / (f - (1 - p)) beyond; if exact,
        p/f 2F1(1, 1; f + 1; 1 - p) for all f.

    Raises
    ------
    InputError
        If a column does not exist, or a weight is below 1 or missing.
    """
    names = names_of(keys, "keys")
    weights = np.ones(len(frame)) if weight is None else weights_of(frame, weight)
    cells = KeyCells.of(CodedRecords.of(frame, names))
    f = cells.count.astype(np.float64)
    big = np.asarray(np.bincount(cells.of_record, weights=weights), dtype=np.float64)
    if missing == "open":
        f, big = cells.agreeing(f), cells.agreeing(big)
    risk = individual_risk(f, big, exact=exact)
    at = cells.of_record
    return KeyRisk(f[at].astype(np.int64), big[at], risk[at])


def weights_of(frame: pd.DataFrame, weight: str) -> Floats:
    """Return a column of sampling weights.

    Raises
    ------
    InputError
        If it does not exist, or a weight is below 1 or missing; names the row.
    """
    weights = numbers_of(frame, weight)
    if not np.all(weights >= 1):
        row = row_label(frame, int(np.flatnonzero(~(weights >= 1))[0]))
        raise InputError(
            f"The weight in row {row} is not a number of at least 1 (column {weight!r}). A "
            "sampling weight is the number of persons that a record stands for: correct it."
        )
    return weights


def individual_risk(sample: Floats, population: Floats, *, exact: bool = False) -> Floats:
    """Return the mean of 1 / F given f, where F - f is negative binomial with p = f / F [1]_.

    Parameters
    ----------
    sample, population : numpy.ndarray of float
        f >= 1, and the estimate of F >= f.
    exact : bool, default=False
        See `key_risk`.
    """
    f = np.asarray(sample, dtype=np.float64)
    p = np.minimum(f / population, 1.0)
    if exact:
        return _mean_of_inverse(f, p)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = p / (1 - p)
        log = np.log(1 / p)
        closed = [odds * log, odds - odds**2 * log]
        risk: Floats = np.select([f == 1, f == 2], closed, p / (f - (1 - p)))
    # Near 1 the closed forms are differences of large numbers.
    near = (f <= 2) & (p > NEAR)
    risk[near] = _mean_of_inverse(f[near], p[near])
    return risk


def _mean_of_inverse(f: Floats, p: Floats) -> Floats:
    """Return p/f 2F1(1, 1; f + 1; 1 - p).

    This is p^f / f 2F1(f, f; f + 1; 1 - p) by Euler's transformation; its factors overflow.
    """
    from scipy.special import hyp2f1

    few = f < MANY
    value = np.ones(len(f))
    value[few] = hyp2f1(1.0, 1.0, f[few] + 1, 1 - p[few])
    term = np.ones(int(np.sum(~few)))
    total = term.copy()
    for n in range(TERMS):
        term = term * (n + 1) * (1 - p[~few]) / (f[~few] + 1 + n)
        total += term
    value[~few] = total
    return np.asarray(p / f * value)


@dataclass(frozen=True, eq=False)
class HouseholdRisk:
    """Risk of each household.

    Parameters
    ----------
    household : numpy.ndarray of int, shape (n_records,)
        Number of the household of each record, from 0 in the order of first occurrence.
    members : numpy.ndarray of int, shape (n_households,)
    of_household : numpy.ndarray of float, shape (n_households,)
        Probability that at least one member is re-identified.
    """

    household: Integers
    members: Integers
    of_household: Floats

    @property
    def individual(self) -> Floats:
        """Risk of each record: that of its household, shape (n_records,)."""
        return self.of_household[self.household]

    @property
    def expected_households(self) -> float:
        """Expected number of households of which a member is re-identified."""
        return float(self.of_household.sum())

    @property
    def expected(self) -> float:
        """Expected number of records in such households."""
        return float(self.of_household @ self.members)

    @property
    def share(self) -> float:
        """Expected share of records in such households."""
        return self.expected / len(self.household) if len(self.household) else 0.0

    def summary(self) -> str:
        """Return the risk of the households in one line."""
        return (
            f"households: {self.expected_households:.6g} of {len(self.members)} with a "
            f"re-identified member expected, {self.expected:.6g} records in them "
            f"({100 * self.share:.4g} %)"
        )


@of_any_library
def household_risk(
    frame: pd.DataFrame,
    keys: Sequence[str],
    household: str,
    *,
    weight: str | None = None,
    missing: Literal["category", "open"] = "category",
    exact: bool = False,
) -> HouseholdRisk:
    """Estimate the probability that at least one member of each household is re-identified.

    Parameters
    ----------
    frame : pandas.DataFrame
    keys : sequence of str
        Attributes of persons that an intruder knows.
    household : str
        Column that is equal for the members of a household; a record without a value is a
        household of its own.
    weight, missing, exact
        As for `key_risk`.

    Returns
    -------
    HouseholdRisk
        1 - prod (1 - r_i) over the risks r_i of the members, which are taken as independent [3]_.

    Raises
    ------
    InputError
        If a column does not exist, or a weight is below 1 or missing.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"home": [1, 1, 2, 2], "age": [20, 30, 20, 20]})
    >>> household_risk(people, ["age"], "home").of_household.round(4).tolist()
    [1.0, 0.5556]
    """
    require_column(frame, household)
    risk = key_risk(frame, keys, weight=weight, missing=missing, exact=exact)
    return risk_by_household(frame[household], risk.individual)


def risk_by_household(household: pd.Series, risk: Floats) -> HouseholdRisk:
    """Combine the risks of the members of each household.

    Parameters
    ----------
    household : pandas.Series, of length n_records
    risk : numpy.ndarray of float, shape (n_records,)
        Each from 0 to 1.
    """
    number, names = pd.factorize(household)
    number = number.astype(np.int64)
    alone = np.flatnonzero(number < 0)
    number[alone] = len(names) + np.arange(len(alone))
    members = np.bincount(number)
    with np.errstate(divide="ignore"):
        kept = np.bincount(number, weights=np.log1p(-np.minimum(risk, 1.0)))
    return HouseholdRisk(number, members, -np.expm1(kept))
