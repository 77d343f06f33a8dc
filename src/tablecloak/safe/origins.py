"""The data of a project, and whether a column is computed from them record by record.

A mean of the group, a change since the last wave, a share of the total: beside a table of what it
was computed from, such a column tells of records that are in one and not in the other. No figure
shows that a column is one. So it is asked the other way round: is there a formula that gives it
from the data of each record alone, with constants that are nobody's amount? If so, it tells of
nobody else.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError, require_known
from tablecloak.safe.formula_search import (
    PER_CODE,
    FormulaSearch,
    is_cut_at_an_amount,
    is_numbering,
    numbers_of,
)
from tablecloak.safe.formulas import computed
from tablecloak.safe.group_filters import DataGroups
from tablecloak.safe.records import Codes, codes_of
from tablecloak.storage import checksum, existing_file
from tablecloak.tables.formats.files import read_frame

WORD = re.compile(r"\w+")

STEP = 1e-3
"""Share by which an amount is moved to see how fast a formula of it grows."""

UPPER = 0.75
"""Part of the records below the one beside which the largest of a column is looked at."""


class ProjectData:
    """The data that all outputs of a project are made from.

    Parameters
    ----------
    data : DataFrame, str or Path
        A frame, kept as it is now, or the file that it is read from.

    Raises
    ------
    InputError
        If the file cannot be read, or data is neither.
    """

    def __init__(self, data: pd.DataFrame | str | Path) -> None:
        self.source = "a frame of the program, to be compared with the file"
        if isinstance(data, str | Path):
            self.source = f"{Path(data).name}, SHA-256 {checksum(existing_file(data))}"
            data = read_frame(data)
        elif not isinstance(data, pd.DataFrame):
            raise InputError("data is no frame and no file: give what all others are filtered from")
        if data.empty:
            raise InputError("the data have no records, or no columns: look at how they are read")
        names = [str(name) for name in data.columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"the data have two columns {twice!r}: give each a name of its own")
        self.frame = data.set_axis(names, axis=1).copy()
        self._groups = DataGroups(self.frame.copy())
        self.formulas: dict[str, str] = {}
        self.codes: list[Codes] = []
        self.numbers_of_codes: list[int] = []
        for name in names:
            self._look_at(name)

    def _look_at(self, name: str) -> None:
        try:
            self.codes.append(codes_of(self.frame[name]))
        except TypeError:
            raise InputError(
                f"the column {name!r} of the data has lists or other values that cannot be "
                "compared: leave it out"
            ) from None
        self.numbers_of_codes.append(len(np.unique(self.codes[-1])))

    @property
    def said(self) -> str:
        """What a checker is told of the data."""
        names = [str(name) for name in self.frame if name not in self.formulas]
        formulas = "".join(f"; {name} = {formula}" for name, formula in self.formulas.items())
        return f"{self.source}: {len(self.frame):,} records of {', '.join(names)}{formulas}"

    def __getitem__(self, name: str) -> pd.Series[Any]:
        """Return a column of the data.

        Raises
        ------
        InputError
            If there is none of that name.
        """
        require_known(name, list(self.frame), f"the data have no column {name!r}.")
        return self.frame[name]

    def add(self, name: str, formula: str) -> pd.Series[Any]:
        """Compute a column record by record; it counts as one of the data from then on.

        Raises
        ------
        InputError
            If there is another column of that name, or the formula cannot be computed.
        """
        if self.formulas.get(name) != formula:
            if name in self.frame:
                raise InputError(f"the data have a column {name!r}: choose another name")
            self.frame[name] = computed(formula, self.frame)
            self.formulas[name] = formula
            self._look_at(name)
        return self.frame[name]

    def power(self, column: pd.Series[Any], positions: Integers) -> float:
        """Return how many times as fast as an amount of the data the largest value grows, from 1.

        The largest x^20 is known within 10 % where x is known within half a per cent. A formula is
        computed beside amounts a little smaller and larger, so that no step of it counts; of any
        other column that rises with one of the data it is looked at how much faster.

        Parameters
        ----------
        column : (n,) Series of numbers
        positions : (n,) array of int
            Where its records stand in the data.
        """
        values = numbers_of(column)
        if not self._has(positions) or not values or np.isnan(values[0]).all():
            return 1.0
        name, top = str(column.name), int(np.nanargmax(np.abs(values[0])))
        is_given = name in self.frame and _are_equal(self.frame[name].iloc[positions], column)
        if is_given and name not in self.formulas:
            return 1.0
        if is_given:
            return self._power_of_formula(name, int(positions[top]))
        names = [one for one in self.frame if one not in self.formulas]
        given = [numbers_of(self.frame[one]) for one in names]
        powers = [_power_of_copy(one[0][positions], values[0]) for one in given if one]
        return max(1.0, min((one for one in powers if one), default=1.0))

    def _power_of_formula(self, name: str, row: int) -> float:
        """Return the power of the column of the data with which a formula grows fastest."""
        named = {name}
        for one in reversed(self.formulas):
            named |= set(WORD.findall(self.formulas[one])) if one in named else set()
        steps = {one: self.formulas[one] for one in self.formulas if one in named}
        three = self.frame.iloc[[row] * 3].reset_index(drop=True)
        largest = 1.0
        for given in three.columns[three.columns.isin(named - steps.keys())]:
            amounts = three[given]
            if not pd.api.types.is_numeric_dtype(amounts) or pd.api.types.is_bool_dtype(amounts):
                continue
            moved = three.copy()
            moved[given] = amounts * np.array([1 - STEP, 1.0, 1 + STEP])
            try:
                for one, formula in steps.items():
                    moved[one] = computed(formula, moved)
            except InputError:
                # A code that is no whole number any more: no formula grows by it.
                continue
            below, there, above = np.abs(moved[name].to_numpy(dtype=np.float64, na_value=np.nan))
            if min(below, there, above) > 0:
                growth = np.abs(np.log([there / below, above / there]))
                largest = max(largest, float(growth.min() / np.log1p(STEP)))
        return largest

    def has_order(self, key: pd.Series[Any], positions: Integers) -> bool:
        """Whether the data give categories their order: by their own, or by amounts.

        Categories are in the order of amounts if those of no two overlap, as of classes of ages.
        Order by a mean or a sum would tell which of two is larger.

        Parameters
        ----------
        key : (n,) Series of categories
        positions : (n,) array of int
            Where its records stand in the data.
        """
        for dtype in self.frame.dtypes:
            if isinstance(dtype, pd.CategoricalDtype):
                places = dtype.categories.get_indexer(key.cat.categories)
                if (places >= 0).all() and (np.diff(places) > 0).all():
                    return True
        if not self._has(positions):
            return False
        codes = key.cat.codes.to_numpy()
        for name in self.frame:
            for amounts in numbers_of(self.frame[name].iloc[positions]):
                ends = pd.Series(amounts[codes >= 0]).groupby(codes[codes >= 0]).agg(["min", "max"])
                low, high = ends["min"].to_numpy(), ends["max"].to_numpy()
                if (high[:-1] < low[1:]).all() or (low[:-1] > high[1:]).all():
                    return True
        return False

    def chosen_by(self, positions: Integers) -> str:
        """Return the column whose codes were chosen by what all their records have, "" if none."""
        return self._groups.chosen_by(positions) if self._has(positions) else ""

    def cut_by(self, positions: Integers) -> str:
        """Return the column in which records were kept by the amount of one, "" if none."""
        if not self._has(positions) or len(np.unique(positions)) == len(self.frame):
            return ""
        kept = np.zeros(len(self.frame), dtype=np.bool_)
        kept[positions] = True
        return next(
            (
                str(name)
                for name in self.frame
                for amounts in numbers_of(self.frame[name])[:1]
                if is_cut_at_an_amount(kept, amounts) and not is_numbering(amounts)
            ),
            "",
        )

    def _has(self, positions: Integers) -> bool:
        """Whether all records are those of the data."""
        return bool((positions >= 0).all() and (positions < len(self.frame)).all())

    def gives(self, column: pd.Series[Any], codes: Codes, positions: Integers) -> bool:
        """Whether a column is one of the data, or a formula of them for each record.

        Parameters
        ----------
        column : (n,) Series
        codes : (n,) array
            Numbers for its values, as of `codes_of`.
        positions : (n,) array of int
            Where its records stand in the data.
        """
        if not self._has(positions):
            return False
        name = str(column.name)
        if name in self.frame and _are_equal(self.frame[name].iloc[positions], column):
            return True
        few = [
            which for which, n_codes in enumerate(self.numbers_of_codes)
            if n_codes * PER_CODE <= len(positions)
        ]  # fmt: skip
        before = [one[positions] for one in self.codes]
        return FormulaSearch(self.frame.iloc[positions], before, few, column, codes).finds_any()


def _are_equal(past: pd.Series[Any], column: pd.Series[Any]) -> bool:
    """Whether a column has the very values that records have in the data."""
    return past.dtype == column.dtype and past.reset_index(drop=True).equals(
        column.reset_index(drop=True)
    )


def _power_of_copy(amounts: Floats, values: Floats) -> float:
    """Return how much faster than amounts values grow that rise with them; 0 if they do not."""
    there = np.flatnonzero(~np.isnan(amounts) & ~np.isnan(values) & (amounts > 0) & (values > 0))
    order = there[np.argsort(amounts[there], kind="stable")]
    x, y = amounts[order], values[order]
    if len(order) < 2 or x[0] == x[-1] or not (np.diff(y)[np.diff(x) > 0] > 0).all():
        return 0.0
    near = x[min(int(UPPER * len(x)), int(np.searchsorted(x, x[-1])) - 1)]
    before = y[np.searchsorted(x, near)]
    return float(np.log(y[-1] / before) / np.log(x[-1] / near))
