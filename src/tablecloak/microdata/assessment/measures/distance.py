"""Risk by distance: records whose released numbers resemble the true ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np

from tablecloak.errors import InputError
from tablecloak.microdata.assessment.case import Case
from tablecloak.microdata.assessment.measure import MEASURES, SAMPLE, Figure, Measure
from tablecloak.microdata.columns import numbers_of
from tablecloak.microdata.risk.linkage import interval_disclosure, record_linkage

__all__ = ["Intervals", "Linkage", "usable_numbers"]


def usable_numbers(case: Case) -> list[str]:
    """Return the columns of numbers that differ between records of the original.

    Raises
    ------
    InputError
        If there is none.
    """
    usable = []
    for name in case.numbers:
        values = numbers_of(case.original, name, refuse_missing=False)
        numbers_of(case.released, name, refuse_missing=False)
        known = values[~np.isnan(values)]
        if len(known) > 1 and known.min() < known.max():
            usable.append(name)
    if not usable:
        raise InputError("All columns of numbers are constant or missing in the original.")
    return usable


@MEASURES.register
class Linkage(Measure):
    """Distance-based record linkage."""

    name: ClassVar[str] = "nearest record is the right one"
    place: ClassVar[int] = 30
    kind: ClassVar[Literal["risk", "utility"]] = "risk"
    needs: ClassVar[tuple[str, ...]] = ("numbers", "pairs")

    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield the share of released records that are linked rightly."""
        names = usable_numbers(case)
        part = f", in {SAMPLE:,} random ones" if len(case.original) > SAMPLE else ""
        yield Figure(
            self.name,
            record_linkage(case.original, case.original, names, most=SAMPLE),
            record_linkage(case.original, case.released, names, most=SAMPLE),
            f"Share of released records whose nearest original by numbers is their own{part}.",
        )


@MEASURES.register
class Intervals(Measure):
    """Interval disclosure."""

    name: ClassVar[str] = "all numbers within 5 % of a deviation"
    place: ClassVar[int] = 31
    kind: ClassVar[Literal["risk", "utility"]] = "risk"
    needs: ClassVar[tuple[str, ...]] = ("numbers", "pairs")

    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield the share of records that are disclosed."""
        names = usable_numbers(case)
        yield Figure(
            self.name,
            1.0,
            interval_disclosure(case.original, case.released, names),
            "Share of records whose true numbers all lie within a twentieth of a standard "
            "deviation of the released ones.",
        )
