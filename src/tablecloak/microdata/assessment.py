"""Risk and utility of a release in one table, made of measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.errors import InputError, require_known
from tablecloak.microdata.columns import columns_of, is_number
from tablecloak.microdata.library_frames import LibraryFrame
from tablecloak.microdata.measures.measure import Case, Figure, Measure
from tablecloak.microdata.measures.risk import RISKS
from tablecloak.microdata.measures.utility import UTILITIES

MEASURES: list[Measure] = [*RISKS, *UTILITIES]
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
    attributes = [sensitive] if isinstance(sensitive, str) else list(sensitive or ())
    single = [name for name in (weight, household) if name is not None]
    both = [name for name in columns_of(before) if name in set(columns_of(after))]
    for name in [*keys, *(numbers or ()), *attributes, *single]:
        require_known(name, both, f"There is no column {name!r} in both files.")
    for frame, said in ((before, "original"), (after, "release")):
        if not len(frame):
            raise InputError(f"The {said} has no records. Give some.")
    if numbers is None:
        others = [name for name in both if name not in {*keys, *single}]
        numbers = [each for each in others if is_number(before[each]) and is_number(after[each])]
    known, used, hidden = (tuple(dict.fromkeys(names)) for names in (keys, numbers, attributes))
    case = Case(before, after, known, used, hidden, weight, household)
    rows = [
        (figure.measure, measure.kind, figure.before, figure.after, figure.meaning)
        for measure in MEASURES
        for figure in _figures(measure, case)
    ]
    columns = ["measure", "kind", "before", "after", "meaning"]
    return Assessment(pd.DataFrame(rows, columns=columns), len(after))


def _figures(measure: Measure, case: Case) -> list[Figure]:
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
        figures.extend(measure.figures(measure.name, case))
    except InputError as error:
        figures.append(_not_made(measure, str(error)))
    return figures


def _not_made(measure: Measure, reason: str) -> Figure:
    return Figure(measure.name, np.nan, np.nan, f"Not measured: {reason}")


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
