"""What a measure of an assessment is: figures of a case, original and released records.

A new one is one function in `risk.py` or `utility.py`, in the order of the table::

    @UTILITIES.measure("records", "keys")
    def records(measure, case):
        "Yield the number of records."
        yield Figure(measure, len(case.original), len(case.released), "Number of records.")

For a while, such as in a notebook, append a `Measure` to `MEASURES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from tablecloak.errors import InputError
from tablecloak.microdata.columns import codes_of_both, numbers_of
from tablecloak.microdata.risk.keys import KeyRisk, key_risk

SAMPLE = 10_000
"""Most records for which measures are made whose work grows faster than the number of records."""


@dataclass(frozen=True, eq=False)
class Case:
    """Original and released records, and the roles of columns.

    Parameters
    ----------
    original, released : pandas.DataFrame
    keys, numbers, sensitive : tuple of str
    weight, household : str, optional
    """

    original: pd.DataFrame
    released: pd.DataFrame
    keys: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    weight: str | None = None
    household: str | None = None

    @property
    def is_paired(self) -> bool:
        """Whether the release has as many records, which are then taken as the same."""
        return len(self.original) == len(self.released)

    @cached_property
    def files(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Both files with keys, sensitive attributes and households as whole numbers.

        Equal values have equal numbers in both files, in sorted order. Other columns are as given.
        Measures that need each column several times are faster so.
        """
        coded: tuple[dict[str, pd.Series], dict[str, pd.Series]] = ({}, {})
        roles = [*self.keys, *self.sensitive, *([self.household] if self.household else [])]
        for name in dict.fromkeys(roles):
            frames = self.original, self.released
            both = codes_of_both(*(frame[name] for frame in frames), in_order=True)
            for columns, frame, codes in zip(coded, frames, both, strict=True):
                columns[name] = pd.Series(_with_missing(codes), index=frame.index)
        # `assign` does not copy the other columns.
        return self.original.assign(**coded[0]), self.released.assign(**coded[1])

    @cached_property
    def risks(self) -> tuple[KeyRisk, KeyRisk]:
        """Risk by keys of both files, with the weights."""
        return self.risks_by(self.weight)

    def risks_by(self, weight: str | None) -> tuple[KeyRisk, KeyRisk]:
        """Return the risk by keys of both files, with some weights or none.

        Each is counted from its file alone; a missing key is a value of its own.
        """
        one, other = (key_risk(frame, self.keys, weight=weight) for frame in self.files)
        return one, other

    def varying_numbers(self) -> list[str]:
        """Return the columns of numbers that differ between records of the original.

        Raises
        ------
        InputError
            If there is none.
        """
        varying = []
        for name in self.numbers:
            values = numbers_of(self.original, name, refuse_missing=False)
            numbers_of(self.released, name, refuse_missing=False)
            known = values[~np.isnan(values)]
            if len(known) > 1 and known.min() < known.max():
                varying.append(name)
        if not varying:
            raise InputError("All columns of numbers are constant or missing in the original.")
        return varying

    @property
    def categories(self) -> list[str]:
        """Keys and sensitive attributes that are not numbers to compare."""
        return [
            name
            for name in dict.fromkeys([*self.keys, *self.sensitive])
            if name not in self.numbers
        ]


def _with_missing(codes: np.ndarray) -> np.ndarray:
    missing = codes < 0
    return np.where(missing, np.nan, codes) if missing.any() else codes


@dataclass(frozen=True)
class Figure:
    """One row of the table.

    Parameters
    ----------
    measure : str
    before, after : float
        The measure of the original, and of the release.
    meaning : str
        One sentence.
    """

    measure: str
    before: float
    after: float
    meaning: str

    @classmethod
    def pairs(
        cls, before: Any, after: Any, rows: Iterable[tuple[str, str | Callable[[Any], Any], str]]
    ) -> Iterator[Self]:
        """Yield figures of two results.

        Parameters
        ----------
        before, after : object
            Results for the original, and for the release.
        rows : iterable of (str, str or callable, str)
            Measure, attribute or function of a result, and meaning.
        """
        for measure, taken, meaning in rows:
            take = attrgetter(taken) if isinstance(taken, str) else taken
            yield cls(measure, float(take(before)), float(take(after)), meaning)


Kind = Literal["risk", "utility"]

Figures = Callable[[str, Case], Iterator[Figure]]
"""Yields figures of a measure with a name; raises an `InputError` with the reason if it makes
no sense for the records of a case."""


@dataclass(frozen=True)
class Measure:
    """Some figures on the risk or the utility of a release.

    Parameters
    ----------
    name : str
    kind : {"risk", "utility"}
    needs : tuple of str
        What must be known: ``keys``, ``numbers``, ``sensitive``, ``weight``, ``household``,
        ``pairs``.
    figures : callable
    """

    name: str
    kind: Kind
    needs: tuple[str, ...]
    figures: Figures


class Measures(list[Measure]):
    """Measures of one kind, in the order of the table."""

    def __init__(self, kind: Kind) -> None:
        super().__init__()
        self.kind = kind

    def measure(self, name: str, *needs: str) -> Callable[[Figures], Figures]:
        """Add a function that yields figures as a measure; use it as a decorator."""

        def added(figures: Figures) -> Figures:
            self.append(Measure(name, self.kind, needs, figures))
            return figures

        return added
