"""Whether two tables of one series tell of the same records: what `only` in ``[data]`` chose.

A table of chosen records stands beside others as a part of them. A dimension that it lacks stands
at the codes that were chosen, so that a cell of it is the cell of another table with these codes,
or the sum of several. Where no table has the cells in which both overlap, the records of one that
the other lacks are a difference that nobody protects, and the two are refused.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.arrays import AnyIntegers, Floats
from tablecloak.tables.keys import number_rows

Restriction = Mapping[str, tuple[str, ...]]
"""Codes that the records have in a column, sorted, for each column by which they were chosen."""

ALL = "~all~"
"""Code of the sum of all records, where the total of a dimension is that of the chosen ones."""


def restriction(only: Mapping[str, str | Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return which records count, the same however it is written."""
    return {
        column: (codes,) if isinstance(codes, str) else tuple(sorted(set(codes)))
        for column, codes in sorted(only.items())
    }


_CHOSEN = re.compile(r"([^=\s][^=]*)=(\[[^\]]*\]|[^=\[\]]+?)(?= [^=\s]+=|$) ?")


def chosen_in(text: str, series: str) -> dict[str, tuple[str, ...]] | None:
    """Return which records a series of older registers is about, which had the codes as text.

    None if it is another series.
    """
    if text == series:
        return {}
    beginning = f"{series} " if series else ""
    rest = text.removeprefix(beginning)
    if not text.startswith(beginning) or _CHOSEN.sub("", rest):
        return None
    return restriction(
        {
            column: literal_eval(codes) if codes.startswith("[") else codes
            for column, codes in _CHOSEN.findall(rest)
        }
    )


@dataclass(frozen=True, eq=False)
class ChosenCells:
    """The codes and values of a table, and which records it is about.

    Parameters
    ----------
    keys : DataFrame
        A column for each dimension of the tables that are compared, and one of variables.
    values : numpy.ndarray of float, shape (n_cells,)
    totals : mapping of str to str
        Of its own dimensions.
    only : mapping of str to tuple of str
    room : numpy.ndarray of float, shape (n_cells,)
        The most by which rounding may have changed each value.
    """

    keys: pd.DataFrame
    values: Floats
    totals: Mapping[str, str]
    only: Restriction
    room: Floats

    def whole(self, columns: Sequence[str]) -> pd.Series:
        """Return the names of the cells with all its records, by the other columns."""
        return self._named({c: self.totals[c] for c in columns if c in self.totals}, columns)

    def overlap(self, common: Restriction) -> pd.DataFrame:
        """Return the sums over the records with codes that two tables have in common."""
        wanted: dict[str, str | Sequence[str]] = {
            column: self.totals[column] if self.only.get(column) == codes else codes
            for column, codes in common.items()
            if column in self.totals
        }
        named = self._named(wanted, common)
        rows = named.index
        parts = pd.DataFrame({"value": self.values[rows], "room": self.room[rows]})
        return parts.groupby(named.to_numpy()).sum()

    def lacks(self, common: Restriction) -> list[str]:
        """Return the columns by whose codes the common records cannot be told apart in it."""
        return [
            column
            for column, codes in common.items()
            if self.only.get(column) != codes and column not in self.totals
        ]

    def _named(
        self, wanted: Mapping[str, str | Sequence[str]], without: Iterable[str]
    ) -> pd.Series:
        """Return one text for the codes of each cell that has the wanted ones."""
        keys = self.keys
        for column, codes in wanted.items():
            keys = keys[keys[column].isin([codes] if isinstance(codes, str) else codes)]
        others = [name for name in keys.columns if name not in without]
        empty = pd.Series("", index=keys.index)
        return reduce(lambda text, name: text + "\0" + keys[name].astype(str), others, empty)


