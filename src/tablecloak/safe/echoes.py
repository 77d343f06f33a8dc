"""Columns that tell of other records than those they stand at, and so echo what was shown before.

An income of the wave before, or of the whole household, is an income of somebody: beside a table of
incomes, it tells of who is in one and not in the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Integers
from tablecloak.safe.records import (
    CONTAINED,
    EDITED,
    Codes,
    KnownColumn,
    KnownRecords,
    agree,
    codes_of,
    contains,
    tells_apart,
)


class Echoes:
    """What earlier outputs showed, and which columns have it at other records.

    Parameters
    ----------
    records : KnownRecords
    contributor : Series, optional
        Who stands behind labels.
    """

    def __init__(self, records: KnownRecords, contributor: pd.Series[Any] | None) -> None:
        self.records, self.contributor = records, contributor
        self._shown: set[str] = set()
        self._totals: list[KnownColumn] = []

    def among(self, used: Mapping[str, Codes], positions: Integers) -> tuple[str, ...]:
        """Return the columns that echo earlier ones, each with which: "lag: income".

        Their values are those of anybody else, of the same contributor in another record, as in the
        wave before, or of all records of a contributor together. Columns that echo nothing count as
        shown from now on: what goes to a checker for another column says nothing against that one.

        Parameters
        ----------
        used : mapping of str to (n,) array
            Codes of the columns that an output shows something of.
        positions : (n,) array of int
        """
        waves = self._waves(positions)
        echoed = {
            name: list(self._echoed(name, codes, positions, waves)) for name, codes in used.items()
        }
        self._shown |= {name for name, others in echoed.items() if not others}
        every = [f"{name}: {one}" for name, others in echoed.items() for one in others]
        return tuple(dict.fromkeys(every))

    def _echoed(
        self, name: str, codes: Codes, positions: Integers, waves: Sequence[Integers]
    ) -> Iterator[str]:
        """Yield what a column echoes."""
        is_apart, earlier = tells_apart(codes), self._shown - {name}
        if not is_apart and not waves:
            return
        columns = [one for one in self.records.columns if one.name in earlier]
        earlier -= {one.name for one in columns if _is_same(one.at(positions), codes, is_apart)}
        for one in columns:
            if one.name in earlier and (
                any(agree(one.at(wave), codes) for wave in waves)
                or (is_apart and contains(one.codes, codes))
            ):
                yield one.name
        for one in self._totals if is_apart else ():
            if one.name in earlier and np.isin(codes, one.codes).mean() >= CONTAINED:
                yield f"{one.name} in all"

    def _waves(self, positions: Integers) -> list[Integers]:
        """Return where the records before and after stand, of who has several; -1 for none."""
        if self.contributor is None:
            return []
        who = pd.factorize(self.contributor.reindex(self.records.index))[0]
        order = np.argsort(who, kind="stable")
        same = (np.diff(who[order]) == 0) & (who[order][1:] >= 0)
        if not same.any():
            return []
        waves = []
        for here, there in ((order[1:], order[:-1]), (order[:-1], order[1:])):
            beside = np.full(len(who), -1, dtype=np.int64)
            beside[here[same]] = there[same]
            waves.append(np.where(positions < 0, -1, beside[positions]))
        return waves

    def add_totals(self, columns: Sequence[pd.Series[Any]], index: pd.Index) -> None:
        """Take in what contributors of several records have in all.

        Parameters
        ----------
        columns : sequence of Series
        index : Index
            Labels of their rows, of which contributors are known.
        """
        if self.contributor is None:
            return
        who = self.contributor.reindex(index)
        if not who.duplicated().any():
            return
        names = {one.name for one in self._totals}
        for column in columns:
            is_flag = pd.api.types.is_bool_dtype(column)
            if (
                pd.api.types.is_numeric_dtype(column)
                and not is_flag
                and str(column.name) not in names
            ):
                totals = column.astype(np.float64).groupby(who.to_numpy()).sum()
                self._totals.append(KnownColumn(str(column.name), codes_of(totals)))


def _is_same(before: Codes, codes: Codes, is_apart: bool) -> bool:
    """Whether values are those of before at the same records, perhaps edited."""
    both = before != 0
    same = float((before[both] == codes[both]).mean()) if both.any() else 0.0
    return same >= EDITED if is_apart else same == 1.0 and agree(before, codes)
