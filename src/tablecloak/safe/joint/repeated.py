"""Amounts that a contributor has in several records: they cancel where sums are subtracted.

Wages of persons by quarter, the turnover of a firm beside each of its sites, the income of a
household beside each member: rows of one contributor with the same amount are one unknown, which
figures add up as often as it has rows. What one quarter less another one tells is then the wage of
those who left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import AnyIntegers, Floats, Integers
from tablecloak.safe.output import Figures

NEARLY = 0.01
"""Relative difference up to which amounts of a contributor are one: what is left of many such
differences is little beside the amount of one who is in one sum alone."""


@dataclass
class RepeatedAmounts:
    """The figures of a project with the equal amounts of a contributor as one.

    A figure is merged anew only if amounts that were not known before change what is equal.
    """

    _first: dict[str, Integers] = field(default_factory=dict)
    _merged: dict[int, tuple[Figures, Figures]] = field(default_factory=dict)

    def merged(
        self,
        new: Sequence[Figures],
        earlier: Mapping[str, Sequence[Figures]],
        contributors: Integers,
    ) -> tuple[list[Figures], dict[str, list[Figures]], list[int]]:
        """Return figures in which each amount of a contributor stands once.

        Parameters
        ----------
        new : sequence of Figures
        earlier : mapping of str to sequence of Figures
        contributors : (n_records,) array of int

        Returns
        -------
        new : list of Figures
            Of columns in which some contributor has an amount several times.
        earlier : dict of str to list of Figures
            All others of these columns.
        places : list of int
            Which of the new figures they are.
        """
        flat = [*new, *(entry for some in earlier.values() for entry in some)]
        first = {}
        for name in {entry.variable for entry in new if not entry.is_count}:
            of_name = [entry for entry in flat if entry.variable == name and not entry.is_count]
            first[name] = first_records(of_name, contributors)
            if not np.array_equal(first[name], self._first.get(name, np.zeros(0))):
                self._first[name] = first[name]
                self._merged = {
                    key: pair for key, pair in self._merged.items() if pair[0].variable != name
                }
        first = {name: records for name, records in first.items() if _is_repeated(records)}

        def some(entries: Sequence[Figures]) -> list[int]:
            return [
                which
                for which, entry in enumerate(entries)
                if entry.variable in first and not entry.is_count
            ]

        def once(entries: Sequence[Figures]) -> list[Figures]:
            return [
                self._of(entries[which], first[entries[which].variable]) for which in some(entries)
            ]

        merged, past = once(new), {name: once(entries) for name, entries in earlier.items()}
        asked = {id(entry) for entry in flat}
        self._merged = {key: pair for key, pair in self._merged.items() if key in asked}
        return merged, past, some(new)

    def _of(self, figures: Figures, first: Integers) -> Figures:
        if id(figures) not in self._merged:
            self._merged[id(figures)] = (figures, merged_figures(figures, first))
        return self._merged[id(figures)][1]


def first_records(figures: Sequence[Figures], contributors: Integers) -> Integers:
    """Return, for each record, the first one of its contributor with nearly the same amount.

    -1 where no figure adds up a record.
    """
    amounts = np.full(len(contributors), np.nan)
    for entry in figures:
        there = entry.group >= 0
        assert entry.amounts is not None
        amounts[entry.records[there]] = entry.amounts[there]
    records = np.flatnonzero(~np.isnan(amounts))
    order = records[np.lexsort((amounts[records], contributors[records]))]
    who, sorted_ = contributors[order], amounts[order]
    step = np.abs(np.diff(sorted_)) > NEARLY * np.abs(sorted_[:-1])
    begins = np.append(True, step | (np.diff(who) != 0))[: len(order)]
    number = np.cumsum(begins) - 1
    least = np.full(int(begins.sum()), len(contributors), dtype=np.int64)
    np.minimum.at(least, number, order)
    first = np.full(len(contributors), -1, dtype=np.int64)
    first[order] = least[number]
    return first


def _is_repeated(first: Integers) -> bool:
    """Whether some contributor has an amount several times."""
    there = np.flatnonzero(first >= 0)
    return bool((first[there] != there).any())


def merged_figures(figures: Figures, first: AnyIntegers) -> Figures:
    """Return figures that add up each amount of a contributor as often as it has rows.

    Groups are then what figures say of such an amount: in which groups it stands, and how often.
    """
    there = np.flatnonzero(figures.group >= 0)
    units, one_of, number = np.unique(
        first[figures.records[there]], return_index=True, return_inverse=True
    )
    group, n_groups = figures.group[there].astype(np.int64), figures.sums.shape[1]
    shape = (len(units), n_groups)
    often = csr_array((np.ones(len(there)), (number, group)), shape=shape)
    # Units of the same groups, each as often, have the same sum of these marks.
    mark = np.random.default_rng(0).random(n_groups)
    marks = np.round(often @ mark, 9)
    _, one, pattern = np.unique(marks, return_index=True, return_inverse=True)
    amounts: Floats | None = figures.amounts
    assert amounts is not None
    return Figures(
        units,
        pattern,
        csr_array(csr_array(figures.sums, dtype=np.float64) @ often[one].T),
        figures.labels,
        amounts[there][one_of],
        figures.variable,
    )
