"""Risk of households: whoever finds one member has found all.

References
----------
.. [1] Hundepool et al.: Statistical disclosure control, 2012, section 3.5 (risk of hierarchical
   microdata).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError, suggestion
from tablecloak.microdata.columns import columns_of
from tablecloak.microdata.risk.keys import key_risk


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
        1 - prod (1 - r_i) over the risks r_i of the members, which are taken as independent [1]_.

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
    known = columns_of(frame)
    if household not in known:
        raise InputError(f"There is no column {household!r}.{suggestion(household, known)}")
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
    number, found = pd.factorize(household)
    number = number.astype(np.int64)
    alone = np.flatnonzero(number < 0)
    number[alone] = len(found) + np.arange(len(alone))
    members = np.bincount(number)
    with np.errstate(divide="ignore"):
        kept = np.bincount(number, weights=np.log1p(-np.minimum(risk, 1.0)))
    return HouseholdRisk(number, members, -np.expm1(kept))
