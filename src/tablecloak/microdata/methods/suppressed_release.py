"""The release of local suppression, and its check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats
from tablecloak.errors import VerificationError
from tablecloak.microdata.anonymity.asked import GroupsAsked
from tablecloak.microdata.anonymity.verification import (
    check_classes,
    check_left_alone,
    check_matching,
    check_own,
    packed,
    proved_by_multipliers,
    proved_by_prices,
    proved_floor,
    rounded_up,
)
from tablecloak.microdata.library_frames import seen_by_pandas
from tablecloak.results import Result

__all__ = ["LocalSuppressionRelease"]


@dataclass(frozen=True, eq=False, repr=False)
class LocalSuppressionRelease(Result):
    """Records with missing values, and what is proved about their number.

    Parameters
    ----------
    frame : pandas.DataFrame
        The records; what is suppressed is missing.
    suppressed : numpy.ndarray of bool, shape (n_records, n_keys)
        Which values are suppressed.
    asked : GroupsAsked
        What was asked.
    bound : float
        Proved lower bound on the loss of every release that satisfies the same requirements.
    floor : numpy.ndarray of float, shape (n_records,)
        Proved lower bound on the cost of each record, or its price if missing values are a
        category, whose sum is the bound; empty if missing values of others match.
    multipliers : mapping of tuple of str to numpy.ndarray of float
        What proves the bound if missing values of others count, or are a category in several
        combinations: for each combination, a number for each record.
    seconds : float
    notes : tuple of str
    """

    frame: Any
    suppressed: Flags
    asked: GroupsAsked
    bound: float
    floor: Floats
    multipliers: Mapping[tuple[str, ...], Floats] = field(default_factory=dict)
    seconds: float = 0.0
    notes: tuple[str, ...] = field(default=())

    @property
    def loss(self) -> float:
        """Cost of all suppressed values; their number where no weights are given."""
        costs = np.array(list(self.asked.costs.values()))
        return _total(self.suppressed, costs)

    @property
    def n_suppressed(self) -> int:
        """Number of suppressed values."""
        return int(self.suppressed.sum())

    def per_key(self) -> pd.Series:
        """Return the number of suppressed values of each key."""
        return pd.Series(self.suppressed.sum(axis=0), index=list(self.asked.keys))

    @seen_by_pandas
    def verify(self, original: Any) -> float:
        """Check release and bound from the two files alone, and return the bound that is proved.

        Groups are counted anew, by other code than that of the search: that each value is missing
        or as it was, that each record is safe in each combination of keys, and, for the bound,
        that all cheaper sets of suppressed keys leave the record unsafe, or that multipliers
        or prices are no larger than costs.

        Parameters
        ----------
        original : pandas.DataFrame, polars.DataFrame or pyarrow.Table
            The records as they were, of the same kind as the release.

        Raises
        ------
        VerificationError
            Names the record, and what is not so.
        """
        asked = self.asked
        self.check_safe(original)
        if asked.missing == "any":
            proved = proved_by_multipliers(original, self.multipliers, asked.costs, asked.k)
            proved = rounded_up(proved, list(asked.costs.values()))
        elif asked.missing == "category" and (self.multipliers or len(asked.combinations) == 1):
            prices = self.multipliers
            if len(asked.combinations) == 1:
                prices = {asked.combinations[0]: self.floor}
            proved = packed(
                {
                    keys: proved_by_prices(
                        original, price, keys, asked.costs, asked.k, asked.strata
                    )
                    for keys, price in prices.items()
                }
            )
            proved = rounded_up((1 - 1e-9) * proved, list(asked.costs.values()))
        else:
            fails = asked.fails(original)
            proved = proved_floor(fails, self.floor, asked.combinations, asked.costs, original)
        if proved < self.bound - 1e-9 * max(1.0, self.bound):
            raise VerificationError(
                f"The bound is said to be {self.bound:g}, but {proved:g} is proved."
            )
        return proved

    def check_safe(self, original: pd.DataFrame) -> None:
        """Check that values are missing or as they were, and that each record is safe.

        Raises
        ------
        VerificationError
            Names the record, and what is not so.
        """
        asked = self.asked
        missing = check_left_alone(original, self.frame, asked.keys)
        if asked.missing == "any":
            check_matching(original, missing, asked.keys, asked.combinations, asked.k)
        elif asked.missing == "category":
            for combination in asked.combinations:
                check_classes(self.frame, [*asked.strata, *combination], asked.k)
        else:
            check_own(asked.fails(original), missing, asked.keys, asked.combinations)

    def summary(self) -> str:
        """Return number of suppressed values, records and gap in one line."""
        touched = int(self.suppressed.any(axis=1).sum())
        is_weighted = set(self.asked.costs.values()) != {1.0}
        weighted = f" (cost {self.loss:.6g})" if is_weighted else ""
        return (
            f"local suppression: {self.n_suppressed} values{weighted} of {touched} of "
            f"{len(self.frame)} records; proved bound {self.bound:.6g}, {self._gaps()}; "
            f"{self.asked.words()}"
        )


def _total(suppressed: Flags, costs: Floats) -> float:
    """Return the cost of suppressed values, added record by record in the order of keys.

    The order is that of the bound, so that equal sets of keys have equal sums.
    """
    record = np.zeros(len(suppressed))
    for column, cost in zip(suppressed.T, costs, strict=True):
        record += np.where(column, cost, 0.0)
    return float(record.sum())
