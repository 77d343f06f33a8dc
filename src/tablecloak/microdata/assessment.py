"""Risk and utility of a release in one table, made of measures.

A measure is a class with a name, what it needs, and its figures. A new one is one class in a file
of `tablecloak.microdata.measures`::

    @MEASURES.register
    class Records(UtilityMeasure):
        "Numbers of records."

        name: ClassVar[str] = "records"
        place: ClassVar[int] = 1

        def figures(self, case):
            yield Figure("records", len(case.original), len(case.released), "Number of records.")

Its case is what an assessment is about: original and released records, and what their columns are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from operator import attrgetter
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd

from tablecloak.errors import InputError, suggestion
from tablecloak.microdata.columns import columns_of, is_number, numbers_of
from tablecloak.microdata.library_frames import LibraryFrame
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
        if numbers is not None or (is_number(original[name]) and is_number(released[name]))
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


class AssessmentMeasure(ABC):
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


class RiskMeasure(AssessmentMeasure):
    """Base class of measures of risk."""

    kind: ClassVar[Literal["risk", "utility"]] = "risk"


class UtilityMeasure(AssessmentMeasure):
    """Base class of measures of utility."""

    kind: ClassVar[Literal["risk", "utility"]] = "utility"


MEASURES: Registry[AssessmentMeasure] = Registry(
    "measure of an assessment",
    "tablecloak.microdata.measures",
    order=lambda measure: measure.place,
)
"""All measures of an assessment, in the order of the table."""


ABSENT = {
    "keys": "no keys are named",
    "numbers": "no columns of numbers are there",
    "sensitive": "no sensitive attribute is named",
    "weight": "no column of weights is named",
    "household": "no column of households is named",
    "pairs": "original and release have different numbers of records",
}
"""Why a measure is not made, by what it needs."""

SHOWN = (
    "sample uniques",
    "expected re-identifications",
    "nearest record is the right one",
    "mean absolute change (IL1s)",
    "propensity ratio",
)
"""Measures of the summary, where they are made."""


@dataclass(frozen=True, eq=False)
class Assessment:
    """Risk and utility of a release. Secret, since it tells about the original.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns ``measure, kind, before, after, meaning``; ``kind`` is ``risk`` or ``utility``. A
        measure that makes no sense for these records has NaN in both columns, and the reason as its
        meaning.
    n_records : int
        Number of released records.
    """

    table: pd.DataFrame
    n_records: int

    def value(self, measure: str) -> tuple[float, float]:
        """Return a measure before and after.

        Raises
        ------
        InputError
            If there is no such measure.
        """
        rows = self.table[self.table["measure"] == measure]
        if not len(rows):
            raise InputError(
                f"There is no measure {measure!r} in the assessment. It has "
                f"{', '.join(self.table['measure'])}."
            )
        return float(rows["before"].iloc[0]), float(rows["after"].iloc[0])

    def to_frame(self) -> pd.DataFrame:
        """Return the table."""
        return self.table

    def summary(self) -> str:
        """Return the main measures in one line."""
        made = set(self.table["measure"][self.table["after"].notna()])
        parts = [
            "{} {:.4g} -> {:.4g}".format(name, *self.value(name)) for name in SHOWN if name in made
        ]
        return f"assessment of {self.n_records:,} records: {'; '.join(parts) or 'no measure'}"

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def _repr_html_(self) -> str:
        """Show the summary, and one table for each kind of measure; in notebooks."""
        text = f"<p>{escape(self.summary())}</p>"
        table = self.table
        for kind in ("risk", "utility"):
            part = table[table["kind"] == kind]
            rows = "".join(
                f"<tr><th>{escape(str(measure))}</th><td>{_number(float(before))}</td>"
                f"<td>{_number(float(after))}</td><td>{escape(str(meaning))}</td></tr>"
                for measure, before, after, meaning in zip(
                    part["measure"], part["before"], part["after"], part["meaning"], strict=True
                )
            )
            head = f"<tr><th>{kind}</th><th>before</th><th>after</th><th>meaning</th></tr>"
            text += f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
        return text


def assess(
    original: Any,
    released: Any,
    *,
    keys: Sequence[str] = (),
    numbers: Sequence[str] | None = None,
    sensitive: str | Sequence[str] | None = None,
    weight: str | None = None,
    household: str | None = None,
) -> Assessment:
    """Measure risk before and after, and utility, of the release of any method.

    Parameters
    ----------
    original, released : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        The same records in the same order, as methods return them; frames of pandas with the same
        labels in another order are matched by these. If the numbers of records differ, measures
        that compare each record with its own release are left out.
    keys : sequence of str, default=()
        Attributes by which an intruder may know a person.
    numbers : sequence of str, optional
        Columns of numbers that an intruder may know, and that analysts use; by default all columns
        that are numeric in both files, but keys, weight and household.
    sensitive : str or sequence of str, optional
        Attributes that must not be inferred.
    weight : str, optional
        Column of sampling weights, for the risk in the population; by default the records are the
        whole population.
    household : str, optional
        Column that is equal for the members of a household.

    Returns
    -------
    Assessment
        Keys are counted in each file alone, as an outsider counts who has only the release: a
        missing key is a value of its own, so that groups are those of equal records. Measures of
        numbers leave out missing values; models take them as a category.

    Raises
    ------
    InputError
        If a file has no records, or a column is not in both files.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [20, 20, 30, 41], "wage": [1.0, 2.0, 3.0, 5.0]})
    >>> found = assess(people, people.assign(age=[20, 20, 30, 30]), keys=["age"])
    >>> found.value("sample uniques")
    (2.0, 0.0)
    """
    before, after = (LibraryFrame(records).pandas for records in (original, released))
    if (
        not before.index.equals(after.index)
        and not before.index.symmetric_difference(after.index).size
    ):
        after = after.loc[before.index]
    case = case_of(
        before,
        after,
        keys=keys,
        numbers=numbers,
        sensitive=sensitive,
        weight=weight,
        household=household,
    )
    rows = [
        (figure.measure, measure.kind, figure.before, figure.after, figure.meaning)
        for measure in MEASURES
        for figure in _figures(measure(), case)
    ]
    columns = ["measure", "kind", "before", "after", "meaning"]
    return Assessment(pd.DataFrame(rows, columns=columns), len(after))


def _figures(measure: AssessmentMeasure, case: Case) -> list[Figure]:
    """Return the figures of a measure, or one row with the reason why it is not made."""
    there = {
        "keys": case.keys,
        "numbers": case.numbers,
        "sensitive": case.sensitive,
        "weight": case.weight,
        "household": case.household,
        "pairs": case.is_paired,
    }
    absent = [ABSENT[need] for need in measure.needs if not there[need]]
    if absent:
        return [_not_made(measure, f"{' and '.join(absent)}.")]
    figures: list[Figure] = []
    try:
        figures.extend(measure.figures(case))
    except InputError as error:
        figures.append(_not_made(measure, str(error)))
    return figures


def _not_made(measure: AssessmentMeasure, reason: str) -> Figure:
    return Figure(measure.name, np.nan, np.nan, f"Not measured: {reason}")


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