def related(
    new: ChosenCells, earlier: ChosenCells, same: float
) -> tuple[Restriction, tuple[str, ...]]:
    """Return which records an earlier table is about, beside a new one.

    Parameters
    ----------
    new, earlier : ChosenCells
    same : float
        Relative difference up to which two values are equal.

    Returns
    -------
    only : mapping of str to tuple of str
        As of the earlier table. In a column that tells the records of none of both apart it is that
        of the new table if all common cells have equal values: then the records are the same.
    missing : tuple of str
        Columns whose codes one of the tables lacks, so that what both tell of the difference of
        their records has no cell; empty where all of it has.
    """
    columns = [c for c in {**new.only, **earlier.only} if new.only.get(c) != earlier.only.get(c)]
    common = {}
    for column in columns:
        sets = [set(table.only[column]) for table in (new, earlier) if column in table.only]
        common[column] = tuple(sorted(set.intersection(*sets)))
        if not common[column]:
            return earlier.only, ()
    cells = pd.Index(new.whole(columns)).intersection(pd.Index(earlier.whole(columns)))
    if not columns or not len(cells):
        return earlier.only, ()
    lacking = tuple(dict.fromkeys([*new.lacks(common), *earlier.lacks(common)]))
    # A combination of codes that a table does not list is empty.
    one, other = (table.overlap(common).reindex(cells) for table in (new, earlier))
    a, b = one["value"].fillna(0), other["value"].fillna(0)
    unlisted = (one["value"].isna() & (b != 0)) | (other["value"].isna() & (a != 0))
    room = one["room"].fillna(0) + other["room"].fillna(0)
    differs = (a - b).abs() > same * np.maximum(a.abs(), b.abs()) + room
    if unlisted.any() or (lacking and differs.any()):
        return earlier.only, lacking or tuple(columns)
    kept = {column: codes for column, codes in earlier.only.items() if column not in lacking}
    return kept | {column: new.only[column] for column in lacking if column in new.only}, ()


@dataclass(frozen=True)
class Frame:
    """How codes of earlier tables read beside a new one, which keeps its own.

    Parameters
    ----------
    only : mapping of str to tuple of str
        Which records the new table is about.
    totals : mapping of str to str
        Of its dimensions.
    """

    only: Restriction
    totals: Mapping[str, str]

    @property
    def stands(self) -> dict[str, str]:
        """Return the codes at which the new table stands in dimensions that it lacks."""
        return {
            column: _code(codes) for column, codes in self.only.items() if column not in self.totals
        }

    def placed(
        self, keys: pd.DataFrame, only: Restriction, totals: Mapping[str, str]
    ) -> pd.DataFrame:
        """Return the codes of an earlier table."""
        for column in {**only, **self.only}:
            codes = only.get(column)
            if column in self.totals and codes == self.only.get(column):
                code = self.totals[column]
            elif codes is not None:
                code = _code(codes)
            elif column in self.totals:
                code = ALL
            else:
                continue
            if column not in keys:
                keys = keys.assign(**{column: code})
            elif totals[column] != code:
                # Of one code, the total and the cell of this code are two cells of the table.
                code = f"{code} {ALL}" if (keys[column] == code).any() else code
                keys = keys.assign(
                    **{column: keys[column].where(keys[column] != totals[column], code)}
                )
        return keys


def _code(codes: Sequence[str]) -> str:
    return " + ".join(codes)


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of cells of a table over the codes of several records.

    Parameters
    ----------
    keys : DataFrame
        Of the sums.
    parts, number : numpy.ndarray of int, shape (n_parts,)
        Cells of the table, and the sum to which each belongs.
    """

    keys: pd.DataFrame
    parts: AnyIntegers
    number: AnyIntegers

    @classmethod
    def of(cls, keys: pd.DataFrame, column: str, codes: Sequence[str]) -> Sums:
        """Return the sums over some codes of a column."""
        parts = np.flatnonzero(keys[column].isin(codes))
        named = keys.iloc[parts].assign(**{column: _code(codes)})
        first, number = number_rows(named)
        return cls(named.iloc[first].reset_index(drop=True), parts, number)

    @property
    def relations(self) -> csr_array:
        """Return a relation for each sum, over the parts and then the sums."""
        n, sums = len(self.parts), len(self.keys)
        rows = np.append(self.number, np.arange(sums))
        entries = np.append(np.ones(n), -np.ones(sums))
        return csr_array((entries, (rows, np.arange(n + sums))), shape=(sums, n + sums))
