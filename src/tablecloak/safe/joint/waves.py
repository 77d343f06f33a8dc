"""Panels: what contributors have in each wave, as columns of one record.

Pensions that rise by 3 % in all, ages, loans that are repaid in equal parts, rows of one firm that
add up: what one wave tells less another one is what those have who are in one alone. Between the
columns of a record such relations are looked for anyway, so that each wave becomes a column. A wave
is a code of the data that no contributor has twice: a year, a quarter, the number of a visit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import AnyIntegers, Integers
from tablecloak.safe.output import Figures

MOST_WAVES = 400
"""Codes of a column, or of two together, up to which they may be waves: thirty years of months."""

MIXED = -2
"""Wave of a group with records of several, or of none that is known."""


def waves_of(columns: Sequence[AnyIntegers], contributors: Integers) -> Integers | None:
    """Return the wave of each record; None if no column tells the records of contributors apart.

    Of several such columns it is the one with the fewest codes, or else two together.

    Parameters
    ----------
    columns : sequence of (n,) array of int
        Codes of the columns of the data.
    contributors : (n,) array of int
    """
    who = np.unique(contributors, return_inverse=True)[1]
    if len(who) == who.max(initial=-1) + 1:
        return None
    coded = [np.unique(column, return_inverse=True)[1] for column in columns]
    single = [code for code in coded if 1 <= code.max(initial=0) < MOST_WAVES]
    pairs = (a * (b.max(initial=0) + 1) + b for a, b in combinations(single, 2))
    for some in (single, pairs):
        apart = [
            code
            for code in some
            if code.max(initial=0) < MOST_WAVES
            and len(np.unique(who * MOST_WAVES + code)) == len(who)
        ]
        if apart:
            return min(apart, key=lambda code: len(np.unique(code))).astype(np.int64)
    return None


def varying(columns: Sequence[AnyIntegers], contributors: Integers) -> list[Integers]:
    """Return the columns with few codes of which contributors have several, coded from 0.

    Parameters
    ----------
    columns : sequence of (n,) array of int
        Codes of the columns of the data.
    contributors : (n,) array of int
    """
    order = np.argsort(contributors, kind="stable")
    is_same = np.diff(contributors[order]) == 0
    coded = [np.unique(column, return_inverse=True)[1] for column in columns]
    return [
        code.astype(np.int64)
        for code in coded
        if code.max(initial=0) < MOST_WAVES and (np.diff(code[order])[is_same] != 0).any()
    ]


@dataclass
class WaveFigures:
    """The figures of a project by waves. What was taken apart once is kept."""

    _apart: dict[int, tuple[Figures, list[tuple[Figures, Integers]]]] = field(default_factory=dict)

    def apart(
        self,
        new: Sequence[Figures],
        earlier: Mapping[str, Sequence[Figures]],
        contributors: Integers,
        waves: Integers,
    ) -> tuple[list[Figures], dict[str, list[Figures]], list[tuple[int, Integers]]]:
        """Return figures of single waves, over contributors instead of records.

        Parameters
        ----------
        new : sequence of Figures
        earlier : mapping of str to sequence of Figures
        contributors, waves : (n_records,) array of int
            The wave is -1 where it is not known.

        Returns
        -------
        new : list of Figures
        earlier : dict of str to list of Figures
        places : list of (int, array of int)
            Of which of the new figures each is a part, and which of these it has.
        """
        parts = [
            (part, which, rows)
            for which, entry in enumerate(new)
            for part, rows in self._parts(entry, contributors, waves)
        ]
        past = {
            name: [part for entry in some for part, _ in self._parts(entry, contributors, waves)]
            for name, some in earlier.items()
        }
        asked = {id(entry) for some in (new, *earlier.values()) for entry in some}
        self._apart = {key: kept for key, kept in self._apart.items() if key in asked}
        return [part for part, _, _ in parts], past, [(which, rows) for _, which, rows in parts]

    def _parts(
        self, figures: Figures, contributors: Integers, waves: Integers
    ) -> list[tuple[Figures, Integers]]:
        if id(figures) not in self._apart:
            self._apart[id(figures)] = (figures, list(_of_waves(figures, contributors, waves)))
        return self._apart[id(figures)][1]


def _of_waves(
    figures: Figures, contributors: Integers, waves: Integers
) -> list[tuple[Figures, Integers]]:
    """Return the figures of each wave, and which they are; none of several waves, and no counts."""
    if figures.amounts is None:
        return []
    there = np.flatnonzero(figures.group >= 0)
    records, group = figures.records[there], figures.group[there].astype(np.int64)
    sums = csr_array(figures.sums)
    least = np.full(sums.shape[1], MOST_WAVES, dtype=np.int64)
    most = np.full(sums.shape[1], -1, dtype=np.int64)
    np.minimum.at(least, group, waves[records])
    np.maximum.at(most, group, waves[records])
    is_empty, wave = most < least, np.where((least == most) & (least >= 0), least, MIXED)
    entries = sums.tocoo()
    held = ~is_empty[entries.col]
    row, of_row = entries.row[held], wave[entries.col[held]]
    first = np.full(sums.shape[0], MOST_WAVES, dtype=np.int64)
    last = np.full(sums.shape[0], MIXED, dtype=np.int64)
    np.minimum.at(first, row, of_row)
    np.maximum.at(last, row, of_row)
    parts = []
    for number in np.unique(first[(first == last) & (first >= 0)]).tolist():
        rows = np.flatnonzero((first == number) & (last == number))
        inside = wave[group] == number
        parts.append(
            (
                Figures(
                    contributors[records[inside]],
                    group[inside],
                    sums[rows],
                    tuple(figures.labels[row] for row in rows.tolist()),
                    figures.amounts[there][inside],
                    # Waves are columns of their own, whatever the variable is called in all.
                    f"{figures.variable} in {number}",
                ),
                rows,
            )
        )
    return parts
