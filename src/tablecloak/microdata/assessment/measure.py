"""A measure of an assessment: a class with a name, what it needs, and its figures.

A new one is one class in a file of `tablecloak.microdata.assessment.measures`::

    @MEASURES.register
    class Records(Measure):
        "Numbers of records."

        name: ClassVar[str] = "records"
        place: ClassVar[int] = 1
        kind: ClassVar[str] = "utility"

        def figures(self, case):
            yield Figure("records", len(case.original), len(case.released), "Number of records.")

Its case is what an assessment is about: original and released records, and what their columns are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from tablecloak.errors import InputError, suggestion
from tablecloak.microdata.columns import columns_of
from tablecloak.microdata.risk.keys import KeyRisk, key_risk
from tablecloak.registry import Registry

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
            both = _codes(self.original[name], self.released[name])
            for columns, frame, codes in zip(
                coded, (self.original, self.released), both, strict=True
            ):
                columns[name] = pd.Series(codes, index=frame.index)
        # `assign` does not copy the other columns.
        return self.original.assign(**coded[0]), self.released.assign(**coded[1])

    @cached_property
    def risks(self) -> tuple[KeyRisk, KeyRisk]:
        """Risk by keys of both files, with the weights."""
        return self.risks_by(self.weight)

    def risks_by(self, weight: str | None) -> tuple[KeyRisk, KeyRisk]:
        """Return the risk by keys of both files, with some weights or none.

        A record of the release is one of those whose true keys agree with what is left of it, also
        where theirs are missing in the release: whoever knows these persons counts them.
        """
        one, other = self.files
        before = key_risk(one, self.keys, weight=weight, missing="open")
        after = key_risk(
            other, self.keys, weight=weight, missing="open", among=self._with_true_keys()
        )
        return before, after

    def _with_true_keys(self) -> pd.DataFrame | None:
        """Return the release with its missing keys put back; None if it lacks none.

        A true value is put back as the release shows it: as the value that most records with it
        have there, such as its band.
        """
        one, other = self.files
        lost = {
            key: other[key].isna().to_numpy() & one[key].notna().to_numpy()
            for key in self.keys
            if self.is_paired
        }
        if not any(flags.any() for flags in lost.values()):
            return None
        known = {}
        for key, flags in lost.items():
            before, after = one[key].to_numpy(), other[key].to_numpy()
            pairs = pd.DataFrame({"before": before, "after": after}).value_counts()
            shown = pairs.reset_index().drop_duplicates("before").set_index("before")["after"]
            true = pd.Series(before)
            known[key] = np.where(flags, true.map(shown).fillna(true), after)
        return other.assign(**known)

    @property
    def categories(self) -> list[str]:
        """Keys and sensitive attributes that are not numbers to compare."""
        return [
            name
            for name in dict.fromkeys([*self.keys, *self.sensitive])
            if name not in self.numbers
        ]


def _codes(before: pd.Series, after: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return whole numbers for the values of two columns; NaN, if there is any missing value."""
    if before.dtype == after.dtype:
        both = pd.concat([before, after], ignore_index=True)
    else:
        both = pd.concat([before.astype(object), after.astype(object)], ignore_index=True)
    try:
        codes = pd.factorize(both, sort=True)[0]
    except TypeError:  # Texts and numbers have no common order.
        codes = pd.factorize(both)[0]
    one, other = codes[: len(before)], codes[len(before) :]
    return _with_missing(one), _with_missing(other)


def _with_missing(codes: np.ndarray) -> np.ndarray:
    missing = codes < 0
    return np.where(missing, np.nan, codes) if missing.any() else codes


def case_of(
    original: pd.DataFrame,
    released: pd.DataFrame,
    *,
    keys: Sequence[str] = (),
    numbers: Sequence[str] | None = None,
    sensitive: str | Sequence[str] | None = None,
    weight: str | None = None,
    household: str | None = None,
) -> Case:
    """Check the names of columns, and take numbers from the files where none are named.

    Raises
    ------
    InputError
        If a file has no records, or a column is not in both.
    """
    attributes = [sensitive] if isinstance(sensitive, str) else list(sensitive or ())
    both = [name for name in columns_of(original) if name in set(columns_of(released))]
    single = [name for name in (weight, household) if name is not None]
    for name in [*keys, *(numbers or ()), *attributes, *single]:
        if name not in both:
            raise InputError(
                f"There is no column {name!r} in both files.{suggestion(str(name), both)}"
            )
    for frame, said in ((original, "original"), (released, "release")):
        if not len(frame):
            raise InputError(f"The {said} has no records. Give some.")
    given = (
        [name for name in both if name not in {*keys, *single}]
        if numbers is None
        else list(numbers)
    )
    usable = tuple(
        name
        for name in dict.fromkeys(given)
        if numbers is not None or (_is_number(original[name]) and _is_number(released[name]))
    )
    return Case(
        original,
        released,
        tuple(dict.fromkeys(keys)),
        usable,
        tuple(dict.fromkeys(attributes)),
        weight,
        household,
    )


def _is_number(column: pd.Series) -> bool:
    kind = column.dtype
    return bool(pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind))


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


class Measure(ABC):
    """Some figures on the risk or the utility of a release."""

    name: ClassVar[str]
    place: ClassVar[int]
    """Order in the table."""

    kind: ClassVar[Literal["risk", "utility"]]

    needs: ClassVar[tuple[str, ...]] = ()
    """What must be known: ``keys``, ``numbers``, ``sensitive``, ``household``, ``pairs``."""

    @abstractmethod
    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield the figures.

        Raises
        ------
        InputError
            If the measure makes no sense for these records, with the reason.
        """


MEASURES: Registry[Measure] = Registry(
    "measure of an assessment",
    "tablecloak.microdata.assessment.measures",
    order=lambda measure: measure.place,
)
"""All measures of an assessment, in the order of the table."""
